"""What all repositories share: a connection, and whether it may write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, TypeAlias

from sqlalchemy import CursorResult, Executable, Row, Table
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import IntegrityError

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.lazy import lazy_imports
from snowmelt.state.prepared import OpenedTransaction, Prepared, Record, Values
from snowmelt.state.sight import Owned, Sight

with lazy_imports():
    from sqlalchemy.dialects import postgresql

AnyRow: TypeAlias = "Row[*tuple[Any, ...]]"

_NO_VALUES: Values = {}
CHUNK = 500
"""Values in one IN list: databases limit how many a statement may carry."""


class ReadScope(OpenedTransaction):
    """One open database transaction."""


@dataclass(slots=True)
class WriteScope(ReadScope):
    now: datetime
    """The transaction's commit instant."""
    generation: int
    next_generation: Callable[[], int]
    rights_changed: bool = False
    keeps_grants: bool = False
    """COPY GRANTS: what replaces an object in this transaction has the grants of that one."""

    def bump_generation(self) -> None:
        """Note that the catalog changed. Each value is used once, even if this transaction is rolled back."""
        self.generation = self.next_generation()


class Repository:
    def __init__(self, scope: ReadScope, sight: Sight | None = None) -> None:
        """`sight`: whose eyes it has, where a repository has any; None sees everything."""
        self._scope = scope
        self._sight = sight

    def _execute(
        self,
        statement: Executable,
        values: Mapping[str, object] | Sequence[Mapping[str, object]] | None = None,
    ) -> CursorResult[*tuple[Any, ...]]:
        return self._scope.connection.execute(statement, values)

    def _rows(self, query: Prepared, values: Values = _NO_VALUES) -> list[Record]:
        """The rows of a query that is asked again and again."""
        return query.rows(self._scope, values)

    def _row(self, query: Prepared, values: Values = _NO_VALUES) -> Record | None:
        """The first of them."""
        found = query.rows(self._scope, values)
        return found[0] if found else None

    def _value(self, query: Prepared, values: Values = _NO_VALUES) -> Any:
        """The first column of the first of them; None when there is none."""
        found = query.rows(self._scope, values)
        return found[0][0] if found else None

    def _sees(self, *items: Owned) -> bool:
        """Whether the reader's role may see an object, and every container that it lies in."""
        sight = self._sight
        return sight is None or all(sight.sees(item) for item in items)

    def _writing(self) -> WriteScope:
        """The scope of a write. Raises an internal error in a reader."""
        if not isinstance(self._scope, WriteScope):
            raise errors.internal("a write was attempted through a StateReader; use StateStore.begin().")
        return self._scope

    @contextmanager
    def _unless_taken(self, name: object) -> Iterator[None]:
        """Turn a violated uniqueness into `already_exists`, undoing only the writes inside.

        The transaction stays usable, as a caller that carries on with IF NOT EXISTS needs.
        """
        try:
            with self._scope.connection.begin_nested():
                yield
        except IntegrityError as error:
            raise already_exists_or(error, name) from error

    def _upsert(self, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
        """Insert rows, replacing those with the same primary key."""
        for row in rows:
            _upsert(table, self._scope.connection.dialect.name, tuple(row)).write(self._scope, row)


@cache
def _upsert(table: Table, dialect: str, columns: tuple[str, ...]) -> Prepared:
    """The statement, made once: building it takes longer than the database needs for a row."""
    keys = [column.name for column in table.primary_key]
    others = [column.name for column in table.columns if not column.primary_key]
    insert = (postgresql if dialect == "postgresql" else sqlite).insert(table)
    kept = {name: insert.excluded[name] for name in others}
    statement = (
        insert.on_conflict_do_update(index_elements=keys, set_=kept)
        if others
        else insert.on_conflict_do_nothing(index_elements=keys)
    )
    return Prepared(statement, columns)


def already_exists_or(error: IntegrityError, name: object) -> SnowmeltError:
    """`already_exists` when a uniqueness was violated; an internal error for any other constraint."""
    code = getattr(error.orig, "sqlstate", None) or getattr(error.orig, "sqlite_errorname", "")
    if code in {"23505", "SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"}:
        return errors.already_exists(str(name))
    return errors.internal(f"the state store refused '{name}': {error.orig}")


def chunks(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), CHUNK):
        yield values[start : start + CHUNK]
