"""A MariaDB or MySQL as a source: how Debezium is told to read it, what it lacks for that, and how its log stands."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import URL, Connection, text
from sqlalchemy.exc import DBAPIError

from snowmelt.ingest.cdc.findings import (
    CONNECT_SECONDS,
    FindingStatus,
    LogStatus,
    SourceFinding,
    findings_of,
    first_line,
    one_row,
    opened,
    put_signal,
)
from snowmelt.ingest.cdc.sources import CapturedSource, SourceType

JARS = "snowmelt.ingest.cdc.binlog"
KEEPS_HISTORY = True
_OLDEST = {SourceType.MARIADB: (10, 5), SourceType.MYSQL: (8, 0)}
_DAY = 86_400
_CLASSES = {
    SourceType.MARIADB: "io.debezium.connector.mariadb.MariaDbConnector",
    SourceType.MYSQL: "io.debezium.connector.mysql.MySqlConnector",
}
_SSL_MODES = {
    SourceType.MARIADB: {"require": "trust", "verify-ca": "verify-ca", "verify-full": "verify-full"},
    SourceType.MYSQL: {
        "allow": "preferred", "prefer": "preferred", "require": "required", "verify-ca": "verify_ca",
        "verify-full": "verify_identity",
    },
}  # fmt: skip
_NO_SSL = {SourceType.MARIADB: "disable", SourceType.MYSQL: "disabled"}
_NOT_THERE = frozenset({1146, 1049})
_DENIED = frozenset({1142, 1143, 1044})
_SERVER_WIDE = (
    ("REPLICATION SLAVE", ("REPLICATION SLAVE",), FindingStatus.MISSING, "read the log"),
    ("REPLICATION CLIENT", ("REPLICATION CLIENT", "BINLOG MONITOR"), FindingStatus.MISSING, "ask where the log ends"),
    ("RELOAD", ("RELOAD",), FindingStatus.WARNING,
     "hold all writes for the moment in which a snapshot begins; tables are locked one by one instead"),
)  # fmt: skip
"""A privilege, its names, what it is to lack it, and what it is for."""


def properties(source: CapturedSource) -> dict[str, str]:
    """What Debezium has to be told beside what it is told of every source."""
    databases = dict.fromkeys(table.partition(".")[0] for table in source.tables)
    settings = {
        "connector.class": _CLASSES[source.type],
        "database.server.id": str(source.server_id),
        "database.include.list": ",".join(re.escape(name) for name in databases),
        "database.ssl.mode": _SSL_MODES[source.type].get(source.ssl_mode, _NO_SSL[source.type]),
        # Debezium refuses to start without an address of Kafka, and never connects to it here.
        "bootstrap.servers": "localhost:9092",
        # DDL changes no row.
        "include.schema.changes": "false",
        # As numbers, whose meaning the schema says: a TIME here may be of hundreds of hours, or negative.
        "time.precision.mode": "adaptive_time_microseconds",
        "bigint.unsigned.handling.mode": "precise",
    }
    if source.type is SourceType.MYSQL and settings["database.ssl.mode"] in ("disabled", "preferred"):
        # Otherwise nobody could log in with MySQL's usual way of checking passwords.
        settings["driver.allowPublicKeyRetrieval"] = "true"
    return settings


@contextmanager
def connected(source: CapturedSource) -> Iterator[Connection]:
    url = URL.create(
        "mysql+pymysql", source.user, source.password(), source.host, source.port, source.database,
        {"charset": "utf8mb4"},
    )  # fmt: skip
    with opened(url, {"connect_timeout": CONNECT_SECONDS, **_encryption(source.ssl_mode)}) as connection:
        yield connection


def _encryption(mode: str) -> dict[str, Any]:
    if mode == "disable":
        return {"ssl_disabled": True}
    if mode in ("allow", "prefer"):
        return {}
    context = ssl.create_default_context()
    context.check_hostname = mode == "verify-full"
    if mode == "require":
        context.verify_mode = ssl.CERT_NONE
    return {"ssl": context}


def check(source: CapturedSource) -> list[SourceFinding]:
    """Everything that can be found out about the source. Never raises for a source that is not as it should be."""

    def ask() -> list[SourceFinding]:
        with connected(source) as connection:
            return list(_findings(connection, source))

    return findings_of(source, ask)


def log_status(source: CapturedSource, offset: Mapping[str, Any] | None) -> LogStatus:
    """Whether the file that the offset names is there, and how much of the log is behind it."""
    with connected(source) as connection:
        if offset is None:
            return LogStatus("binlog", exists=True)
        sizes = {row[0]: int(row[1]) for row in connection.execute(text("SHOW BINARY LOGS"))}
    file, position = str(offset.get("file")), int(offset.get("pos") or 0)
    if file not in sizes:
        return LogStatus(f"file {file} of the binlog", exists=False)
    names = list(sizes)
    behind = sum(sizes[name] for name in names[names.index(file) :]) - position
    # A log that is shorter than it was is another one: it was reset.
    return LogStatus(f"file {file} of the binlog", exists=True, lost=position > sizes[file], kept_bytes=max(behind, 0))


def forget_log(source: CapturedSource) -> None:
    """The source keeps its log for a time, and not for anybody."""


def send_signal(source: CapturedSource, identifier: str, data: str) -> None:
    """Orders an incremental snapshot through the source's signal table."""
    assert source.signal_table is not None
    with connected(source) as connection:
        put_signal(connection, _named(source.signal_table), identifier, data)


# -- the server -------------------------------------------------------------------------------------------------------


def _findings(connection: Connection, source: CapturedSource) -> Iterator[SourceFinding]:
    yield _version(connection, source)
    yield from _log(connection)
    account = _account(connection)
    yield from _privileges(connection, account)
    for table in source.tables:
        yield from _table(connection, table, account)
    yield from _signals(connection, source)


def _version(connection: Connection, source: CapturedSource) -> SourceFinding:
    version = _variable(connection, "version")
    is_mariadb = "MariaDB" in version
    oldest = _OLDEST[source.type]
    found = re.match(r"(\d+)\.(\d+)", version)
    if is_mariadb is not (source.type is SourceType.MARIADB):
        detail = f"It is {version}, and the connector is of TYPE = {source.type}."
        return SourceFinding("version", FindingStatus.MISSING, detail)
    if found is not None and (int(found[1]), int(found[2])) < oldest:
        needed = ".".join(str(part) for part in oldest)
        return SourceFinding("version", FindingStatus.MISSING, f"It is {version}; {needed} or newer is needed.")
    return SourceFinding("version", FindingStatus.OK, version)


def _log(connection: Connection) -> Iterator[SourceFinding]:
    if _variable(connection, "log_bin") != "ON":
        remedy = "-- in the server's configuration, under [mysqld], then restart it: log_bin = binlog"
        yield SourceFinding("log_bin", FindingStatus.MISSING, "The server writes no binlog.", remedy)
    else:
        yield SourceFinding("log_bin", FindingStatus.OK, "ON")
    for name, wanted in (("binlog_format", "ROW"), ("binlog_row_image", "FULL")):
        value = _variable(connection, name)
        if value == wanted:
            yield SourceFinding(name, FindingStatus.OK, value)
        else:
            remedy = f"SET GLOBAL {name} = '{wanted}'; -- and in the configuration; sessions keep what they have"
            yield SourceFinding(name, FindingStatus.MISSING, f"It is {value}, and must be {wanted}.", remedy)
    if _variable(connection, "server_id") == "0":
        yield SourceFinding(
            "server_id", FindingStatus.MISSING, "It is 0: nobody can read the log.", "SET GLOBAL server_id = 1;"
        )
    else:
        yield SourceFinding("server_id", FindingStatus.OK, _variable(connection, "server_id"))
    kept = int(_variable(connection, "binlog_expire_logs_seconds") or 0)
    if 0 < kept < _DAY:
        detail = f"The log is kept for {kept} seconds: a connector that is down for longer has to read all tables anew."
        remedy = "SET GLOBAL binlog_expire_logs_seconds = 604800;"
        yield SourceFinding("binlog_expire_logs_seconds", FindingStatus.WARNING, detail, remedy)
    else:
        yield SourceFinding("binlog_expire_logs_seconds", FindingStatus.OK, f"{kept} (0 is for ever)")


def _privileges(connection: Connection, account: str) -> Iterator[SourceFinding]:
    held = _server_wide(connection.execute(text("SHOW GRANTS")).scalars().all())
    for privilege, names, lacking, purpose in _SERVER_WIDE:
        check = f"privilege {privilege}"
        if "ALL PRIVILEGES" in held or any(name in held for name in names):
            yield SourceFinding(check, FindingStatus.OK, account)
        else:
            yield SourceFinding(
                check, lacking, f"{account} may not {purpose}.", f"GRANT {privilege} ON *.* TO {account};"
            )


def _server_wide(grants: Sequence[str]) -> set[str]:
    """The privileges that hold for the whole server."""
    texts = [found[1] for grant in grants if (found := re.match(r"GRANT (.+?) ON \*\.\* TO ", grant)) is not None]
    return {privilege.strip() for text_ in texts for privilege in text_.split(",")}


# -- tables -----------------------------------------------------------------------------------------------------------


def _table(connection: Connection, table: str, account: str) -> Iterator[SourceFinding]:
    check = f"table {table}"
    try:
        connection.execute(text(f"SELECT 1 FROM {_named(table)} LIMIT 0"))
    except DBAPIError as error:
        yield _unreadable(check, table, account, error)
        return
    schema, _, name = table.partition(".")
    row = one_row(
        connection,
        "SELECT group_concat(if(data_type IN ('inet4', 'inet6'), column_name, NULL)) AS unknown,"
        " sum(column_key = 'PRI') AS keyed FROM information_schema.columns"
        " WHERE table_schema = :schema AND table_name = :name",
        schema=schema,
        name=name,
    )
    if row is not None and row["unknown"]:
        detail = f"Debezium can't read a table with columns of these types: {row['unknown']}."
        yield SourceFinding(check, FindingStatus.MISSING, detail)
    elif row is not None and row["keyed"]:
        yield SourceFinding(check, FindingStatus.OK, "has a primary key")
    else:
        detail = "It has no primary key: it can be captured, and not mirrored."
        yield SourceFinding(check, FindingStatus.WARNING, detail, f"ALTER TABLE {_named(table)} ADD PRIMARY KEY (…);")


def _unreadable(check: str, table: str, account: str, error: DBAPIError) -> SourceFinding:
    code = error.orig.args[0] if error.orig is not None and error.orig.args else None
    if code in _DENIED:
        return SourceFinding(
            check, FindingStatus.MISSING, "It may not be read.", f"GRANT SELECT ON {_named(table)} TO {account};"
        )
    detail = "There is no such table." if code in _NOT_THERE else first_line(error)
    return SourceFinding(check, FindingStatus.MISSING, detail)


def _signals(connection: Connection, source: CapturedSource) -> Iterator[SourceFinding]:
    if source.signal_table is None:
        return
    try:
        connection.execute(text(f"SELECT 1 FROM {_named(source.signal_table)} LIMIT 0"))
        yield SourceFinding("signal table", FindingStatus.OK, source.signal_table)
    except DBAPIError as error:
        columns = "id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048)"
        remedy = f"CREATE TABLE {_named(source.signal_table)} ({columns});"
        yield SourceFinding("signal table", FindingStatus.MISSING, first_line(error), remedy)


# -- small things -----------------------------------------------------------------------------------------------------


def _variable(connection: Connection, name: str) -> str:
    row = connection.execute(text("SHOW GLOBAL VARIABLES LIKE :name"), {"name": name}).first()
    return str(row[1]) if row is not None else ""


def _account(connection: Connection) -> str:
    """The account that the server took the user for, as GRANT takes it."""
    row = one_row(connection, "SELECT CURRENT_USER() AS account")
    user, _, host = str(row["account"] if row is not None else "").rpartition("@")
    return f"{_literal(user)}@{_literal(host)}"


def _literal(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def _named(table: str) -> str:
    return ".".join("`" + part.replace("`", "``") + "`" for part in table.split("."))
