"""A source with tables, and a connector that captures it, for tests of what a user sees."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import psycopg

from snowmelt.ingest.cdc.embedded_postgres import EmbeddedPostgres
from snowmelt.service.results import Result

DEADLINE = 240.0
"""Seconds that a busy machine may take for anything here."""
METADATA = frozenset({"_SNOWMELT_LSN", "_SNOWMELT_CHANGED_AT", "_SNOWMELT_DELETED"})


class Executes(Protocol):
    def execute(self, text: str) -> Result: ...


def wait_until(holds: Callable[[], bool], what: Callable[[], object] | str, deadline: float = DEADLINE) -> None:
    """Looks again and again; fails with what it saw when time is over."""
    until = time.monotonic() + deadline
    while not holds():
        assert time.monotonic() < until, what if isinstance(what, str) else what()
        time.sleep(0.1)


def connect(server: EmbeddedPostgres, database: str = "postgres") -> psycopg.Connection[Any]:
    return psycopg.connect(server.url(database), autocommit=True)


def create_statement(name: str, server: EmbeddedPostgres, tables: list[str], options: str, database: str) -> str:
    listed = ", ".join(f"'{table}'" for table in tables)
    return (
        f"CREATE CONNECTOR {name} TYPE = POSTGRES HOST = '127.0.0.1' PORT = {server.port} DATABASE = '{database}'"
        f" USER = 'postgres' TABLES = ({listed}) SLOT = '{database}_{name}' {options}"
    )


def standing(session: Executes, name: str) -> dict[str, Any]:
    """What DESCRIBE CONNECTOR says."""
    result = session.execute(f"DESCRIBE CONNECTOR {name}")
    return dict(zip((column.name for column in result.columns), result.rows()[0], strict=True))


def in_state(session: Executes, name: str, state: str) -> None:
    """Waits for it; a failure that is not expected ends the wait."""

    def reached() -> bool:
        now = standing(session, name)
        assert now["state"] in (state, "STARTING", "SNAPSHOT", "STREAMING", "RETRYING", "PAUSED"), now
        return bool(now["state"] == state)

    wait_until(reached, lambda: standing(session, name))


def caught_up(session: Executes, name: str, source: psycopg.Connection[Any], deadline: float = DEADLINE) -> None:
    """Everything that the source has committed by now has landed."""
    row = source.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchone()
    assert row is not None
    # In a transaction, whose commit is sent at once: what else is in the log may wait for the next change.
    source.execute("SELECT pg_logical_emit_message(true, 'snowmelt', 'here')")
    wait_until(
        lambda: int(standing(session, name)["position"] or 0) >= int(row[0]),
        lambda: f"{standing(session, name)} did not come to {row[0]}",
        deadline,
    )


def rows(session: Executes, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in session.execute(query).rows()]


@contextmanager
def write_load(
    server: EmbeddedPostgres, database: str, work: Callable[[psycopg.Connection[Any], int], None]
) -> Iterator[None]:
    """`work` again and again in another thread while the block runs; a server that is down is waited for."""
    stopping = threading.Event()
    failures: list[BaseException] = []

    def loop() -> None:
        turn = 0
        while not stopping.is_set():
            try:
                with connect(server, database) as connection:
                    while not stopping.is_set():
                        turn += 1
                        work(connection, turn)
            except psycopg.OperationalError:
                stopping.wait(0.2)
            except BaseException as error:
                failures.append(error)
                return

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()
    assert not failures, failures
