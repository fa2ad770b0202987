"""The statements of a scripting block. SQL and expressions inside are kept as text, with their positions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from snowmelt.core.types import DataType
from snowmelt.sql.tokens import SqlText


@dataclass(frozen=True, slots=True)
class ScriptNode:
    """Something that can fail at a position: `on line L at position P`, counted in the block's text."""

    line: int = field(compare=False)
    position: int = field(compare=False)


# -- declarations ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class VariableNode(ScriptNode):
    """`x NUMBER DEFAULT 1`, `LET x := 1`. At least one of type and value is there."""

    name: str
    type: DataType | None
    value: SqlText | None


@dataclass(frozen=True, slots=True)
class CursorDeclaration(ScriptNode):
    """`c CURSOR FOR SELECT …` or `c CURSOR FOR resultset`. The query runs at OPEN."""

    name: str
    query: SqlText | None
    result_set: str | None = None


@dataclass(frozen=True, slots=True)
class ResultSetDeclaration(ScriptNode):
    """`r RESULTSET [DEFAULT (query)]`. The query runs here."""

    name: str
    query: SqlText | None


@dataclass(frozen=True, slots=True)
class ExceptionDeclaration(ScriptNode):
    name: str
    code: int = -20000
    message: str = ""


@dataclass(frozen=True, slots=True)
class ProcedureArgument:
    name: str
    type: DataType
    default: SqlText | None = None


@dataclass(frozen=True, slots=True)
class ProcedureDeclaration(ScriptNode):
    """`p PROCEDURE (a INT) RETURNS INT AS BEGIN … END`: callable inside this block only."""

    name: str
    arguments: tuple[ProcedureArgument, ...]
    returns: DataType | None
    """None for RETURNS TABLE."""
    body: Block


Declaration = VariableNode | CursorDeclaration | ResultSetDeclaration | ExceptionDeclaration | ProcedureDeclaration


# -- statements --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assignment(ScriptNode):
    """`x := expression`, or `r := (query)` for a RESULTSET."""

    name: str
    value: SqlText


@dataclass(frozen=True, slots=True)
class Branch:
    condition: SqlText
    body: Statements


@dataclass(frozen=True, slots=True)
class If(ScriptNode):
    branches: tuple[Branch, ...]
    otherwise: Statements


@dataclass(frozen=True, slots=True)
class Case(ScriptNode):
    subject: SqlText | None
    """The value that the WHENs are compared with; None where each is a condition of its own."""
    branches: tuple[Branch, ...]
    otherwise: Statements


@dataclass(frozen=True, slots=True)
class ForRange(ScriptNode):
    name: str
    first: SqlText
    last: SqlText
    reverse: bool
    body: Statements
    label: str | None = None


@dataclass(frozen=True, slots=True)
class ForRows(ScriptNode):
    name: str
    source: str | None
    """A cursor or a RESULTSET; None where the query stands in its place."""
    query: SqlText | None
    body: Statements
    label: str | None = None


@dataclass(frozen=True, slots=True)
class While(ScriptNode):
    condition: SqlText
    body: Statements
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Repeat(ScriptNode):
    body: Statements
    until: SqlText
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Loop(ScriptNode):
    body: Statements
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Leave(ScriptNode):
    """BREAK and CONTINUE, of the innermost loop or of the one with that label."""

    again: bool
    label: str | None


@dataclass(frozen=True, slots=True)
class Return(ScriptNode):
    value: SqlText | None
    table: SqlText | None = None
    """What stands in RETURN TABLE(…): a query, or the name of a RESULTSET."""


@dataclass(frozen=True, slots=True)
class Raise(ScriptNode):
    name: str | None
    """None raises the exception that is being handled once more."""


@dataclass(frozen=True, slots=True)
class Nothing(ScriptNode):
    """NULL;"""


@dataclass(frozen=True, slots=True)
class Open(ScriptNode):
    cursor: str
    using: tuple[SqlText, ...] = ()


@dataclass(frozen=True, slots=True)
class Fetch(ScriptNode):
    cursor: str
    into: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Close(ScriptNode):
    cursor: str


@dataclass(frozen=True, slots=True)
class SqlNode(ScriptNode):
    """Any statement of SQL."""

    text: SqlText
    into: tuple[str, ...] = ()
    """The variables of SELECT … INTO, which is no longer in the text."""


@dataclass(frozen=True, slots=True)
class Handler:
    names: tuple[str, ...]
    """Exceptions, or OTHER."""
    then: Literal["EXIT", "CONTINUE"]
    body: Statements


@dataclass(frozen=True, slots=True)
class Block(ScriptNode):
    declarations: tuple[Declaration, ...]
    body: Statements
    handlers: tuple[Handler, ...] = ()


Statement = (
    Block | Declaration | Assignment | If | Case | ForRange | ForRows | While | Repeat | Loop | Leave | Return | Raise
    | Nothing | Open | Fetch | Close | SqlNode
)  # fmt: skip
Statements = tuple[Statement, ...]
