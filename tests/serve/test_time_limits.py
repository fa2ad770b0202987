"""STATEMENT_TIMEOUT_IN_SECONDS of sessions, of the account and of warehouses: the smallest that is set counts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.features.tasks.service import Tasks
from snowmelt.runtime.session import Session
from tests.serve.callers import OwnCaller, Serving, SnowflakeCaller
from tests.support.waiting import wait_until

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
    assert serving.account.metering.time_limit("RENAMED") == 0
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


@pytest.mark.parametrize("value", ["-1", "604801", "99999999999999999999"])
def test_what_is_no_limit_is_refused(admin: Session, value: str) -> None:
    for of in ("SESSION", "WAREHOUSE limited", "ACCOUNT"):
        with pytest.raises(SnowmeltError):
            admin.execute(f"ALTER {of} SET STATEMENT_TIMEOUT_IN_SECONDS = {value}")
