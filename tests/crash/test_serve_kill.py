"""kill -9 of a server whose runner refreshes while sessions write: never a wrong table, and the next one goes on."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from snowmelt.serve.client import RemoteSession
from tests.crash.serving import await_that, rows, served, writing
from tests.crash.test_processes import small_spark

LIVES = 6
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


def unit(chance: random.Random) -> Sequence[str]:
    match chance.randrange(6):
        case 0:
            return (f"DELETE FROM orders WHERE id = {chance.randrange(100)}",)
        case 1:
            return (f"UPDATE orders SET amount = amount - 3 WHERE customer = {chance.randrange(8)}",)
        case 2:
            return (f"INSERT INTO customers VALUES ({chance.randrange(8)}, {chance.randrange(3)})",)
        case _:
            values = chance.randrange(100), chance.randrange(8), chance.randrange(20)
            return (f"INSERT INTO orders VALUES {values}",)


def check_all(session: RemoteSession, life: int) -> None:
    for name in TABLES:
        verdict = json.loads(rows(session, f"SELECT SYSTEM$CHECK_DYNAMIC_TABLE('{name}')")[0][0])
        assert verdict["equal"], (life, verdict)


def refreshes(session: RemoteSession) -> dict[str, int]:
    """How many scheduled refreshes of each table computed something."""
    found = rows(
        session,
        "SELECT LOWER(name), COUNT(*)"
        " FROM TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY(RESULT_LIMIT => 10000))"
        " WHERE state = 'SUCCEEDED' AND refresh_trigger = 'SCHEDULED' AND refresh_action <> 'NO_DATA' GROUP BY name",
    )
    return dict(found)


def progressed(before: dict[str, int], now: dict[str, int]) -> bool:
    return all(now.get(name, 0) > before.get(name, 0) for name in TABLES)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_server_that_is_killed_again_and_again(tmp_path: Path) -> None:
    data, config = tmp_path / "data", small_spark(tmp_path / "snowmelt.toml")
    chance = random.Random(11)
    for life in range(LIVES):
        with served(data, config) as server:
            if life == 0:
                create(server.session)
            check_all(server.session, life)
            before = refreshes(server.session)

            def all_refreshed(session: RemoteSession = server.session, before: Any = before) -> bool:
                return progressed(before, refreshes(session))

            with writing(server, [unit, unit], life) as load:
                await_that(all_refreshed, "every table is refreshed")
                load.await_more(chance.randint(1, 12))
                server.kill()
    with served(data, config) as server:
        check_all(server.session, LIVES)
        become_current(server.session)
        states = rows(
            server.session,
            "SELECT DISTINCT state FROM TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY(RESULT_LIMIT => 10000))"
            " WHERE refresh_end_time IS NOT NULL",
        )
        assert {state for (state,) in states} <= {"SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED", "UPSTREAM_FAILED"}
        server.stop()


def create(session: RemoteSession) -> None:
    for statement in BASES:
        session.execute(statement)
    for name, (lag, query) in TABLES.items():
        session.execute(f"CREATE DYNAMIC TABLE {name} TARGET_LAG = {lag} WAREHOUSE = COMPUTE_WH AS {query}")


def become_current(session: RemoteSession) -> None:
    """Nobody writes any more: all of them become what their queries give now."""
    for name, (_, query) in TABLES.items():

        def current(name: str = name, query: str = query) -> bool:
            return rows(session, f"SELECT * FROM {name}") == rows(session, query)

        await_that(current, f"{name} is current")
