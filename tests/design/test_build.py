"""`snowmelt build`: whole projects, none with a placeholder, that pass their own `make lint test`."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from snowmelt.cli.main import app
from snowmelt.design.antipatterns.linting import lint_paths

HERE = Path(__file__).parent
FILES = """
name: shop_files
owner: sales
latency: 10 minutes
volume: {per_day: 20 MB}
pii: {present: true, strategy: hash}
approvals: {ASK-PII: the officer}
sources:
  - name: drop
    kind: files
    connection: incoming
    tables:
      - name: orders_*.csv
        key: [order_id]
        change_column: updated_at
        columns:
          - {name: order_id, type: "NUMBER(38,0)", nullable: false}
          - {name: customer, pii: true}
          - {name: amount, type: "NUMBER(12,2)"}
          - {name: updated_at, type: TIMESTAMP_NTZ}
      - {name: events.jsonl}
sinks: [{name: mart, kind: snowmelt}]
transformations:
  - name: revenue
    key: [customer]
    description: One row a customer.
    sql: SELECT customer, SUM(amount) AS revenue, COUNT(*) AS orders FROM stg_orders GROUP BY customer
"""
CASES = ("01-nightly-report", "29-constrained-source", "38-personal-data-is-dropped")
EXPECTED = (
    "README.md", "data-pipeline-spec.md", "config/pipeline_config.yaml", "config/connections.yaml.example",
    ".env.example", "pyproject.toml", "Makefile", "docker/Dockerfile", "docker/compose.yaml", "design.yaml",
    "monitoring/alerts.yaml", "monitoring/dashboard.json", "orchestration/airflow_dag.py", "orchestration/crontab",
    "tests/unit/test_parts.py", "tests/integration/test_run.py",
)  # fmt: skip
SECTIONS = (
    "Overview", "Purpose", "Architecture", "Sources", "Destination", "Transformations", "Quality", "Scheduling",
    "Error handling", "Monitoring", "Runbook", "Change log",
)  # fmt: skip


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def designed(text: str, folder: Path) -> Path:
    """The design.yaml of requirements."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "r.yaml").write_text(text, encoding="utf-8")
    result = call("design", "-f", str(folder / "r.yaml"), "-o", str(folder), "--non-interactive")
    assert result.exit_code == 0, result.output
    return folder / "design.yaml"


def case(name: str) -> str:
    found = yaml.safe_load((HERE / "cases" / f"{name}.yaml").read_text(encoding="utf-8"))["requirements"]
    return yaml.safe_dump(found).replace("kind: mysql", "kind: postgres")


def built(text: str, folder: Path) -> Path:
    path = designed(text, folder / "design")
    project = folder / "project"
    result = call("build", str(path), "-o", str(project))
    assert result.exit_code == 0, result.output
    return project


def environment(project: Path) -> dict[str, str]:
    """As if this tree were installed; all projects share what mypy has learnt of it."""
    here = str(HERE.parents[1] / "src")
    return {
        **os.environ, "PYTHONPATH": os.pathsep.join([here, str(project / "src")]), "MYPYPATH": here,
        "MYPY_CACHE_DIR": str(project.parents[1] / "mypy"),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["files", *CASES])
def test_a_project_is_complete(name: str, tmp_path: Path) -> None:
    project = built(FILES if name == "files" else case(name), tmp_path)
    paths = {path.relative_to(project).as_posix(): path for path in project.rglob("*") if path.is_file()}
    assert set(EXPECTED) <= set(paths)
    for path in paths.values():
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"<<\w+>>|\bTODO\b|\bFIXME\b|NotImplementedError", text), path
        if path.suffix == ".py":
            ast.parse(text)
    specification = paths["data-pipeline-spec.md"].read_text(encoding="utf-8")
    assert all(f"\n## {section}\n" in specification for section in SECTIONS)
    config = yaml.safe_load(paths["config/pipeline_config.yaml"].read_text(encoding="utf-8"))
    assert all(f"tests/fixtures/{flow['name']}.json" in paths for flow in config["flows"])
    json.loads(paths["monitoring/dashboard.json"].read_text(encoding="utf-8"))
    assert not [item for item in lint_paths([project / "sql"]) if item.pattern.level == "error"]
    ruff = Path(sys.executable).with_name("ruff")
    for arguments in (["check"], ["format", "--check"]):
        subprocess.run([ruff, *arguments, "--quiet", "--no-cache", project], check=True, timeout=60)


def test_built_again_it_keeps_what_somebody_changed(tmp_path: Path) -> None:
    project = built(FILES, tmp_path)
    design = tmp_path / "design" / "design.yaml"
    mine, theirs = project / "README.md", project / "Makefile"
    mine.write_text("mine\n", encoding="utf-8")
    again = call("build", str(design), "-o", str(project))
    assert again.exit_code == 0 and "0 of them new" in again.output
    assert mine.read_text(encoding="utf-8") == "mine\n"
    assert call("build", str(design), "-o", str(project), "--check").exit_code == 0
    changed = FILES.replace("owner: sales", "owner: finance").replace("name: shop_files", "name: shop_files2")
    other = designed(changed, tmp_path / "other")
    assert call("build", str(other), "-o", str(project), "--check").exit_code == 1
    result = call("build", str(other), "-o", str(project))
    assert "kept, see .new: README.md" in result.output and "changed: Makefile" in result.output
    assert "no longer built: src/shop_files/pipeline.py" in result.output
    assert mine.read_text(encoding="utf-8") == "mine\n"
    assert "shop_files2" in (project / "README.md.new").read_text(encoding="utf-8")
    assert "shop_files2" in theirs.read_text(encoding="utf-8")


def test_what_can_not_be_built_yet_is_named(tmp_path: Path) -> None:
    path = designed(case("03-clicks-within-seconds"), tmp_path)
    result = call("build", str(path), "-o", str(tmp_path / "project"))
    assert result.exit_code == 3
    assert "source web of kind kafka" in result.stderr
    assert not (tmp_path / "project").exists()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["files", *CASES])
def test_a_project_passes_its_own_lint_and_tests(name: str, tmp_path: Path) -> None:
    """With strict mypy, and Spark: cut off in the middle, then twice, and the numbers are exact."""
    project = built(FILES if name == "files" else case(name), tmp_path)
    done = subprocess.run(
        ["make", "lint", "test", f"PYTHON={sys.executable}"], cwd=project, env=environment(project), timeout=800,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_project_moves_files(tmp_path: Path) -> None:
    """`make run` on real files, twice: what is there is what the files say."""
    project = built(FILES, tmp_path)
    incoming = project / "incoming"
    incoming.mkdir()
    (incoming / "orders_1.csv").write_text(
        "order_id,customer,amount,updated_at\n1,ada,2.50,2024-01-01T00:00:00\n1,ada,3.50,2024-01-02T00:00:00\n"
        "2,bob,1.00,2024-01-01T00:00:00\n,nobody,9.00,2024-01-01T00:00:00\n",
        encoding="utf-8",
    )
    (incoming / "events.jsonl").write_text('{"a": 1}\n', encoding="utf-8")
    for _ in range(2):
        subprocess.run(
            ["make", "run", f"PYTHON={sys.executable}"], cwd=project, env=environment(project), timeout=280, check=True
        )  # fmt: skip
    query = "SELECT SUM(revenue)::VARCHAR AS r, SUM(orders) AS o, (SELECT COUNT(*) FROM dead_letters) AS d FROM revenue"
    shown = subprocess.run(
        [sys.executable, "-m", "snowmelt", "sql", "--data", "data", "--format", "csv", "-q", query],
        cwd=project, env=environment(project), timeout=280, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert shown.stdout.splitlines()[-1] == "4.50,2,1"
