"""What text can't say of streams: time that passes, consumers side by side, Spark's own changes, other tools."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from snowmelt.accounts import open_account
from snowmelt.core.clock import ManualClock
from snowmelt.core.config import Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.conftest import SPARK
from tests.support.waiting import DEADLINE

CHANGES = "SELECT id, name, metadata$action, metadata$isupdate, metadata$row_id FROM"


def changes(session: Session, stream: str = "s") -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in session.execute(f"{CHANGES} {stream}").rows()), key=repr)


def without_ids(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [row[:4] for row in rows]


def code_of(session: Session, statement: str) -> str:
    with pytest.raises(SnowmeltError) as caught:
        session.execute(statement)
    return caught.value.code


# -- time -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 3, 1, 12, tzinfo=UTC))


@pytest.fixture
def timed(tmp_path: Path, clock: ManualClock) -> Iterator[Session]:
    """A session without Spark in an account with a clock of its own."""
    with open_account(tmp_path / "data", settings=Settings(), clock=clock) as opened:
        session = opened.session()
        session.execute("CREATE TABLE t (id INT)")
        session.execute("CREATE STREAM s ON TABLE t")
        yield session
        assert not opened.engine.started.is_set(), "this test was to do without Spark"


def shown(session: Session) -> tuple[str, timedelta]:
    """STALE, and how long until it will be."""
    result = session.execute("SHOW STREAMS")
    row = dict(zip([column.name for column in result.columns], result.rows()[0], strict=True))
    return row["stale"], row["stale_after"] - session.account.clock.now()


def test_stale_after_a_fortnight(timed: Session, clock: ManualClock) -> None:
    timed.execute("INSERT INTO t VALUES (1)")
    assert shown(timed) == ("false", timedelta(days=14))
    clock.advance(timedelta(days=13, hours=23))
    assert timed.execute("SELECT SYSTEM$STREAM_HAS_DATA('s')").rows()[0][0] is True
    clock.advance(timedelta(hours=1, seconds=1))
    assert shown(timed)[0] == "true"
    for statement in ("SELECT * FROM s", "SELECT SYSTEM$STREAM_HAS_DATA('s')", "INSERT INTO t SELECT id FROM s"):
        assert code_of(timed, statement) == "091931"
    timed.execute("CREATE OR REPLACE STREAM s ON TABLE t")
    assert shown(timed) == ("false", timedelta(days=14))


def test_a_look_at_an_empty_stream_keeps_it_alive(timed: Session, clock: ManualClock) -> None:
    clock.advance(timedelta(days=10))
    assert timed.execute("SELECT SYSTEM$STREAM_HAS_DATA('s')").rows()[0][0] is False
    assert shown(timed) == ("false", timedelta(days=14))


def test_retention_and_its_extension_decide(timed: Session) -> None:
    timed.execute("ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = 30")
    assert shown(timed)[1] == timedelta(days=30)
    timed.execute("ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = 1 MAX_DATA_EXTENSION_TIME_IN_DAYS = 3")
    assert shown(timed)[1] == timedelta(days=3)
    timed.execute("ALTER TABLE t UNSET MAX_DATA_EXTENSION_TIME_IN_DAYS")
    timed.execute("ALTER SCHEMA public SET MAX_DATA_EXTENSION_TIME_IN_DAYS = 5")
    assert shown(timed)[1] == timedelta(days=5)
    assert code_of(timed, "ALTER TABLE t SET MAX_DATA_EXTENSION_TIME_IN_DAYS = 91") == "001008"


# -- consumers side by side -------------------------------------------------------------------------------------------


def test_two_consumers_get_every_row_once(account: Account, session: Session) -> None:
    session.execute("CREATE TABLE t (id INT)")
    session.execute("CREATE STREAM s ON TABLE t")
    targets = ("a", "b")
    for name in targets:
        session.execute(f"CREATE TABLE {name} (id INT)")
    stop = threading.Event()
    failures: list[BaseException] = []

    def consume(name: str) -> None:
        try:
            own = account.session(database=session.database)
            while not stop.is_set():
                own.execute(f"INSERT INTO {name} SELECT id FROM s")
            own.execute(f"INSERT INTO {name} SELECT id FROM s")
            own.close()
        except BaseException as error:
            failures.append(error)

    consumers = [threading.Thread(target=consume, args=(name,)) for name in targets]
    for thread in consumers:
        thread.start()
    for number in range(30):
        session.execute(f"INSERT INTO t VALUES ({number}), ({number + 100})")
    stop.set()
    for thread in consumers:
        thread.join(DEADLINE)
    assert not failures
    rows = session.execute("SELECT id FROM a UNION ALL SELECT id FROM b").rows()
    assert Counter(row[0] for row in rows) == Counter([*range(30), *range(100, 130)])


# -- what we did not write ourselves ----------------------------------------------------------------------------------


@pytest.fixture
def by_spark(tmp_path: Path, spark_stays_up: None) -> Iterator[Session]:
    """An account in which Spark carries out every change of rows."""
    settings = Settings(spark=SPARK, small_write_rows=0)
    with open_account(tmp_path / "data", settings=settings) as opened:
        yield opened.session()


def test_changes_that_spark_carries_out(by_spark: Session) -> None:
    by_spark.execute("CREATE TABLE t (id INT, name VARCHAR)")
    by_spark.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')")
    by_spark.execute("CREATE STREAM s ON TABLE t")
    by_spark.execute("UPDATE t SET name = upper(name) WHERE id <= 2")
    found = changes(by_spark)
    assert without_ids(found) == [
        (1, "A", "INSERT", True), (1, "a", "DELETE", True), (2, "B", "INSERT", True), (2, "b", "DELETE", True),
    ]  # fmt: skip
    assert Counter(Counter(row[4] for row in found).values()) == Counter({2: 2}), "one id for both halves"
    ids = {row[0]: row[4] for row in found}
    by_spark.execute("UPDATE t SET name = name || '!' WHERE id = 1")
    by_spark.execute("DELETE FROM t WHERE id = 3")
    by_spark.execute(
        "MERGE INTO t USING (SELECT 2 AS id, 'merged' AS name UNION ALL SELECT 9, 'new') u ON t.id = u.id "
        "WHEN MATCHED THEN UPDATE SET name = u.name WHEN NOT MATCHED THEN INSERT (id, name) VALUES (u.id, u.name)"
    )
    assert without_ids(changes(by_spark)) == [
        (1, "A!", "INSERT", True), (1, "a", "DELETE", True), (2, "b", "DELETE", True), (2, "merged", "INSERT", True),
        (3, "c", "DELETE", False), (9, "new", "INSERT", False),
    ]  # fmt: skip
    by_spark.execute("UPDATE t SET name = 'a' WHERE id = 1")
    by_spark.execute("DELETE FROM t WHERE id = 9")
    assert without_ids(changes(by_spark)) == [
        (2, "b", "DELETE", True), (2, "merged", "INSERT", True), (3, "c", "DELETE", False),
    ]  # fmt: skip
    assert {row[4] for row in changes(by_spark) if row[0] == 2} == {ids[2]}, "the row is still the same"


def their_table(account: Account) -> DeltaTable:
    return DeltaTable(next((Path(account.data_dir) / "tables").glob("*/*/t-*")))


def test_changes_of_other_tools(tmp_path: Path, spark_stays_up: None) -> None:
    with open_account(tmp_path / "data", settings=Settings(spark=SPARK)) as opened:
        session = opened.session()
        session.execute("CREATE TABLE t (id INT, name VARCHAR)")
        session.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
        session.execute("CREATE STREAM s ON TABLE t")
        session.execute("CREATE STREAM appended ON TABLE t APPEND_ONLY = TRUE")
        schema = pa.schema(their_table(opened).schema().to_arrow())
        rows = pa.table({"ID": [3], "NAME": ["c"]}).cast(schema)
        write_deltalake(their_table(opened), rows, mode="append")
        assert session.execute("SELECT SYSTEM$STREAM_HAS_DATA('s')").rows()[0][0] is True
        their_table(opened).update(updates={"NAME": "'B'"}, predicate="ID = 2")
        their_table(opened).delete("ID = 1")
        expected = [
            (1, "a", "DELETE", False), (2, "B", "INSERT", True), (2, "b", "DELETE", True), (3, "c", "INSERT", False),
        ]  # fmt: skip
        assert without_ids(changes(session)) == expected
        their_table(opened).optimize.compact()
        assert without_ids(changes(session)) == expected
        assert without_ids(changes(session, "appended")) == [(3, "c", "INSERT", False)]
        session.execute("CREATE TABLE target AS SELECT * FROM s")
        their_table(opened).optimize.compact()
        assert changes(session) == []


def test_tables_that_only_spark_can_read(tmp_path: Path, spark_stays_up: None) -> None:
    """Their columns have other names on disk."""
    settings = Settings(spark=SPARK, small_query_bytes=0)
    with open_account(tmp_path / "data", settings=settings) as opened:
        session = opened.session()
        session.execute("CREATE TABLE t (id INT, gone INT, name VARCHAR)")
        session.execute("INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b')")
        session.execute("ALTER TABLE t DROP COLUMN gone")
        session.execute("CREATE STREAM s ON TABLE t SHOW_INITIAL_ROWS = TRUE")
        assert without_ids(changes(session)) == [(1, "a", "INSERT", False), (2, "b", "INSERT", False)]
        session.execute("CREATE TABLE target AS SELECT id, name FROM s")
        session.execute("INSERT INTO t VALUES (3, 'c'), (4, 'd')")
        session.execute("UPDATE t SET name = 'B' WHERE id = 2")
        session.execute("DELETE FROM t WHERE id = 4")
        assert without_ids(changes(session)) == [
            (2, "B", "INSERT", False), (2, "b", "DELETE", False), (3, "c", "INSERT", False),
        ]  # fmt: skip
        session.execute("CREATE STREAM empty ON TABLE t")
        assert changes(session, "empty") == []
