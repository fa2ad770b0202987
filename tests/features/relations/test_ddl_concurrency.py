"""ALTER TABLE beside statements of other sessions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from deltalake import DeltaTable

from snowmelt.accounts import open_account
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.runtime.results import Result
from snowmelt.runtime.session import Session
from snowmelt.state.model import TableDefinition
from tests.support.waiting import DEADLINE


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    with open_account(tmp_path) as opened:
        opened.session().execute_script("CREATE TABLE t (a INT, b VARCHAR(3)); INSERT INTO t VALUES (1, 'x')")
        yield opened


@pytest.fixture
def aside() -> Iterator[Callable[[Callable[[], Result]], Future[Result]]]:
    with ThreadPoolExecutor() as pool:
        yield pool.submit


def _until(condition: Callable[[], bool]) -> None:
    """Waits for another thread to get somewhere."""
    turn = threading.Event()
    for _ in range(30_000):
        if condition():
            return
        turn.wait(0.001)
    raise AssertionError("it never came to that")


def _rows(account: Account) -> list[dict[str, object]]:
    with account.state.read() as state:
        (table,) = state.catalog.objects()
    assert isinstance(table.definition, TableDefinition)
    found = DeltaTable(account.store.root.uri_of(table.definition.location)).to_pyarrow_table()
    return [dict(row) for row in found.to_pylist()]


def test_an_insert_that_waited_sees_the_new_columns(
    account: Account, aside: Callable[[Callable[[], Result]], Future[Result]]
) -> None:
    """It looked the table up, waits for it, and then finds that it has changed: it starts over."""
    holder, inserter, alterer = account.session(), account.session(), account.session()
    holder.execute("BEGIN")
    holder.execute("INSERT INTO t VALUES (2, 'y')")
    altering = aside(lambda: alterer.execute("ALTER TABLE t ADD COLUMN c INT DEFAULT 7"))
    _until(lambda: len(account.locks.waiting()) == 1)
    inserting = aside(lambda: inserter.execute("INSERT INTO t (a) VALUES (3)"))
    _until(lambda: len(account.locks.waiting()) == 2)
    holder.execute("COMMIT")
    altering.result(DEADLINE)
    inserting.result(DEADLINE)
    assert sorted((row["A"], row["C"]) for row in _rows(account)) == [(1, 7), (2, 7), (3, 7)]


def test_a_dropped_table_is_not_written(
    account: Account, aside: Callable[[Callable[[], Result]], Future[Result]]
) -> None:
    holder, inserter = account.session(), account.session()
    holder.execute("BEGIN")
    holder.execute("INSERT INTO t VALUES (2, 'y')")
    inserting = aside(lambda: inserter.execute("INSERT INTO t (a) VALUES (3)"))
    _until(lambda: len(account.locks.waiting()) == 1)
    account.session().execute("DROP TABLE t")
    holder.execute("ROLLBACK")
    with pytest.raises(SnowmeltError, match="does not exist"):
        inserting.result(DEADLINE)


def test_many_alter_one_table(account: Account, aside: Callable[[Callable[[], Result]], Future[Result]]) -> None:
    sessions = [account.session() for _ in range(6)]

    def add(session: Session, number: int) -> Result:
        return session.execute(f"ALTER TABLE t ADD COLUMN c{number} INT DEFAULT {number}")

    for one in [aside(partial(add, session, number)) for number, session in enumerate(sessions)]:
        one.result(DEADLINE)
    (row,) = _rows(account)
    assert {name: value for name, value in row.items() if name.startswith("C")} == {f"C{n}": n for n in range(6)}
