"""The choice between changes and a full refresh knows both engines, by what they take on this machine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from snowmelt.core.config import QuickMode
from snowmelt.engine.rates import ObservedRates
from snowmelt.ivm.cost import ComputeEngine
from snowmelt.runtime.session import Session
from snowmelt.state.dynamic_model import RefreshCosts
from tests.support.dynamic_tables import table_id

_QUERY = "SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s GROUP BY k"
_HISTORY = "SELECT * FROM TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY(NAME => 'D')) ORDER BY data_timestamp"


def _last(session: Session) -> dict[str, Any]:
    found = session.execute(_HISTORY)
    return dict(zip([column.name for column in found.columns], list(found.rows())[-1], strict=True))


def _explained(session: Session) -> dict[str, str]:
    return {row[0]: row[1] for row in session.execute("EXPLAIN DYNAMIC TABLE d").rows()}


def _equals_its_query(session: Session) -> bool:
    return sorted(session.execute("SELECT * FROM d").rows()) == sorted(session.execute(_QUERY).rows())


def test_the_quick_lane_is_measured_before_anything_ran(session: Session) -> None:
    engine = session.account.engine
    if engine.mode is QuickMode.OFF:
        pytest.skip("the quick lane is off")
    engine.observed, engine._probed = ObservedRates(), False
    rates = engine.rates()
    assert rates.quick.queries == 5, "four over few rows and one over many"
    assert rates.quick.query_ms > 0 and rates.quick.mb_ms >= 0
    assert rates.spark.queries == 0 and rates.spark.query_ms > rates.quick.query_ms
    assert engine.rates() == rates, "it measures once"


@pytest.fixture
def sums(session: Session) -> Session:
    if session.account.engine.mode is QuickMode.OFF:
        pytest.skip("the quick lane is off")
    session.execute("CREATE TABLE s (k INT, v INT)")
    session.execute("INSERT INTO s SELECT SEQ4() % 7, SEQ4() FROM TABLE(GENERATOR(ROWCOUNT => 1000))")
    session.execute(f"CREATE DYNAMIC TABLE d TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH AS {_QUERY}")
    return session


def test_both_engines_are_known(sums: Session) -> None:
    engine = sums.account.engine
    sums.execute("INSERT INTO s VALUES (1, 5)")
    sums.execute("ALTER DYNAMIC TABLE d REFRESH")
    details = json.loads(_last(sums)["DETAILS"])
    assert (details["engine"], details["incrementalEngine"]) == ("quick", "quick"), details
    assert details["quickQueryMs"] > 0 and details["sparkQueryMs"] > 0
    assert engine.rates().quick.queries >= 3, "measured, if need be by a few queries of its own"
    for _ in range(4):
        engine.to_arrow("SELECT 1 AS n")
    rates = engine.rates()
    assert rates.spark.queries >= 3 and rates.spark.start_ms == 0 and rates.spark.query_ms > rates.quick.query_ms
    explained = _explained(sums)
    assert explained["Engines"].count("measured over") == 2, explained
    assert "quick lane" in explained["Expected by changes"] and "ms" in explained["Expected in full"]


def test_what_statements_read_is_known_when_they_are_measured(sums: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: dict[str, list[int]] = {}
    for statement in (
        "SELECT SUM(v) FROM s",
        "UPDATE s SET v = v + 1 WHERE v % 7 = 3",
        "DELETE FROM s WHERE v % 7 = 5",
        "MERGE INTO s USING (SELECT DISTINCT k FROM s) t ON s.k = t.k + 0 WHEN MATCHED AND v % 7 = 4 THEN DELETE",
    ):
        noted = sizes.setdefault(statement, [])
        monkeypatch.setattr(sums.account.engine.observed, "note", lambda _, size, ms, to=noted: to.append(size))
        sums.execute(statement)
    assert all(noted and min(noted) > 0 for noted in sizes.values()), sizes


def test_tens_of_thousands_of_changed_rows_need_no_spark(sums: Session) -> None:
    by_changes = "TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH REFRESH_MODE = INCREMENTAL"
    sums.execute(f"CREATE OR REPLACE DYNAMIC TABLE d {by_changes} AS {_QUERY}")
    sums.execute("INSERT INTO s SELECT SEQ4() % 7, SEQ4() FROM TABLE(GENERATOR(ROWCOUNT => 60000))")
    sums.execute("ALTER DYNAMIC TABLE d REFRESH")
    details = json.loads(_last(sums)["DETAILS"])
    assert (details["engine"], details["incrementalEngine"]) == ("quick", "quick"), details
    assert details["changed_rows"] == 60_000
    assert _equals_its_query(sums)


@pytest.mark.parametrize(("milliseconds", "action"), [(900.0, "FULL"), (6.0, "INCREMENTAL")])
def test_the_choice_follows_what_was_measured(sums: Session, milliseconds: float, action: str) -> None:
    """So many changes are Spark's, all rows of a small table are not: it depends on how fast Spark is here."""
    account = sums.account
    engine = account.engine
    sums.execute("INSERT INTO s SELECT SEQ4() % 7, SEQ4() FROM TABLE(GENERATOR(ROWCOUNT => 600000))")
    id = table_id(sums, "D")
    with account.state.begin() as state:
        costs = RefreshCosts(
            full_ms=60, full_rows=600_000, incremental_ms=30, incremental_rows=10,
            full_engine=ComputeEngine.QUICK, incremental_engine=ComputeEngine.QUICK,
        )  # fmt: skip
        state.dynamic.put(state.dynamic.require(id).model_copy(update={"costs": costs}))
    engine.to_arrow("SELECT 1 AS n")
    for _ in range(40):
        engine.observed.note(ComputeEngine.SPARK, 1_000, milliseconds)
        engine.observed.note(ComputeEngine.SPARK, 10_000_000, milliseconds * 2)
        engine.observed.note(ComputeEngine.QUICK, 1_000, 4.0)
    sums.execute("ALTER DYNAMIC TABLE d REFRESH")
    found = _last(sums)
    assert found["REFRESH_ACTION"] == action, found
    if action == "FULL":
        assert "(Spark)" in found["DETAILS"] and "(quick lane)" in found["DETAILS"]
    assert _equals_its_query(sums)
