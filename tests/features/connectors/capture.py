"""A source with tables, and a connector that captures it, for tests of what a user sees."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

import psycopg

from snowmelt.core.errors import SnowmeltError
from snowmelt.ingest.cdc.embedded_postgres import EmbeddedPostgres
from snowmelt.runtime.results import Result
from tests.support.waiting import DEADLINE, wait_until

Opened = TypeVar("Opened")
METADATA = frozenset({"_SNOWMELT_LSN", "_SNOWMELT_CHANGED_AT", "_SNOWMELT_DELETED"})


class Executes(Protocol):
    def execute(self, text: str) -> Result: ...


class Connects(Protocol):
    """A Kafka Connect in which connectors can be registered."""

    @property
    def bootstrap_servers(self) -> str: ...

    def register(self, configuration: str, **changes: str) -> None: ...

    def remove(self, name: str) -> None: ...


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
    with load(lambda: connect(server, database), psycopg.OperationalError, work):
        yield


@contextmanager
def load(
    opened: Callable[[], AbstractContextManager[Opened]],
    lost: type[Exception],
    work: Callable[[Opened, int], None],
) -> Iterator[None]:
    """The same for any database; `lost` is what its driver raises when the server is down."""
    stopping = threading.Event()
    failures: list[BaseException] = []

    def loop() -> None:
        turn = 0
        while not stopping.is_set():
            try:
                with opened() as connection:
                    while not stopping.is_set():
                        turn += 1
                        work(connection, turn)
            except lost:
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


def mirrored(session: Executes, table: str) -> list[tuple[Any, ...]]:
    """The mirror's rows, its columns in the order of their names."""
    described = [row[0] for row in session.execute(f"DESCRIBE TABLE {table}").rows()]
    columns = sorted(name for name in described if name not in METADATA)
    return sorted(rows(session, f"SELECT {', '.join(columns)} FROM {table}"), key=repr)


def present(source: psycopg.Connection[Any], table: str) -> list[tuple[Any, ...]]:
    found = source.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_name = %s ORDER BY upper(column_name)", [table]
    ).fetchall()
    columns = ", ".join(row[0] for row in found)
    return sorted(source.execute(f"SELECT {columns} FROM {table}".encode()).fetchall(), key=repr)


class Capture:
    """Connectors to one database, by one of the routes."""

    def __init__(self, session: Executes, server: EmbeddedPostgres, database: str, kafka: Connects | None) -> None:
        self._session = session
        self._server = server
        self._database = database
        self._kafka = kafka
        self._registered: list[str] = []

    def create(self, name: str, tables: list[str], options: str = "", **connect_changes: str) -> None:
        prefix = f"{self._database}_{name}"
        if self._kafka is not None:
            options += f" ROUTE = KAFKA BOOTSTRAP_SERVERS = '{self._kafka.bootstrap_servers}' TOPIC_PREFIX = '{prefix}'"
        self._session.execute(create_statement(name, self._server, tables, options, self._database))
        if self._kafka is not None:
            told = self._session.execute(f"ALTER CONNECTOR {name} CONFIG").rows()[0][0]
            self._kafka.register(told, **connect_changes)
            self._registered.append(prefix)

    def wait_for_stream(self, name: str) -> None:
        """Until changes are captured that happen from now on."""
        in_state(self._session, name, "STREAMING")
        slot = f"{self._database}_{name}"
        with connect(self._server) as source:
            query = "SELECT active FROM pg_replication_slots WHERE slot_name = %s"
            wait_until(lambda: source.execute(query, [slot]).fetchone() == (True,), f"{slot} is read")

    def wait_for(self, holds: Callable[[], bool], name: str) -> None:
        """Until it holds of tables which the connector makes when it needs them."""

        def held() -> bool:
            try:
                return holds()
            except SnowmeltError:
                return False

        wait_until(held, lambda: standing(self._session, name))

    def settle(self, name: str, table: str) -> None:
        """Until the mirror has all that the source has committed by now; fails when they differ then."""
        with connect(self._server, self._database) as source:
            if self._kafka is None:
                caught_up(self._session, name, source)
                assert mirrored(self._session, table) == present(source, table)
            else:
                self.wait_for(lambda: mirrored(self._session, table) == present(source, table), name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in self._registered:
            assert self._kafka is not None
            self._kafka.remove(name)
