"""What a source database lacks for its changes to be captured, and the SQL that mends it.

Every finding is the answer to one question. Those that say MISSING keep the connector from working; a WARNING says what
will be different from what one may expect.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from snowmelt.ingest.cdc.sources import Source

_CONNECT_SECONDS = 10
_OLDEST = 130000
Connection = psycopg.Connection[dict[str, Any]]


class Status(StrEnum):
    OK = "OK"
    WARNING = "WARNING"
    MISSING = "MISSING"


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    status: Status
    detail: str
    remedy: str = ""
    """SQL for an administrator of the source; empty when nothing is to be done, or nothing in SQL."""


@dataclass(frozen=True, slots=True)
class SlotStatus:
    """How a slot stands in the source."""

    exists: bool
    lost: bool = False
    """The source has thrown away what the slot still needed."""
    kept_bytes: int | None = None


def connect(source: Source) -> Connection:
    return psycopg.connect(
        host=source.host, port=source.port, dbname=source.database, user=source.user, password=source.password(),
        sslmode=source.ssl_mode, connect_timeout=_CONNECT_SECONDS, autocommit=True, row_factory=dict_row,
        application_name="snowmelt",
    )  # fmt: skip


def check(source: Source) -> list[Finding]:
    """Everything that can be found out about the source. Never raises for a source that is not as it should be."""
    try:
        connection = connect(source)
    except psycopg.OperationalError as error:
        where = f"{source.user}@{source.host}:{source.port}/{source.database}"
        return [Finding("connection", Status.MISSING, f"{where}: {_first_line(error)}")]
    with connection:
        return [
            Finding("connection", Status.OK, f"PostgreSQL {connection.info.server_version // 10000}"),
            *_server(connection, source),
            *_role(connection, source),
            *_slot(connection, source),
            *(finding for table in source.tables for finding in _table(connection, source, table)),
            *_publication(connection, source),
            *_signals(connection, source),
        ]


def slot_status(connection: Connection, slot: str) -> SlotStatus:
    row = connection.execute(
        "SELECT wal_status, pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint AS kept"
        " FROM pg_replication_slots WHERE slot_name = %s",
        [slot],
    ).fetchone()
    if row is None:
        return SlotStatus(exists=False)
    return SlotStatus(exists=True, lost=row["wal_status"] == "lost", kept_bytes=row["kept"])


def drop_slot(source: Source) -> None:
    """Lets the source forget what it kept for the connector. Nothing happens when there is no such slot."""
    with connect(source) as connection:
        connection.execute(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s AND NOT active",
            [source.slot],
        )


def send_signal(source: Source, identifier: str, data: str) -> None:
    """Orders an incremental snapshot through the source's signal table."""
    assert source.signal_table is not None
    with connect(source) as connection:
        table = sql.Identifier(*source.signal_table.split("."))
        statement = sql.SQL("INSERT INTO {} (id, type, data) VALUES (%s, 'execute-snapshot', %s)").format(table)
        connection.execute(statement, [identifier, data])


# -- the server -------------------------------------------------------------------------------------------------------


def _server(connection: Connection, source: Source) -> Iterator[Finding]:
    if connection.info.server_version < _OLDEST:
        yield Finding("version", Status.MISSING, "PostgreSQL 13 or newer is needed; 15 or newer is what is tested.")
    level = _setting(connection, "wal_level")
    if level == "logical":
        yield Finding("wal_level", Status.OK, "logical")
    else:
        remedy = "ALTER SYSTEM SET wal_level = 'logical'; -- then restart the server"
        yield Finding("wal_level", Status.MISSING, f"It is {level}, and must be logical.", remedy)
    used = _number(connection, "SELECT count(*) AS n FROM pg_replication_slots WHERE slot_name <> %s", [source.slot])
    yield _room(connection, "max_replication_slots", used, "replication slots")
    senders = _number(connection, "SELECT count(*) AS n FROM pg_stat_replication", [])
    yield _room(connection, "max_wal_senders", senders, "WAL senders")
    keep = _setting(connection, "max_slot_wal_keep_size")
    if keep == "-1":
        yield Finding(
            "max_slot_wal_keep_size",
            Status.WARNING,
            "There is no limit: while the connector is down, the source's log grows until its disk is full.",
            "ALTER SYSTEM SET max_slot_wal_keep_size = '20GB'; SELECT pg_reload_conf();",
        )
    else:
        yield Finding("max_slot_wal_keep_size", Status.OK, keep)


def _room(connection: Connection, setting: str, used: int, noun: str) -> Finding:
    limit = int(_setting(connection, setting))
    if used < limit:
        return Finding(setting, Status.OK, f"{used} of {limit} in use")
    remedy = f"ALTER SYSTEM SET {setting} = {limit + 5}; -- then restart the server"
    return Finding(setting, Status.MISSING, f"All {limit} {noun} are in use.", remedy)


def _role(connection: Connection, source: Source) -> Iterator[Finding]:
    row = connection.execute(
        "SELECT rolsuper OR rolreplication OR EXISTS (SELECT 1 FROM pg_roles r WHERE r.rolname = 'rds_replication'"
        " AND pg_has_role(current_user, r.oid, 'MEMBER')) AS may FROM pg_roles WHERE rolname = current_user"
    ).fetchone()
    if row is not None and row["may"]:
        yield Finding("replication privilege", Status.OK, source.user)
    else:
        remedy = _text(connection, sql.SQL("ALTER ROLE {} REPLICATION;").format(sql.Identifier(source.user)))
        yield Finding("replication privilege", Status.MISSING, f"{source.user} may not replicate.", remedy)


def _slot(connection: Connection, source: Source) -> Iterator[Finding]:
    row = connection.execute(
        "SELECT plugin, database, wal_status FROM pg_replication_slots WHERE slot_name = %s", [source.slot]
    ).fetchone()
    if row is None:
        yield Finding("slot", Status.OK, f"{source.slot} will be created.")
        return
    drop = _text(connection, sql.SQL("SELECT pg_drop_replication_slot({});").format(sql.Literal(source.slot)))
    if row["plugin"] != "pgoutput" or row["database"] != source.database:
        detail = f"{source.slot} is for {row['plugin']} in the database {row['database']}."
        yield Finding("slot", Status.MISSING, detail, f"{drop} -- or name another slot")
    elif row["wal_status"] == "lost":
        detail = f"{source.slot} is lost: the source has thrown away what it still needed."
        yield Finding("slot", Status.MISSING, detail, drop)
    else:
        yield Finding("slot", Status.OK, f"{source.slot} is there ({row['wal_status']}).")


# -- tables -----------------------------------------------------------------------------------------------------------


def _table(connection: Connection, source: Source, table: str) -> Iterator[Finding]:
    schema, _, name = table.partition(".")
    row = connection.execute(
        "SELECT c.oid, c.relreplident AS identity, c.relkind AS kind, has_table_privilege(c.oid, 'SELECT') AS readable,"
        " has_schema_privilege(n.oid, 'USAGE') AS reachable,"
        " EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary) AS keyed"
        " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'p')",
        [schema, name],
    ).fetchone()
    identifier = sql.Identifier(schema, name)
    if row is None:
        yield Finding(f"table {table}", Status.MISSING, "There is no such table.")
        return
    user = sql.Identifier(source.user)
    if not row["reachable"]:
        remedy = sql.SQL("GRANT USAGE ON SCHEMA {} TO {};").format(sql.Identifier(schema), user)
        yield Finding(f"table {table}", Status.MISSING, "Its schema may not be used.", _text(connection, remedy))
    if not row["readable"]:
        remedy = sql.SQL("GRANT SELECT ON {} TO {};").format(identifier, user)
        yield Finding(f"table {table}", Status.MISSING, "It may not be read.", _text(connection, remedy))
    yield _identity(connection, table, identifier, row)


def _identity(connection: Connection, table: str, identifier: sql.Composable, row: dict[str, Any]) -> Finding:
    check = f"replica identity of {table}"
    remedy = _text(connection, sql.SQL("ALTER TABLE {} REPLICA IDENTITY FULL;").format(identifier))
    match row["identity"], row["keyed"]:
        case "f", _:
            return Finding(check, Status.OK, "full")
        case "i", _:
            return Finding(check, Status.OK, "an index")
        case "d", True:
            detail = (
                "The primary key: `before` is empty in updates and holds the key alone in deletes, and large values that "
                "an update leaves alone are not in the log (mirrors keep what they have)."
            )
            return Finding(check, Status.WARNING, detail, remedy)
    return Finding(check, Status.MISSING, "Nothing identifies its rows: updates and deletes would be refused.", remedy)


def _publication(connection: Connection, source: Source) -> Iterator[Finding]:
    wanted = [table.partition(".")[::2] for table in source.tables]
    listed = sql.SQL(", ").join(sql.Identifier(*pair) for pair in wanted)
    name = sql.Identifier(source.publication)
    row = connection.execute(
        "SELECT puballtables, pubinsert, pubupdate, pubdelete, pubtruncate FROM pg_publication WHERE pubname = %s",
        [source.publication],
    ).fetchone()
    if row is None:
        remedy = _text(connection, sql.SQL("CREATE PUBLICATION {} FOR TABLE {};").format(name, listed))
        if _may_publish(connection, wanted):
            yield Finding("publication", Status.OK, f"{source.publication} will be created.")
        else:
            detail = f"There is no publication {source.publication}, and {source.user} may not create it."
            yield Finding("publication", Status.MISSING, detail, remedy)
        return
    published = {
        (item["schemaname"], item["tablename"])
        for item in connection.execute(
            "SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s", [source.publication]
        )
    }
    absent = [pair for pair in wanted if tuple(pair) not in published]
    if absent:
        missing = sql.SQL(", ").join(sql.Identifier(*pair) for pair in absent)
        remedy = _text(connection, sql.SQL("ALTER PUBLICATION {} ADD TABLE {};").format(name, missing))
        detail = f"{source.publication} does not have {', '.join('.'.join(pair) for pair in absent)}."
        yield Finding("publication", Status.MISSING, detail, remedy)
    elif not all(row[f"pub{word}"] for word in ("insert", "update", "delete", "truncate")):
        publish = sql.SQL("ALTER PUBLICATION {} SET (publish = 'insert, update, delete, truncate');").format(name)
        detail = f"{source.publication} leaves some kinds of changes out."
        yield Finding("publication", Status.MISSING, detail, _text(connection, publish))
    else:
        yield Finding("publication", Status.OK, source.publication)


def _may_publish(connection: Connection, tables: list[Any]) -> bool:
    """A publication is made by whoever may create in the database and owns the tables."""
    allowed = connection.execute("SELECT has_database_privilege(current_database(), 'CREATE') AS may").fetchone()
    if allowed is None or not allowed["may"]:
        return False
    owned = _number(
        connection,
        "SELECT count(*) AS n FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace"
        " WHERE (s.nspname || '.' || c.relname) = ANY(%s) AND pg_has_role(c.relowner, 'USAGE')",
        [[".".join(pair) for pair in tables]],
    )
    return owned == len(tables)


def _signals(connection: Connection, source: Source) -> Iterator[Finding]:
    if source.signal_table is None:
        return
    identifier = sql.Identifier(*source.signal_table.split("."))
    remedy = _text(
        connection,
        sql.SQL("CREATE TABLE {} (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048));").format(
            identifier
        ),
    )
    row = connection.execute("SELECT to_regclass(%s) IS NOT NULL AS there", [source.signal_table]).fetchone()
    if row is not None and row["there"]:
        yield Finding("signal table", Status.OK, source.signal_table)
    else:
        yield Finding("signal table", Status.MISSING, f"There is no table {source.signal_table}.", remedy)


# -- small things -----------------------------------------------------------------------------------------------------


def _setting(connection: Connection, name: str) -> str:
    row = connection.execute("SELECT current_setting(%s, true) AS value", [name]).fetchone()
    return str(row["value"]) if row is not None and row["value"] is not None else "-1"


def _number(connection: Connection, query: str, values: list[Any]) -> int:
    row = connection.execute(query.encode(), values).fetchone()
    return int(row["n"]) if row is not None else 0


def _text(connection: Connection, statement: sql.Composable) -> str:
    return statement.as_string(connection)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
