"""CREATE and ALTER of policies, and the clauses that put them on tables, views, columns and tags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from snowmelt.core import errors
from snowmelt.features.policies.definitions import AGGREGATION, MASKING, PROJECTION, ROW_ACCESS
from snowmelt.sql.statements.base import Action, Annotation, CreateStatement, NameRef, ObjectType, Statement
from snowmelt.sql.statements.changes import RenameTo, SetOptions, UnsetOptions
from snowmelt.sql.statements.create_rules import CreateHead
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.heads import created_name, if_exists, object_name
from snowmelt.sql.statements.options import CommentOption, at_option, read_options, read_required_options
from snowmelt.sql.tokens import SqlText

APPLY_MASKING, APPLY_ROW_ACCESS = "APPLY MASKING POLICY", "APPLY ROW ACCESS POLICY"
APPLY_PROJECTION, APPLY_AGGREGATION = "APPLY PROJECTION POLICY", "APPLY AGGREGATION POLICY"
"""The rules of what puts policies on objects, and the privileges on the account that are enough for it."""


@dataclass(frozen=True, slots=True)
class CreatePolicy(CreateStatement):
    kind: ClassVar[ObjectType]
    arguments: tuple[tuple[str, SqlText], ...]
    returns: SqlText
    body: SqlText
    comment: str | None
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateMaskingPolicy(CreatePolicy):
    """CREATE MASKING POLICY."""

    kind: ClassVar[ObjectType] = MASKING


@dataclass(frozen=True, slots=True)
class CreateRowAccessPolicy(CreatePolicy):
    """CREATE ROW ACCESS POLICY."""

    kind: ClassVar[ObjectType] = ROW_ACCESS


@dataclass(frozen=True, slots=True)
class CreateProjectionPolicy(CreatePolicy):
    """CREATE PROJECTION POLICY."""

    kind: ClassVar[ObjectType] = PROJECTION


@dataclass(frozen=True, slots=True)
class CreateAggregationPolicy(CreatePolicy):
    """CREATE AGGREGATION POLICY."""

    kind: ClassVar[ObjectType] = AGGREGATION


@dataclass(frozen=True, slots=True)
class SetBody(Action):
    body: SqlText


@dataclass(frozen=True, slots=True)
class AlterPolicy(Statement):
    kind: ClassVar[ObjectType]
    name: NameRef
    action: Action
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterMaskingPolicy(AlterPolicy):
    """ALTER MASKING POLICY."""

    kind: ClassVar[ObjectType] = MASKING


@dataclass(frozen=True, slots=True)
class AlterRowAccessPolicy(AlterPolicy):
    """ALTER ROW ACCESS POLICY."""

    kind: ClassVar[ObjectType] = ROW_ACCESS


@dataclass(frozen=True, slots=True)
class AlterProjectionPolicy(AlterPolicy):
    """ALTER PROJECTION POLICY."""

    kind: ClassVar[ObjectType] = PROJECTION


@dataclass(frozen=True, slots=True)
class AlterAggregationPolicy(AlterPolicy):
    """ALTER AGGREGATION POLICY."""

    kind: ClassVar[ObjectType] = AGGREGATION


@dataclass(frozen=True, slots=True)
class SetMaskingPolicy(Annotation):
    """SET MASKING POLICY of a column or a tag."""

    rule: ClassVar[str | None] = APPLY_MASKING
    policies: tuple[NameRef, ...]
    """More than one only for a tag, which has one for each type."""
    column: str | None
    using: tuple[str, ...] = ()
    force: bool = False


@dataclass(frozen=True, slots=True)
class UnsetMaskingPolicy(Annotation):
    rule: ClassVar[str | None] = APPLY_MASKING
    policies: tuple[NameRef, ...]
    """Which ones, for a tag; a column has one, that needs no name."""
    column: str | None


@dataclass(frozen=True, slots=True)
class ChangeRowAccess(Annotation):
    """ADD and DROP ROW ACCESS POLICY, alone or both in one step."""

    rule: ClassVar[str | None] = APPLY_ROW_ACCESS
    added: NameRef | None = None
    columns: tuple[str, ...] = ()
    dropped: NameRef | None = None
    drops_all: bool = False


@dataclass(frozen=True, slots=True)
class ConstrainProjection(Annotation):
    """SET and UNSET PROJECTION POLICY of a column."""

    rule: ClassVar[str | None] = APPLY_PROJECTION
    policy: NameRef | None
    """None for UNSET."""
    column: str | None
    force: bool = False


@dataclass(frozen=True, slots=True)
class ConstrainGroups(Annotation):
    """SET and UNSET AGGREGATION POLICY of a table or view."""

    rule: ClassVar[str | None] = APPLY_AGGREGATION
    policy: NameRef | None
    column: str | None = None
    entity: tuple[str, ...] = ()
    force: bool = False


_Created = TypeVar("_Created", bound=CreatePolicy)
_Altered = TypeVar("_Altered", bound=AlterPolicy)

# -- CREATE and ALTER -------------------------------------------------------------------------------------------------


def parse_create(made: type[_Created], cursor: TokenCursor, head: CreateHead) -> _Created:
    name, guarded = created_name(cursor, head)
    cursor.expect("AS")
    arguments = _arguments(cursor)
    cursor.expect("RETURNS")
    returns = cursor.type_text()
    cursor.expect("->")
    body = cursor.until("COMMENT", "EXEMPT_OTHER_POLICIES")
    comment: str | None = None
    while not cursor.at_end:
        if cursor.match("EXEMPT_OTHER_POLICIES", "="):
            if cursor.expect_any(("TRUE", "FALSE")) == "TRUE":
                raise errors.unsupported(
                    "EXEMPT_OTHER_POLICIES", hint="Leave it out: policies always see stored values."
                )
        elif at_option(cursor):
            comment = read_options(cursor, CommentOption, head.kind).comment
        else:
            raise cursor.unexpected()
    return made(name, arguments, returns, body, comment, head.or_replace, guarded)


def _arguments(cursor: TokenCursor) -> tuple[tuple[str, SqlText], ...]:
    cursor.expect("(")
    found: list[tuple[str, SqlText]] = []
    while not cursor.match(")"):
        if found:
            cursor.expect(",")
        found.append((cursor.identifier(), cursor.type_text()))
    return tuple(found)


def parse_alter(made: type[_Altered], cursor: TokenCursor, kind: ObjectType) -> _Altered:
    guarded = if_exists(cursor)
    return made(object_name(cursor, kind), _action(cursor, kind), guarded)


def _action(cursor: TokenCursor, kind: ObjectType) -> Action:
    match cursor.expect_any(("RENAME", "SET", "UNSET")):
        case "RENAME":
            cursor.expect("TO")
            return RenameTo(object_name(cursor, kind))
        case "UNSET":
            cursor.expect("COMMENT")
            return UnsetOptions(("COMMENT",))
    if cursor.match("BODY"):
        cursor.expect("->")
        return SetBody(cursor.rest())
    return SetOptions(read_required_options(cursor, CommentOption, kind))


# -- where they hold --------------------------------------------------------------------------------------------------


def parse_masking(cursor: TokenCursor, verb: str, column: str | None) -> SetMaskingPolicy | UnsetMaskingPolicy:
    """What follows SET or UNSET, from MASKING on."""
    cursor.expect("MASKING", "POLICY")
    if verb == "UNSET":
        return UnsetMaskingPolicy(() if column is not None else _names(cursor), column)
    if column is None:
        return SetMaskingPolicy(_names(cursor), None, force=cursor.match("FORCE"))
    name = cursor.name()
    using = cursor.identifiers() if cursor.match("USING") else ()
    return SetMaskingPolicy((name,), column, using, cursor.match("FORCE"))


def _names(cursor: TokenCursor) -> tuple[NameRef, ...]:
    """`p1, MASKING POLICY p2, …`"""
    found = [cursor.name()]
    while cursor.match(",", "MASKING", "POLICY"):
        found.append(cursor.name())
    return tuple(found)


def parse_projection(cursor: TokenCursor, verb: str, column: str | None) -> ConstrainProjection:
    """What follows SET or UNSET, from PROJECTION on."""
    cursor.expect("PROJECTION", "POLICY")
    if verb == "UNSET":
        return ConstrainProjection(None, column)
    name = cursor.name()
    return ConstrainProjection(name, column, cursor.match("FORCE"))


def parse_aggregation(cursor: TokenCursor, verb: str, column: str | None) -> ConstrainGroups:
    """What follows SET or UNSET, from AGGREGATION on."""
    cursor.expect("AGGREGATION", "POLICY")
    if verb == "UNSET":
        return ConstrainGroups(None, column)
    return _groups(cursor, column)


def parse_aggregation_in_create(cursor: TokenCursor) -> ConstrainGroups:
    """Behind AGGREGATION POLICY in CREATE TABLE and CREATE VIEW."""
    return _groups(cursor, None)


def _groups(cursor: TokenCursor, column: str | None) -> ConstrainGroups:
    name = cursor.name()
    entity = cursor.identifiers() if cursor.match("ENTITY", "KEY") else ()
    return ConstrainGroups(name, column, entity, cursor.match("FORCE"))


def parse_add_row_access(cursor: TokenCursor) -> ChangeRowAccess:
    """Behind ADD ROW ACCESS POLICY."""
    name = cursor.name()
    cursor.expect("ON")
    return ChangeRowAccess(name, cursor.identifiers())


def parse_drop_row_access(cursor: TokenCursor) -> ChangeRowAccess:
    """Behind DROP ROW ACCESS POLICY; another one may take its place in the same step."""
    dropped = cursor.name()
    if not cursor.match(",", "ADD", "ROW", "ACCESS", "POLICY"):
        return ChangeRowAccess(dropped=dropped)
    added = parse_add_row_access(cursor)
    return ChangeRowAccess(added.added, added.columns, dropped)


def parse_drop_all_row_access(cursor: TokenCursor) -> ChangeRowAccess:
    """Behind DROP ALL ROW ACCESS POLICIES."""
    return ChangeRowAccess(drops_all=True)
