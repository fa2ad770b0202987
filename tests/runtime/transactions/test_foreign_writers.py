"""Another tool writes to our tables: its rows are never lost, and ours are never half there."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from structlog.testing import capture_logs

from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.storage.table import DeltaStore
from tests.crash.inspection import check_at_rest, check_feed
from tests.runtime.transactions.seeing import (
    a_dead_process_appends,
    find,
    location,
    seen,
    their_table,
    they_append,
    visible,
)


@pytest.fixture
def session(plain: Account) -> Session:
    opened = plain.session()
    opened.execute("CREATE TABLE T (ID INT)")
    opened.execute("INSERT INTO T VALUES (1)")
    return opened


@pytest.fixture
def other(plain: Account) -> Session:
    return plain.session()


def settled(account: Account, name: str) -> None:
    """Nothing is left open: what is visible is all there is, for every reader."""
    table, newest = find(account, name), visible(account, name)
    check_feed(account, table, newest.version)
    check_at_rest(account)


def test_visible_at_the_next_read(plain: Account, session: Session) -> None:
    they_append(plain, "T", 10)
    assert seen(session, "T") == [[1, 10]]
    newest = visible(plain, "T")
    assert (newest.foreign, newest.operation, newest.rows) == (True, "FOREIGN", 2)
    session.execute("INSERT INTO T VALUES (2)")
    they_append(plain, "T", 11)
    session.execute("INSERT INTO T VALUES (3)")
    assert seen(session, "T") == [[1, 2, 3, 10, 11]]
    assert visible(plain, "T").rows == 5
    settled(plain, "T")


def test_a_statement_sees_one_version_of_a_table_it_names_twice(plain: Account, session: Session) -> None:
    they_append(plain, "T", 10)
    assert seen(session, "T", "T") == [[1, 10], [1, 10]]


@pytest.mark.parametrize("ending", ["COMMIT", "ROLLBACK"])
def test_between_the_commits_of_a_transaction(plain: Account, session: Session, other: Session, ending: str) -> None:
    session.execute("BEGIN")
    session.execute("INSERT INTO T VALUES (2)")
    they_append(plain, "T", 10)
    assert seen(other, "T") == [[1]], "a table that a transaction is writing is as it was for everybody else"
    session.execute("INSERT INTO T VALUES (3)")
    assert seen(session, "T") == [[1, 2, 3, 10]], "the transaction itself writes behind them"
    they_append(plain, "T", 11)
    session.execute(ending)
    ours = [2, 3] if ending == "COMMIT" else []
    assert seen(other, "T") == [[1, *ours, 10, 11]]
    assert visible(plain, "T").rows == 3 + len(ours)
    settled(plain, "T")


def test_before_a_transaction_that_is_rolled_back(plain: Account, session: Session) -> None:
    they_append(plain, "T", 10)
    session.execute("BEGIN")
    session.execute("TRUNCATE TABLE T")
    session.execute("INSERT INTO T VALUES (2)")
    session.execute("ROLLBACK")
    assert seen(session, "T") == [[1, 10]]
    settled(plain, "T")


def test_they_delete_visible_rows_while_we_write(plain: Account, session: Session) -> None:
    session.execute("BEGIN")
    session.execute("INSERT INTO T VALUES (2)")
    their_table(plain, "T").delete('"ID" = 1')
    session.execute("ROLLBACK")
    assert seen(session, "T") == [[]]
    settled(plain, "T")


def test_what_they_made_of_our_uncommitted_rows_goes_with_them(plain: Account, session: Session) -> None:
    session.execute("BEGIN")
    session.execute("INSERT INTO T VALUES (2), (3)")
    their_table(plain, "T").delete('"ID" = 2')
    they_append(plain, "T", 10)
    with capture_logs() as logs:
        session.execute("ROLLBACK")
    assert [entry["versions"] for entry in logs if entry["event"] == "foreign_commits_undone"] == [[3]]
    assert seen(session, "T") == [[1, 10]]
    settled(plain, "T")


def test_our_change_meets_theirs(plain: Account, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """A DELETE rewrites files of the version it read: when they commit meanwhile, it looks again."""
    rewrite, meetings = DeltaStore.rewrite, []

    def disturbed(self: DeltaStore, where: str, *arguments: Any, **options: Any) -> Any:
        if not meetings:
            meetings.append(1)
            they_append(plain, "T", 10)
        return rewrite(self, where, *arguments, **options)

    monkeypatch.setattr(DeltaStore, "rewrite", disturbed)
    for number, begin in enumerate(([], ["BEGIN"])):
        meetings.clear()
        session.execute(f"INSERT INTO T VALUES ({number + 5})")
        for statement in begin:
            session.execute(statement)
        assert session.execute(f"DELETE FROM T WHERE ID = {number + 5}").rows() == [(1,)]
        session.execute("COMMIT")
        assert meetings
    assert seen(session, "T") == [[1, 10, 10]]
    settled(plain, "T")


def test_our_change_meets_theirs_every_time(plain: Account, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    rewrite = DeltaStore.rewrite

    def disturbed(self: DeltaStore, where: str, *arguments: Any, **options: Any) -> Any:
        they_append(plain, "T", 10)
        return rewrite(self, where, *arguments, **options)

    monkeypatch.setattr(DeltaStore, "rewrite", disturbed)
    session.execute("ALTER SESSION SET LOCK_TIMEOUT = 0")
    with pytest.raises(Exception, match="Another writer changed the table") as caught:
        session.execute("DELETE FROM T WHERE ID = 1")
    assert getattr(caught.value, "transient", False)
    assert seen(session, "T")[0][0] == 1
    settled(plain, "T")


def test_a_statement_that_fails_behind_theirs(
    plain: Account, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.execute("BEGIN")
    session.execute("INSERT INTO T VALUES (2)")
    they_append(plain, "T", 10)
    append = DeltaStore.append

    def failing(self: DeltaStore, where: str, *arguments: Any) -> Any:
        append(self, where, *arguments)
        they_append(plain, "T", 11)
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(DeltaStore, "append", failing)
        with pytest.raises(Exception, match="Input/output error"):
            session.execute("INSERT INTO T VALUES (3)")
    assert seen(session, "T") == [[1, 2, 10, 11]]
    session.execute("INSERT INTO T VALUES (4)")
    session.execute("COMMIT")
    assert seen(session, "T") == [[1, 2, 4, 10, 11]]
    assert visible(plain, "T").rows == 5
    settled(plain, "T")


def test_what_a_dead_process_finishes_never_becomes_visible(plain: Account, session: Session) -> None:
    a_dead_process_appends(plain, "T", 99)
    assert seen(session, "T") == [[1]]
    settled(plain, "T")
    they_append(plain, "T", 10)
    a_dead_process_appends(plain, "T", 99)
    they_append(plain, "T", 11)
    session.execute("INSERT INTO T VALUES (2)")
    assert seen(session, "T") == [[1, 2, 10, 11]]
    settled(plain, "T")


@pytest.mark.parametrize("ending", ["COMMIT", "ROLLBACK"])
def test_a_dead_process_finishes_inside_our_transaction(plain: Account, session: Session, ending: str) -> None:
    session.execute("BEGIN")
    session.execute("INSERT INTO T VALUES (2)")
    a_dead_process_appends(plain, "T", 99)
    they_append(plain, "T", 10)
    session.execute("INSERT INTO T VALUES (3)")
    a_dead_process_appends(plain, "T", 99)
    session.execute(ending)
    assert seen(session, "T") == [[1, 2, 3, 10] if ending == "COMMIT" else [1, 10]]
    settled(plain, "T")


def test_a_dead_process_finishes_inside_our_statement(
    plain: Account, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, times = DeltaStore.append, []

    def disturbed(self: DeltaStore, where: str, *arguments: Any) -> Any:
        if not times:
            times.append(1)
            a_dead_process_appends(plain, "T", 99)
        return append(self, where, *arguments)

    monkeypatch.setattr(DeltaStore, "append", disturbed)
    session.execute("INSERT INTO T VALUES (2)")
    assert seen(session, "T") == [[1, 2]]
    settled(plain, "T")


def test_readable_by_others_at_all_times(plain: Account, session: Session) -> None:
    """A raw reader sees what is uncommitted too; what it reads is whole all the same."""
    session.execute("BEGIN")
    session.execute("INSERT INTO T VALUES (2)")
    assert pa.table(their_table(plain, "T").scan().read_all()).num_rows == 2
    session.execute("ROLLBACK")
    assert pa.table(their_table(plain, "T").scan().read_all()).num_rows == 1
    assert plain.store.latest_version(location(plain, "T")) == visible(plain, "T").version
