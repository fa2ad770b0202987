"""One project for each kind of source, with all that goes wrong at once: in the end its rows are the source's.

Each is killed by SIGKILL while it loads; then a record is bad, a column is new, one record has changed, and rows are
committed behind what was read already.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.design.building import built, killed_in_the_middle
from tests.design.driving import Driver, driving
from tests.design.faults import ROWS, SOURCES, FaultySource, faulty_source, order
from tests.extract_load.conftest import gcs_settings, kafka_servers, mariadb_url, s3_settings, sftp_server
from tests.support.postgres import empty_schema

__all__ = ["gcs_settings", "kafka_servers", "mariadb_url", "s3_settings", "sftp_server"]
pytestmark = pytest.mark.slow

TO_POSTGRES = {"csv", "kafka", "mariadb", "postgres-log"}
"""Those whose clean table also goes on to another database."""


@pytest.fixture
def faulty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FaultySource]:
    made = faulty_source(request.param, request, tmp_path)
    yield made
    made.close()


def requirements(faulty: FaultySource, *, sends: bool) -> dict[str, Any]:
    columns = [
        {"name": "id", "type": "NUMBER(38,0)", "nullable": False}, {"name": "name", "nullable": False},
        {"name": "amount", "type": "NUMBER(12,2)"}, {"name": "changed_at", "type": "TIMESTAMP_NTZ"},
    ]  # fmt: skip
    mart = {"name": "mart", "kind": "postgres", "connection": "MART_URL", "key": ["id"], "load": "upsert"}
    return {
        "name": "faulty_orders", "owner": "sales", "latency": "1 hour", "volume": {"per_day": "1 MB"},
        "pii": {"present": False}, "approvals": {"ASK-DELETES": "the owner, files have no deletions"},
        "sources": [{"name": "shop", **faulty.source(),
                     "tables": [{"key": ["id"], "columns": columns, **faulty.table()}]}],
        "sinks": [{**mart, "reads": [faulty.clean]}] if sends else [{"name": "here", "kind": "snowmelt"}],
        "transformations": [{"name": "totals", "key": ["name"], "sql":
            f"SELECT name, SUM(amount) AS amount, COUNT(*) AS orders FROM {faulty.clean} GROUP BY name"}],
    }  # fmt: skip


SEEN = "SELECT column_name, difference FROM schema_changes WHERE ended_at IS NULL AND difference = 'new'"
LETTERS = "SELECT COUNT(*) FROM dead_letters"
BREACHES = "SELECT breaches FROM reconciliations QUALIFY ROW_NUMBER() OVER (ORDER BY checked_at DESC) = 1"


@pytest.mark.parametrize(
    ("faulty", "sends"), [(name, name in TO_POSTGRES) for name in SOURCES], indirect=["faulty"], ids=SOURCES
)
def test_rows_are_those_of_the_source_whatever_went_wrong(
    faulty: FaultySource, sends: bool, tmp_path: Path, postgres_url: str
) -> None:
    project = built(requirements(faulty, sends=sends), tmp_path)
    variables = faulty.variables()
    if sends:
        variables["MART_URL"] = empty_schema(postgres_url)
    clean = faulty.clean
    faulty.fill()
    killed_in_the_middle(project, batches=faulty.batches, event=faulty.event, **variables)
    with driving(project, **variables) as driver:
        assert driver.call("run") == 0, driver.told()[-4000:]
        assert driver.rows(ROWS.format(clean))[0] == faulty.rows()
        faulty.add(order(faulty.first + 1, note="new"), order(faulty.first + 2, note="new"))
        faulty.change(order(5, minute=faulty.first + 3, name="changed"))
        faulty.add_bad()
        faulty.begin_late()
        faulty.add(order(faulty.first + 4, note="new"))
        assert driver.call("run") in (0, 1), "1 where the source has a row that is a dead letter here"
        seen, letters = driver.rows(SEEN, LETTERS)
        assert seen == [("note", "new")] and letters == [("1",)]
        faulty.end_late()
        faulty.mend()
        assert driver.call("run") in (0, 1)
        assert driver.call("reconcile") == 0, driver.told()[-4000:]
        assert driver.call("letters", "discard", "--by", "a test") == 0
        assert driver.call("run") == 0
        rows, totals, breaches, letters = driver.rows(ROWS.format(clean), _TOTALS, BREACHES, LETTERS)
        assert rows == faulty.rows()
        assert {row[0] for row in rows} >= {"9001", "9002", str(faulty.first + 4)}
        assert totals == [(str(sum(1 for _ in rows)),)] and breaches == [("0",)] and letters == [("0",)]
        _assert_nothing_twice(driver, faulty)
    if sends:
        with psycopg.connect(variables["MART_URL"]) as sink:
            found = sink.execute(ROWS.format(clean).encode()).fetchall()
            assert [tuple(map(str, row)) for row in found] == faulty.rows()
    _assert_no_secret(project, variables)


_TOTALS = "SELECT SUM(orders) FROM totals"


def _assert_nothing_twice(driver: Driver, faulty: FaultySource) -> None:
    """Rows are landed once, and another run that finds nothing lands nothing."""
    by_log = faulty.event == "changes landed"
    record = "change_number" if by_log else "TO_JSON(record)"
    raw = "raw_shop_changes" if by_log else faulty.clean.replace("stg_", "raw_")
    reading = ", reading" if faulty.whole else ""
    twice = f"SELECT {record}{reading}, COUNT(*) FROM {raw} GROUP BY {record}{reading} HAVING COUNT(*) > 1"
    before = driver.rows(twice, f"SELECT COUNT(*) FROM {raw}")
    assert before[0] == []
    assert driver.call("run") == 0
    assert driver.rows(twice, f"SELECT COUNT(*) FROM {raw}") == before


def _assert_no_secret(project: Path, variables: dict[str, str]) -> None:
    for name in ("SHOP_TOKEN", "SHOP_SECRET_KEY"):
        secret = variables.get(name, "")
        for path in project.rglob("*") if len(secret) > 3 else ():
            assert not path.is_file() or secret.encode() not in path.read_bytes(), path
