"""What may happen when a statement is carried out twice, and how that is made harmless."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from snowmelt.features.connectors import statements as connectors
from snowmelt.features.contracts import statements as contracts
from snowmelt.features.loading import copy_statements as copy
from snowmelt.features.loading import file_statements as files
from snowmelt.features.streams import statements as streams
from snowmelt.features.tasks import statements as tasks
from snowmelt.sql.statements import alter_table, base, calls, changes
from snowmelt.sql.statements.base import Statement
from snowmelt.sql.statements.classify import classify
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.tokens import SqlText, split_statements


class Repeating(Enum):
    HARMLESS = auto()
    """It reads, or says what should be."""
    CLAIMED = auto()
    """It changes rows: in one transaction with a claim it happens once."""
    UNKNOWN = auto()
    """Only a query can tell whether it was done."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What is carried out in one go: a statement, or several that take effect together."""

    statements: tuple[str, ...]
    repeating: Repeating
    reads: bool
    """Its rows are what it is run for."""

    @property
    def sql(self) -> str:
        return ";\n".join(self.statements)


_ONCE_ONLY = (
    changes.RenameTo, changes.SwapWith, alter_table.RenameColumn, alter_table.AddConstraint,
    alter_table.DropConstraint, alter_table.RenameConstraint, connectors.TakeSnapshot, contracts.AddVersion,
    contracts.DropVersion, contracts.AddConsumer, tasks.ChangeAfter,
)  # fmt: skip
"""Actions of ALTER that fail, or do more, the second time."""
_ALWAYS_UNKNOWN = (
    base.AnonymousBlock, calls.Call, calls.ExecuteImmediate, tasks.ExecuteTask, files.Put, files.RemoveFiles,
    files.CopyFiles, copy.CopyIntoLocation, changes.Undrop,
)  # fmt: skip


def units_of(sql: str, *, transaction: bool) -> list[Unit]:
    """The units of a block of SQL whose inputs are filled in. Raises for what is no SQL."""
    statements = split_statements(sql)
    if transaction:
        return [Unit(tuple(item.text for item in statements), Repeating.CLAIMED, reads=False)]
    return [_unit(item) for item in statements]


def _unit(sql: SqlText) -> Unit:
    statement = parse_statement(sql)
    return Unit((sql.text,), repeating(statement), reads(statement))


def reads(statement: Statement) -> bool:
    """Whether the statement changes nothing."""
    kind = classify(statement)
    return kind.is_query or kind.query_type in ("SHOW", "DESCRIBE", "EXPLAIN", "CHECK_CONNECTOR", "CHECK_CONTRACT")


def repeating(statement: Statement) -> Repeating:
    if classify(statement).is_dml:
        return Repeating.CLAIMED
    if isinstance(statement, _ALWAYS_UNKNOWN):
        return Repeating.UNKNOWN
    if isinstance(statement, changes.Drop):
        return Repeating.HARMLESS if statement.if_exists else Repeating.UNKNOWN
    if type(statement).__name__.startswith("Create"):
        return Repeating.HARMLESS if _says_what_should_be(statement) else Repeating.UNKNOWN
    harmless = all(_harmless(action) for action in _actions(statement))
    return Repeating.HARMLESS if harmless else Repeating.UNKNOWN


def _says_what_should_be(statement: Statement) -> bool:
    if getattr(statement, "if_not_exists", False) or getattr(statement, "or_alter", False):
        return True
    # A stream that is replaced forgets what changed since it was made.
    return bool(getattr(statement, "or_replace", False)) and not isinstance(statement, streams.CreateStream)


def _actions(statement: Statement) -> tuple[object, ...]:
    several = getattr(statement, "actions", None)
    return tuple(several) if several is not None else (getattr(statement, "action", None),)


def _harmless(action: object) -> bool:
    if isinstance(action, alter_table.AddColumn):
        return action.if_not_exists
    if isinstance(action, alter_table.DropColumn):
        return action.if_exists
    return not isinstance(action, _ONCE_ONLY)
