"""A PostgreSQL as a source: how Debezium is told to read it, what it lacks for that, and how its slot stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import URL, Connection, text

from snowmelt.ingest.cdc.findings import (
    CONNECT_SECONDS,
    LOG,
    FindingStatus,
    LogStatus,
    SourceFinding,
    findings_of,
    one_row,
    opened,
    put_signal,
)
from snowmelt.ingest.cdc.sources import CapturedSource

JARS = "snowmelt.ingest.cdc"
KEEPS_HISTORY = False
_OLDEST = 13


def properties(source: CapturedSource) -> dict[str, str]:
    """What Debezium has to be told beside what it is told of every source."""
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "plugin.name": "pgoutput",
        "database.dbname": source.database,
        "database.sslmode": source.ssl_mode,
        "slot.name": source.slot,
        "publication.name": source.publication,
        "publication.autocreate.mode": "filtered",
        "time.precision.mode": "isostring",
        "interval.handling.mode": "string",
        "hstore.handling.mode": "json",
        "include.unknown.datatypes": "true",
    }


@contextmanager
def connected(source: CapturedSource) -> Iterator[Connection]:
    url = URL.create(
        "postgresql+psycopg", source.user, source.password(), source.host, source.port, source.database,
        {"sslmode": source.ssl_mode},
    )  # fmt: skip
    with opened(url, {"connect_timeout": CONNECT_SECONDS, "application_name": "snowmelt"}) as connection:
        yield connection


def check(source: CapturedSource) -> list[SourceFinding]:
    """Everything that can be found out about the source. Never raises for a source that is not as it should be."""

    def ask() -> list[SourceFinding]:
        with connected(source) as connection:
            return list(_findings(connection, source))

    return findings_of(source, ask)


def _findings(connection: Connection, source: CapturedSource) -> Iterator[SourceFinding]:
    version = int(_setting(connection, "server_version_num")) // 10000
    if version < _OLDEST:
        detail = f"It is PostgreSQL {version}; 13 or newer is needed, and 15 or newer is what is tested."
        yield SourceFinding("version", FindingStatus.MISSING, detail)
    else:
        yield SourceFinding("version", FindingStatus.OK, f"PostgreSQL {version}")
    yield from _server(connection, source)
    yield from _role(connection, source)
    yield from _slot(connection, source)
    for table in source.tables:
        yield from _table(connection, source, table)
    yield from _publication(connection, source)
    yield from _signals(connection, source)


def log_status(source: CapturedSource, offset: Mapping[str, Any] | None) -> LogStatus:
    """How the slot stands; it knows itself how far the connector is."""
    with connected(source) as connection:
        row = one_row(
            connection,
            "SELECT wal_status, pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint AS kept"
            " FROM pg_replication_slots WHERE slot_name = :slot",
            slot=source.slot,
        )
    name = f"slot {source.slot}"
    if row is None:
        return LogStatus(name, exists=False)
    return LogStatus(name, exists=True, lost=row["wal_status"] == "lost", kept_bytes=row["kept"])


def forget_log(source: CapturedSource) -> None:
    """Lets the source forget what it kept for the connector. Nothing happens when there is no such slot."""
    with connected(source) as connection:
        statement = (
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
            " WHERE slot_name = :slot AND NOT active"
        )
        connection.execute(text(statement), {"slot": source.slot})


def send_signal(source: CapturedSource, identifier: str, data: str) -> None:
    """Orders an incremental snapshot through the source's signal table."""
    assert source.signal_table is not None
    with connected(source) as connection:
        put_signal(connection, _named(source.signal_table), identifier, data)


# -- the server -------------------------------------------------------------------------------------------------------


def _server(connection: Connection, source: CapturedSource) -> Iterator[SourceFinding]:
    level = _setting(connection, "wal_level")
    if level == "logical":
        yield SourceFinding("wal_level", FindingStatus.OK, "logical")
    else:
        remedy = "ALTER SYSTEM SET wal_level = 'logical'; -- then restart the server"
        yield SourceFinding("wal_level", FindingStatus.MISSING, f"It is {level}, and must be logical.", remedy)
    used = "SELECT count(*) AS n FROM pg_replication_slots WHERE slot_name <> :slot"
    yield _room(connection, "max_replication_slots", _count(connection, used, slot=source.slot))
    senders = "SELECT count(*) AS n FROM pg_stat_replication WHERE application_name <> 'Debezium Streaming'"
    yield _room(connection, "max_wal_senders", _count(connection, senders))
    keep = _setting(connection, "max_slot_wal_keep_size")
    if keep == "-1":
        yield SourceFinding(
            "max_slot_wal_keep_size",
            FindingStatus.WARNING,
            "There is no limit: while the connector is down, the source's log grows until its disk is full.",
            "ALTER SYSTEM SET max_slot_wal_keep_size = '20GB'; SELECT pg_reload_conf();",
        )
    else:
        yield SourceFinding("max_slot_wal_keep_size", FindingStatus.OK, keep)


def _room(connection: Connection, setting: str, used: int) -> SourceFinding:
    limit = int(_setting(connection, setting))
    if used < limit:
        return SourceFinding(setting, FindingStatus.OK, f"{used} of {limit} in use")
    remedy = f"ALTER SYSTEM SET {setting} = {limit + 5}; -- then restart the server"
    return SourceFinding(setting, FindingStatus.MISSING, f"All {limit} are in use.", remedy)


def _role(connection: Connection, source: CapturedSource) -> Iterator[SourceFinding]:
    row = one_row(
        connection,
        "SELECT rolsuper OR rolreplication OR EXISTS (SELECT 1 FROM pg_roles r WHERE r.rolname = 'rds_replication'"
        " AND pg_has_role(current_user, r.oid, 'MEMBER')) AS may FROM pg_roles WHERE rolname = current_user",
    )
    if row is not None and row["may"]:
        yield SourceFinding("replication privilege", FindingStatus.OK, source.user)
    else:
        remedy = f"ALTER ROLE {_quoted(source.user)} REPLICATION;"
        yield SourceFinding("replication privilege", FindingStatus.MISSING, f"{source.user} may not replicate.", remedy)


def _slot(connection: Connection, source: CapturedSource) -> Iterator[SourceFinding]:
    row = one_row(
        connection,
        "SELECT plugin, database, wal_status FROM pg_replication_slots WHERE slot_name = :slot",
        slot=source.slot,
    )
    if row is None:
        yield SourceFinding(LOG, FindingStatus.OK, f"{source.slot} will be created.")
        return
    drop = f"SELECT pg_drop_replication_slot('{source.slot}');"
    if row["plugin"] != "pgoutput" or row["database"] != source.database:
        detail = f"{source.slot} is for {row['plugin']} in the database {row['database']}."
        yield SourceFinding(LOG, FindingStatus.MISSING, detail, f"{drop} -- or name another slot")
    elif row["wal_status"] == "lost":
        detail = f"{source.slot} is lost: the source has thrown away what it still needed."
        yield SourceFinding(LOG, FindingStatus.MISSING, detail, drop)
    else:
        yield SourceFinding(LOG, FindingStatus.OK, f"{source.slot} is there ({row['wal_status']}).")


# -- tables -----------------------------------------------------------------------------------------------------------


def _table(connection: Connection, source: CapturedSource, table: str) -> Iterator[SourceFinding]:
    schema, _, name = table.partition(".")
    row = one_row(
        connection,
        "SELECT c.relreplident AS identity, has_table_privilege(c.oid, 'SELECT') AS readable,"
        " has_schema_privilege(n.oid, 'USAGE') AS reachable,"
        " EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary) AS keyed"
        " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = :schema AND c.relname = :name AND c.relkind IN ('r', 'p')",
        schema=schema,
        name=name,
    )
    check, user = f"table {table}", _quoted(source.user)
    if row is None:
        yield SourceFinding(check, FindingStatus.MISSING, "There is no such table.")
        return
    if not row["reachable"]:
        remedy = f"GRANT USAGE ON SCHEMA {_quoted(schema)} TO {user};"
        yield SourceFinding(check, FindingStatus.MISSING, "Its schema may not be used.", remedy)
    if not row["readable"]:
        remedy = f"GRANT SELECT ON {_named(table)} TO {user};"
        yield SourceFinding(check, FindingStatus.MISSING, "It may not be read.", remedy)
    yield _identity(table, row)


def _identity(table: str, row: Mapping[Any, Any]) -> SourceFinding:
    check = f"replica identity of {table}"
    remedy = f"ALTER TABLE {_named(table)} REPLICA IDENTITY FULL;"
    match row["identity"], row["keyed"]:
        case "f", _:
            return SourceFinding(check, FindingStatus.OK, "full")
        case "i", _:
            return SourceFinding(check, FindingStatus.OK, "an index")
        case "d", True:
            detail = (
                "The primary key: `before` is empty in updates and holds the key alone in deletes, and large values "
                "that an update leaves alone are not in the log (mirrors keep what they have)."
            )
            return SourceFinding(check, FindingStatus.WARNING, detail, remedy)
    return SourceFinding(
        check, FindingStatus.MISSING, "Nothing identifies its rows: updates and deletes would be refused.", remedy
    )


def _publication(connection: Connection, source: CapturedSource) -> Iterator[SourceFinding]:
    name = _quoted(source.publication)
    row = one_row(
        connection,
        "SELECT pubinsert AND pubupdate AND pubdelete AND pubtruncate AS whole FROM pg_publication"
        " WHERE pubname = :name",
        name=source.publication,
    )
    if row is None:
        if _may_publish(connection, source.tables):
            yield SourceFinding("publication", FindingStatus.OK, f"{source.publication} will be created.")
        else:
            detail = f"There is no publication {source.publication}, and {source.user} may not create it."
            listed = ", ".join(_named(table) for table in source.tables)
            yield SourceFinding(
                "publication", FindingStatus.MISSING, detail, f"CREATE PUBLICATION {name} FOR TABLE {listed};"
            )
        return
    query = "SELECT schemaname || '.' || tablename AS name FROM pg_publication_tables WHERE pubname = :name"
    published = set(connection.execute(text(query), {"name": source.publication}).scalars())
    wanted = (*source.tables, *([source.signal_table] if source.signal_table is not None else []))
    absent = [table for table in wanted if table not in published]
    if absent:
        detail = f"{source.publication} does not have {', '.join(absent)}."
        listed = ", ".join(_named(table) for table in absent)
        yield SourceFinding(
            "publication", FindingStatus.MISSING, detail, f"ALTER PUBLICATION {name} ADD TABLE {listed};"
        )
    elif not row["whole"]:
        remedy = f"ALTER PUBLICATION {name} SET (publish = 'insert, update, delete, truncate');"
        yield SourceFinding(
            "publication", FindingStatus.MISSING, f"{source.publication} leaves kinds of changes out.", remedy
        )
    else:
        yield SourceFinding("publication", FindingStatus.OK, source.publication)


def _may_publish(connection: Connection, tables: Sequence[str]) -> bool:
    """A publication is made by whoever may create in the database and owns the tables."""
    row = one_row(
        connection,
        "SELECT has_database_privilege(current_database(), 'CREATE') AS may, count(*) AS owned FROM pg_class c"
        " JOIN pg_namespace s ON s.oid = c.relnamespace"
        " WHERE s.nspname || '.' || c.relname = ANY(:tables) AND pg_has_role(c.relowner, 'USAGE')",
        tables=list(tables),
    )
    return row is not None and bool(row["may"]) and row["owned"] == len(tables)


def _signals(connection: Connection, source: CapturedSource) -> Iterator[SourceFinding]:
    if source.signal_table is None:
        return
    row = one_row(connection, "SELECT to_regclass(:name) IS NOT NULL AS there", name=_named(source.signal_table))
    if row is not None and row["there"]:
        yield SourceFinding("signal table", FindingStatus.OK, source.signal_table)
    else:
        columns = "id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048)"
        remedy = f"CREATE TABLE {_named(source.signal_table)} ({columns});"
        yield SourceFinding("signal table", FindingStatus.MISSING, f"There is no table {source.signal_table}.", remedy)


# -- small things -----------------------------------------------------------------------------------------------------


def _setting(connection: Connection, name: str) -> str:
    row = one_row(connection, "SELECT current_setting(:name, true) AS value", name=name)
    return str(row["value"]) if row is not None and row["value"] is not None else "-1"


def _count(connection: Connection, query: str, **values: Any) -> int:
    row = one_row(connection, query, **values)
    return int(row["n"]) if row is not None else 0


def _quoted(name: str) -> str:
    """An identifier as PostgreSQL takes it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def _named(table: str) -> str:
    return ".".join(_quoted(part) for part in table.split("."))
