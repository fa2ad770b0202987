"""A snapshot of a PostgreSQL that several connections read at: the one where a new slot begins, or a later one.

A slot tells of every transaction that commits behind its beginning, and the snapshot exported with it sees exactly the
ones before. That snapshot ends with its connection. A later one sees more: the slot tells of those transactions too,
and whoever reads at it has to leave them out, which `Visibility` decides.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from snowmelt.ingest.cdc.feed import EngineFailedError
from snowmelt.ingest.cdc.findings import CONNECT_SECONDS
from snowmelt.ingest.cdc.quick.tables import NotQuickError, TornSnapshotError
from snowmelt.ingest.cdc.quick.visibility import Visibility
from snowmelt.ingest.cdc.sources import CapturedSource

with suppress(ModuleNotFoundError):  # An extra, snowmelt[cdc]: nothing here is called without it.
    import psycopg
    from psycopg import sql
    from psycopg.conninfo import make_conninfo

APPLICATION = "snowmelt snapshot"
_ATTEMPTS = 100
_PAUSE = 0.1
_ENDLESS = (
    "statement_timeout",
    "lock_timeout",
    "idle_in_transaction_session_timeout",
    "transaction_timeout",
    "idle_session_timeout",
)
"""Limits of a session that a snapshot of a large table would meet."""


class Stopping(threading.Event):
    """Set when the reading is to stop; statements that wait for something in the source end too."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: set[psycopg.Connection[Any]] = set()
        self._guard = threading.Lock()

    def set(self) -> None:
        super().set()
        with self._guard:
            waiting = list(self._waiting)
        for connection in waiting:
            with suppress(psycopg.Error):
                connection.cancel_safe()

    @contextmanager
    def ends(self, connection: psycopg.Connection[Any]) -> Iterator[None]:
        """What the connection does in the block ends when this is set. Raises `StoppedError` then."""
        with self._guard:
            self._waiting.add(connection)
        try:
            if self.is_set():
                raise StoppedError
            yield
        except psycopg.errors.QueryCanceled:
            if self.is_set():
                raise StoppedError from None
            raise
        finally:
            with self._guard:
                self._waiting.discard(connection)


class StoppedError(Exception):
    """The reading was told to stop."""


@dataclass(frozen=True, slots=True)
class SlotStart:
    """Where a slot begins."""

    lsn: int
    sees: str
    """What the snapshot sees that was exported with it, as `Visibility` parses it."""


@dataclass(frozen=True, slots=True)
class OpenSnapshot:
    """A transaction of a connection of its own, whose snapshot others read at while it is open."""

    connection: psycopg.Connection[Any]
    name: str
    lsn: int
    """A place in the log: what the snapshot sees was committed before it."""
    sees: str
    settings: tuple[str, ...] = field(default=())
    """What readers set for their own transactions."""

    @property
    def next_transaction(self) -> int:
        return Visibility.parse(self.sees).next

    def lock(self, tables: Sequence[str], stopping: Stopping) -> None:
        """Keeps the tables from being altered or emptied until all is read; rows may change."""
        with stopping.ends(self.connection):
            for table in tables:
                name = sql.Identifier(*table.split("."))
                self.connection.execute(sql.SQL("LOCK TABLE ONLY {} IN ACCESS SHARE MODE").format(name))


def address(source: CapturedSource, **more: Any) -> str:
    """The address as libpq takes it."""
    return make_conninfo(
        "",
        host=source.host,
        port=source.port,
        dbname=source.database,
        user=source.user,
        password=source.password() or None,
        sslmode=source.ssl_mode,
        connect_timeout=CONNECT_SECONDS,
        application_name=APPLICATION,
        **more,
    )


def check_server(connection: psycopg.Connection[Any]) -> None:
    """Raises `NotQuickError` for a server of which only Debezium takes snapshots."""
    row = connection.execute("SELECT pg_is_in_recovery(), current_setting('server_encoding')").fetchone()
    assert row is not None
    if row[0]:
        raise NotQuickError("the source is a standby")
    if row[1] == "SQL_ASCII":
        raise NotQuickError("the source does not know in which encoding its texts are")


def ensure_publication(connection: psycopg.Connection[Any], source: CapturedSource) -> None:
    """A slot needs its publication from its beginning on; Debezium makes it only when it starts."""
    found = connection.execute("SELECT 1 FROM pg_publication WHERE pubname = %s", [source.publication]).fetchone()
    if found is None:
        tables = [*source.tables, *([source.signal_table] if source.signal_table is not None else [])]
        names = sql.SQL(", ").join(sql.Identifier(*table.split(".")) for table in tables)
        statement = sql.SQL("CREATE PUBLICATION {} FOR TABLE {}")
        connection.execute(statement.format(sql.Identifier(source.publication), names))


def slot_exists(connection: psycopg.Connection[Any], source: CapturedSource) -> bool:
    query = "SELECT 1 FROM pg_replication_slots WHERE slot_name = %s"
    return connection.execute(query, [source.slot]).fetchone() is not None


@contextmanager
def engine_errors() -> Iterator[None]:
    """What the source raises, as an engine's failure: another attempt may go well."""
    try:
        yield
    except (psycopg.Error, TornSnapshotError) as error:
        raise EngineFailedError(str(error).strip() or type(error).__name__) from None


@contextmanager
def connected(source: CapturedSource) -> Iterator[psycopg.Connection[Any]]:
    """A connection for statements that stand alone."""
    with psycopg.connect(address(source), autocommit=True) as connection:
        yield connection


@contextmanager
def at_new_slot(source: CapturedSource, stopping: Stopping) -> Iterator[tuple[SlotStart, OpenSnapshot]]:
    """Makes the slot, and opens the snapshot at which it begins.

    Waits for the transactions that run when it is called, as whoever makes a slot does.
    """
    with psycopg.connect(address(source, replication="database"), autocommit=True) as replication:
        statement = sql.SQL("CREATE_REPLICATION_SLOT {} LOGICAL pgoutput EXPORT_SNAPSHOT")
        with stopping.ends(replication):
            made = replication.execute(statement.format(sql.Identifier(source.slot))).fetchone()
        assert made is not None
        with psycopg.connect(address(source)) as connection:
            opened = _opened(connection, made[2], _lsn(made[1]))
            # The snapshot has another holder now, and lives as long as this transaction.
            replication.close()
            yield SlotStart(opened.lsn, opened.sees), opened


@contextmanager
def at_later_point(source: CapturedSource, start: SlotStart | None, stopping: Stopping) -> Iterator[OpenSnapshot]:
    """Opens a snapshot that sees all that was committed before the slot began, and what was since."""
    for _ in range(_ATTEMPTS):
        with psycopg.connect(address(source)) as connection:
            opened = _opened(connection, None, None)
            if start is None or not Visibility.parse(opened.sees).lacks_ended(Visibility.parse(start.sees)):
                yield opened
                return
        if stopping.wait(_PAUSE):
            raise StoppedError
    raise psycopg.OperationalError("a transaction that is in the log is not visible yet; is a standby down?")


def _opened(connection: psycopg.Connection[Any], name: str | None, lsn: int | None) -> OpenSnapshot:
    connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    if name is not None:
        connection.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(name)))
    row = connection.execute("SELECT pg_current_snapshot()::text, pg_export_snapshot()").fetchone()
    assert row is not None
    if lsn is None:
        # Asked for behind the snapshot: whatever that sees was written to the log before.
        now = connection.execute("SELECT pg_current_wal_insert_lsn()::text").fetchone()
        assert now is not None
        lsn = _lsn(now[0])
    known = connection.execute("SELECT name FROM pg_settings WHERE name = ANY(%s)", [list(_ENDLESS)]).fetchall()
    settings = (
        "SET LOCAL TIME ZONE 'UTC'",
        "SET LOCAL datestyle = 'ISO'",
        "SET LOCAL extra_float_digits = 1",
        *(f"SET LOCAL {setting} = 0" for (setting,) in known),
    )
    for setting in settings:
        connection.execute(sql.SQL(setting))
    return OpenSnapshot(connection, row[1], lsn, row[0], settings)


def _lsn(text: str) -> int:
    """A place in the log, which PostgreSQL writes as two numbers."""
    upper, _, lower = text.partition("/")
    return (int(upper, 16) << 32) + int(lower, 16)
