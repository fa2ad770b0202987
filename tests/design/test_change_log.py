"""The change log: an entry for each design that is another, with a day and a person, and none for one that is not."""

from __future__ import annotations

import copy
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from snowmelt.design.building.project import project_files
from snowmelt.design.deciding import decide
from snowmelt.design.making.changing import with_change
from snowmelt.design.making.designing import design
from snowmelt.design.model import Design
from snowmelt.design.requirements.model import Requirements
from tests.design.building import PROJECTS, call

FIRST, LATER = date(2026, 1, 2), date(2026, 3, 4)


def made(**more: Any) -> Design:
    given = Requirements.model_validate({**copy.deepcopy(PROJECTS["postgres_snowmelt"]), **more})
    return design(given, decide(given))


TOTALS = {"name": "totals", "sql": "SELECT SUM(amount) AS total FROM stg_orders"}


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"latency": "1 hour"}, "freshness: 30 minutes is now 1 hour"),
        ({"transformations": [*PROJECTS["postgres_snowmelt"]["transformations"], TOTALS]}, "tables: new totals"),
        ({"transformations": [TOTALS]}, "tables: new totals, gone revenue"),
        ({"owner": "finance"}, "owner: sales is now finance"),
        ({"quality": []}, "gates: gone range of stg_orders (amount)"),
        ({"orchestrator": "dagster"}, "orchestration: airflow is now dagster"),
        ({"contracts": {"revenue": "1.1.0"}}, "contract of revenue: 1.0.0 is now 1.1.0"),
        ({"sinks": [{"name": "lake", "kind": "parquet"}]}, "sinks: new lake, gone mart"),
        ({"description": "other words"}, "details of what is there"),
    ],
)
def test_what_is_another_is_said(more: dict[str, Any], what: str) -> None:
    first = with_change(made(), None, FIRST, "Ann")
    assert [(item.version, item.what) for item in first.changes] == [("0.1.0", "first design")]
    second = with_change(made(**more), first, LATER, "Bob")
    (_, last) = second.changes
    assert (last.version, last.date, last.by) == ("0.2.0", LATER, "Bob") and what in last.what, last.what
    assert with_change(made(**more), second, date(2027, 1, 1), "Eve") == second, "it stayed the same"


def test_another_pipeline_has_a_log_of_its_own() -> None:
    other = with_change(made(name="other"), with_change(made(), None, FIRST, "Ann"), LATER, "Bob")
    assert [item.what for item in other.changes] == ["first design"]


def test_the_specification_has_days_versions_and_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the command line, from one day to another; the same requirements give the same files."""
    path, out = tmp_path / "r.yaml", tmp_path / "out"
    for epoch, latency in (("1767312000", "30 minutes"), ("1772582400", "1 hour"), ("1790000000", "1 hour")):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
        path.write_text(yaml.safe_dump({**PROJECTS["postgres_snowmelt"], "latency": latency}), encoding="utf-8")
        assert call("design", "-f", str(path), "-o", str(out), "--non-interactive").exit_code == 0
    kept = Design.model_validate(yaml.safe_load((out / "design.yaml").read_text(encoding="utf-8")))
    text = project_files(kept)["data-pipeline-spec.md"]
    for line in (
        "| version | 0.2.0 |", "| first designed | 2026-01-02 |", "| last changed | 2026-03-04 |",
        "| 0.1.0 | 2026-01-02 | first design | the tests |",
    ):  # fmt: skip
        assert line in text, line
    assert re.search(r"\| 0\.2\.0 \| 2026-03-04 \| .*freshness: 30 minutes is now 1 hour.* \| the tests \|", text)


def test_a_design_that_can_not_be_read_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "design.yaml").write_text("name: [", encoding="utf-8")
    path = tmp_path / "r.yaml"
    path.write_text(yaml.safe_dump(PROJECTS["postgres_snowmelt"]), encoding="utf-8")
    told = call("design", "-f", str(path), "-o", str(tmp_path), "--non-interactive")
    assert told.exit_code == 3 and "design.yaml:2:1: this is not YAML" in told.stderr
    assert (tmp_path / "design.yaml").read_text(encoding="utf-8") == "name: ["
