"""CREATE VIEW and ALTER VIEW."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from snowmelt.core import errors
from snowmelt.sql.statements.base import Action, Annotation, NameRef, ObjectType, Statement
from snowmelt.sql.statements.changes import (
    RenameTo,
    SetColumnComment,
    SetOptions,
    SetSecure,
    SwapWith,
    UnsetOptions,
    refuse_governance,
)
from snowmelt.sql.statements.create_rules import CreateHead, CreateRule
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.heads import created_name, if_exists, object_name, refuse_tags
from snowmelt.sql.statements.kinds import annotation, declared, table_clause
from snowmelt.sql.statements.options import (
    Options,
    at_option,
    boolean,
    merged,
    name_reference,
    read_options,
    read_required_options,
    read_unset,
    text,
    whole,
)
from snowmelt.sql.tokens import SqlText


@dataclass(frozen=True, slots=True)
class ViewOptions(Options):
    change_tracking: Annotated[bool | None, boolean] = None
    contract: Annotated[NameRef | None, name_reference] = None
    contract_version: Annotated[int | None, whole] = None
    comment: Annotated[str | None, text] = None


@dataclass(frozen=True, slots=True)
class ViewColumn:
    name: str
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class CreateView(Statement):
    name: NameRef
    query: SqlText
    or_replace: bool = False
    if_not_exists: bool = False
    secure: bool = False
    temporary: bool = False
    recursive: bool = False
    columns: tuple[ViewColumn, ...] = ()
    """Empty: the query names them."""
    options: ViewOptions = ViewOptions()
    copy_grants: bool = False
    or_alter: bool = False
    annotations: tuple[Annotation, ...] = ()
    """What features say of it and of its columns."""


@dataclass(frozen=True, slots=True)
class AlterView(Statement):
    name: NameRef
    actions: tuple[Action, ...]
    if_exists: bool = False


def parse_create_view(cursor: TokenCursor, head: CreateHead) -> CreateView:
    name, guarded = created_name(cursor, head)
    columns: list[ViewColumn] = []
    said: list[Annotation] = []
    pieces: list[ViewOptions] = []
    copy_grants = False
    while not cursor.match("AS"):
        if cursor.at("(") and not columns:
            columns = _columns(cursor, said)
        elif cursor.match("COPY", "GRANTS"):
            copy_grants = True
        elif at_option(cursor):
            pieces.append(read_options(cursor, ViewOptions, head.kind))
        elif (one := declared(cursor)) is not None:
            said.append(one)
        else:
            refuse_tags(cursor, "VIEW")
            cursor.match("WITH")
            refuse_governance(cursor, "CREATE VIEW …")
            raise cursor.unexpected()
    recursive = "RECURSIVE" in head.modifiers
    if head.or_alter and (guarded or head.temporary):
        raise errors.unsupported("CREATE OR ALTER VIEW with IF NOT EXISTS or TEMPORARY")
    if said and head.or_alter:
        raise errors.unsupported("policies and tags in CREATE OR ALTER VIEW", hint="Put them on by ALTER VIEW.")
    return CreateView(
        name, cursor.rest(), head.or_replace, guarded, head.secure, head.temporary, recursive, tuple(columns),
        merged(ViewOptions, pieces), copy_grants, head.or_alter, tuple(said),
    )  # fmt: skip


def _columns(cursor: TokenCursor, said: list[Annotation]) -> list[ViewColumn]:
    cursor.expect("(")
    columns: list[ViewColumn] = []
    seen: set[str] = set()
    while not columns or cursor.match(","):
        name = cursor.identifier()
        if name in seen:
            raise errors.duplicate_column(name)
        seen.add(name)
        if (one := declared(cursor, name)) is not None:
            said.append(one)
        cursor.match("WITH")
        refuse_governance(cursor, "CREATE VIEW …")
        columns.append(ViewColumn(name, cursor.string() if cursor.match("COMMENT") else None))
    cursor.expect(")")
    return columns


def parse_alter_view(cursor: TokenCursor, kind: ObjectType) -> AlterView:
    guarded = if_exists(cursor)
    name = object_name(cursor, kind)
    return AlterView(name, _actions(cursor, kind), guarded)


def _actions(cursor: TokenCursor, kind: ObjectType) -> tuple[Action, ...]:
    verb = cursor.expect_any(("RENAME", "SWAP", "SET", "UNSET", "ALTER", "MODIFY", "ADD", "DROP"))
    clause = annotation(cursor, verb) if verb in ("SET", "UNSET") else table_clause(cursor, verb, view=True)
    if clause is not None:
        return (clause,)
    refuse_governance(cursor, f"ALTER {kind} … {verb}")
    if verb == "RENAME":
        cursor.expect("TO")
        return (RenameTo(object_name(cursor, kind)),)
    if verb == "SWAP":
        cursor.expect("WITH")
        return (SwapWith(object_name(cursor, kind)),)
    if verb in ("ALTER", "MODIFY"):
        actions: list[Action] = []
        while not actions or cursor.match(","):
            cursor.match("COLUMN")
            actions.append(_column_comment(cursor, cursor.identifier()))
        return tuple(actions)
    if verb in ("ADD", "DROP"):
        raise cursor.unexpected()
    if cursor.match("SECURE"):
        return (SetSecure(verb == "SET"),)
    if verb == "SET":
        return (SetOptions(read_required_options(cursor, ViewOptions, kind)),)
    return (UnsetOptions(read_unset(cursor, ViewOptions, kind)),)


def _column_comment(cursor: TokenCursor, column: str) -> Action:
    if cursor.match("UNSET"):
        if (clause := annotation(cursor, "UNSET", column)) is not None:
            return clause
        refuse_governance(cursor, "ALTER VIEW … UNSET")
        cursor.expect("COMMENT")
        return SetColumnComment(column, None)
    if cursor.match("SET"):
        if (clause := annotation(cursor, "SET", column)) is not None:
            return clause
        refuse_governance(cursor, "ALTER VIEW … SET")
    cursor.expect("COMMENT")
    return SetColumnComment(column, cursor.string())


CREATE_VIEW = CreateRule(
    parse_create_view,
    frozenset({"SECURE", "RECURSIVE", "LOCAL", "GLOBAL", "TEMP", "TEMPORARY", "VOLATILE"}),
    or_alter=True,
)
