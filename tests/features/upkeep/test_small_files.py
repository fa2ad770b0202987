"""Single-row commits for hours of a simulated clock: files, log entries and versions stay few, and nothing is lost."""

from __future__ import annotations

from datetime import timedelta

import pytest

from snowmelt.core.clock import ManualClock
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.upkeep.service import Upkeep
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.runtime.transactions.seeing import find, location
from tests.support.table_files import files_on_disk, live_files, rows_in_order

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)


def test_single_rows_leave_few_files_in_their_order(account: Account, session: Session, clock: ManualClock) -> None:
    session.execute("CREATE TABLE t (a INT)")
    most = 0
    for number in range(200):
        session.execute(f"INSERT INTO t VALUES ({number})")
        clock.advance(timedelta(seconds=1))
        if number % 40 == 39:
            account.services[Upkeep].run()
        most = max(most, len(live_files(account, "T")))
    assert most <= 40 + 32
    assert rows_in_order(account, "T") == list(range(200))
    account.store.forget(location(account, "T"))
    assert rows_in_order(account, "T") == list(range(200)), "in another order for who reads the log from its beginning"


def test_versions_beyond_retention_go_with_their_files(account: Account, session: Session, clock: ManualClock) -> None:
    session.execute("CREATE TABLE t (a INT)")
    where = location(account, "T")
    for day in range(6):
        for number in range(40):
            session.execute(f"INSERT INTO t VALUES ({day * 40 + number})")
            clock.advance(timedelta(minutes=36))
            if number % 20 == 19:
                account.services[Upkeep].run()
    account.services[Upkeep].run()
    # A day of versions, and what lies between a checkpoint and the oldest of them.
    assert account.store.care.log_entries(where) <= 40 + 100 + 20
    assert files_on_disk(account, "T") <= 40 + 40 + 32
    with account.state.read() as state:
        assert len(state.versions.history(find(account, "T").id)) <= 40 + 30
    assert rows_in_order(account, "T") == list(range(240))
    account.store.forget(where)
    assert rows_in_order(account, "T") == list(range(240))


def test_beyond_retention_says_so(account: Account, session: Session, clock: ManualClock) -> None:
    session.execute("CREATE TABLE t (a INT)")
    session.execute("INSERT INTO t VALUES (1)")
    clock.advance(MINUTE)
    session.execute("DELETE FROM t")
    clock.advance(DAY + 20 * MINUTE)
    session.execute("INSERT INTO t VALUES (2)")
    account.services[Upkeep].run()
    assert files_on_disk(account, "T") == 1
    with pytest.raises(SnowmeltError, match="000707"):
        session.execute("SELECT * FROM t AT (OFFSET => -100000)")


def test_files_of_a_table_with_renamed_columns_go_and_are_not_put_together(
    account: Account, session: Session, clock: ManualClock
) -> None:
    session.execute("CREATE TABLE t (a INT)")
    for number in range(40):
        session.execute(f"INSERT INTO t VALUES ({number})")
    session.execute("DELETE FROM t WHERE a < 10")
    session.execute("ALTER TABLE t RENAME COLUMN a TO b")
    before = len(live_files(account, "T"))
    assert files_on_disk(account, "T") > before
    clock.advance(2 * DAY)
    account.services[Upkeep].run()
    assert len(live_files(account, "T")) == before
    assert files_on_disk(account, "T") == before
    assert sum(file.rows or 0 for file in live_files(account, "T")) == 30
