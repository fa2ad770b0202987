"""OpenLineage events: held to the models of the standard's own client, and never in anybody's way."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer

from snowmelt.accounts import open_account
from snowmelt.core.config import OpenLineageSettings, Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.lineage.events import RunEvents
from snowmelt.govern.lineage.emitting import Emitter
from snowmelt.govern.lineage.flows import Influence
from snowmelt.govern.lineage.graph import Dataset, Edge, LineageDomain, LineageLink, Process
from snowmelt.govern.lineage.openlineage import EventType, JobRun, Known, RunFacts, WrittenDataset, event
from tests.features.connectors.kafka_stack import KafkaStack
from tests.features.lineage.events import validated
from tests.support.waiting import DEADLINE, wait_until

_NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_RUN = "01234567-89ab-4def-8123-456789abcdef"
_SOURCE = Dataset("1", LineageDomain.TABLE, ("DB", "S", "SOURCE"))
_TARGET = Dataset("2", LineageDomain.DYNAMIC_TABLE, ("DB", "S", "TARGET"))


def _full_event() -> dict[str, Any]:
    """One with every facet that there is."""
    links = (
        LineageLink("A", "X", frozenset({Influence.IDENTITY})),
        LineageLink("B", "Y", frozenset({Influence.AGGREGATION, Influence.CONDITIONAL})),
        LineageLink("C", None, frozenset({Influence.FILTER})),
    )
    outcome = RunFacts(
        [Edge(_SOURCE, _TARGET, Process("QUERY"), links)],
        written={"2": WrittenDataset(3, 512, 1)},
        error="002003 (02000): no such table",
        known={"1": Known([("A", "NUMBER(38,0)")], 10, 2048), "2": Known([("X", "VARCHAR(10)")], 3, 512)},
    )
    run = JobRun(_RUN, "DB.S.TARGET", "TASK", "INSERT …", (_RUN.replace("0", "1", 1), "DB.S.ROOT"))
    return event("test", EventType.FAIL, _NOW, run, outcome)


def test_every_facet_is_the_standards() -> None:
    validated(_full_event())


def test_column_lineage_says_how_each_column_takes_part() -> None:
    (output,) = _full_event()["outputs"]
    lineage = output["facets"]["columnLineage"]
    assert [item["field"] for item in lineage["fields"]["X"]["inputFields"]] == ["A"]
    assert [
        (item["type"], item["subtype"]) for item in lineage["fields"]["Y"]["inputFields"][0]["transformations"]
    ] == [
        ("DIRECT", "AGGREGATION"),
        ("INDIRECT", "CONDITIONAL"),
    ]
    assert [(item["field"], item["transformations"][0]["subtype"]) for item in lineage["dataset"]] == [("C", "FILTER")]
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 3
    assert output["facets"]["dataQualityMetrics"]["rowCount"] == 3


def test_a_statement_begins_and_completes_or_fails(tmp_path: Path) -> None:
    settings = Settings(openlineage=OpenLineageSettings(file="events.jsonl", namespace="shop", running_seconds=3600))
    with open_account(tmp_path / "data", settings=settings) as account:
        session = account.session()
        session.execute("CREATE TABLE people (id INT, name VARCHAR)")
        (tmp_path / "a.csv").write_text("1,ada\n2,bob\n", encoding="utf-8")
        session.execute(f"CREATE STAGE files URL = 'file://{tmp_path}/'")
        session.execute("COPY INTO people FROM (SELECT $1, UPPER($2) FROM @files/a.csv) FILE_FORMAT = (TYPE = CSV)")
        session.execute("SHOW TABLES")
        with pytest.raises(SnowmeltError):
            session.execute("INSERT INTO people SELECT * FROM missing")
    lines = (tmp_path / "data" / "events.jsonl").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    assert [item["eventType"] for item in events] == ["START", "COMPLETE", "START", "FAIL"]
    for item in events:
        validated(item)
    began, completed, _, failed = events
    assert began["run"]["runId"] == completed["run"]["runId"]
    assert completed["job"]["facets"]["jobType"]["jobType"] == "LOAD"
    assert [item["name"] for item in completed["inputs"]] == ["SNOWMELT.PUBLIC.FILES"]
    (output,) = completed["outputs"]
    assert (output["namespace"], output["name"]) == ("shop", "SNOWMELT.PUBLIC.PEOPLE")
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 2
    assert output["facets"]["columnLineage"]["fields"]["NAME"]["inputFields"][0]["field"] == "$2"
    assert [field["name"] for field in output["facets"]["schema"]["fields"]] == ["ID", "NAME"]
    assert "MISSING" in failed["run"]["facets"]["errorMessage"]["message"]


def test_an_endpoint_gets_events(tmp_path: Path) -> None:
    got: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(201)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/api/v1/lineage"
        with open_account(tmp_path, settings=Settings(openlineage=OpenLineageSettings(url=url))) as account:
            session = account.session()
            session.execute("CREATE TABLE t (a INT)")
            session.execute("INSERT INTO t VALUES (1)")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert [item["eventType"] for item in got] == ["START", "COMPLETE"]


def test_an_endpoint_that_is_down_disturbs_nobody(tmp_path: Path) -> None:
    # A port that nobody listens on.
    settings = Settings(openlineage=OpenLineageSettings(url="http://127.0.0.1:9/", queue=1, timeout_seconds=1))
    with open_account(tmp_path, settings=settings) as account:
        session = account.session()
        session.execute("CREATE TABLE t (a INT)")
        for _ in range(5):
            session.execute("INSERT INTO t VALUES (1)")
        emitter = account.services[RunEvents].emitter
        assert emitter is not None
        wait_until(lambda: emitter.dropped > 0, "nothing was dropped")
        assert emitter.sent == 0


def test_a_run_that_goes_on_says_so(tmp_path: Path) -> None:
    """It waits for another transaction's table."""
    file = tmp_path / "events.jsonl"
    settings = Settings(openlineage=OpenLineageSettings(file=str(file), running_seconds=0.05))
    with open_account(tmp_path / "data", settings=settings) as account:
        writer, waiting = account.session(), account.session()
        writer.execute("CREATE TABLE t (a INT)")
        writer.execute("BEGIN")
        writer.execute("INSERT INTO t VALUES (1)")
        with ThreadPoolExecutor(1) as pool:
            late = pool.submit(waiting.execute, "INSERT INTO t VALUES (2)")
            wait_until(lambda: "RUNNING" in file.read_text(encoding="utf-8"), "nothing was said")
            writer.execute("COMMIT")
            late.result()
    events = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    running = [item for item in events if item["eventType"] == "RUNNING"]
    for item in running:
        validated(item)
    # Both: a statement of a transaction goes on until the transaction ends.
    for run in {item["run"]["runId"] for item in running}:
        types = [item["eventType"] for item in events if item["run"]["runId"] == run]
        assert (types[0], set(types[1:-1]), types[-1]) == ("START", {"RUNNING"}, "COMPLETE")


@pytest.mark.slow
def test_a_topic_gets_events(tmp_path: Path) -> None:
    with KafkaStack(connects=False) as kafka:
        properties = tmp_path / "client.properties"
        properties.write_text("# of the client\nlinger.ms = 0\n", encoding="utf-8")
        place = OpenLineageSettings(
            kafka=kafka.bootstrap_servers, topic="runs", kafka_properties_file=str(properties), timeout_seconds=60
        )
        with open_account(tmp_path / "data", settings=Settings(openlineage=place)) as account:
            session = account.session()
            session.execute("CREATE TABLE t (a INT)")
            session.execute("INSERT INTO t VALUES (1)")
            emitter = account.services[RunEvents].emitter
            assert emitter is not None
            wait_until(lambda: emitter.sent + emitter.dropped == 2, "they never arrive")
        reader = Consumer(
            {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "test", "auto.offset.reset": "earliest"}
        )
        reader.subscribe(["runs"])
        try:
            records = [record for record in reader.consume(2, 120) if record.error() is None]
        finally:
            reader.close()
    events = [json.loads(record.value()) for record in records]
    assert [item["eventType"] for item in events] == ["START", "COMPLETE"]
    assert {record.key().decode() for record in records} == {events[0]["run"]["runId"]}


def test_a_broker_that_is_down_disturbs_nobody(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    settings = Settings(openlineage=OpenLineageSettings(kafka="127.0.0.1:9", timeout_seconds=0.1))
    with open_account(tmp_path, settings=settings) as account:
        session = account.session()
        session.execute("CREATE TABLE t (a INT)")
        session.execute("INSERT INTO t VALUES (1)")
        emitter = account.services[RunEvents].emitter
        assert emitter is not None
        wait_until(lambda: emitter.dropped > 0, "nothing was dropped")
        assert emitter.sent == 0
    assert "rdkafka" not in capfd.readouterr().err


class _Stuck:
    """An endpoint that takes one event and never answers."""

    def __init__(self) -> None:
        self.entered, self.released = threading.Event(), threading.Event()

    def send(self, _: dict[str, Any]) -> None:
        self.entered.set()
        self.released.wait(DEADLINE)

    def close(self) -> None:
        pass


def test_what_finds_no_room_is_dropped_and_counted() -> None:
    sink = _Stuck()
    emitter = Emitter(sink, capacity=2)
    emitter.offer(dict)
    assert sink.entered.wait(DEADLINE)
    for _ in range(5):
        emitter.offer(dict)
    assert emitter.dropped == 3
    sink.released.set()
    emitter.close(60)
    assert emitter.sent == 3


def test_settings_name_one_place() -> None:
    for values in ({}, {"file": "a", "url": "http://x"}, {"kafka": "a:1", "url": "http://x"}):
        with pytest.raises(ValueError, match="one of them"):
            OpenLineageSettings.model_validate(values)
