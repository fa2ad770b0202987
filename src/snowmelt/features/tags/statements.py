"""CREATE TAG, ALTER TAG, and SET TAG of what can have one."""

from __future__ import annotations

from dataclasses import dataclass

from snowmelt.sql.statements.base import Action, Annotation, CreateStatement, NameRef, ObjectType, Statement
from snowmelt.sql.statements.changes import RenameTo, SetOptions, UnsetOptions
from snowmelt.sql.statements.create_rules import CreateHead
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.heads import created_name, if_exists, object_name
from snowmelt.sql.statements.kinds import annotation
from snowmelt.sql.statements.options import CommentOption, read_options, read_required_options


@dataclass(frozen=True, slots=True)
class CreateTag(CreateStatement):
    allowed_values: tuple[str, ...] | None
    comment: str | None
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class AllowValues(Action):
    """ADD and DROP ALLOWED_VALUES; `any` is UNSET, which allows every value."""

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    any: bool = False


@dataclass(frozen=True, slots=True)
class AlterTag(Statement):
    name: NameRef
    action: Action
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetTags(Annotation):
    tags: tuple[tuple[NameRef, str], ...]
    column: str | None = None
    """None for the object itself."""


@dataclass(frozen=True, slots=True)
class UnsetTags(Annotation):
    tags: tuple[NameRef, ...]
    column: str | None = None


def parse_create_tag(cursor: TokenCursor, head: CreateHead) -> CreateTag:
    name, guarded = created_name(cursor, head)
    comment = read_options(cursor, CommentOption, head.kind).comment
    allowed = _values(cursor) if cursor.match("ALLOWED_VALUES") else None
    comment = read_options(cursor, CommentOption, head.kind).comment or comment
    return CreateTag(name, allowed, comment, head.or_replace, guarded)


def parse_alter_tag(cursor: TokenCursor, kind: ObjectType) -> AlterTag:
    guarded = if_exists(cursor)
    name = object_name(cursor, kind)
    return AlterTag(name, _action(cursor, kind), guarded)


def _action(cursor: TokenCursor, kind: ObjectType) -> Action:
    match cursor.expect_any(("RENAME", "ADD", "DROP", "SET", "UNSET")):
        case "RENAME":
            cursor.expect("TO")
            return RenameTo(object_name(cursor, kind))
        case "ADD":
            cursor.expect("ALLOWED_VALUES")
            return AllowValues(added=_values(cursor))
        case "DROP":
            cursor.expect("ALLOWED_VALUES")
            return AllowValues(dropped=_values(cursor))
        case "SET":
            return annotation(cursor, "SET") or SetOptions(read_required_options(cursor, CommentOption, kind))
    if cursor.match("ALLOWED_VALUES"):
        return AllowValues(any=True)
    if (clause := annotation(cursor, "UNSET")) is not None:
        return clause
    cursor.expect("COMMENT")
    return UnsetOptions(("COMMENT",))


def _values(cursor: TokenCursor) -> tuple[str, ...]:
    found = [cursor.string()]
    while cursor.match(","):
        found.append(cursor.string())
    return tuple(dict.fromkeys(found))


def parse_tags(cursor: TokenCursor, verb: str, column: str | None = None) -> SetTags | UnsetTags:
    """What follows SET or UNSET, from TAG on."""
    cursor.expect("TAG")
    if verb == "UNSET":
        names = [cursor.name()]
        while cursor.match(","):
            names.append(cursor.name())
        return UnsetTags(tuple(names), column)
    return SetTags(_values_of_tags(cursor), column)


def parse_created_tags(cursor: TokenCursor, column: str | None) -> SetTags:
    """`TAG (name = 'value', …)` of CREATE."""
    cursor.expect("TAG", "(")
    found = _values_of_tags(cursor)
    cursor.expect(")")
    return SetTags(found, column)


def _values_of_tags(cursor: TokenCursor) -> tuple[tuple[NameRef, str], ...]:
    found: list[tuple[NameRef, str]] = []
    while not found or cursor.match(","):
        name = cursor.name()
        cursor.expect("=")
        found.append((name, cursor.string()))
    return tuple(found)
