"""What things cost: from records of statements and refreshes to advice."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from snowmelt.core.clock import ManualClock
from snowmelt.core.names import ObjectName
from snowmelt.observe.costs import TableCost
from snowmelt.runtime.account import Account
from snowmelt.runtime.spark_usage import SparkUsage
from snowmelt.state.model import ObjectKind, QueryRecord
from tests.features.observing.asking import rows_of

STEADY = TableCost(
    name="D.S.T", days=1, mode="INCREMENTAL", mode_reason=None, target_lag=None, readers=0, clustered=False,
    refreshes=100, idle_refreshes=5, failed=0, spark_seconds=200, credits=0.1, bytes_scanned=10**6, rows_changed=10_000,
    table_rows=1_000_000, table_bytes=10**8, full_seconds=20, refresh_seconds=2,
)  # fmt: skip


def test_what_full_refreshes_would_have_cost() -> None:
    assert STEADY.full_credits_per_day == pytest.approx(20 * 100 * 0.1 / 200)
    assert STEADY.advice() == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"mode": "FULL", "mode_reason": "It uses RANDOM."}, "It uses RANDOM"),
        ({"refresh_seconds": 30.0}, "REFRESH_MODE = FULL"),
        ({"target_lag": 60, "readers": 2}, "TARGET_LAG = DOWNSTREAM"),
        ({"target_lag": 60}, "TARGET_LAG = '120 seconds'"),
        ({"bytes_scanned": 100 * 5 * 1024**3}, "CLUSTER BY"),
        ({"failed": 200}, "fix the query"),
    ],
)
def test_advice(change: dict[str, object], said: str) -> None:
    assert said in " ".join(replace(STEADY, **change).advice())  # type: ignore[arg-type]


def test_statements_inside_a_statement_are_paid_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("snowmelt.runtime.spark_usage.time.monotonic", lambda: now[0])
    outer, inner = SparkUsage(), SparkUsage()
    outer.began(2)
    now[0] += 10
    inner.began(1)
    now[0] += 30
    inner.ended(outer)
    now[0] += 5
    outer.ended(None)
    assert (outer.seconds, inner.seconds) == (15, 30)
    assert inner.credits == pytest.approx(30 / 3600) and outer.credits == pytest.approx(2 * 15 / 3600)


def _ran(account: Account, id: str, **values: object) -> None:
    now = account.clock.now()
    record = QueryRecord(
        query_id=id, session_id="1", text="SELECT 1", query_type="SELECT", database="SNOWMELT", schema_name="PUBLIC",
        user="ADMIN", role="ACCOUNTADMIN", warehouse="COMPUTE_WH", status="success", start_time=now,
        end_time=now + timedelta(seconds=1),
    )  # fmt: skip
    account.journal.finish(record.model_copy(update=values))


def test_cost_by_statement_and_by_object(opened: Account, clock: ManualClock) -> None:
    session = opened.session()
    table = {"purpose": "REFRESH", "target": "SNOWMELT.PUBLIC.TOTALS"}
    _ran(opened, "q1", spark_seconds=36.0, credits=0.01, bytes_scanned=1000, **table)
    _ran(opened, "q2", spark_seconds=72.0, credits=0.02, bytes_scanned=500, **table)
    _ran(opened, "q3", spark_seconds=3.6, credits=0.001)
    _ran(opened, "free")
    clock.advance(timedelta(seconds=5))
    found = {row["QUERY_ID"]: row for row in rows_of(session, "QUERY_ATTRIBUTION_HISTORY")}
    assert set(found) == {"q1", "q2", "q3"}
    assert float(str(found["q1"]["COST"])) == 0.03 and found["q3"]["PURPOSE"] == "QUERY"
    totals, queries = rows_of(session, "OBJECT_COST_HISTORY")
    assert (totals["NAME"], totals["STATEMENTS"], totals["BYTES_SCANNED"]) == ("SNOWMELT.PUBLIC.TOTALS", 2, 1500)
    assert float(str(totals["COST"])) == 0.09 and queries["NAME"] is None
    assert len(rows_of(session, "OBJECT_COST_HISTORY", name="totals")) == 1
    report = json.loads(session.execute("SELECT SYSTEM$COST_REPORT(1)").rows()[0][0])
    assert report["warehouses"][0]["name"] == "COMPUTE_WH"
    assert report["warehouses"][0]["cost_per_day"] == pytest.approx(0.093)
    assert [each["name"] for each in report["purposes"]] == ["REFRESH", "QUERY"]


def test_a_stranger_sees_only_what_he_ran(opened: Account) -> None:
    _ran(opened, "q1", spark_seconds=36.0, credits=0.01)
    _ran(opened, "q2", spark_seconds=36.0, credits=0.01, user="ANN")
    stranger = opened.session(user="ANN", role="PUBLIC")
    assert [row["QUERY_ID"] for row in rows_of(stranger, "QUERY_ATTRIBUTION_HISTORY")] == ["q2"]


def test_costs_of_a_replaced_table_start_at_zero(opened: Account, clock: ManualClock) -> None:
    session = opened.session()
    session.execute("CREATE TABLE s (a INT)")

    def create(query: str) -> str:
        session.execute(
            "CREATE OR REPLACE DYNAMIC TABLE d TARGET_LAG = '1 hour' WAREHOUSE = compute_wh INITIALIZE = ON_SCHEDULE "
            f"AS {query}"
        )
        with opened.state.read() as state:
            found = state.catalog.find(ObjectName("SNOWMELT", "PUBLIC", "D"), [ObjectKind.TABLE])
        assert found is not None
        return found.id

    def reported() -> tuple[float, float]:
        report = json.loads(session.execute("SELECT SYSTEM$COST_REPORT(1, 'd')").rows()[0][0])
        (found,) = report["tables"]
        return found["spark_seconds_per_day"], found["cost_per_day"]

    first = create("SELECT a FROM s")
    of_it = {"purpose": "REFRESH", "target": "SNOWMELT.PUBLIC.D"}
    _ran(opened, "q1", spark_seconds=36.0, credits=0.01, target_id=first, **of_it)
    clock.advance(timedelta(seconds=5))
    assert reported()[0] == pytest.approx(36)
    assert create("SELECT a FROM s") == first, "the same definition replaces nothing"
    second = create("SELECT a + 1 AS a FROM s")
    assert reported() == (0, 0), "what the table before it cost is not its own"
    _ran(opened, "q2", spark_seconds=3.6, credits=0.001, target_id=second, **of_it)
    clock.advance(timedelta(seconds=5))
    assert reported()[0] == pytest.approx(3.6)
    by_id = {row["OBJECT_ID"]: row["STATEMENTS"] for row in rows_of(session, "OBJECT_COST_HISTORY", name="d")}
    assert by_id == {first: 1, second: 1}
