"""Pipelines as others write them: SQL, Python, dbt and DAGs with one flaw each, and clean ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from tests.design.building import call

HELD: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    (Path(__file__).parent / "held_pipelines.yaml").read_text(encoding="utf-8")
)


def _findings(case: dict[str, Any], folder: Path) -> set[str]:
    for path, text in case["files"].items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    rows = json.loads(call("lint", str(folder), "--format", "json").stdout)
    return {row["id"] for row in rows if row["level"] in ("error", "warning")}


def test_one_flaw_in_each_of_twenty_pipelines_is_found(tmp_path: Path) -> None:
    cases = HELD["flawed"]
    missed = [case["name"] for number, case in enumerate(cases)
              if case["flaw"] not in _findings(case, tmp_path / str(number))]  # fmt: skip
    assert len(cases) == 20
    assert len(missed) <= 1, missed


def test_clean_pipelines_raise_no_alarm(tmp_path: Path) -> None:
    cases = HELD["clean"]
    alarms = {case["name"]: found for number, case in enumerate(cases)
              if (found := _findings(case, tmp_path / str(number)))}  # fmt: skip
    assert len(cases) == 10
    assert alarms == {}


def test_what_could_not_be_read_is_told_and_is_never_clean(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("CREATE VIEW v AS SELECT id FROM t;\nFROBNICATE THE TABLE x;\n", encoding="utf-8")
    (tmp_path / "b.py").write_text("def (", encoding="utf-8")
    (tmp_path / "dbt_project.yml").write_text("name: x\n", encoding="utf-8")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "m.sql").write_text("{% for x in y %} select 1 {% endfor %}", encoding="utf-8")
    (tmp_path / "models" / "m.yml").write_text("models: [{name: m, tests: [x]}]", encoding="utf-8")
    result = call("lint", str(tmp_path))
    for told in ("a.sql:2: not read", "b.py:1: not read: this is not Python", "m.sql:1: not read: Jinja decides"):
        assert told in result.stderr
    assert "No anti-pattern was found in what could be read; 3 could not." in result.stdout


def test_a_secret_is_never_shown(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("API_TOKEN=abc123def456\n", encoding="utf-8")
    result = call("lint", str(tmp_path))
    assert result.exit_code == 1 and "PD-06" in result.stdout and "abc123" not in result.output
