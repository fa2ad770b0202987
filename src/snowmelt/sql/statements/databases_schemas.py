"""CREATE and ALTER of databases and schemas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from snowmelt.core import errors
from snowmelt.sql.statements.base import Action, Annotation, CloneSource, NameRef, ObjectType, Statement
from snowmelt.sql.statements.changes import RenameTo, SetOptions, SwapWith, UnsetOptions
from snowmelt.sql.statements.create_rules import CreateHead, CreateRule
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.heads import clone_source, created_name, if_exists, object_name
from snowmelt.sql.statements.kinds import annotation, declared_of_container
from snowmelt.sql.statements.options import (
    NO_COLLATION,
    Options,
    WithoutEffect,
    no_collation,
    only_default,
    read_options,
    read_required_options,
    read_unset,
    text,
    whole,
    word,
)


@dataclass(frozen=True, slots=True)
class ContainerOptions(Options):
    """Options of a database or schema."""

    data_retention_time_in_days: Annotated[int | None, whole] = None
    max_data_extension_time_in_days: Annotated[int | None, whole] = None
    default_ddl_collation: Annotated[str | None, no_collation, NO_COLLATION] = None
    replace_invalid_characters: Annotated[
        bool | None,
        only_default(False),
        WithoutEffect("only FALSE is accepted, which is the default; file formats have the option"),
    ] = None
    log_level: Annotated[str | None, word, WithoutEffect("kept and shown; there is no event table")] = None
    trace_level: Annotated[str | None, word, WithoutEffect("kept and shown; there is no event table")] = None
    comment: Annotated[str | None, text] = None


@dataclass(frozen=True, slots=True)
class SetManagedAccess(Action):
    managed: bool


@dataclass(frozen=True, slots=True)
class CreateDatabase(Statement):
    name: NameRef
    or_replace: bool = False
    if_not_exists: bool = False
    transient: bool = False
    options: ContainerOptions = ContainerOptions()
    clone: CloneSource | None = None
    said: tuple[Annotation, ...] = ()
    """What features say of it; not of what it has, where it is a clone."""


@dataclass(frozen=True, slots=True)
class CreateSchema(Statement):
    name: NameRef
    or_replace: bool = False
    if_not_exists: bool = False
    transient: bool = False
    managed_access: bool = False
    options: ContainerOptions = ContainerOptions()
    clone: CloneSource | None = None
    said: tuple[Annotation, ...] = ()
    """What features say of it; not of what it has, where it is a clone."""


@dataclass(frozen=True, slots=True)
class AlterDatabase(Statement):
    name: NameRef
    action: Action
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterSchema(Statement):
    name: NameRef
    action: Action
    if_exists: bool = False


def parse_create_database(cursor: TokenCursor, head: CreateHead) -> CreateDatabase:
    name, guarded = created_name(cursor, head)
    if cursor.at("FROM") or cursor.at("AS", "REPLICA"):
        raise errors.unsupported(f"CREATE DATABASE … {cursor.peek().word}")
    clone = clone_source(cursor, head.kind)
    options, said = _options(cursor, "DATABASE")
    return CreateDatabase(name, head.or_replace, guarded, head.transient, options, clone, said)


def parse_create_schema(cursor: TokenCursor, head: CreateHead) -> CreateSchema:
    name, guarded = created_name(cursor, head)
    clone = clone_source(cursor, head.kind)
    managed = cursor.match("WITH", "MANAGED", "ACCESS")
    options, said = _options(cursor, "SCHEMA")
    return CreateSchema(name, head.or_replace, guarded, head.transient, managed, options, clone, said)


def _options(cursor: TokenCursor, kind: str) -> tuple[ContainerOptions, tuple[Annotation, ...]]:
    said = declared_of_container(cursor)
    options = read_options(cursor, ContainerOptions, kind)
    return options, (*said, *declared_of_container(cursor))


def parse_alter_database(cursor: TokenCursor, kind: ObjectType) -> AlterDatabase:
    guarded = if_exists(cursor)
    name = object_name(cursor, kind)
    return AlterDatabase(name, _action(cursor, kind), guarded)


def parse_alter_schema(cursor: TokenCursor, kind: ObjectType) -> AlterSchema:
    guarded = if_exists(cursor)
    name = object_name(cursor, kind)
    if kind is ObjectType.SCHEMA and cursor.at_any(("ENABLE", "DISABLE")):
        enable = cursor.advance().word == "ENABLE"
        cursor.expect("MANAGED", "ACCESS")
        return AlterSchema(name, SetManagedAccess(enable), guarded)
    return AlterSchema(name, _action(cursor, kind), guarded)


def _action(cursor: TokenCursor, kind: ObjectType) -> Action:
    if cursor.match("RENAME", "TO"):
        return RenameTo(object_name(cursor, kind))
    if cursor.match("SWAP", "WITH"):
        return SwapWith(object_name(cursor, kind))
    verb = cursor.expect_any(("SET", "UNSET"))
    if (clause := annotation(cursor, verb)) is not None:
        return clause
    if verb == "SET":
        return SetOptions(read_required_options(cursor, ContainerOptions, kind))
    return UnsetOptions(read_unset(cursor, ContainerOptions, kind))


CREATE_DATABASE = CreateRule(parse_create_database, frozenset({"TRANSIENT"}))
CREATE_SCHEMA = CreateRule(parse_create_schema, frozenset({"TRANSIENT"}))
