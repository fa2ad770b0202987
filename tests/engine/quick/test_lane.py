"""How the quick lane behaves: what it computes, what it leaves to Spark, and how a query in it is stopped."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import time
from pathlib import Path

import pyarrow as pa
import pytest
from sqlglot import exp

from snowmelt.accounts import open_account
from snowmelt.core.config import QuickMode, QuickSettings, Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.engine.quick import comparing
from snowmelt.engine.quick.lane import QuickLane
from snowmelt.engine.quick.types import NotQuick
from snowmelt.runtime.account import Account
from snowmelt.sql.dialect import identifier, spark
from tests.conftest import SPARK
from tests.support.waiting import wait_until


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """An account that has the lane, whatever the tests were started with."""
    settings = Settings(spark=SPARK, quick=QuickSettings())
    with open_account(tmp_path_factory.mktemp("quick"), settings=settings) as account:
        session = account.session()
        session.execute("CREATE TABLE t (n INT, s VARCHAR, x NUMBER(10, 2))")
        session.execute("INSERT INTO t VALUES (1, 'a', 1.5), (2, 'b', 2.5), (3, NULL, NULL)")
        yield account


def is_started(account: Account) -> bool:
    return "spark" in account.engine.__dict__ and account.engine.started.is_set()


def test_small_work_needs_no_spark(quick: Account) -> None:
    session = quick.session()
    session.execute("CREATE TABLE o (id INT, amount NUMBER(10, 2)) CHANGE_TRACKING = TRUE")
    session.execute("INSERT INTO o SELECT n, x FROM t WHERE n < 3")
    session.execute(
        "CREATE DYNAMIC TABLE sums TARGET_LAG = '1 day' WAREHOUSE = compute_wh REFRESH_MODE = INCREMENTAL"
        " AS SELECT id, SUM(amount) AS total, COUNT(*) AS n FROM o GROUP BY id"
    )
    session.execute("INSERT INTO o VALUES (1, 4), (7, 1)")
    session.execute("UPDATE o SET amount = 9 WHERE id = 2")
    session.execute("MERGE INTO o USING (SELECT 7 AS id) k ON o.id = k.id WHEN MATCHED THEN UPDATE SET amount = 2")
    session.execute("ALTER DYNAMIC TABLE sums REFRESH")
    rows = session.execute("SELECT id, total, n FROM sums ORDER BY id").rows()
    assert [(int(i), str(total), int(n)) for i, total, n in rows] == [(1, "5.50", 2), (2, "9.00", 1), (7, "2.00", 1)]
    assert not is_started(quick)


def test_streams_and_times_need_no_spark(quick: Account) -> None:
    session = quick.session()
    session.execute("CREATE TABLE shifts (id INT, starts TIME) CHANGE_TRACKING = TRUE")
    session.execute("CREATE STREAM changed ON TABLE shifts")
    session.execute("INSERT INTO shifts VALUES (1, '10:11:12.5'), (2, '23:59:59'), (3, NULL)")
    session.execute("UPDATE shifts SET starts = '09:00:00' WHERE id = 1")
    session.execute("ALTER TABLE shifts ADD COLUMN who VARCHAR")
    session.execute("INSERT INTO shifts VALUES (4, '08:00:00', 'ada')")
    rows = session.execute(
        "SELECT id, starts::VARCHAR, HOUR(starts), who, METADATA$ACTION FROM changed ORDER BY id"
    ).rows()
    assert rows == [
        (1, "09:00:00", 9, None, "INSERT"), (2, "23:59:59", 23, None, "INSERT"), (3, None, None, None, "INSERT"),
        (4, "08:00:00", 8, "ada", "INSERT"),
    ]  # fmt: skip
    assert session.execute("SELECT MAX(starts) FROM shifts WHERE starts > '08:30:00'").rows() == [(time(23, 59, 59),)]
    assert not is_started(quick)


def test_the_quickstart_needs_no_spark(quick: Account) -> None:
    text = (Path(__file__).parents[3] / "docs" / "quickstart.md").read_text()
    script = text.split("```sql\n")[1].split("```")[0]
    session = quick.session()
    session.execute("CREATE SCHEMA shop")
    *_, pieces, latest = session.execute_script(script)
    assert [(who, sku, int(n)) for who, sku, n in pieces.rows()] == [
        ("ada", "cup", 1), ("ada", "tea", 2), ("grace", "tea", 1),
    ]  # fmt: skip
    assert [(int(row[0]), row[1]) for row in latest.rows()] == [(2, "grace"), (3, "ada")]
    assert not is_started(quick)


SHAPES = (
    "SELECT t.* FROM t ORDER BY n",
    "SELECT a.*, b.x AS other FROM t a JOIN t b ON a.n = b.n ORDER BY a.n",
    "SELECT n, (SELECT MAX(x) FROM t) AS most FROM t ORDER BY n",
    "SELECT n, (SELECT MAX(b.x) FROM t b WHERE b.n < a.n) AS before FROM t a ORDER BY n",
    "SELECT (SELECT COUNT(*) FROM t) AS a, (SELECT MIN(s) FROM t) AS b",
    "SELECT COUNT(*), (SELECT MAX(n) FROM t) FROM t",
    "SELECT n FROM t a WHERE EXISTS (SELECT 1 FROM t b WHERE b.n = a.n + 1) ORDER BY n",
    "SELECT n, SUM(SUM(x)) OVER (ORDER BY n) FROM t GROUP BY n ORDER BY SUM(x) + n",
)


def test_shapes_of_queries_are_the_same_on_both_engines(tmp_path: Path) -> None:
    settings = Settings(spark=SPARK, quick=QuickSettings(compared=1.0, strict=True))
    with open_account(tmp_path, settings=settings) as account:
        session = account.session()
        session.execute("CREATE TABLE t (n INT, s VARCHAR, x NUMBER(10, 2))")
        session.execute("INSERT INTO t VALUES (1, 'a', 1.5), (2, 'b', 2.5), (3, NULL, NULL), (4, 'b', -2)")
        for sql in SHAPES:
            session.execute(sql)
        assert (account.engine.figures.compared, account.engine.figures.refused) == (len(SHAPES), {})


def test_rows_come_in_the_order_in_which_they_were_inserted(quick: Account) -> None:
    session = quick.session()
    session.execute("CREATE TABLE ordered (n INT)")
    for number in range(20):
        session.execute(f"INSERT INTO ordered VALUES ({number})")
    assert [row[0] for row in session.execute("SELECT n FROM ordered WHERE n <> 3 LIMIT 5").rows()] == [0, 1, 2, 4, 5]


@pytest.mark.parametrize(
    ("statement", "lane"),
    [
        ("SELECT SUM(x) FROM t", "quick: computed in this process"),
        ("SELECT MEDIAN(n) FROM t", "Spark. Not for the quick lane: function sort_array"),
    ],
)
def test_explain_tells_the_lane(quick: Account, statement: str, lane: str) -> None:
    rows = dict(quick.session().execute(f"EXPLAIN {statement}").rows())
    assert rows["Lane"] == lane


def test_an_error_is_the_one_that_spark_gives(quick: Account) -> None:
    session = quick.session()
    for value in ("1 / (n - 1)", "s::INT", "(x * 1000000000000)::NUMBER(12, 2)"):
        codes = []
        for mode in (QuickMode.ON, QuickMode.OFF):
            quick.engine.mode = mode
            with pytest.raises(SnowmeltError) as caught:
                session.execute(f"SELECT {value} FROM t")
            codes.append((caught.value.code, caught.value.message))
        quick.engine.mode = QuickMode.ON
        assert codes[0] == codes[1]


def test_a_long_condition_is_no_deep_one(quick: Account) -> None:
    session = quick.session()
    condition = " OR ".join(f"n = {number}" for number in range(2, 900))
    result = session.execute(f"SELECT COUNT(*) FROM t WHERE {condition}")
    assert result.rows() == [(2,)]
    assert quick.engine.use_of(result.query_id).lane == "quick"


def test_a_mistake_of_the_lane_fails_no_statement(quick: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(*_: object) -> None:
        raise KeyError("not thought of")

    monkeypatch.setattr("snowmelt.engine.quick.lane.translated", mistaken)
    result = quick.session().execute("SELECT COUNT(*) FROM t")
    assert result.rows() == [(3,)]
    assert quick.engine.use_of(result.query_id).reason == "a failure: KeyError"


@pytest.mark.parametrize("failure", [RecursionError(), OSError("gone"), KeyError("not thought of")])
def test_explain_fails_no_more_than_the_query(
    quick: Account, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def failing(*_: object) -> None:
        raise failure

    monkeypatch.setattr("snowmelt.engine.quick.lane.translated", failing)
    rows = dict(quick.session().execute("EXPLAIN SELECT COUNT(*) FROM t").rows())
    assert type(failure).__name__ in rows["Lane"]


ENDLESS = "a.id + b.id + c.id = -1"


def endless() -> exp.Select:
    million = exp.Table(this=exp.Anonymous(this="range", expressions=[exp.Literal.number(1_000_000)]))
    tables = []
    for name in "abc":
        table = million.copy()
        table.set("alias", exp.TableAlias(this=identifier(name)))
        tables.append(table)
    query = exp.select(exp.alias_(spark("count(1)"), identifier("N"))).from_(tables[0])
    for table in tables[1:]:
        query = query.join(table, join_type="cross")
    return query.where(spark(ENDLESS))


def test_what_takes_long_is_given_up() -> None:
    lane = QuickLane(seconds=0.3)
    with pytest.raises(NotQuick, match="interrupted"):
        lane.run(endless(), [], {})
    lane.close()


def test_a_cancelled_query_ends() -> None:
    lane = QuickLane(seconds=600)
    reasons: list[str] = []

    def run() -> None:
        try:
            lane.run(endless(), [], {}, tag="it")
        except NotQuick as reason:
            reasons.append(str(reason))

    thread = threading.Thread(target=run)
    thread.start()
    wait_until(lambda: "it" in lane._tags, "it runs")

    def is_gone() -> bool:
        lane.cancel("it")
        thread.join(0.1)
        return not thread.is_alive()

    wait_until(is_gone, "it is cancelled")
    assert reasons == ["it was interrupted"]


def test_no_file_outside_the_storage_is_read(tmp_path: Path) -> None:
    lane = QuickLane(root=str(tmp_path / "inside"))
    connection = lane._take()
    with pytest.raises(Exception, match=r"disabled|Permission"):
        connection.sql("SELECT * FROM read_text('/etc/hostname')").fetchall()
    with pytest.raises(Exception, match=r"locked|Cannot change"):
        connection.execute("SET enable_external_access = true")


def test_a_difference_switches_the_lane_off(quick: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = quick.engine
    monkeypatch.setattr(engine, "_settings", QuickSettings(compared=1.0))
    session = quick.session()
    assert session.execute("SELECT COUNT(*) FROM t").rows() == [(3,)]
    assert (engine.figures.compared, engine.figures.differences, engine.mode) == (1, 0, QuickMode.ON)
    wrong = pa.table({"COUNT(*)": pa.array([4], pa.int64())})
    monkeypatch.setattr(engine._quick, "run", lambda *_: wrong)
    assert session.execute("SELECT COUNT(*) FROM t").rows() == [(3,)], "Spark's rows"
    assert (engine.figures.differences, engine.mode) == (1, QuickMode.OFF)
    engine.mode = QuickMode.ON


def test_differences_are_told_without_values() -> None:
    one, other = pa.table({"a": [1, 2]}), pa.table({"a": [1, 3]})
    assert comparing.difference(one, one) is None
    assert comparing.difference(one, other) == "other values in a"
    assert comparing.difference(one, pa.table({"a": ["x"]})) == "column a is int64 instead of string"
    assert comparing.difference(one, one.slice(0, 1)) == "2 rows of 1 columns instead of 1 of 1"
