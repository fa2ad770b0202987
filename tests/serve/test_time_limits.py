"""STATEMENT_TIMEOUT_IN_SECONDS of sessions, of the account and of warehouses: the smallest that is set counts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from contextvars import copy_context

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.slots import Slots, large
from snowmelt.features.tasks.service import Tasks
from snowmelt.runtime.metering import LIMITS, TIME_LIMIT
from snowmelt.runtime.session import Session
from tests.serve.callers import OwnCaller, Serving, SnowflakeCaller
from tests.support.waiting import DEADLINE, wait_until

WAIT = "CALL SYSTEM$WAIT(600)"


@pytest.fixture
def admin(serving: Serving) -> Iterator[Session]:
    session = serving.admin()
    session.execute("CREATE OR REPLACE WAREHOUSE limited STATEMENT_TIMEOUT_IN_SECONDS = 1")
    yield session
    session.execute("ALTER ACCOUNT UNSET STATEMENT_TIMEOUT_IN_SECONDS")
    session.execute("DROP WAREHOUSE IF EXISTS limited")
    session.close()


def limit_of(session: Session) -> str:
    """What the statement says that was stopped."""
    with pytest.raises(SnowmeltError, match=r"timeout of \d+ second") as caught:
        session.execute(WAIT)
    assert caught.value.code == "000630"
    return caught.value.message.split("timeout of ")[1].split(" second")[0]


def test_the_smallest_counts(serving: Serving, admin: Session) -> None:
    assert limit_of(admin) == "1"
    admin.execute("ALTER SESSION SET STATEMENT_TIMEOUT_IN_SECONDS = 30")
    assert limit_of(admin) == "1"
    admin.execute("ALTER WAREHOUSE limited SET STATEMENT_TIMEOUT_IN_SECONDS = 60")
    admin.execute("ALTER SESSION SET STATEMENT_TIMEOUT_IN_SECONDS = 2")
    assert limit_of(admin) == "2"
    # 0 is no limit: of the session, the warehouse's is left, and of the warehouse, the account's.
    admin.execute("ALTER SESSION SET STATEMENT_TIMEOUT_IN_SECONDS = 0")
    admin.execute("ALTER WAREHOUSE limited SET STATEMENT_TIMEOUT_IN_SECONDS = 1")
    assert limit_of(admin) == "1"
    admin.execute("ALTER SESSION UNSET STATEMENT_TIMEOUT_IN_SECONDS")
    admin.execute("ALTER WAREHOUSE limited SET STATEMENT_TIMEOUT_IN_SECONDS = 0")
    admin.execute("ALTER ACCOUNT SET STATEMENT_TIMEOUT_IN_SECONDS = 2")
    assert limit_of(admin) == "2"


def test_it_follows_the_warehouse(serving: Serving, admin: Session) -> None:
    admin.execute("ALTER WAREHOUSE limited RENAME TO renamed")
    assert (admin.warehouse, limit_of(admin)) == ("RENAMED", "1")
    admin.execute("ALTER WAREHOUSE renamed UNSET STATEMENT_TIMEOUT_IN_SECONDS")
    assert serving.account.metering.limit("RENAMED", TIME_LIMIT) == 0
    admin.execute("CREATE OR REPLACE WAREHOUSE renamed STATEMENT_TIMEOUT_IN_SECONDS = 1")
    assert limit_of(admin) == "1"
    other = serving.admin()
    other.execute("USE WAREHOUSE compute_wh")
    other.execute("CALL SYSTEM$WAIT(2)")
    other.close()
    admin.execute("DROP WAREHOUSE renamed")


@pytest.mark.parametrize("caller", [SnowflakeCaller, OwnCaller])
def test_through_every_door(serving: Serving, admin: Session, caller: type[SnowflakeCaller | OwnCaller]) -> None:
    admin.execute("GRANT USAGE ON WAREHOUSE limited TO ROLE analyst")
    client = caller(serving)
    client.run("USE WAREHOUSE limited")
    assert client.run(WAIT) == "000630"
    assert client.run("BEGIN CALL SYSTEM$WAIT(600); END") == "000630"


def test_a_task_and_its_history(serving: Serving, admin: Session) -> None:
    admin.execute(f"CREATE OR REPLACE TASK slow WAREHOUSE = limited AS {WAIT}")
    serving.account.services[Tasks].start()
    admin.execute("EXECUTE TASK slow")
    history = "SHOW TASKS LIKE 'slow'"
    assert admin.execute(history).rows()

    def codes() -> set[str | None]:
        return {record.error_code for record in serving.account.journal.list(100) if record.text == WAIT}

    wait_until(lambda: "000630" in codes(), codes)
    admin.execute("DROP TASK slow")


@pytest.mark.parametrize("value", ["-1", "604801000000", "99999999999999999999"])
@pytest.mark.parametrize("limit", LIMITS)
def test_what_is_no_limit_is_refused(admin: Session, limit: str, value: str) -> None:
    for of in ("SESSION", "WAREHOUSE limited", "ACCOUNT"):
        with pytest.raises(SnowmeltError):
            admin.execute(f"ALTER {of} SET {limit} = {value}")


def test_waiting_for_a_slot_has_a_limit(serving: Serving, admin: Session) -> None:
    """STATEMENT_QUEUED_TIMEOUT_IN_SECONDS, of the session or of its warehouse: again the smallest counts."""
    admin.execute("ALTER WAREHOUSE limited SET STATEMENT_QUEUED_TIMEOUT_IN_SECONDS = 1")
    admin.execute("ALTER SESSION SET STATEMENT_QUEUED_TIMEOUT_IN_SECONDS = 100")
    outcomes: list[object] = []

    def ask() -> None:
        try:
            outcomes.append(admin.execute("SELECT 1").rows())
        except SnowmeltError as error:
            outcomes.append(error.text)

    with ExitStack() as taken:
        for _ in range(serving.account.settings.parallel_statements):
            # Each in a context of its own, as statements of other threads are.
            context = copy_context()
            slot = serving.account.slots.taken()
            context.run(slot.__enter__)
            taken.callback(context.run, slot.__exit__, None, None, None)
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join(DEADLINE)
    assert len(outcomes) == 1
    assert "timeout of 1 second" in str(outcomes[0])
    ask()
    assert outcomes[1] == [(1,)]
    # One that has its slot, and waits to be large.
    with pytest.raises(SnowmeltError, match="timeout of 1 second"), ExitStack() as taken:
        full = Slots(1)
        context = copy_context()
        for other in (full.taken(), large()):
            context.run(other.__enter__)
            taken.callback(context.run, other.__exit__, None, None, None)
        with full.taken(), full.taken(patience=1), large():
            raise AssertionError("there was no slot for it")
