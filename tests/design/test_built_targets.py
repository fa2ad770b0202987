"""Every target of a built Makefile does what its help says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from uv import find_uv_bin

from tests.design.building import HERE, PROJECTS, built, environment, made, queried, streaming

pytestmark = pytest.mark.slow
ORDERS: dict[str, Any] = {
    "name": "orders_out", "owner": "sales", "latency": "20 seconds", "volume": {"per_day": "20 MB"},
    "pii": {"present": False}, "approvals": {"ASK-LATENCY": "the board"},
    "sources": [{"name": "drop", "kind": "files", "connection": "incoming", "tables": [
        {"name": "orders_*.csv", "key": ["order_id"], "change_column": "updated_at", "columns": [
            {"name": "order_id", "type": "NUMBER(38,0)"}, {"name": "customer"},
            {"name": "amount", "type": "NUMBER(12,2)"}, {"name": "updated_at", "type": "TIMESTAMP_NTZ"}]},
        {"name": "events.jsonl"},
    ]}],
    "sinks": [{"name": "out", "kind": "csv", "connection": "exports", "load": "overwrite", "reads": ["revenue"]}],
    "transformations": PROJECTS["files_snowmelt"]["transformations"],
    "quality": [{"check": "range", "table": "stg_orders", "columns": ["amount"], "minimum": 0, "severity": "critical"}],
}  # fmt: skip
REVENUE = "SELECT customer, revenue, orders FROM revenue ORDER BY customer"
HEAD = "order_id,customer,amount,updated_at\n"


def drop(project: Path, name: str, *lines: str) -> None:
    (project / "incoming").mkdir(exist_ok=True)
    (project / "incoming" / name).write_text(HEAD + "".join(f"{line}\n" for line in lines), encoding="utf-8")


def exported(project: Path) -> list[str]:
    (path,) = (project / "exports" / "revenue").glob("*.csv")
    return sorted(path.read_text(encoding="utf-8").replace('"', "").splitlines()[1:])


def broken(project: Path, *targets: str) -> str:
    done = subprocess.run(
        ["make", *targets, f"PYTHON={sys.executable}"], cwd=project, env=environment(project), timeout=600,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0, done.stdout[-3000:]
    return done.stdout + done.stderr


def test_run_quality_backfill_check_and_playbook(tmp_path: Path) -> None:
    project = built(ORDERS, tmp_path)
    targets = re.findall(r"^  make (\w+): ", made(project, "help"), re.MULTILINE)
    assert set(targets) == set(re.findall(r"^([a-z]+):", (project / "Makefile").read_text(encoding="utf-8"), re.M))
    made(project, "playbook", "APPROVE=review")
    drop(project, "orders_1.csv", "1,ada,2.50,2024-01-01T00:00:00", "2,bob,-1.00,2024-01-01T00:00:00")
    (project / "incoming" / "events.jsonl").write_text('{"a": 1}\n', encoding="utf-8")
    told = broken(project, "run")
    assert "a gate is broken" in told and not (project / "exports").exists(), "nothing leaves"
    assert "a gate is broken" in broken(project, "quality")
    drop(project, "orders_2.csv", "2,bob,1.00,2024-01-02T00:00:00")
    made(project, "run", "quality", "check")
    expected = ["ada,2.50,1", "bob,1.00,1"]
    assert queried(project, REVENUE) == expected == exported(project)
    # No source is asked: there is none.
    (project / "incoming").rename(project / "gone")
    shutil.rmtree(project / "exports")
    sql = next((project / "sql" / "transformations").glob("*revenue.sql"))
    sql.write_text(sql.read_text(encoding="utf-8").replace("SUM(amount)", "SUM(amount * 2)"), encoding="utf-8")
    assert "revenue.sql is not what the design says" in broken(project, "check")
    made(project, "backfill")
    raw = "SELECT COUNT(*) FROM raw_orders"
    assert queried(project, REVENUE, raw) == ["ada,5.00,1", "bob,2.00,1", "3"]
    assert exported(project) == ["ada,5.00,1", "bob,2.00,1"]


def test_stream_goes_on_until_ctrl_c(tmp_path: Path) -> None:
    project = built(ORDERS, tmp_path)
    drop(project, "orders_1.csv", "1,ada,2.50,2024-01-01T00:00:00")
    (project / "incoming" / "events.jsonl").write_text('{"a": 1}\n', encoding="utf-8")
    with streaming(project) as stream:
        stream.wait_for_rows(2)
        drop(project, "orders_2.csv", "2,bob,1.00,2024-01-02T00:00:00", "1,ada,3.50,2024-01-03T00:00:00")
        stream.wait_for_rows(4)
        drop(project, "orders_3.csv", ",nobody,1.00,2024-01-02T00:00:00", "3,bob,1.00,2024-01-03T00:00:00")
        stream.wait_for_rows(5)
        assert stream.process.poll() is None, "until it is told to stop"
    passes = [event for event in stream.events() if event["event"] == "pass"]
    assert len(passes) >= 3 and {event["code"] for event in passes} == {0}
    letters = "SELECT COUNT(*) FROM dead_letters"
    assert queried(project, REVENUE, letters) == ["ada,3.50,1", "bob,2.00,2", "1"]
    made(project, "run")
    assert exported(project) == ["ada,3.50,1", "bob,2.00,2"]


def test_setup_makes_an_environment_in_which_everything_works(tmp_path: Path) -> None:
    """From this tree as a wheel, and the rest from where packages come from."""
    wheels = tmp_path / "wheels"
    subprocess.run(
        [find_uv_bin(), "build", "--quiet", "--wheel", "--out-dir", wheels, HERE.parents[1]], check=True, timeout=600
    )
    (wheel,) = wheels.glob("*.whl")
    project = built(PROJECTS["files_scd"], tmp_path)
    variables = {**environment(project, SNOWMELT=str(wheel), PIP_DISABLE_PIP_VERSION_CHECK="1")}
    variables = {name: value for name, value in variables.items() if not name.startswith(("PYTHON", "MYPY"))}
    for command in (["setup", f"PYTHON={sys.executable}"], ["lint", "PYTHON=.venv/bin/python"]):
        done = subprocess.run(
            ["make", *command], cwd=project, env=variables, timeout=1500, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    told = subprocess.run(
        [".venv/bin/python", "-m", "customers_scd", "--help"], cwd=project, env=variables, timeout=120,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "backfill" in told.stdout
