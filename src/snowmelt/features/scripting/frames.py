"""What a running block knows: its variables, cursors and result sets, and the rights and transaction it runs in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from snowmelt.core import types
from snowmelt.core.types import DataType
from snowmelt.features.scripting.failures import ExceptionType, RaisedError, script_error
from snowmelt.runtime.results import Result
from snowmelt.runtime.transaction_scopes import TransactionScope
from snowmelt.runtime.variables import Locals, Variable
from snowmelt.sql.scripting.nodes import CursorDeclaration, ProcedureDeclaration

if TYPE_CHECKING:
    from snowmelt.runtime.session import Session

MAX_CALLS = 16
"""Procedures that may be running inside each other."""


@dataclass(slots=True)
class Slot:
    """A variable."""

    type: DataType
    value: Any = None


@dataclass(slots=True)
class ResultSet:
    result: Result | None = None


@dataclass(frozen=True, slots=True)
class LoopRow:
    """The row variable of a FOR loop."""

    columns: dict[str, Variable]


@dataclass(slots=True)
class OpenCursor:
    """A cursor: closed until OPEN, then somewhere in its rows."""

    declaration: CursorDeclaration
    result: Result | None = None
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    next: int = 0

    def open(self, result: Result) -> None:
        self.result, self.rows, self.next = result, result.rows(), 0

    def close(self) -> None:
        self.result, self.rows, self.next = None, [], 0


Entry = Slot | ResultSet | LoopRow | OpenCursor | ExceptionType | ProcedureDeclaration


class BlockScope:
    """The names of one block; an inner block hides those of the outer ones."""

    def __init__(self, parent: BlockScope | None = None) -> None:
        self.parent = parent
        self.names: dict[str, Entry] = {}

    def find(self, name: str) -> Entry | None:
        scope: BlockScope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None


class Frame:
    """One run of a procedure or an anonymous block. Implements `Locals`."""

    def __init__(
        self, *, owners_rights: bool = False, transactions: TransactionScope | None = None, depth: int = 0
    ) -> None:
        self.owners_rights = owners_rights
        self.transactions = transactions
        self.depth = depth
        self.scope = BlockScope()
        self.handling: RaisedError | None = None
        """The exception whose handler runs now."""
        self.rows_affected: int | None = None
        self.query_id: str | None = None

    def local(self, name: str) -> Variable | None:
        """The value of a variable, of `ROW.COLUMN`, or of one that Snowflake sets."""
        qualifier, dot, column = name.partition(".")
        entry = self.scope.find(qualifier) or self.scope.find(qualifier.upper())
        if dot:
            return entry.columns.get(column) if isinstance(entry, LoopRow) else None
        if isinstance(entry, Slot):
            return Variable(entry.value, entry.type)
        return self._given(name.upper()) if entry is None else None

    def _given(self, name: str) -> Variable | None:
        rows = self.rows_affected
        match name:
            case "SQLROWCOUNT":
                return Variable(rows, types.INTEGER)
            case "SQLFOUND":
                return Variable(None if rows is None else rows > 0, types.BOOLEAN)
            case "SQLNOTFOUND":
                return Variable(None if rows is None else rows == 0, types.BOOLEAN)
            case "SQLID":
                return Variable(self.query_id, types.VARCHAR)
            case "SQLCODE" | "SQLERRM" | "SQLSTATE":
                return self._of_exception(name)
            case _:
                return None

    def _of_exception(self, name: str) -> Variable:
        error = self.handling.error if self.handling is not None else None
        if name == "SQLCODE":
            return Variable(int(error.code) if error is not None else None, types.INTEGER)
        text = None if error is None else error.message if name == "SQLERRM" else error.sqlstate
        return Variable(text, types.VARCHAR)

    def slot(self, name: str) -> Slot:
        entry = self.scope.find(name)
        if not isinstance(entry, Slot):
            raise script_error(f"Variable '{name}' is not declared.")
        return entry

    def executed(self, result: Result) -> None:
        """Notes what the last statement did, for SQLROWCOUNT and its like."""
        self.query_id, self.rows_affected = result.query_id, result.rows_affected


class Binds:
    """The values of USING, as variables of the statement that has their question marks. Implements `Locals`."""

    def __init__(self, values: Sequence[Variable], around: Locals | None, *, sees_around: bool) -> None:
        self._values = {f"__{number}": value for number, value in enumerate(values, 1)}
        self._around = around
        self._sees_around = sees_around
        self.owners_rights = around is not None and around.owners_rights
        self.transactions = around.transactions if around is not None else None
        self.depth = around.depth if around is not None else 0

    def local(self, name: str) -> Variable | None:
        found = self._values.get(name)
        if found is None and self._around is not None and self._sees_around:
            return self._around.local(name)
        return found


@contextmanager
def variables_of(session: Session, script: Locals | None) -> Iterator[None]:
    """Statements inside see these variables."""
    outer, session.script = session.script, script
    try:
        yield
    finally:
        session.script = outer
