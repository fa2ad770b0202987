"""CREATE and ALTER CONNECTOR: what a statement says, as a definition; and a definition, as a source."""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, SchemaName
from snowmelt.features.connectors.definitions import (
    ConnectorDefinition,
    ConnectorTarget,
    Deletes,
    Route,
    SnapshotReader,
)
from snowmelt.features.connectors.statements import AlterableOptions, ConnectorOptions
from snowmelt.govern.pii.strategies import parse_strategy
from snowmelt.ingest.cdc.debezium import TOPIC_PREFIX
from snowmelt.ingest.cdc.kafka.topics import Topics
from snowmelt.ingest.cdc.sources import CapturedSource, SourceType
from snowmelt.runtime import protecting
from snowmelt.runtime.metadata.scopes import existing_schema
from snowmelt.sql.statements.base import NameRef
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account
    from snowmelt.runtime.run import Run

_REQUIRED = ("TYPE", "HOST", "DATABASE", "USER", "TABLES")
_MEGABYTE = 1024 * 1024
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,150}")
"""What Kafka allows in the name of a topic."""
_SLOT = re.compile(r"[a-z0-9_]{1,63}")
"""What PostgreSQL allows as the name of a slot."""
_PORTS = {SourceType.POSTGRES: 5432, SourceType.MARIADB: 3306, SourceType.MYSQL: 3306}
_SERVER_IDS = range(1_000_000_000, 2_000_000_000)
"""Server ids under which connectors read a log, one for each: far from those that people give their servers."""


def definition_of(run: Run, name: ObjectName, options: ConnectorOptions) -> ConnectorDefinition:
    """Everything that can be checked without asking the source is checked."""
    given = options.given()
    missing = [name for name in _REQUIRED if not given.get(name)]
    if missing:
        raise errors.missing_options(missing)
    assert options.type is not None
    kind = SourceType.POSTGRES if options.type == "POSTGRESQL" else SourceType(options.type)
    _check_kind(options, kind)
    target = ConnectorTarget(options.target or ConnectorTarget.RAW)
    _check_target(options, target)
    route = _checked_route(options)
    _check_secret(options)
    assert options.host is not None and options.database is not None and options.user is not None
    return ConnectorDefinition(
        type=kind,
        host=options.host,
        port=options.port or _PORTS[kind],
        database=options.database,
        user=options.user,
        password_env=options.password_env,
        secret_file=options.secret_file,
        ssl_mode=(options.ssl_mode or "PREFER").lower(),
        tables=checked_tables(options.tables or (), kind, options.database),
        **_log_reader(name, options, kind),
        snapshot_mode=options.snapshot_mode or "INITIAL",
        snapshot_reader=SnapshotReader(options.snapshot_reader or SnapshotReader.AUTO),
        target=target,
        raw_table=_raw_table(run, name, options) if target is ConnectorTarget.RAW else None,
        mirror_schema=_mirror_schema(run, name, options) if target is ConnectorTarget.MIRROR else None,
        dead_letters=(
            run.object_name(options.dead_letter_table)
            if options.dead_letter_table is not None
            else ObjectName(name.database, name.schema, f"{name.name}_DEAD_LETTERS")
        ),
        deletes=Deletes(options.deletes or Deletes.HARD),
        capture_reads=options.capture_reads is not False,
        slot_warning_bytes=(options.slot_warning_mb or 1024) * _MEGABYTE,
        signal_table=(
            checked_tables((options.signal_table,), kind, options.database)[0] if options.signal_table else None
        ),
        route=route,
        bootstrap_servers=options.bootstrap_servers,
        topic_prefix=options.topic_prefix or (default_slot(name) if route is Route.KAFKA else TOPIC_PREFIX),
        kafka_properties_file=options.kafka_properties_file,
        pii=tuple((column, parse_strategy(word).value) for column, word in options.pii or ()),
    )


def _check_kind(options: ConnectorOptions, kind: SourceType) -> None:
    """PostgreSQL has slots and publications, the others have numbered servers; Kafka is PostgreSQL's route alone."""
    given = options.given()
    foreign = ("SERVER_ID",) if kind is SourceType.POSTGRES else ("SLOT", "PUBLICATION")
    for option in foreign:
        if option in given:
            raise errors.unsupported(f"{option} with TYPE = {kind}")
    if kind is not SourceType.POSTGRES and options.route == Route.KAFKA:
        raise errors.unsupported(f"ROUTE = KAFKA with TYPE = {kind}", hint="It is captured by the embedded engine.")


def _log_reader(name: ObjectName, options: ConnectorOptions, kind: SourceType) -> dict[str, Any]:
    """The server id or slot with which the connector reads the source's log."""
    if kind is not SourceType.POSTGRES:
        known = zlib.crc32(str(name).encode()) % len(_SERVER_IDS)
        return {"server_id": options.server_id or _SERVER_IDS[known]}
    slot = options.slot or default_slot(name)
    if _SLOT.fullmatch(slot) is None:
        raise errors.invalid_value(slot, "SLOT")
    return {"slot": slot, "publication": options.publication or slot}


def changes_of(options: AlterableOptions, definition: ConnectorDefinition) -> dict[str, Any]:
    """What ALTER … SET changes of the definition."""
    given = options.given()
    given.pop("COMMENT", None)
    changes: dict[str, Any] = {name.lower(): value for name, value in given.items()}
    if "tables" in changes:
        changes["tables"] = checked_tables(changes["tables"], definition.type, definition.database)
    if "ssl_mode" in changes:
        changes["ssl_mode"] = changes["ssl_mode"].lower()
    if "snapshot_reader" in changes:
        changes["snapshot_reader"] = SnapshotReader(changes["snapshot_reader"])
    if "slot_warning_mb" in changes:
        changes["slot_warning_bytes"] = changes.pop("slot_warning_mb") * _MEGABYTE
    if options.password_env is not None or options.secret_file is not None:
        _check_secret(options)
        changes |= {"password_env": options.password_env, "secret_file": options.secret_file}
    return changes


def source_of(account: Account, definition: ConnectorDefinition) -> CapturedSource:
    return CapturedSource(
        type=definition.type,
        host=definition.host,
        port=definition.port,
        database=definition.database,
        user=definition.user,
        tables=definition.tables,
        slot=definition.slot,
        publication=definition.publication,
        server_id=definition.server_id,
        snapshot_mode=definition.snapshot_mode,
        ssl_mode=definition.ssl_mode,
        password_env=definition.password_env,
        secret_file=definition.secret_file,
        signal_table=definition.signal_table,
        protected=protecting.of(account),
    )


def topics_of(account: Account, definition: ConnectorDefinition) -> Topics:
    """Only of connectors whose route is through Kafka."""
    if definition.bootstrap_servers is None:
        raise errors.unsupported(
            "CONFIG of a connector without a broker", hint="It is for connectors with ROUTE = KAFKA."
        )
    return Topics(
        bootstrap_servers=definition.bootstrap_servers,
        prefix=definition.topic_prefix,
        tables=definition.tables,
        properties_file=definition.kafka_properties_file,
        protected=protecting.of(account),
    )


def _checked_route(options: ConnectorOptions) -> Route:
    """Kafka has to be somewhere; the other options of its route mean nothing without it."""
    route = Route(options.route or Route.EMBEDDED)
    if route is Route.KAFKA:
        if not options.bootstrap_servers:
            raise errors.missing_options(["BOOTSTRAP_SERVERS"])
        if options.topic_prefix is not None and _TOPIC.fullmatch(options.topic_prefix) is None:
            raise errors.invalid_value(options.topic_prefix, "TOPIC_PREFIX")
        return route
    for option in ("BOOTSTRAP_SERVERS", "TOPIC_PREFIX", "KAFKA_PROPERTIES_FILE"):
        if option in options.given():
            raise errors.unsupported(f"{option} with ROUTE = {route}")
    return route


def default_slot(name: ObjectName) -> str:
    return "snowmelt_" + re.sub(r"[^a-z0-9_]", "_", name.name.lower())[:50]


def checked_tables(tables: tuple[str, ...], kind: SourceType, database: str) -> tuple[str, ...]:
    """`schema.table` each; a bare name is one of the schema public, or of the database where there are no schemas."""
    found: list[str] = []
    for written in tables:
        full = written if "." in written else f"{'public' if kind is SourceType.POSTGRES else database}.{written}"
        if full.count(".") != 1 or full.startswith(".") or full.endswith(".") or "," in full:
            raise errors.invalid_value(written, "TABLES")
        found.append(full)
    return tuple(dict.fromkeys(found))


def check_schemas(run: Run, state: StateReader, definition: ConnectorDefinition) -> None:
    """The schemas that the connector writes to are there."""
    existing_schema(state, definition.dead_letters)
    if definition.raw_table is not None:
        existing_schema(state, definition.raw_table)
    mirrors = definition.mirror_schema
    if mirrors is not None and state.catalog.schema(mirrors) is None:
        raise errors.not_found("Schema", str(mirrors))


def _check_target(options: ConnectorOptions, target: ConnectorTarget) -> None:
    mirrors = target is ConnectorTarget.MIRROR
    wrong_target = {
        "RAW_TABLE": mirrors and options.raw_table is not None,
        "CAPTURE_READS": mirrors and options.capture_reads is not None,
        "MIRROR_SCHEMA": not mirrors and options.mirror_schema is not None,
        "DELETES": not mirrors and options.deletes is not None,
    }
    for option, wrong in wrong_target.items():
        if wrong:
            raise errors.unsupported(f"{option} with TARGET = {target}")


def _check_secret(options: ConnectorOptions | AlterableOptions) -> None:
    if options.password_env is not None and options.secret_file is not None:
        raise errors.unsupported("PASSWORD_ENV and SECRET_FILE together", hint="Name one of them.")


def _raw_table(run: Run, name: ObjectName, options: ConnectorOptions) -> ObjectName:
    if options.raw_table is not None:
        return run.object_name(options.raw_table)
    return ObjectName(name.database, name.schema, "RAW_CHANGES")


def _mirror_schema(run: Run, name: ObjectName, options: ConnectorOptions) -> SchemaName:
    written: NameRef | None = options.mirror_schema
    return name.parent if written is None else run.schema_name(written)
