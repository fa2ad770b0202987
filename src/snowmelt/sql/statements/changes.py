"""The ALTER actions that several kinds of objects share, and DROP, UNDROP and COMMENT ON."""

from __future__ import annotations

from dataclasses import dataclass

from snowmelt.core import errors
from snowmelt.sql.statements.base import Action, NameRef, ObjectType, Statement
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.heads import if_exists, object_name
from snowmelt.sql.statements.kinds import has_arguments
from snowmelt.sql.statements.options import Options
from snowmelt.sql.tokens import SqlText


@dataclass(frozen=True, slots=True)
class RenameTo(Action):
    new_name: NameRef


@dataclass(frozen=True, slots=True)
class SwapWith(Action):
    other: NameRef


@dataclass(frozen=True, slots=True)
class SetOptions(Action):
    options: Options


@dataclass(frozen=True, slots=True)
class UnsetOptions(Action):
    names: tuple[str, ...]
    """Upper-cased option names."""


@dataclass(frozen=True, slots=True)
class SetSecure(Action):
    secure: bool


@dataclass(frozen=True, slots=True)
class SetColumnComment(Action):
    column: str
    comment: str | None
    """None removes it."""


@dataclass(frozen=True, slots=True)
class Drop(Statement):
    kind: ObjectType
    name: NameRef
    if_exists: bool = False
    restrict: bool = False
    """RESTRICT was written; CASCADE is the default."""
    arguments: tuple[SqlText, ...] | None = None
    """The argument types that pick one routine of that name."""


@dataclass(frozen=True, slots=True)
class Undrop(Statement):
    kind: ObjectType
    name: NameRef


@dataclass(frozen=True, slots=True)
class CommentOn(Statement):
    kind: ObjectType | None
    """None for COMMENT ON COLUMN, where the name's last part is the column."""
    name: NameRef
    comment: str
    if_exists: bool = False
    arguments: tuple[SqlText, ...] | None = None


_GOVERNANCE = (
    ("ROW", "ACCESS", "POLICY"), ("ALL", "ROW", "ACCESS", "POLICIES"), ("MASKING", "POLICY"),
    ("PROJECTION", "POLICY"), ("AGGREGATION", "POLICY"), ("JOIN", "POLICY"),
    ("STORAGE", "LIFECYCLE", "POLICY"), ("DATA", "METRIC"), ("SEARCH", "OPTIMIZATION"),
)  # fmt: skip


def refuse_governance(cursor: TokenCursor, before: str) -> None:
    """Refuses policies, tags and the like by name; `before` is how the statement began.

    Only behind SET and UNSET are TAG and CONTACT such clauses: `ADD contact VARCHAR` adds a column.
    """
    for words in _GOVERNANCE:
        if cursor.at(*words):
            raise errors.unsupported(f"{before} {' '.join(words)}")
    if before.endswith("SET") and cursor.at_any(("TAG", "CONTACT")) and cursor.peek(1).word != "=":
        raise errors.unsupported(f"{before} {cursor.peek().word}")


def argument_types(cursor: TokenCursor, kind: ObjectType) -> tuple[SqlText, ...] | None:
    """`(NUMBER, VARCHAR)` after the name of a routine; None for other kinds."""
    if not has_arguments(kind):
        return None
    cursor.expect("(")
    found: list[SqlText] = []
    while not cursor.match(")"):
        if found:
            cursor.expect(",")
        found.append(cursor.type_text())
    return tuple(found)


def parse_drop(cursor: TokenCursor, kind: ObjectType) -> Drop:
    guarded = if_exists(cursor)
    name = object_name(cursor, kind)
    guarded = guarded or if_exists(cursor)
    arguments = argument_types(cursor, kind)
    behaviour = cursor.match_any(("CASCADE", "RESTRICT"))
    return Drop(kind, name, guarded, behaviour == "RESTRICT", arguments)


def parse_undrop(cursor: TokenCursor, kind: ObjectType) -> Undrop:
    return Undrop(kind, object_name(cursor, kind))


def parse_comment_on(cursor: TokenCursor, kind: ObjectType, *, guarded: bool) -> CommentOn:
    name = object_name(cursor, kind)
    arguments = argument_types(cursor, kind)
    cursor.expect("IS")
    return CommentOn(kind, name, cursor.string(), guarded, arguments)


def parse_comment_on_column(cursor: TokenCursor, *, guarded: bool) -> CommentOn:
    name = cursor.name(4)
    if name.variable is None and len(name.parts) < 2:
        raise cursor.unexpected()
    cursor.expect("IS")
    return CommentOn(None, name, cursor.string(), guarded)
