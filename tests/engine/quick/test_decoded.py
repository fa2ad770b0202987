"""Files that are asked for again and again: decoded once, equal to what the files hold, and dropped in time."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import QuickSettings, Settings
from snowmelt.engine.quick import decoded
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.conftest import SPARK
from tests.support.waiting import wait_until

TYPES = """
    n NUMBER(38, 0), small NUMBER(5, 2), wide NUMBER(38, 10), f DOUBLE, s VARCHAR, b BOOLEAN, d DATE, t TIME,
    ntz TIMESTAMP_NTZ(6), ltz TIMESTAMP_LTZ(6), bin BINARY, v VARIANT
"""
ROWS = (
    "SELECT 1, 1.25, 0.0000000001, -0.0::DOUBLE, '', TRUE, '0001-01-01'::DATE, '23:59:59.999999'::TIME,"
    " '1582-10-15 00:00:00'::TIMESTAMP_NTZ, '2024-03-31 02:30:00 +00:00'::TIMESTAMP_LTZ, TO_BINARY('00ff'),"
    """ PARSE_JSON('{"a": [1, 2.50, null]}')""",
    "SELECT 99999999999999999999999999999999999999, -999.99, 9999999999999999999999999999.0000000001, 'NaN'::DOUBLE,"
    " 'naïve ''quoted''  ', FALSE, '9999-12-31'::DATE, '00:00:00'::TIME, '9999-12-31 23:59:59.999999'::TIMESTAMP_NTZ,"
    " '1900-01-01 00:00:00 +00:00'::TIMESTAMP_LTZ, TO_BINARY(''), TO_VARIANT('x')",
    "SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL",
)
QUERIES = (
    "SELECT * FROM every ORDER BY n NULLS LAST",
    "SELECT n, v:a[1], bin, t FROM every WHERE n IS NOT NULL",
    "SELECT COUNT(*), COUNT(f), MIN(d), MAX(ntz), SUM(small) FROM every",
    "SELECT s, COUNT(*) FROM every GROUP BY s ORDER BY s NULLS FIRST",
    "SELECT a.n, b.s FROM every a JOIN every b ON a.n = b.n ORDER BY 1",
    "SELECT n FROM every WHERE s = 'read_parquet([''/tmp/x''], hive_partitioning = false)'",
    "SELECT n FROM every LIMIT 1",
)


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    settings = Settings(spark=SPARK, quick=QuickSettings())
    with open_account(tmp_path_factory.mktemp("decoded"), settings=settings) as account:
        session = account.session()
        # Each question is to reach the files, also one that was answered a moment ago.
        session.execute("ALTER ACCOUNT SET USE_CACHED_RESULT = FALSE")
        session.execute(f"CREATE TABLE every ({TYPES})")
        for row in ROWS:
            session.execute(f"INSERT INTO every {row}")
        yield account


def tables(account: Account) -> int:
    return len(account.engine._quick._decoded._tables)


def found(session: Session, text: str) -> tuple[object, list[tuple[str, ...]]]:
    result = session.execute(text)
    return result.data.schema, [tuple(map(repr, row)) for row in result.rows()]


@pytest.mark.parametrize("text", QUERIES)
def test_the_rows_are_those_of_the_files(account: Account, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    session = account.session()
    with monkeypatch.context() as context:
        context.setattr(decoded, "_READ", re.compile("(?!)"))
        from_files = found(session, text)
    refused = sum(account.engine.figures.refused.values())
    for _ in range(4):
        assert found(session, text) == from_files
    assert tables(account) >= 1
    assert sum(account.engine.figures.refused.values()) == refused


def test_a_commit_is_seen_at_once(account: Account) -> None:
    session = account.session()
    session.execute("CREATE TABLE counted (n INT)")
    for number in range(1, 8):
        session.execute(f"INSERT INTO counted VALUES ({number})")
        for _ in range(4):
            assert int(session.execute("SELECT COUNT(*) FROM counted").rows()[0][0]) == number


def test_readers_keep_what_others_need_the_room_of(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    session = account.session()
    for number in range(6):
        session.execute(f"CREATE TABLE crowded_{number} AS SELECT n + {number} AS n FROM every WHERE n = 1")
    size = max(path.stat().st_size for path in Path(account.data_dir).rglob("crowded_*/*.parquet"))
    monkeypatch.setattr(decoded, "_ALL_BYTES", 2 * size)
    wrong: list[object] = []
    refused = sum(account.engine.figures.refused.values())

    def read(seed: int) -> None:
        own = account.session()
        for step in range(40):
            number = (seed + step // 4) % 6
            rows = own.execute(f"SELECT n FROM crowded_{number}").rows()
            if [int(row[0]) for row in rows] != [number + 1]:
                wrong.append(rows)
        own.close()

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert sum(account.engine.figures.refused.values()) == refused
    assert tables(account) <= 2


def test_what_nobody_asks_for_is_dropped(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    session = account.session()
    for _ in range(4):
        session.execute("SELECT n, s FROM every WHERE n = 1")
    assert tables(account)
    monkeypatch.setattr(decoded, "UNUSED_SECONDS", -1.0)
    wait_until(lambda: not tables(account), "decoded files are still there")
    rows = session.execute("SELECT n, s FROM every WHERE n = 1").rows()
    assert len(rows) == 1


def test_files_that_are_too_large_are_read_as_ever(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoded, "_MOST_BYTES", 10)
    session = account.session()
    session.execute("CREATE TABLE large AS SELECT n FROM every")
    before = tables(account)
    for _ in range(5):
        assert len(session.execute("SELECT n FROM large").rows()) == 3
    assert tables(account) <= before
