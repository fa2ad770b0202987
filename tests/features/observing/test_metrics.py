"""GET /metrics: who may read it, and what it says."""

from __future__ import annotations

from datetime import timedelta

import pytest
from starlette.testclient import TestClient

from snowmelt.core.clock import ManualClock
from snowmelt.observe.metrics import METRICS, MetricKind
from snowmelt.runtime.account import Account
from snowmelt.serve.metrics import TOKEN_VARIABLE
from tests.features.observing.scraping import LOCAL, scraped, server, value
from tools import metric_reference


def test_who_may_read_metrics(opened: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    local = TestClient(server(opened).app, client=LOCAL)
    assert local.get("/metrics").status_code == 200
    assert local.get("/metrics", headers={"X-Forwarded-For": "203.0.113.9"}).status_code == 403
    assert TestClient(server(opened).app, client=("192.0.2.7", 1)).get("/metrics").status_code == 403
    monkeypatch.setenv(TOKEN_VARIABLE, "scrape me")
    far = TestClient(server(opened).app, client=("192.0.2.7", 1))
    assert far.get("/metrics").status_code == 403
    assert far.get("/metrics", headers={"Authorization": "Bearer scrape you"}).status_code == 403
    assert far.get("/metrics", headers={"Authorization": "Bearer scrape me"}).status_code == 200


def test_tables_and_products_are_fresh_then_late(opened: Account, clock: ManualClock) -> None:
    session = opened.session()
    session.execute("CREATE TABLE orders (id INT)")
    session.execute("CREATE VIEW open_orders AS SELECT id FROM orders")
    session.execute("CREATE DATA PRODUCT sales OBJECTS = (open_orders) FRESHNESS = '10 minutes'")
    for id in range(5):
        session.execute(f"INSERT INTO orders VALUES ({id})")
        clock.advance(timedelta(minutes=2))
    found = scraped(opened)
    product = {"name": "SALES", "kind": "DATA PRODUCT"}
    assert value(found, "snowmelt_freshness_behind_seconds", **product) == pytest.approx(120, abs=1)
    assert value(found, "snowmelt_freshness_limit_seconds", **product) == 600
    assert value(found, "snowmelt_freshness_expected_interval_seconds", **product) == pytest.approx(120, abs=1)
    assert value(found, "snowmelt_freshness_status", **product) == 0
    clock.advance(timedelta(minutes=2))
    assert value(scraped(opened), "snowmelt_freshness_status", **product) == 1
    clock.advance(timedelta(minutes=10))
    assert value(scraped(opened), "snowmelt_freshness_status", **product) == 2


def test_streams_tasks_queries_and_pools(opened: Account, clock: ManualClock) -> None:
    session = opened.session()
    session.execute("CREATE TABLE t (id INT)")
    session.execute("CREATE STREAM s ON TABLE t")
    session.execute("CREATE TASK hello SCHEDULE = '1 MINUTE' AS INSERT INTO t VALUES (1)")
    assert value(scraped(opened), "snowmelt_stream_lag_seconds", stream="S") == 0
    session.execute("EXECUTE TASK hello")
    clock.advance(timedelta(seconds=30))
    with pytest.raises(Exception, match="does not exist"):
        session.execute("SELECT * FROM nowhere")
    found = scraped(opened)
    assert value(found, "snowmelt_stream_lag_seconds", stream="S") == pytest.approx(30, abs=1)
    assert value(found, "snowmelt_stream_stale_after_seconds", stream="S") > 86_400
    assert value(found, "snowmelt_task_runs_total", task="HELLO", state="SUCCEEDED") == 1
    assert value(found, "snowmelt_task_consecutive_failures", task="HELLO") == 0
    assert value(found, "snowmelt_queries_total", type="INSERT", status="success") == 1
    assert value(found, "snowmelt_queries_total", type="SELECT", status="failed_with_error") == 1
    assert value(found, "snowmelt_pool_size", pool="statements") == 16
    assert value(found, "snowmelt_pool_level", pool="waiting_statements") == 0


def test_all_that_is_read_is_in_the_list_of_metrics(opened: Account) -> None:
    opened.session().execute("CREATE TABLE t (id INT)")
    parts = {MetricKind.HISTOGRAM: ("_bucket", "_sum", "_count")}
    known = {f"{metric.name}{part}" for metric in METRICS.values() for part in parts.get(metric.kind, ("",))}
    assert {name for name, _ in scraped(opened)} <= known


def test_the_reference_of_metrics_is_up_to_date() -> None:
    page = metric_reference.TARGET.read_text(encoding="utf-8")
    assert metric_reference.render(page) == page, "run `make docs`"
