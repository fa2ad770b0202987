"""Tables, dynamic tables and views of Snowmelt, for destinations elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Protocol

from snowmelt.core.names import literal, quote
from snowmelt.pipeline.records import Batch, Record, plain
from snowmelt.pipeline.sources.base import BATCH_ROWS, Extractor
from snowmelt.pipeline.sources.ordering import changed_batches, parts, read_place, whole_batches

_DOCUMENTS = frozenset({"VARIANT", "OBJECT", "ARRAY"})


class Executes(Protocol):
    def execute(self, sql: str) -> Any: ...


class SnowmeltExtractor(Extractor):
    """What is new by a change column, or the whole whenever anything in it is another.

    Names that are all capitals are given in small letters, as they are written elsewhere.
    """

    def __init__(
        self, connection: Executes, table: str, *, key: Sequence[str] = (), change_column: str | None = None,
        batch_rows: int = BATCH_ROWS,
    ) -> None:  # fmt: skip
        self.connection, self.table, self.batch_rows = connection, table, batch_rows
        self.key = tuple(name.lower() for name in key)
        self.change_column = change_column.lower() if change_column is not None else None

    def extract(self, after: str | None) -> Iterator[Batch]:
        if self.change_column is None:
            records = self._records(f"SELECT * FROM {self.table}{self._order()}")
            yield from whole_batches(lambda: parts(records, self.batch_rows), after, self.table, self.key)
            return
        at, _ = read_place(after)
        condition = f" WHERE {_name(self.change_column)} >= {_value(at[0])}" if at is not None else ""
        yield from changed_batches(
            self._records(f"SELECT * FROM {self.table}{condition}"), after, self.table, key=self.key,
            change=self.change_column, size=self.batch_rows,
        )  # fmt: skip

    def _order(self) -> str:
        return f" ORDER BY {', '.join(map(_name, self.key))}" if self.key else " ORDER BY ALL"

    def _records(self, query: str) -> list[Record]:
        cursor = self.connection.execute(query)
        columns = [(str(item[0]), str(item[1]).upper()) for item in cursor.description]
        names = [name.lower() if name.isupper() else name for name, _ in columns]
        documents = [index for index, (_, kind) in enumerate(columns) if kind in _DOCUMENTS]
        found = []
        for row in cursor.fetchall():
            values = list(row)
            for index in documents:
                values[index] = json.loads(values[index]) if isinstance(values[index], str) else values[index]
            found.append(dict(zip(names, map(_plain, values), strict=True)))
        return found


def _plain(value: Any) -> Any:
    """Whole numbers are numbers: as text, 10 would come before 9."""
    whole = isinstance(value, Decimal) and value.as_tuple().exponent == 0
    return int(value) if whole else plain(value)


def _name(name: str) -> str:
    return quote(name.upper())


def _value(value: Any) -> str:
    return literal(value) if isinstance(value, str) else str(value)
