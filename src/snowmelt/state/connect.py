"""Opening the database behind a state store, with the guarantees the store relies on."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from snowmelt.core import errors

_WRITE = "snowmelt_write"

_BUSY_MILLISECONDS = 30_000
_PRAGMAS = (
    # First, since the switch to WAL may itself have to wait.
    f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}",
    "PRAGMA journal_mode = WAL",
    # A committed flip must survive a power failure: NORMAL would lose the last commits in WAL mode.
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
)


@dataclass(frozen=True, slots=True)
class Engines:
    """Two views of one connection pool."""

    write: Engine
    """Transactions see the newest state and may change it. SQLite's take the write lock at their start."""
    read: Engine
    """Transactions see one snapshot."""

    def dispose(self) -> None:
        self.write.dispose()


def open_engines(url: str) -> Engines:
    """The engines for `url`, which names a SQLite file or a PostgreSQL database.

    Raises a configuration error for any other URL. Nothing is connected yet.
    """
    parsed = _parse(url)
    match parsed.get_backend_name():
        case "sqlite":
            return _open_sqlite(parsed)
        case "postgresql":
            return _open_postgres(parsed)
        case other:
            raise errors.configuration(
                f"A state store cannot be kept in '{other}'.", hint="Use a sqlite:/// or a postgresql:// URL."
            )


def _parse(url: str) -> URL:
    for prefix in ("postgresql://", "postgres://"):
        if url.startswith(prefix):
            url = "postgresql+psycopg://" + url.removeprefix(prefix)
    try:
        return make_url(url)
    except ArgumentError:
        # The URL itself stays out of the message: it may hold a password.
        raise errors.configuration(
            "The state store's URL is not valid.",
            hint="Use sqlite:////absolute/path/state.db or postgresql://user:password@host/database.",
        ) from None


def _open_sqlite(url: URL) -> Engines:
    if not url.database or url.database == ":memory:" or url.query.get("mode") == "memory":
        raise errors.configuration(
            "A state store in memory has no snapshots for readers.",
            hint="Name a file: sqlite:////path/state.db.",
        )
    if not url.database.startswith("file:"):
        try:
            Path(url.database).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise errors.configuration(f"The folder of the state store cannot be made: {error}") from error
    # Transactions begin by our own statements: the driver's begin too late for a snapshot. Connections are
    # cheap, and a reader must never wait for another, so the pool may overflow without limit.
    engine = create_engine(url, connect_args={"isolation_level": None}, pool_size=8, max_overflow=-1)

    @event.listens_for(engine, "connect")
    def set_pragmas(connection: Any, _record: object) -> None:
        # Of a new file only: what is deleted can be given back to the disk. In a file with tables it changes nothing,
        # but would ask for the writer's lock.
        if not connection.execute("PRAGMA page_count").fetchone()[0]:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        for pragma in _PRAGMAS:
            connection.execute(pragma)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.connection.driver_connection.in_transaction:  # type: ignore[union-attr]
            return  # It takes part in one that `Connections` began.
        write = connection.get_execution_options().get(_WRITE, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return Engines(write=engine.execution_options(**{_WRITE: True}), read=engine)


def _open_postgres(url: URL) -> Engines:
    try:
        engine = create_engine(url, pool_size=8, max_overflow=24)
    except (ImportError, NoSuchModuleError):
        raise errors.configuration(
            "The PostgreSQL driver is not installed.", hint="Install it: pip install 'snowmelt[postgres]'."
        ) from None
    # Writers take the ledger's row lock first and must then see what the previous holder committed, so they
    # can't have a snapshot from before the wait.
    return Engines(
        write=engine.execution_options(isolation_level="READ COMMITTED"),
        read=engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True),
    )


def tidy(engines: Engines, pages: int) -> None:
    """Shorten SQLite's file and its log. PostgreSQL does that by itself."""
    if engines.write.dialect.name != "sqlite":
        return
    pooled = engines.write.raw_connection()
    try:
        cursor = pooled.cursor()
        try:
            # The log is shortened when no reader needs it; waiting for one would keep all writers waiting.
            cursor.execute("PRAGMA busy_timeout = 0")
            cursor.execute(f"PRAGMA incremental_vacuum({pages})").fetchall()
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname not in ("SQLITE_BUSY", "SQLITE_LOCKED"):
                raise
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
            cursor.close()
    finally:
        pooled.close()


def rewrite(engines: Engines) -> None:
    """Write SQLite's file anew without free pages, and end its log. PostgreSQL: its tables, without what is dead."""
    if engines.write.dialect.name != "sqlite":
        with engines.write.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
            connection.exec_driver_sql("VACUUM FULL")
        return
    pooled = engines.write.raw_connection()
    try:
        cursor = pooled.cursor()
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        cursor.close()
    finally:
        pooled.close()
