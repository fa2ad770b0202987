"""CREATE CONNECTOR and ALTER CONNECTOR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from snowmelt.core import errors
from snowmelt.sql.statements.base import Action, CreateStatement, NameRef, ObjectType, Statement
from snowmelt.sql.statements.changes import SetOptions, UnsetOptions
from snowmelt.sql.statements.create_rules import CreateHead
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.heads import created_name, if_exists, object_name
from snowmelt.sql.statements.options import (
    CommentOption,
    Options,
    Outside,
    at_option,
    boolean,
    name_reference,
    one_of,
    read_options,
    read_required_options,
    read_unset,
    strings,
    tags,
    text,
    whole,
)
from snowmelt.sql.statements.warehouses import Resume, Suspend

SSL_MODES = ("DISABLE", "ALLOW", "PREFER", "REQUIRE", "VERIFY-CA", "VERIFY-FULL")
SNAPSHOT_READERS = ("AUTO", "DEBEZIUM")
SNAPSHOT_MODES = ("INITIAL", "INITIAL_ONLY", "NO_DATA", "WHEN_NEEDED")


@dataclass(frozen=True, slots=True)
class ConnectorOptions(Options):
    type: Annotated[str | None, one_of("POSTGRES", "POSTGRESQL", "MARIADB", "MYSQL")] = None
    host: Annotated[str | None, text, Outside.ADDRESS] = None
    port: Annotated[int | None, whole, Outside.ADDRESS] = None
    database: Annotated[str | None, text] = None
    user: Annotated[str | None, text] = None
    password_env: Annotated[str | None, text, Outside.VARIABLE] = None
    secret_file: Annotated[str | None, text, Outside.FILE] = None
    ssl_mode: Annotated[str | None, one_of(*SSL_MODES), Outside.ADDRESS] = None
    tables: Annotated[tuple[str, ...] | None, strings] = None
    slot: Annotated[str | None, text] = None
    publication: Annotated[str | None, text] = None
    server_id: Annotated[int | None, whole] = None
    snapshot_mode: Annotated[str | None, one_of(*SNAPSHOT_MODES)] = None
    snapshot_reader: Annotated[str | None, one_of(*SNAPSHOT_READERS)] = None
    target: Annotated[str | None, one_of("RAW", "MIRROR")] = None
    raw_table: Annotated[NameRef | None, name_reference] = None
    mirror_schema: Annotated[NameRef | None, name_reference] = None
    dead_letter_table: Annotated[NameRef | None, name_reference] = None
    deletes: Annotated[str | None, one_of("HARD", "SOFT")] = None
    capture_reads: Annotated[bool | None, boolean] = None
    slot_warning_mb: Annotated[int | None, whole] = None
    signal_table: Annotated[str | None, text] = None
    route: Annotated[str | None, one_of("EMBEDDED", "KAFKA")] = None
    bootstrap_servers: Annotated[str | None, text, Outside.ADDRESS] = None
    topic_prefix: Annotated[str | None, text] = None
    kafka_properties_file: Annotated[str | None, text, Outside.FILE] = None
    pii: Annotated[tuple[tuple[str, str], ...] | None, tags] = None
    initially_paused: Annotated[bool | None, boolean] = None
    comment: Annotated[str | None, text] = None


@dataclass(frozen=True, slots=True)
class AlterableOptions(Options):
    """What may change while the connector keeps its position in the source's log."""

    host: Annotated[str | None, text, Outside.ADDRESS] = None
    port: Annotated[int | None, whole, Outside.ADDRESS] = None
    user: Annotated[str | None, text] = None
    password_env: Annotated[str | None, text, Outside.VARIABLE] = None
    secret_file: Annotated[str | None, text, Outside.FILE] = None
    ssl_mode: Annotated[str | None, one_of(*SSL_MODES), Outside.ADDRESS] = None
    tables: Annotated[tuple[str, ...] | None, strings] = None
    snapshot_mode: Annotated[str | None, one_of(*SNAPSHOT_MODES)] = None
    snapshot_reader: Annotated[str | None, one_of(*SNAPSHOT_READERS)] = None
    slot_warning_mb: Annotated[int | None, whole] = None
    bootstrap_servers: Annotated[str | None, text, Outside.ADDRESS] = None
    kafka_properties_file: Annotated[str | None, text, Outside.FILE] = None
    comment: Annotated[str | None, text] = None


@dataclass(frozen=True, slots=True)
class CreateConnector(CreateStatement):
    options: ConnectorOptions
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class TakeSnapshot(Action):
    """Read tables anew while their changes go on."""

    tables: tuple[str, ...]
    """All of the connector's when empty."""


@dataclass(frozen=True, slots=True)
class AlterConnector(Statement):
    name: NameRef
    action: Action
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class CheckConnector(Statement):
    """Ask the source whether it has everything that the connector needs."""

    name: NameRef


@dataclass(frozen=True, slots=True)
class ConfigureConnector(Statement):
    """Say what Kafka Connect has to be told, so that the connector's topics are filled."""

    name: NameRef


def parse_create_connector(cursor: TokenCursor, head: CreateHead) -> CreateConnector:
    name, guarded = created_name(cursor, head)
    _refuse_password(cursor)
    options = read_options(cursor, ConnectorOptions, head.kind, extra=("PASSWORD",))
    _refuse_password(cursor)
    return CreateConnector(name, options, head.or_replace, guarded)


def parse_alter_connector(
    cursor: TokenCursor, kind: ObjectType
) -> AlterConnector | CheckConnector | ConfigureConnector:
    guarded = if_exists(cursor)
    name = object_name(cursor, kind)
    match cursor.expect_any(("PAUSE", "SUSPEND", "RESUME", "SNAPSHOT", "CHECK", "CONFIG", "SET", "UNSET")):
        case "PAUSE" | "SUSPEND":
            return AlterConnector(name, Suspend(), guarded)
        case "RESUME":
            return AlterConnector(name, Resume(), guarded)
        case "SNAPSHOT":
            tables = strings(cursor, "TABLES") if cursor.match("TABLES") else ()
            return AlterConnector(name, TakeSnapshot(tables), guarded)
        case "CHECK":
            return CheckConnector(name)
        case "CONFIG":
            return ConfigureConnector(name)
        case "SET":
            _refuse_password(cursor)
            return AlterConnector(name, SetOptions(read_required_options(cursor, AlterableOptions, kind)), guarded)
    return AlterConnector(name, UnsetOptions(read_unset(cursor, CommentOption, kind)), guarded)


def _refuse_password(cursor: TokenCursor) -> None:
    if at_option(cursor) and cursor.peek().word == "PASSWORD":
        raise errors.unsupported(
            "PASSWORD in CREATE CONNECTOR",
            hint="SQL text is kept in histories. Name an environment variable with PASSWORD_ENV, or a file with "
            "SECRET_FILE, on the machine where Snowmelt runs.",
        )
