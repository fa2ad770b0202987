"""Rows of small tables come in the order in which they were inserted, where no ORDER BY asks for another."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.core.names import ObjectName
from snowmelt.features.channels.compaction import compact
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.state.model import ObjectKind
from tests.conftest import SPARK

FILES, ROWS = 9, 40
"""So many inserts of so many rows: Spark reads the largest file first unless it is told otherwise."""


def filled(session: Session, table: str = "t") -> list[int]:
    """Fills a table by inserts of very different size, and returns the numbers in their order."""
    chance = random.Random(7)
    session.execute(f"CREATE TABLE {table} (n INT, word VARCHAR)")
    numbers: list[int] = []
    for _ in range(FILES):
        words = ["".join(chance.choices("abcdefgh", k=chance.randrange(300))) for _ in range(chance.randrange(1, ROWS))]
        rows = [(chance.randrange(10**9), word) for word in words]
        session.execute(f"INSERT INTO {table} VALUES " + ", ".join(f"({number}, '{word}')" for number, word in rows))
        numbers += [number for number, _ in rows]
    return numbers


def numbers_of(session: Session, query: str) -> list[int]:
    return [row[0] for row in session.execute(query).rows()]


def agree(session: Session, numbers: Sequence[int], table: str = "t") -> None:
    assert numbers_of(session, f"SELECT n FROM {table}") == list(numbers)
    assert numbers_of(session, f"SELECT n FROM {table} LIMIT 5") == list(numbers[:5])


def test_several_inserts(session: Session) -> None:
    numbers = filled(session)
    agree(session, numbers)
    assert [row[0] for row in session.execute("SELECT * FROM t").rows()] == numbers
    even = [number for number in numbers if number % 2 == 0]
    assert numbers_of(session, "SELECT n FROM t WHERE n % 2 = 0") == even
    assert numbers_of(session, "SELECT n FROM (SELECT n, UPPER(word) AS w FROM t) WHERE n % 2 = 0 LIMIT 3") == even[:3]
    session.execute("CREATE VIEW v AS SELECT n, LENGTH(word) AS l FROM t")
    agree(session, numbers, "v")
    session.execute("CREATE TABLE copied AS SELECT * FROM t")
    session.execute("INSERT INTO copied SELECT n + 1, word FROM t")
    agree(session, [*numbers, *(number + 1 for number in numbers)], "copied")
    assert numbers_of(session, "SELECT n FROM t ORDER BY n") == sorted(numbers)


def test_changes(session: Session) -> None:
    """What a statement changes is a new file: its rows come last, and the others stay as they are."""
    session.execute("CREATE TABLE t (n INT, word VARCHAR)")
    for number in range(6):
        session.execute(f"INSERT INTO t VALUES ({number}, REPEAT('x', {number * 500}))")
    session.execute("DELETE FROM t WHERE n = 2")
    agree(session, [0, 1, 3, 4, 5])
    session.execute("UPDATE t SET word = 'changed' WHERE n = 1")
    agree(session, [0, 3, 4, 5, 1])
    session.execute("BEGIN")
    session.execute("INSERT INTO t VALUES (6, REPEAT('y', 5000))")
    session.execute("INSERT INTO t VALUES (7, '')")
    agree(session, [0, 3, 4, 5, 1, 6, 7])
    session.execute("ROLLBACK")
    agree(session, [0, 3, 4, 5, 1])


def test_clones_and_streams(session: Session) -> None:
    numbers = filled(session)
    session.execute("CREATE TABLE cloned CLONE t")
    agree(session, numbers, "cloned")
    session.execute("CREATE STREAM changed ON TABLE cloned")
    session.execute("CREATE STREAM initial ON TABLE t SHOW_INITIAL_ROWS = TRUE")
    for number in range(5):
        session.execute(f"INSERT INTO cloned VALUES ({number}, REPEAT('x', {(number * 7 % 5) * 400}))")
    agree(session, [0, 1, 2, 3, 4], "changed")
    agree(session, numbers, "initial")
    agree(session, [*numbers, 0, 1, 2, 3, 4], "cloned")


def test_after_a_restart_and_after_compaction(account: Account, tmp_path: Path) -> None:
    account.engine.session()
    with open_account(tmp_path, settings=Settings(spark=SPARK)) as first:
        session = first.session()
        session.execute("CREATE DATABASE kept")
        numbers = filled(session)
        session.execute("CREATE TABLE cloned CLONE t")
    with open_account(tmp_path, settings=Settings(spark=SPARK)) as second:
        session = second.session(database="KEPT", schema="PUBLIC")
        agree(session, numbers)
        agree(session, numbers, "cloned")
        table_id = _table_id(second)
        assert compact(second, table_id, fewest=2) == FILES
        agree(session, numbers)
        session.execute("INSERT INTO t VALUES (1, ''), (0, '')")
        agree(session, [*numbers, 1, 0])


def _table_id(account: Account) -> str:
    with account.state.read() as state:
        found = state.catalog.find(ObjectName("KEPT", "PUBLIC", "T"), [ObjectKind.TABLE])
    assert found is not None
    return found.id
