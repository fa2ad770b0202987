"""Every kind of statement that writes says what it wrote to, how much, and what it read."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from snowmelt.features.lineage.events import RunEvents
from snowmelt.govern.lineage.emitting import Emitter, FileSink
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.features.lineage.events import events_in

SETUP = (
    "CREATE TABLE src (id INT, amount INT)",
    "CREATE TABLE ids (id INT)",
    "CREATE STAGE st",
    "INSERT INTO src VALUES (1, 10), (2, 20), (9, 90)",
    "INSERT INTO ids VALUES (2)",
    "COPY INTO @st/t.csv FROM src FILE_FORMAT = (TYPE = CSV) SINGLE = TRUE",
)


@dataclass(frozen=True, slots=True)
class Case:
    statement: str
    rows: dict[str, int]
    """By output."""
    inputs: tuple[str, ...] = ()
    outside: tuple[str, ...] = field(default=())
    """Outputs that are no tables: only their rows are known."""


CASES = (
    Case("INSERT INTO t VALUES (4, 4), (5, 5)", {"T": 2}),
    Case("INSERT INTO t SELECT id, amount FROM src WHERE id > 1", {"T": 2}, ("SRC",)),
    Case("INSERT OVERWRITE INTO t SELECT id, amount FROM src", {"T": 3}, ("SRC",)),
    Case("UPDATE t SET amount = 0 WHERE id < 3", {"T": 2}),
    Case("UPDATE t SET amount = 0 WHERE FALSE", {"T": 0}),
    Case("UPDATE t SET amount = src.amount FROM src WHERE src.id = t.id", {"T": 2}, ("SRC",)),
    Case("DELETE FROM t WHERE id = 1", {"T": 1}),
    Case("DELETE FROM t WHERE id IN (SELECT id FROM ids)", {"T": 1}, ("IDS",)),
    Case("DELETE FROM t USING ids WHERE ids.id = t.id", {"T": 1}, ("IDS",)),
    Case("DELETE FROM t", {"T": 3}),
    Case("TRUNCATE TABLE t", {"T": 0}),
    Case(
        "MERGE INTO t USING src ON t.id = src.id WHEN MATCHED THEN UPDATE SET amount = src.amount"
        " WHEN NOT MATCHED THEN INSERT VALUES (src.id, src.amount)", {"T": 3}, ("SRC",),
    ),
    Case("CREATE OR REPLACE TABLE t AS SELECT id, amount FROM src", {"T": 3}, ("SRC",)),
    Case("CREATE TABLE n AS SELECT 1 AS a", {"N": 1}),
    Case("CREATE TABLE n CLONE src", {"N": 3}, ("SRC",)),
    Case("COPY INTO t FROM @st/t.csv FILE_FORMAT = (TYPE = CSV)", {"T": 3}, ("@ST",)),
    Case("COPY INTO @st/u.csv FROM src FILE_FORMAT = (TYPE = CSV)", {"@ST": 3}, ("SRC",), ("@ST",)),
)  # fmt: skip


def _name(dataset: dict[str, Any], database: str) -> str:
    """Without the database and schema; a place in a stage is the stage."""
    name = str(dataset["name"])
    return (
        "@ST" if name.startswith("@") or f"{database}.PUBLIC.ST" in name else name.removeprefix(f"{database}.PUBLIC.")
    )


def test_every_statement_that_writes(
    account: Account, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the tests' own account, with events to a file while it lasts."""
    emitter = Emitter(FileSink(tmp_path / "events.jsonl"), 10_000, None)
    monkeypatch.setattr(account.services[RunEvents], "emitter", emitter)
    for statement in SETUP:
        session.execute(statement)
    ran: list[tuple[Case, str]] = []
    for case in CASES:
        session.execute("CREATE OR REPLACE TABLE t (id INT, amount INT)")
        session.execute("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
        ran.append((case, str(session.execute(case.statement).query_id)))
        session.execute("DROP TABLE IF EXISTS n")
    emitter.close(60)
    events = events_in(tmp_path / "events.jsonl")
    for case, query_id in ran:
        found = [item for item in events if item["eventType"] == "COMPLETE" and _of(item, query_id)]
        _check(case, str(session.database), found)


def _check(case: Case, database: str, found: list[dict[str, Any]]) -> None:
    assert found, f"{case.statement}: no event"
    said = {
        _name(output, database): output.get("outputFacets", {}).get("outputStatistics", {})
        for item in found
        for output in item["outputs"]
    }
    assert {name: facet.get("rowCount") for name, facet in said.items()} == case.rows, case.statement
    for name, facet in said.items():
        if name not in case.outside:
            assert facet["size"] >= 0 and facet["fileCount"] >= 0, case.statement
            brings_rows = case.rows[name] and not case.statement.startswith("DELETE")
            assert facet["size"] > 0 or not brings_rows, case.statement
    inputs = {_name(item, database) for event in found for item in event["inputs"]}
    assert inputs == set(case.inputs), case.statement


def _of(item: dict[str, Any], query_id: str | None) -> bool:
    parent = item["run"]["facets"].get("parent", {}).get("run", {}).get("runId")
    return query_id in (item["run"]["runId"], parent) and item["job"]["facets"]["jobType"]["jobType"] != "QUALITY"
