"""kill -9 of a server whose runner refreshes while sessions write: never a wrong table, and the next one goes on."""

from __future__ import annotations

import json
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.serve.client import RemoteSession
from tests.crash.test_processes import running, serve, small_spark

LIVES = 6
PATIENCE = 180.0
BASES = ("CREATE TABLE orders (id INT, customer INT, amount INT)", "CREATE TABLE customers (id INT, region INT)")
TABLES = {
    "paid": ("DOWNSTREAM", "SELECT id, customer, amount FROM orders WHERE amount > 0"),
    "spent": ("'1 second'", "SELECT customer, SUM(amount) AS total, MAX(amount) AS most FROM paid GROUP BY customer"),
    "placed": ("'1 second'", "SELECT paid.id, region FROM paid LEFT JOIN customers ON customers.id = customer"),
    "newest": (
        "'2 seconds'",
        "SELECT * FROM paid QUALIFY ROW_NUMBER() OVER (PARTITION BY customer ORDER BY id DESC, amount) = 1",
    ),
    "listed": (
        "'2 seconds'",
        "SELECT customer, total, ROW_NUMBER() OVER (ORDER BY total DESC, customer) AS place FROM spent",
    ),
}
"""The last one is refreshed in full."""


def await_that(condition: Callable[[], bool]) -> None:
    pause = threading.Event()
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        pause.wait(0.05)


class Writer(threading.Thread):
    """Writes at random until the server is gone, or it is told to stop."""

    def __init__(self, url: str, data: Path, seed: int) -> None:
        super().__init__(daemon=True)
        self.writes = 0
        self.failure: BaseException | None = None
        self._url, self._data, self._chance = url, data, random.Random(seed)
        self._stop_asked = threading.Event()

    def stop(self) -> None:
        self._stop_asked.set()
        self.join(PATIENCE)

    def run(self) -> None:
        session = RemoteSession.of_directory(self._url, self._data)
        try:
            while not self._stop_asked.is_set():
                session.execute(self._statement())
                self.writes += 1
        except SnowmeltError as error:
            self.failure = error

    def _statement(self) -> str:
        chance = self._chance
        match chance.randrange(6):
            case 0:
                return f"DELETE FROM orders WHERE id = {chance.randrange(100)}"
            case 1:
                return f"UPDATE orders SET amount = amount - 3 WHERE customer = {chance.randrange(8)}"
            case 2:
                return f"INSERT INTO customers VALUES ({chance.randrange(8)}, {chance.randrange(3)})"
            case _:
                values = chance.randrange(100), chance.randrange(8), chance.randrange(20)
                return f"INSERT INTO orders VALUES {values}"


@contextmanager
def served(data: Path, config: Path) -> Iterator[tuple[Any, str, RemoteSession]]:
    with running(serve(data, config), SNOWMELT_ADMIN_PASSWORD="chosen", SNOWMELT_LOG_LEVEL="ERROR") as server:
        url = server.line(r"Snowmelt serves \S+ at (http://\S+)")[1]
        yield server, url, RemoteSession.of_directory(url, data)


def rows(session: RemoteSession, query: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in session.execute(query).rows()), key=repr)


def check_all(session: RemoteSession, life: int) -> None:
    for name in TABLES:
        verdict = json.loads(rows(session, f"SELECT SYSTEM$CHECK_DYNAMIC_TABLE('{name}')")[0][0])
        assert verdict["equal"], (life, verdict)


def refreshes(session: RemoteSession) -> dict[str, tuple[int, Any]]:
    """How many scheduled refreshes of each table computed something."""
    found = rows(
        session,
        "SELECT LOWER(name), COUNT(*), MAX(data_timestamp)"
        " FROM TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY(RESULT_LIMIT => 10000))"
        " WHERE state = 'SUCCEEDED' AND refresh_trigger = 'SCHEDULED' AND refresh_action <> 'NO_DATA' GROUP BY name",
    )
    return {name: (number, newest) for name, number, newest in found}


def progressed(before: dict[str, tuple[int, Any]], now: dict[str, tuple[int, Any]]) -> bool:
    return all(now.get(name, (0, None))[0] > before.get(name, (0, None))[0] for name in TABLES)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_server_that_is_killed_again_and_again(tmp_path: Path) -> None:
    data, config = tmp_path / "data", small_spark(tmp_path / "snowmelt.toml")
    chance = random.Random(11)
    for life in range(LIVES):
        with served(data, config) as (server, url, session):
            if life == 0:
                for statement in BASES:
                    session.execute(statement)
                for name, (lag, query) in TABLES.items():
                    options = f"TARGET_LAG = {lag} WAREHOUSE = COMPUTE_WH"
                    session.execute(f"CREATE DYNAMIC TABLE {name} {options} AS {query}")
            check_all(session, life)
            before = refreshes(session)
            writers = [Writer(url, data, life * 10 + number) for number in range(2)]
            for writer in writers:
                writer.start()
            await_that(lambda before=before, session=session: progressed(before, refreshes(session)))
            wanted = sum(writer.writes for writer in writers) + chance.randint(1, 12)
            # At a moment that has nothing to do with what a refresh is doing.
            await_that(lambda wanted=wanted, writers=writers: sum(w.writes for w in writers) >= wanted)
            server.end(signal.SIGKILL)
            for writer in writers:
                writer.stop()
                assert "connection" in str(writer.failure), writer.failure
    with served(data, config) as (server, _, session):
        check_all(session, LIVES)
        # Nobody writes any more: all of them become what their queries give now.
        for name, (_, query) in TABLES.items():
            await_that(
                lambda name=name, query=query, session=session: (
                    rows(session, f"SELECT * FROM {name}") == rows(session, query)
                )
            )
        states = rows(
            session,
            "SELECT DISTINCT state FROM TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY(RESULT_LIMIT => 10000))"
            " WHERE refresh_end_time IS NOT NULL",
        )
        assert {state for (state,) in states} <= {"SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED", "UPSTREAM_FAILED"}
        assert server.end(signal.SIGTERM) == 0
