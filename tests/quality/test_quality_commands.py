"""`snowmelt quality …`: declared from a file, run, reported, and what the exit codes say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from snowmelt.cli.main import app
from snowmelt.service.account import Account

_CHECKS = """
tables:
  snowmelt.public.t:
    - {name: there, check: not_null, column: a, severity: %s}
    - {name: few, check: row_count, max: 10}
"""


@pytest.fixture
def folder(account: Account, tmp_path: Path) -> Path:
    """A data directory with a table; `account` keeps Spark up meanwhile."""
    account.engine.session()
    with Account.open(tmp_path / "data") as opened:
        opened.session().execute_script("CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (NULL)")
    return tmp_path / "data"


def call(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["quality", *arguments, "--data", str(folder)])


def test_checks_from_a_file(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "checks.yaml"
    file.write_text(_CHECKS % "error", encoding="utf-8")
    assert call(folder, "apply", str(file)).exit_code == 0
    listed = json.loads(call(folder, "list", "--format", "json").stdout)
    assert [(item["name"], item["last_status"]) for item in listed] == [("THERE", None), ("FEW", None)]
    ran = call(folder, "run", "--format", "json")
    assert ran.exit_code == 1
    found = {item["CHECK_NAME"]: (item["STATUS"], item["ROWS_FAILED"]) for item in json.loads(ran.stdout)}
    assert found == {"THERE": ("FAILED", 1), "FEW": ("PASSED", None)}
    file.write_text(_CHECKS % "warn", encoding="utf-8")
    assert call(folder, "apply", str(file)).exit_code == 0
    assert call(folder, "run", "snowmelt.public.t").exit_code == 0
    assert call(folder, "report", "--limit", "2").exit_code == 0
    assert call(folder, "report").exit_code == 1


def test_a_file_that_is_wrong(folder: Path, tmp_path: Path) -> None:
    assert call(folder, "apply", str(tmp_path / "nothing.yaml")).exit_code == 3
    (tmp_path / "bad.yaml").write_text("tables: 3", encoding="utf-8")
    failed = call(folder, "apply", str(tmp_path / "bad.yaml"))
    assert (failed.exit_code, "must have `tables`" in failed.stderr) == (3, True)
