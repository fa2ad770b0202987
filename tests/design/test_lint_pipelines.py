"""Pipelines as others write them: SQL, Python, dbt and DAGs with one flaw each, and clean ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from snowmelt.design.antipatterns.linting import lint_paths
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


WRITTEN_OUT = (
    "engine = create_engine('postgresql://db.shop.internal:5432/orders')",
    "conn = psycopg2.connect(host='10.0.0.7', dbname=name)",
    "frame = pd.read_csv('/home/anna/exports/orders.csv')",
    r"frame = pd.read_csv(r'C:\exports\orders.csv')",
    "rows = spark.read.parquet('s3://acme-prod/raw/orders')",
    "consumer = KafkaConsumer('orders', bootstrap_servers='kafka1.acme.net:9092')",
)
NOT_WRITTEN_OUT = (
    "engine = create_engine(os.environ['DB'])",
    "conn = psycopg2.connect(host='localhost', dbname=name)",
    "frame = pd.read_csv(config.folder / 'orders.csv')",
    "rows = spark.read.parquet(f's3://{bucket}/raw/orders')",
    "'''Reads /data/orders from s3://bucket/raw.'''",
    "answer = requests.get('https://api.example.org/orders', timeout=10)",
)


@pytest.mark.parametrize("line", [*WRITTEN_OUT, *NOT_WRITTEN_OUT])
def test_what_belongs_to_where_a_script_runs_is_a_warning(line: str, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(f"import os\nimport pandas as pd\nimport psycopg2\n\n{line}\n", encoding="utf-8")
    found = [(item.pattern.id, item.line, str(item.pattern.level)) for item in lint_paths([tmp_path])]
    assert found == ([("PD-06", 5, "warning")] if line in WRITTEN_OUT else [])


def test_a_constant_hides_no_secret(tmp_path: Path) -> None:
    text = "import psycopg2\nconn = psycopg2.connect(host='db1.acme.net', password='Winter2024!')\n"
    (tmp_path / "job.py").write_text(text, encoding="utf-8")
    assert {str(item.pattern.level) for item in lint_paths([tmp_path])} == {"warning", "error"}


def test_a_secret_is_never_shown(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("API_TOKEN=abc123def456\n", encoding="utf-8")
    result = call("lint", str(tmp_path))
    assert result.exit_code == 1 and "PD-06" in result.stdout and "abc123" not in result.output
