"""The runner over a real account: tables keep themselves fresh, fail, are suspended and go on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from time import monotonic

import pytest

from snowmelt.features.dynamic_tables.service import DynamicTables
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.support.waiting import DEADLINE


@pytest.fixture(autouse=True)
def scheduler(account: Account) -> Iterator[None]:
    account.services[DynamicTables].start()
    yield
    account.services[DynamicTables].stop(DEADLINE)


def await_that(condition: Callable[[], bool]) -> None:
    pause = threading.Event()
    end = monotonic() + DEADLINE
    while not condition():
        assert monotonic() < end, "it did not happen in time"
        pause.wait(0.05)


def rows(session: Session, query: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in session.execute(query).rows()]


def history(session: Session, table: str) -> list[tuple[object, ...]]:
    return rows(
        session,
        "SELECT state, refresh_action, data_timestamp, completion_target IS NOT NULL "
        f"FROM TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY(NAME => '{table}')) "
        "WHERE refresh_trigger = 'SCHEDULED' ORDER BY data_timestamp",
    )


def test_a_chain_follows_its_source(session: Session) -> None:
    session.execute("CREATE TABLE src (k INT, v INT)")
    session.execute("INSERT INTO src VALUES (1, 10)")
    common = "WAREHOUSE = COMPUTE_WH REFRESH_MODE = FULL"
    session.execute(f"CREATE DYNAMIC TABLE a TARGET_LAG = DOWNSTREAM {common} AS SELECT k, v * 2 AS w FROM src")
    session.execute(
        f"CREATE DYNAMIC TABLE b TARGET_LAG = '2 seconds' {common} INITIALIZE = ON_SCHEDULE "
        "AS SELECT SUM(w) AS s FROM a"
    )
    await_that(lambda: any(state == "SUCCEEDED" for state, *_ in history(session, "B")))
    assert rows(session, "SELECT s FROM b") == [(20,)]
    session.execute("INSERT INTO src VALUES (2, 5)")
    await_that(lambda: rows(session, "SELECT s FROM b") == [(30,)])
    await_that(lambda: any(action == "NO_DATA" for _, action, *_ in history(session, "B")))
    refreshes = history(session, "B")
    upstream = {at for state, _, at, _ in history(session, "A") if state == "SUCCEEDED"}
    # A busy machine may need longer than the lag.
    assert {state for state, *_ in refreshes} <= {"SUCCEEDED", "SKIPPED", "EXECUTING"}
    for state, _, at, targeted in refreshes:
        assert state != "SUCCEEDED" or (at in upstream and targeted)


def test_failures_suspend_and_resume_goes_on(session: Session) -> None:
    session.execute("CREATE TABLE src2 (v INT)")
    session.execute("INSERT INTO src2 VALUES (1)")
    common = "TARGET_LAG = '1 second' WAREHOUSE = COMPUTE_WH REFRESH_MODE = FULL INITIALIZE = ON_CREATE"
    session.execute(f"CREATE DYNAMIC TABLE f {common} AS SELECT 10 / v AS r FROM src2")
    session.execute(f"CREATE DYNAMIC TABLE g {common} AS SELECT r FROM f")
    session.execute("INSERT INTO src2 VALUES (0)")

    def states(table: str) -> list[object]:
        return [state for state, *_ in history(session, table)]

    def suspended(table: str) -> bool:
        shown = session.execute(f"SHOW DYNAMIC TABLES LIKE '{table}'")
        place = [column.name for column in shown.columns].index("scheduling_state")
        return "SUSPENDED" in str(shown.rows()[0][place])

    await_that(lambda: suspended("F"))
    assert states("F").count("FAILED") == 5
    assert suspended("G")
    assert "UPSTREAM_FAILED" in states("G")
    session.execute("DELETE FROM src2 WHERE v = 0")
    session.execute("INSERT INTO src2 VALUES (5)")
    session.execute("ALTER DYNAMIC TABLE f RESUME")
    await_that(lambda: len(rows(session, "SELECT r FROM g")) == 2)


def test_a_commit_wakes_a_chain_whose_lag_is_long(account: Account, session: Session) -> None:
    """The first change after quiet times is shown at once; the next one waits for the lag."""
    session.execute("CREATE TABLE woken (k INT)")
    common = "WAREHOUSE = COMPUTE_WH REFRESH_MODE = FULL INITIALIZE = ON_SCHEDULE"
    session.execute(f"CREATE DYNAMIC TABLE woken_a TARGET_LAG = DOWNSTREAM {common} AS SELECT k FROM woken WHERE k > 0")
    session.execute(f"CREATE DYNAMIC TABLE woken_b TARGET_LAG = '1 hour' {common} AS SELECT COUNT(*) AS n FROM woken_a")
    await_that(lambda: any(state == "SUCCEEDED" for state, *_ in history(session, "WOKEN_B")))
    # What filled it counts as work: as if that were long ago.
    account.services[DynamicTables].stop(DEADLINE)
    with account.state.begin() as state:
        for row in state.dynamic.refreshes(state.now - timedelta(hours=1), state.now):
            state.dynamic.forget_refresh(row.id)
    account.services[DynamicTables].start()
    session.execute("INSERT INTO woken VALUES (1), (2)")
    await_that(lambda: rows(session, "SELECT n FROM woken_b") == [(2,)])
    session.execute("INSERT INTO woken VALUES (3)")
    session.execute("SELECT 1")
    assert len(history(session, "WOKEN_B")) == 1
