"""Which runs have events: queries, statements of a transaction, what channels and connectors bring."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import OpenLineageSettings, Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.ingest import StreamingIngestClient
from snowmelt.runtime.account import Account
from snowmelt.runtime.results import status
from snowmelt.runtime.run import Run
from tests.features.connectors.test_landing import Lander, put
from tests.features.lineage.events import events_in


@pytest.fixture
def told(tmp_path: Path) -> Callable[[Callable[[Account], None]], list[dict[str, Any]]]:
    """The events of what a function does with an account."""

    def during(work: Callable[[Account], None]) -> list[dict[str, Any]]:
        settings = Settings(openlineage=OpenLineageSettings(file="events.jsonl", running_seconds=3600))
        with open_account(tmp_path, settings=settings) as account:
            work(account)
        return events_in(tmp_path / "events.jsonl")

    return during


Ask = Callable[[Callable[[Account], None]], list[dict[str, Any]]]


def _names(datasets: list[dict[str, Any]]) -> list[str]:
    return sorted(item["name"].removeprefix("SNOWMELT.") for item in datasets)


def test_a_query_says_what_it_reads(told: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    # What it answers does not matter here, and Spark need not start for it.
    monkeypatch.setattr(Run, "fetch", lambda *_: status("done", "SELECT"))

    def work(account: Account) -> None:
        session = account.session()
        session.execute("CREATE VIEW numbers AS SELECT 1 AS a")
        session.execute("SELECT a FROM numbers")
        with pytest.raises(SnowmeltError):
            session.execute("SELECT * FROM nowhere")

    events = told(work)
    assert [item["eventType"] for item in events] == ["START", "COMPLETE", "START", "FAIL"]
    assert (_names(events[1]["inputs"]), events[1]["outputs"]) == (["PUBLIC.NUMBERS"], [])
    assert [field["name"] for field in events[1]["inputs"][0]["facets"]["schema"]["fields"]] == ["A"]
    assert "NOWHERE" in events[3]["run"]["facets"]["errorMessage"]["message"]


def test_statements_of_a_transaction_end_with_it(told: Ask) -> None:
    def work(account: Account) -> None:
        session = account.session()
        session.execute("CREATE TABLE t (a INT)")
        for end in ("COMMIT", "ROLLBACK"):
            session.execute_script(f"BEGIN; INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); {end}")

    events = told(work)
    assert [item["eventType"] for item in events] == [
        "START", "START", "COMPLETE", "COMPLETE", "START", "START", "ABORT", "ABORT",
    ]  # fmt: skip
    assert [item["run"]["runId"] for item in events[:2]] == [item["run"]["runId"] for item in events[2:4]]


def test_a_commit_that_fails_fails_what_it_was_to_commit(told: Ask) -> None:
    def work(account: Account) -> None:
        session = account.session()
        session.execute("CREATE TABLE t (a INT)")
        session.execute("ALTER TABLE t ADD QUALITY CHECK few AS ROW_COUNT MAX = 1")
        with pytest.raises(SnowmeltError, match="FEW"):
            session.execute_script("BEGIN; INSERT INTO t VALUES (1), (2); COMMIT")

    events = told(work)
    assert [(item["eventType"], item["job"]["facets"]["jobType"]["jobType"]) for item in events] == [
        ("START", "QUERY"), ("START", "QUALITY"), ("COMPLETE", "QUALITY"), ("FAIL", "QUERY"),
    ]  # fmt: skip
    assert "FEW" in events[3]["run"]["facets"]["errorMessage"]["message"]
    assert events[2]["job"]["name"] == "quality.SNOWMELT.PUBLIC.T"
    assert events[2]["run"]["facets"]["parent"]["run"]["runId"] == events[0]["run"]["runId"]
    (table,) = events[2]["inputs"]
    (said,) = table["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert said == {
        "assertion": "row_count", "success": False, "name": "FEW", "severity": "error", "actual": "2",
    }  # fmt: skip


def test_what_channels_bring(told: Ask) -> None:
    def work(account: Account) -> None:
        session = account.session()
        session.execute("CREATE TABLE t (a INT, b VARCHAR)")
        client = StreamingIngestClient("test", connection=session)
        channel = client.open_channel("c", "t")
        channel.append_rows(pa.table({"A": [1, 2], "B": ["x", "y"]}), end_offset_token="2")
        assert channel.wait_for_flush(120)
        client.close()

    events = told(work)
    assert [item["eventType"] for item in events] == ["START", "COMPLETE"]
    assert len({item["run"]["runId"] for item in events}) == 1
    job = events[1]["job"]
    assert job["name"] == "channels.SNOWMELT.PUBLIC.T"
    assert (job["facets"]["jobType"]["jobType"], job["facets"]["jobType"]["processingType"]) == ("LOAD", "STREAMING")
    assert (_names(events[1]["inputs"]), _names(events[1]["outputs"])) == (['PUBLIC."c"'], ["PUBLIC.T"])
    (output,) = events[1]["outputs"]
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 2
    assert output["facets"]["dataQualityMetrics"]["rowCount"] == 2
    assert output["facets"]["columnLineage"]["fields"]["B"]["inputFields"][0]["field"] == "B"


@pytest.mark.parametrize(("options", "target"), [("", "RAW_CHANGES"), ("TARGET = MIRROR", "ITEMS")])
def test_what_connectors_bring(told: Ask, options: str, target: str) -> None:
    def work(account: Account) -> None:
        lander = Lander(account, "landed", options)
        lander.land(put(1, "a", 1), put(2, "b", 2))
        lander.land()

    events = told(work)
    assert [item["eventType"] for item in events] == ["START", "COMPLETE"], "nothing is told of no changes"
    assert events[1]["job"]["name"] == "SNOWMELT.LANDED.C"
    assert [item["name"] for item in events[1]["inputs"]] == ["postgres://h:5432/d.public.items"]
    assert _names(events[1]["outputs"]) == [f"LANDED.{target}"]


def test_a_batch_that_a_check_refuses(told: Ask) -> None:
    def work(account: Account) -> None:
        lander = Lander(account, "gated", "TARGET = MIRROR")
        lander.land(put(1, "a", 1))
        session = account.session(database=lander.database, schema=lander.schema)
        session.execute("ALTER TABLE items ADD QUALITY CHECK few AS ROW_COUNT MAX = 1")
        with pytest.raises(SnowmeltError, match="FEW"):
            lander.land(put(2, "b", 2))

    events = [item for item in told(work) if item["job"]["name"] == "SNOWMELT.GATED.C"]
    assert [item["eventType"] for item in events] == ["START", "COMPLETE", "START", "FAIL"]
    assert "FEW" in events[3]["run"]["facets"]["errorMessage"]["message"]
