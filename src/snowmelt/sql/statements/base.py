"""What all statements share: names, points in time, and the words for kinds of objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from snowmelt.core import kinds
from snowmelt.sql.tokens import SqlText


@dataclass(frozen=True, slots=True)
class Statement:
    """One parsed statement. Queries and expressions in it are kept as text."""


@dataclass(frozen=True, slots=True)
class StatementKind:
    query_type: str
    is_ddl: bool = False
    """Commits an open transaction before it runs."""
    is_dml: bool = False
    """Changes rows of tables."""
    is_query: bool = False
    """Reads rows through the query engine and changes nothing."""


def ddl(query_type: str) -> StatementKind:
    return StatementKind(query_type, is_ddl=True)


@dataclass(frozen=True, slots=True)
class NameRef:
    """A name as a statement mentions it: folded, not yet completed with the session's database and schema."""

    parts: tuple[str, ...]
    line: int = field(default=1, compare=False)
    position: int = field(default=0, compare=False)
    variable: str | None = None
    """`$X` or `:X` for IDENTIFIER($x): the parts are then empty until somebody resolves it."""

    def __str__(self) -> str:
        return self.variable if self.variable is not None else ".".join(self.parts)


@dataclass(frozen=True, slots=True)
class CreateStatement(Statement):
    """CREATE of a kind that a feature brings."""

    name: NameRef


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that an ALTER does."""


@dataclass(frozen=True, slots=True)
class Annotation(Action):
    """What a feature says of any object or column, such as SET TAG. The feature carries it out."""

    rule: ClassVar[str | None] = None
    """The rule of rights that it asks for instead of what ALTER of its object asks for."""


ObjectType = kinds.ObjectType


@dataclass(frozen=True, slots=True)
class TimePoint:
    """`AT (OFFSET => -60)` and its siblings."""

    when: Literal["AT", "BEFORE"]
    kind: Literal["TIMESTAMP", "OFFSET", "STATEMENT", "STREAM"]
    value: SqlText


@dataclass(frozen=True, slots=True)
class CloneSource:
    name: NameRef
    point: TimePoint | None = None


@dataclass(frozen=True, slots=True)
class Query(Statement):
    """SELECT, WITH, VALUES or a parenthesised query."""

    text: SqlText


@dataclass(frozen=True, slots=True)
class AnonymousBlock(Statement):
    """BEGIN … END or DECLARE … BEGIN … END, as written."""

    text: SqlText


@dataclass(frozen=True, slots=True)
class Explain(Statement):
    text: SqlText
    """The query or DML statement to explain."""
    format: Literal["TABULAR", "JSON", "TEXT"] = "TABULAR"
