"""Personal data that is never written: COPY and channels keep a mask, a hash or a token of it, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from snowmelt.core import errors
from snowmelt.core.types import Kind
from snowmelt.govern.pii.strategies import Strategy, hidden, longest
from snowmelt.state.model import CatalogObject, Column, ParameterLevel
from snowmelt.state.store import StateReader, StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account

CLASS, STRATEGY = "PII:", "PII_AT_INGEST:"
"""What is kept beside a table's columns: `PII:EMAIL = EMAIL`."""
HIDDEN = "the value does not fit"
"""In place of a message that quotes a value of a table with personal data."""
NOT_PERSONAL = "NONE"
"""The class of a column that is not personal, whatever its name says: somebody looked."""


def strategies_of(state: StateReader, table: CatalogObject) -> dict[str, Strategy]:
    """By column, what is done to values that come from outside."""
    kept = state.parameters.all(ParameterLevel.TABLE, table.id)
    return {key.removeprefix(STRATEGY): Strategy(value) for key, value in kept.items() if key.startswith(STRATEGY)}


def check(column: Column, strategy: Strategy) -> None:
    """Raises where the column can't take what would be kept."""
    if strategy is Strategy.DROP:
        if not column.nullable:
            raise errors.unsupported(
                f"DROP at ingest of {column.name}, which is NOT NULL", hint="Use HASH or TOKENISE."
            )
        return
    if strategy is Strategy.KEEP:
        return
    if column.type.kind is not Kind.VARCHAR:
        raise errors.unsupported(
            f"{strategy} at ingest of {column.type} column {column.name}", hint="DROP is possible."
        )
    if column.type.length is not None and column.type.length < longest(strategy):
        raise errors.unsupported(
            f"{strategy} at ingest of {column.type} column {column.name}",
            hint=f"It must have room for {longest(strategy)} characters.",
        )


@dataclass(frozen=True, slots=True)
class Protection:
    """What becomes of the rows that come to one table."""

    strategies: Mapping[str, Strategy]
    key: str
    columns: frozenset[str] = frozenset()
    """All that the table has."""

    @classmethod
    def of(cls, account: Account, table: CatalogObject) -> Protection:
        columns = frozenset(column.name for column in getattr(table.definition, "columns", ()))
        with account.state.read() as state:
            return cls(strategies_of(state, table), account.token_key, columns)

    def __bool__(self) -> bool:
        """Whether anything that comes to the table must not be kept as it is."""
        return any(strategy is not Strategy.KEEP for strategy in self.strategies.values())

    def applied(self, rows: pa.Table) -> pa.Table:
        """The rows in stored form, as they may be written."""
        for index, name in enumerate(rows.column_names):
            strategy = self.strategies.get(name, Strategy.KEEP)
            if strategy is not Strategy.KEEP:
                rows = rows.set_column(index, rows.schema.field(name), self._hidden(rows.column(name), strategy))
        return rows

    def document(self, row: Mapping[str, Any], called: Callable[[str], str | None]) -> dict[str, Any]:
        """A row as it was sent. `called` says what a field of it is called in the table; None when it is no column.

        What an unknown field holds is not kept: it may be a column's value under a wrong name.
        """
        return {name: self._value(value, called(name)) for name, value in row.items()}

    def _value(self, value: Any, column: str | None) -> Any:
        if column is None:
            return None
        strategy = self.strategies.get(column, Strategy.KEEP)
        return value if value is None or strategy is Strategy.KEEP else hidden(str(value), strategy, self.key)

    def _hidden(self, values: pa.ChunkedArray, strategy: Strategy) -> pa.Array:
        if strategy is Strategy.DROP:
            return pa.nulls(len(values), values.type)
        kept = [None if value is None else hidden(value, strategy, self.key) for value in values.to_pylist()]
        return pa.array(kept, values.type)


# -- when a table changes ---------------------------------------------------------------------------------------------


def column_renamed(state: StateTransaction, table_id: str, old: str, new: str) -> None:
    """Classes and strategies go with the column."""
    for prefix in (CLASS, STRATEGY):
        value = state.parameters.get(ParameterLevel.TABLE, table_id, f"{prefix}{old}")
        if value is not None:
            state.parameters.unset(ParameterLevel.TABLE, table_id, f"{prefix}{old}")
            state.parameters.set(ParameterLevel.TABLE, table_id, f"{prefix}{new}", value)


def copy_classes(state: StateTransaction, source_id: str, table_id: str) -> None:
    """A clone has the same values in its columns."""
    for key, value in state.parameters.all(ParameterLevel.TABLE, source_id).items():
        if key.startswith((CLASS, STRATEGY)):
            state.parameters.set(ParameterLevel.TABLE, table_id, key, value)


def keep_classes(state: StateTransaction, old: CatalogObject, columns: Sequence[Column], new_id: str) -> None:
    """What takes the place of a table or view takes what was said of columns that it has, too."""
    names = {column.name for column in columns}
    for key, value in state.parameters.all(ParameterLevel.TABLE, old.id).items():
        if any(key.startswith(prefix) and key.removeprefix(prefix) in names for prefix in (CLASS, STRATEGY)):
            state.parameters.set(ParameterLevel.TABLE, new_id, key, value)
