"""What is full, late, slow or different from what it was: each at exactly the level that it is said to be."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from snowmelt.accounts import open_account
from snowmelt.core.clock import ManualClock
from snowmelt.core.config import Settings, TracingSettings
from snowmelt.core.names import ObjectName
from snowmelt.core.slots import Slots
from snowmelt.features.connectors.definitions import CONNECTOR
from snowmelt.features.connectors.standings import ConnectorStandings
from snowmelt.features.observing.monitor import Monitor
from snowmelt.features.observing.service import Observing
from snowmelt.ingest import StreamingIngestClient
from snowmelt.observe.freshness import Freshness, FreshnessStatus, WatchedKind
from snowmelt.observe.levels import OperatingLevel, PoolLevel
from snowmelt.runtime.account import Account
from snowmelt.serve.protocol.executions import StatementPool
from tests.features.connectors.envelopes import column
from tests.features.connectors.test_landing import _BODY, _ID, Lander, put
from tests.features.observing.asking import rows_of
from tests.features.observing.scraping import scraped, value
from tests.support.waiting import DEADLINE, wait_until

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)


# -- queues and pools -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("used", "size", "level"),
    [
        (0, 0, "OK"), (1, 0, "CRITICAL"), (79, 100, "OK"), (80, 100, "WARNING"),
        (94, 100, "WARNING"), (95, 100, "CRITICAL"), (100, 100, "CRITICAL"), (4, 5, "WARNING"),
    ],
)  # fmt: skip
def test_levels_of_a_pool(used: int, size: int, level: str) -> None:
    assert PoolLevel("p", used, size).level is OperatingLevel[level]


@pytest.mark.parametrize(
    ("running", "waiting", "levels"), [(3, 0, (0, 0)), (4, 0, (1, 0)), (5, 8, (2, 1)), (5, 10, (2, 2))]
)
def test_statements_fill_the_pool_and_its_queue(
    opened: Account, running: int, waiting: int, levels: tuple[int, int]
) -> None:
    """As many as there are workers run, the others wait: GET /metrics and alert rules see both."""
    pool, go_on = StatementPool(5, 10, Slots(5)), Event()
    opened.services[Observing].server_load = pool.load

    def statement() -> Any:
        return SimpleNamespace(beside=True, reply=lambda _: None)

    try:
        for _ in range(running + waiting):
            pool.submit(statement(), lambda _: go_on.wait(DEADLINE))
        wait_until(lambda: pool.load()[0].used == running, "they do not start")
        found = {pool.name: (pool.used, pool.size, pool.level) for pool in opened.services[Observing].load()}
        assert found["statements"] == (running, 5, levels[0])
        assert found["waiting_statements"] == (waiting, 10, levels[1])
        samples = {(each.metric.name, each.labels): each.value for each in opened.services[Observing].samples()}
        assert samples["snowmelt_pool_level", ("statements",)] == levels[0]
        assert samples["snowmelt_pool_level", ("waiting_statements",)] == levels[1]
    finally:
        go_on.set()
        pool.stop()


# -- freshness --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("limit", "wait"), [("10 seconds", 5.0), ("50 seconds", 25.0), ("10 minutes", 30.0)])
def test_freshness_is_looked_at_twice_an_interval_at_least(opened: Account, limit: str, wait: float) -> None:
    session = opened.session()
    session.execute("CREATE TABLE orders (id INT)")
    session.execute("CREATE DATA PRODUCT slow OBJECTS = (orders) FRESHNESS = '1 day'")
    session.execute(f"CREATE DATA PRODUCT sales OBJECTS = (orders) FRESHNESS = '{limit}'")
    assert opened.services[Observing].check() == wait


def test_the_monitor_looks_again_as_soon_as_a_look_says() -> None:
    looks: list[int] = []

    def look() -> float:
        looks.append(1)
        return 0.01

    monitor = Monitor(look)
    try:
        wait_until(lambda: len(looks) > 3, "nobody looks")
    finally:
        monitor.stop()


@pytest.mark.parametrize(
    ("since_update", "status"),
    [
        (149, FreshnessStatus.FRESH),
        (150, FreshnessStatus.FRESH),
        (151, FreshnessStatus.WARNING),
        (601, FreshnessStatus.BREACHED),
    ],
)
def test_the_early_warning_comes_at_one_and_a_half_intervals(since_update: int, status: FreshnessStatus) -> None:
    updated = NOW - timedelta(seconds=since_update)
    found = Freshness(
        "1", WatchedKind.TABLE, ObjectName("D", "S", "T"), NOW, updated, updated, limit=600.0, interval=100.0
    )  # fmt: skip
    assert found.status is status


# -- lags -------------------------------------------------------------------------------------------------------------


def test_lag_of_channels(opened: Account, clock: ManualClock) -> None:
    session = opened.session()
    session.execute("CREATE TABLE t (a INT)")
    client = StreamingIngestClient("test", connection=session)
    channel = client.open_channel("c", "t")
    channel.append_rows(pa.table({"A": [1, 2]}), end_offset_token="2")
    assert channel.wait_for_flush(120)
    client.close()
    clock.advance(timedelta(seconds=90))
    found = scraped(opened)
    assert value(found, "snowmelt_channel_since_commit_seconds", channel="c") == pytest.approx(90, abs=1)
    assert value(found, "snowmelt_channel_latency_seconds", channel="c") >= 0
    assert value(found, "snowmelt_channel_rows_total", channel="c", outcome="inserted") == 2


def test_lag_of_connectors_and_the_size_of_their_slot(opened: Account, clock: ManualClock) -> None:
    lander = Lander(opened, "lagging", "SLOT_WARNING_MB = 2")
    key, late = put(1, "a", 1)
    late["source"]["ts_ms"] = int((clock.now() - timedelta(seconds=42)).timestamp() * 1000)
    lander.land((key, late))
    with opened.state.begin() as state:
        (item,) = state.catalog.objects([CONNECTOR])
        state[ConnectorStandings].put(
            state[ConnectorStandings].require(item.id).model_copy(update={"slot_bytes": 3_000_000})
        )
    found = scraped(opened)
    assert value(found, "snowmelt_connector_lag_seconds", connector="C") == pytest.approx(42, abs=1)
    assert value(found, "snowmelt_connector_slot_bytes", connector="C") == 3_000_000
    assert value(found, "snowmelt_connector_slot_warning_bytes", connector="C") == 2 * 1024 * 1024
    assert value(found, "snowmelt_connector_changes_total", connector="C", outcome="landed") == 1


# -- drift ------------------------------------------------------------------------------------------------------------


def test_columns_that_a_source_changed_are_shown_as_a_diff(opened: Account) -> None:
    mirror = Lander(opened, "drifting", "TARGET = MIRROR")
    session = opened.session(database=mirror.database, schema=mirror.schema)
    mirror.land(put(1, "a", 1))
    assert rows_of(session, "SCHEMA_DRIFT_HISTORY") == [], "a table that is new did not drift"
    mirror.land(put(2, "b", 2, stars=5), columns=(_ID, _BODY, column("stars", "int32", "INT4")))
    (found,) = rows_of(session, "SCHEMA_DRIFT_HISTORY", name="items")
    assert (found["DIFF"], found["SOURCE"]) == ("+ STARS NUMBER(38,0)", f"public.items of {mirror.database}.DRIFTING.C")


# -- traces -----------------------------------------------------------------------------------------------------------


class _Collector:
    """Takes OTLP over HTTP, as an OpenTelemetry collector does."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.services: set[str] = set()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.take(ExportTraceServiceRequest.FromString(body))
                self.send_response(200)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/traces"

    def take(self, request: Any) -> None:
        for resource in request.resource_spans:
            named = {each.key: each.value.string_value for each in resource.resource.attributes}
            self.services.add(named["service.name"])
            self.spans += [span for scope in resource.scope_spans for span in scope.spans]

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def collector() -> Iterator[_Collector]:
    found = _Collector()
    yield found
    found.stop()


def test_a_collector_gets_traces(tmp_path: Path, collector: _Collector) -> None:
    settings = Settings(tracing=TracingSettings(url=collector.url, service_name="shop"))
    with open_account(tmp_path, settings=settings) as account:
        session = account.session()
        session.execute("CREATE TABLE t (a INT)")
        query_id = session.execute("INSERT INTO t VALUES (1)").query_id
    attributes = {
        span.name: {each.key: each.value.string_value for each in span.attributes} for span in collector.spans
    }
    assert {"CREATE_TABLE", "INSERT"} <= set(attributes) and collector.services == {"shop"}
    assert attributes["INSERT"]["snowmelt.query_id"] == query_id


@pytest.mark.slow
def test_a_collector_that_is_down_disturbs_nobody(tmp_path: Path) -> None:
    settings = Settings(tracing=TracingSettings(url="http://127.0.0.1:9/v1/traces"))
    with open_account(tmp_path, settings=settings) as account:
        account.session().execute("CREATE TABLE t (a INT)")
