"""CREATE CONTRACT and ALTER CONTRACT."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Annotated

from snowmelt.core import errors
from snowmelt.features.loading.stage_statements import Location, location
from snowmelt.sql.statements.base import Action, CreateStatement, NameRef, ObjectType, Statement
from snowmelt.sql.statements.changes import RenameTo, SetOptions, UnsetOptions
from snowmelt.sql.statements.create_rules import CreateHead
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.heads import created_name, if_exists, object_name
from snowmelt.sql.statements.options import (
    CommentOption,
    Options,
    merged,
    one_of,
    read_options,
    read_required_options,
    read_unset,
    strings,
    text,
    whole,
)


@dataclass(frozen=True, slots=True)
class ContractSource:
    """Where a document comes from: exactly one of these."""

    text: str | None = None
    location: Location | None = None
    table: NameRef | None = None
    """A document is made that this table or view satisfies."""


@dataclass(frozen=True, slots=True)
class ContractOptions(Options):
    compatibility: Annotated[str | None, one_of("BACKWARD", "FORWARD", "FULL", "NONE")] = None
    comment: Annotated[str | None, text] = None


@dataclass(frozen=True, slots=True)
class ConsumerOptions(Options):
    contact: Annotated[str | None, text] = None
    version: Annotated[int | None, whole] = None
    columns: Annotated[tuple[str, ...] | None, strings] = None
    comment: Annotated[str | None, text] = None


@dataclass(frozen=True, slots=True)
class CreateContract(CreateStatement):
    source: ContractSource
    options: ContractOptions
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class AddVersion(Action):
    source: ContractSource


@dataclass(frozen=True, slots=True)
class SetSunset(Action):
    """After that day the versions of a major number are promised no more."""

    major: int
    day: date | None


@dataclass(frozen=True, slots=True)
class DropVersion(Action):
    major: int


@dataclass(frozen=True, slots=True)
class AddConsumer(Action):
    name: str
    options: ConsumerOptions


@dataclass(frozen=True, slots=True)
class DropConsumer(Action):
    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterContract(Statement):
    name: NameRef
    action: Action
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class CheckContract(Statement):
    """Whether the tables that a contract is attached to satisfy it."""

    name: NameRef


def parse_create_contract(cursor: TokenCursor, head: CreateHead) -> CreateContract:
    name, guarded = created_name(cursor, head)
    before = read_options(cursor, ContractOptions, head.kind)
    source = _source(cursor)
    options = merged(ContractOptions, [before, read_options(cursor, ContractOptions, head.kind)])
    return CreateContract(name, source, options, head.or_replace, guarded)


def _source(cursor: TokenCursor) -> ContractSource:
    if cursor.match("AS"):
        return ContractSource(text=cursor.string())
    cursor.expect("FROM")
    if cursor.match_any(("TABLE", "VIEW")) is not None or cursor.match("DYNAMIC", "TABLE"):
        return ContractSource(table=cursor.name())
    return ContractSource(location=location(cursor))


def parse_alter_contract(cursor: TokenCursor, kind: ObjectType) -> AlterContract | CheckContract:
    guarded = if_exists(cursor)
    name = object_name(cursor, kind)
    if cursor.match("CHECK"):
        return CheckContract(name)
    return AlterContract(name, _action(cursor, kind), guarded)


def _action(cursor: TokenCursor, kind: ObjectType) -> Action:
    match cursor.expect_any(("ADD", "MODIFY", "DROP", "RENAME", "SET", "UNSET")):
        case "ADD":
            if cursor.match("VERSION"):
                return AddVersion(_source(cursor))
            cursor.expect("CONSUMER")
            return AddConsumer(cursor.identifier(), read_options(cursor, ConsumerOptions, kind))
        case "MODIFY":
            cursor.expect("VERSION")
            return _sunset(cursor)
        case "DROP":
            if cursor.match("VERSION"):
                return DropVersion(_major(cursor))
            cursor.expect("CONSUMER")
            guarded = if_exists(cursor)
            return DropConsumer(cursor.identifier(), guarded)
        case "RENAME":
            cursor.expect("TO")
            return RenameTo(object_name(cursor, kind))
        case "SET":
            return SetOptions(read_required_options(cursor, ContractOptions, kind))
    return UnsetOptions(read_unset(cursor, CommentOption, kind))


def _major(cursor: TokenCursor) -> int:
    return whole(cursor, "VERSION")


def _sunset(cursor: TokenCursor) -> SetSunset:
    major = _major(cursor)
    if cursor.match("UNSET", "SUNSET"):
        return SetSunset(major, None)
    cursor.expect("SET", "SUNSET", "=")
    written = cursor.string()
    try:
        return SetSunset(major, date.fromisoformat(written))
    except ValueError:
        raise errors.invalid_value(written, "SUNSET") from None
