"""Sessions on threads of their own: nothing is lost, nothing is seen half, nobody waits forever."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.core.errors import SnowmeltError, TableChangedError
from snowmelt.core.names import ObjectName
from snowmelt.runtime.account import Account
from snowmelt.runtime.resolver import StatementCatalog
from snowmelt.runtime.run import Run
from snowmelt.runtime.session import Session
from snowmelt.sql.tokens import SqlText
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition
from tests.crash.inspection import check_at_rest, check_history
from tests.runtime.transactions.seeing import find, seen, they_append, visible
from tests.support.waiting import DEADLINE, wait_until


def in_threads(count: int, work: Callable[[int], None]) -> None:
    """Runs `work` on so many threads, all starting at the same moment, and raises what one of them raised."""
    start = threading.Barrier(count)

    def one(number: int) -> None:
        start.wait()
        work(number)

    with ThreadPoolExecutor(count) as pool:
        for outcome in [pool.submit(one, number) for number in range(count)]:
            outcome.result()


def test_inserts_into_one_table_and_into_many(plain: Account) -> None:
    setup = plain.session()
    setup.execute("CREATE TABLE COMMON (ID INT)")
    for number in range(4):
        setup.execute(f"CREATE TABLE OWN{number} (ID INT)")

    def work(number: int) -> None:
        session = plain.session()
        for step in range(10):
            session.execute(f"INSERT INTO COMMON VALUES ({number * 100 + step})")
            session.execute(f"INSERT INTO OWN{number} VALUES ({step})")
        session.close()

    in_threads(4, work)
    assert seen(setup, "COMMON") == [[number * 100 + step for number in range(4) for step in range(10)]]
    for number in range(4):
        assert seen(setup, f"OWN{number}") == [list(range(10))]
    for name in ("COMMON", "OWN0", "OWN3"):
        check_history(plain, find(plain, name))
    assert visible(plain, "COMMON").rows == 40
    check_at_rest(plain)


def test_deletes_and_inserts_in_one_table(plain: Account) -> None:
    setup = plain.session()
    setup.execute("CREATE TABLE T (ID INT)")

    def work(number: int) -> None:
        session = plain.session()
        for step in range(6):
            session.execute(f"INSERT INTO T VALUES ({number * 100 + step}), ({number * 100 + step + 50})")
            assert session.execute(f"DELETE FROM T WHERE ID = {number * 100 + step}").rows() == [(1,)]

    in_threads(3, work)
    assert seen(setup, "T") == [[number * 100 + step + 50 for number in range(3) for step in range(6)]]
    check_at_rest(plain)


def test_tables_that_come_and_go(plain: Account) -> None:
    """CREATE OR REPLACE and DROP beside inserts: an insert lands in one of the tables of that name, or finds none."""
    plain.session().execute("CREATE TABLE T (ID INT)")
    done = threading.Event()

    def work(number: int) -> None:
        session = plain.session()
        try:
            for step in range(8 if number == 0 else 1000):
                if number == 0:
                    session.execute("CREATE OR REPLACE TABLE T (ID INT)")
                elif not done.is_set():
                    session.execute(f"INSERT INTO T VALUES ({step})")
        finally:
            if number == 0:
                done.set()

    in_threads(3, work)
    check_at_rest(plain)


def altered(plain: Account, times: int) -> AbstractContextManager[object]:
    """So often in a row, a table is another one when a statement gets to it."""
    left = iter(range(times))

    def check(table: CatalogObject) -> None:
        if next(left, None) is not None:
            raise TableChangedError(str(table.name))

    return patch.object(plain.transactions, "_check_unchanged", check)


@pytest.mark.parametrize("before", ["SELECT 1", "BEGIN", "ALTER SESSION SET AUTOCOMMIT = FALSE"])
def test_a_statement_that_meets_altered_tables_starts_again_by_itself(plain: Account, before: str) -> None:
    session = plain.session()
    session.execute("CREATE TABLE T (ID INT)")
    session.execute(before)
    with altered(plain, 25):
        session.execute("INSERT INTO T VALUES (1)")
    session.execute("COMMIT")
    assert seen(session, "T") == [[1]]
    check_at_rest(plain)


def test_with_no_patience_a_statement_starts_again_a_few_times(plain: Account) -> None:
    session = plain.session()
    session.execute("CREATE TABLE T (ID INT)")
    session.execute("ALTER SESSION SET LOCK_TIMEOUT = 0")
    with altered(plain, 1000), pytest.raises(SnowmeltError, match="was altered") as caught:
        session.execute("INSERT INTO T VALUES (1)")
    assert (caught.value.code, caught.value.transient) == ("000625", True)
    with altered(plain, 5):
        session.execute("INSERT INTO T VALUES (2)")
    assert seen(session, "T") == [[2]]


def test_a_statement_that_starts_again_can_be_cancelled(plain: Account) -> None:
    session = plain.session()
    session.execute("CREATE TABLE T (ID INT)")
    with altered(plain, 1_000_000), ThreadPoolExecutor(1) as pool:
        trying = pool.submit(session.execute, "INSERT INTO T VALUES (1)")
        wait_until(lambda: session.running is not None, "the statement does not run")
        session.cancel()
        with pytest.raises(SnowmeltError, match="canceled"):
            trying.result(timeout=DEADLINE)
    assert seen(session, "T") == [[]]


def test_transfers_keep_the_total_at_every_moment(plain: Account) -> None:
    setup = plain.session()
    setup.execute("CREATE TABLE A (X INT)")
    setup.execute("CREATE TABLE B (X INT)")
    setup.execute("BEGIN")
    setup.execute("INSERT INTO A VALUES (1000)")
    setup.execute("INSERT INTO B VALUES (-1000)")
    setup.execute("COMMIT")
    finished = [threading.Event(), threading.Event()]
    looks: list[int] = []

    def work(number: int) -> None:
        session = plain.session()
        if number < 2:
            # Each in an order of its own: where the two meet, one is refused and tries again.
            tables = ("A", "B") if number == 0 else ("B", "A")
            try:
                for amount in range(1, 13):
                    while not transfer(session, tables, amount):
                        pass
            finally:
                finished[number].set()
            return
        while not all(event.is_set() for event in finished):
            first, second = seen(session, "A", "B")
            assert sum(first) + sum(second) == 0
            looks.append(len(first))

    in_threads(4, work)
    assert len(set(looks)) > 1, "the readers looked before or after everything"
    assert [len(rows) for rows in seen(setup, "A", "B")] == [25, 25]
    check_at_rest(plain)


def transfer(session: Session, tables: tuple[str, str], amount: int) -> bool:
    session.execute("BEGIN")
    try:
        session.execute(f"INSERT INTO {tables[0]} VALUES (-{amount})")
        session.execute(f"INSERT INTO {tables[1]} VALUES ({amount})")
    except SnowmeltError as error:
        assert error.code == "000625"
        session.execute("ROLLBACK")
        return False
    session.execute("COMMIT")
    return True


def test_a_commit_between_two_looks_of_one_statement(plain: Account) -> None:
    """The statement looked at A before the commit, so it sees B as before, though B's lock is free again."""
    session, other = plain.session(), plain.session()
    for name in ("A", "B"):
        session.execute(f"CREATE TABLE {name} (X INT)")
    run = Run(session, SqlText("SELECT"))
    versions = []
    with plain.state.read() as state:
        catalog = StatementCatalog(run, state, session.database, session.schema)
        for name in ("A", "B", "A"):
            table = state.catalog.find(ObjectName("SNOWMELT", "PUBLIC", name), [ObjectKind.TABLE])
            assert table is not None
            assert isinstance(table.definition, TableDefinition)
            versions.append(catalog.version(table, table.definition, None))
            if name == "A" and len(versions) == 1:
                assert transfer(other, ("A", "B"), 5)
                they_append(plain, "B", 7)
    assert versions == [0, 0, 0]
    assert seen(session, "A", "B") == [[-5], [5, 7]]


def test_a_deadlock_is_refused_at_once(plain: Account) -> None:
    one, two = plain.session(), plain.session()
    for name in ("A", "B"):
        one.execute(f"CREATE TABLE {name} (X INT)")
    for session, table in ((one, "A"), (two, "B")):
        session.execute("BEGIN")
        session.execute(f"INSERT INTO {table} VALUES (1)")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(one.execute, "INSERT INTO B VALUES (2)")
        wait_until(plain.locks.waiting, "nobody waits")
        started = time.monotonic()
        with pytest.raises(SnowmeltError, match="Deadlock") as caught:
            two.execute("INSERT INTO A VALUES (2)")
        assert time.monotonic() - started < DEADLINE / 2, "it was not refused, it ran out of time"
        assert caught.value.transient
        assert not waiting.done()
        # The refused transaction still has what it wrote, and may be ended either way.
        assert seen(two, "B") == [[1]]
        two.execute("ROLLBACK")
        waiting.result(timeout=DEADLINE)
    one.execute("COMMIT")
    assert seen(one, "A", "B") == [[1], [2]]
    check_at_rest(plain)


def test_three_in_a_ring(plain: Account) -> None:
    sessions = [plain.session() for _ in range(3)]
    for number, session in enumerate(sessions):
        session.execute(f"CREATE TABLE T{number} (X INT)")
    for number, session in enumerate(sessions):
        session.execute("BEGIN")
        session.execute(f"INSERT INTO T{number} VALUES (1)")
    with ThreadPoolExecutor(2) as pool:
        waits = [pool.submit(sessions[n].execute, f"INSERT INTO T{n + 1} VALUES (1)") for n in (0, 1)]
        wait_until(lambda: len(plain.locks.waiting()) == 2, "two do not wait")
        with pytest.raises(SnowmeltError, match="Deadlock"):
            sessions[2].execute("INSERT INTO T0 VALUES (1)")
        sessions[2].execute("COMMIT")
        waits[1].result(timeout=DEADLINE)
        sessions[1].execute("COMMIT")
        waits[0].result(timeout=DEADLINE)
        sessions[0].execute("COMMIT")
    assert [len(rows) for rows in seen(sessions[0], "T0", "T1", "T2")] == [1, 2, 2]


def waiting_insert(account: Account, pool: ThreadPoolExecutor) -> tuple[Session, Session, Any]:
    """A session that holds T, one that waits for it, and what the latter's INSERT will give."""
    holder, waiter = account.session(), account.session()
    holder.execute("CREATE TABLE T (X INT)")
    holder.execute("BEGIN")
    holder.execute("INSERT INTO T VALUES (1)")
    outcome = pool.submit(waiter.execute, "INSERT INTO T VALUES (2)")
    wait_until(account.locks.waiting, "nobody waits")
    return holder, waiter, outcome


def test_closing_a_session_lets_its_tables_go(plain: Account) -> None:
    with ThreadPoolExecutor(1) as pool:
        holder, waiter, outcome = waiting_insert(plain, pool)
        holder.close()
        outcome.result(timeout=DEADLINE)
    assert seen(waiter, "T") == [[2]]
    with pytest.raises(SnowmeltError, match="no longer exists"):
        holder.execute("SELECT 1")
    check_at_rest(plain)


def test_a_wait_can_be_cancelled(plain: Account) -> None:
    with ThreadPoolExecutor(1) as pool:
        holder, waiter, outcome = waiting_insert(plain, pool)
        waiter.cancel()
        with pytest.raises(SnowmeltError, match="canceled") as caught:
            outcome.result(timeout=DEADLINE)
        assert caught.value.code == "000604"
    holder.execute("COMMIT")
    waiter.execute("INSERT INTO T VALUES (3)")
    assert seen(waiter, "T") == [[1, 3]]


def test_a_table_replaced_while_a_statement_waits_for_it(plain: Account) -> None:
    with ThreadPoolExecutor(1) as pool:
        holder, waiter, outcome = waiting_insert(plain, pool)
        # DDL commits the transaction and then gives the name to another table: the INSERT finds that one.
        holder.execute("CREATE OR REPLACE TABLE T (X INT)")
        outcome.result(timeout=DEADLINE)
        assert seen(waiter, "T")[0] in ([2], [])
    check_at_rest(plain)


def test_closing_an_account_ends_what_waits(tmp_path: Path) -> None:
    account = open_account(tmp_path / "data", settings=Settings(lock_timeout_seconds=2 * DEADLINE))
    with ThreadPoolExecutor(1) as pool:
        _, _, outcome = waiting_insert(account, pool)
        started = time.monotonic()
        account.close()
        with pytest.raises(SnowmeltError):
            outcome.result(timeout=DEADLINE)
        assert time.monotonic() - started < DEADLINE
    account.close()
    with open_account(tmp_path / "data", settings=Settings()) as again:
        assert seen(again.session(), "T") == [[]]
        check_at_rest(again)


def test_temporary_tables_go_with_their_session(plain: Account, tmp_path: Path) -> None:
    session = plain.session()
    session.execute("CREATE TEMPORARY TABLE T (X INT)")
    session.execute("INSERT INTO T VALUES (1)")
    assert len(list(plain.store.root.folders())) == 1
    session.close()
    assert list(plain.store.root.folders()) == []
