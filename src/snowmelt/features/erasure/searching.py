"""How many rows of every table are the person's, and how many of others mention them; and taking both away."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from snowmelt.core.names import quote
from snowmelt.core.types import SEMI_STRUCTURED, Kind
from snowmelt.features.erasure.tracing import TracedCondition
from snowmelt.govern.erasure.identifiers import ERASED
from snowmelt.runtime.binds import substitute
from snowmelt.runtime.metadata.ddl_words import object_name
from snowmelt.sql.tokens import SqlText
from snowmelt.state.model import CatalogObject, TableDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account
    from snowmelt.runtime.results import Result

Values = tuple[str | Decimal, ...]


@dataclass(frozen=True, slots=True)
class PersonRows:
    own: int
    """Rows of the person."""
    mentions: int
    """Rows of others that mention the person."""


@dataclass(frozen=True, slots=True)
class TableSearch:
    """What to look for in one table, and where."""

    table: CatalogObject
    own: str
    own_values: Values
    mention: str
    mention_values: Values
    texts: tuple[tuple[str, bool], ...]
    """Columns that may mention the person, and whether they are documents."""
    how: str

    @property
    def looks(self) -> bool:
        return self.own != "FALSE" or self.mention != "FALSE"


def search_of(table: CatalogObject, conditions: Sequence[TracedCondition], identifiers: Sequence[str]) -> TableSearch:
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    own = [f"({each.sql})" for each in conditions]
    own_values: list[str | Decimal] = [value for each in conditions for value in each.values]
    mention: list[str] = []
    mention_values: list[str | Decimal] = []
    texts: list[tuple[str, bool]] = []
    for column in definition.columns:
        name = quote(column.name)
        document = column.type.kind in SEMI_STRUCTURED
        if not identifiers or not (document or column.type.kind is Kind.VARCHAR):
            continue
        texts.append((name, document))
        for value in identifiers:
            low = value.lower()
            if document:
                escaped = json.dumps(low)
                own.append(f"CONTAINS(LOWER(TO_JSON({name})), ?)")
                own_values.append(escaped)
                mention.append(f"CONTAINS(LOWER(TO_JSON({name})), ?)")
                mention_values.append(escaped[1:-1])
            else:
                own.append(f"LOWER({name}) = ?")
                own_values.append(low)
                mention.append(f"CONTAINS(LOWER({name}), ?)")
                mention_values.append(low)
    hows = list(dict.fromkeys(each.how for each in conditions)) + (["has what names the person"] if texts else [])
    return TableSearch(
        table, " OR ".join(own) or "FALSE", tuple(own_values), " OR ".join(mention) or "FALSE", tuple(mention_values),
        tuple(texts), "; ".join(hows),
    )  # fmt: skip


class ErasureStatements:
    """Runs statements as the account itself. Histories show what they do, and neither values nor conditions."""

    def __init__(self, account: Account) -> None:
        self._account = account

    def execute(self, text: str, values: Sequence[Any] = (), *, shown: str | None = None) -> Result:
        statement = SqlText(substitute(text, list(values)) if values else text, around=shown or text)
        session = self._account.session(user="SYSTEM")
        with closing(session):
            # Every row of the person, whatever policies hide.
            session.sees_stored = True
            return session.execute(statement)

    def count(self, search: TableSearch) -> PersonRows:
        if not search.looks:
            return PersonRows(0, 0)
        own, mention = f"COALESCE({search.own}, FALSE)", f"COALESCE({search.mention}, FALSE)"
        text = f"SELECT COUNT_IF({own}), COUNT_IF({mention} AND NOT {own}) FROM {_name(search.table)}"
        values = (*search.own_values, *search.mention_values, *search.own_values)
        first, second = self.execute(text, values, shown=f"SELECT … FROM {_name(search.table)}").rows()[0]
        return PersonRows(int(first), int(second))

    def delete(self, search: TableSearch) -> str:
        """Returns the id of the statement."""
        text = f"DELETE FROM {_name(search.table)} WHERE {search.own}"
        return str(self.execute(text, search.own_values, shown=f"DELETE FROM {_name(search.table)} WHERE …").query_id)

    def blank(self, search: TableSearch, identifiers: Sequence[str]) -> str:
        """Puts a mark where texts of others mention the person. Returns the id of the statement."""
        spelled = sorted(
            {text for each in identifiers for text in (each, json.dumps(each)[1:-1])}, key=len, reverse=True
        )
        pattern = "|".join(map(re.escape, spelled))
        changes: list[str] = []
        for name, document in search.texts:
            text = f"TO_JSON({name})" if document else name
            erased = f"REGEXP_REPLACE({text}, ?, '{ERASED}', 1, 0, 'i')"
            changes.append(f"{name} = {f'PARSE_JSON({erased})' if document else erased}")
        text = f"UPDATE {_name(search.table)} SET {', '.join(changes)} WHERE {search.mention}"
        values = (*[pattern] * len(changes), *search.mention_values)
        return str(self.execute(text, values, shown=f"UPDATE {_name(search.table)} SET …").query_id)

    def own_rows(
        self, table: CatalogObject, columns: Sequence[str], condition: TracedCondition
    ) -> Iterator[tuple[Any, ...]]:
        names = ", ".join(map(quote, columns))
        text = f"SELECT {names} FROM {_name(table)} WHERE {condition.sql} LIMIT 1000"
        found = self.execute(text, condition.values, shown=f"SELECT … FROM {_name(table)}")
        yield from (tuple(row) for row in found.rows())

    def person_rows(self, search: TableSearch, columns: Sequence[str]) -> list[list[Any]]:
        """Columns of the person's rows, as text."""
        shown = ", ".join(f"TO_VARCHAR({quote(name)})" for name in columns)
        text = f"SELECT DISTINCT {shown} FROM {_name(search.table)} WHERE {search.own}"
        found = self.execute(text, search.own_values, shown=f"SELECT … FROM {_name(search.table)}")
        return [list(row) for row in found.rows()]

    def others_have(self, table: CatalogObject, column: str, value: str, condition: TracedCondition) -> bool:
        """Whether a row of somebody else has the value, too."""
        text = (
            f"SELECT COUNT(*) FROM {_name(table)} WHERE LOWER(TO_VARCHAR({quote(column)})) = ? "
            f"AND NOT COALESCE({condition.sql}, FALSE)"
        )
        found = self.execute(text, (value.lower(), *condition.values), shown=f"SELECT … FROM {_name(table)}")
        return bool(found.rows()[0][0])


def _name(table: CatalogObject) -> str:
    return object_name(table.name, qualified=True)
