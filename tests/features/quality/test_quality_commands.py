"""`snowmelt quality …`: declared from a file, run, reported, and what the exit codes say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from snowmelt.accounts import open_account
from snowmelt.cli.main import app
from snowmelt.runtime.account import Account

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
    with open_account(tmp_path / "data") as opened:
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


_SUITE = """{"expectations": [
  {"type": "expect_column_values_to_not_be_null", "kwargs": {"column": "a"}},
  {"type": "expect_column_kl_divergence_to_be_less_than", "kwargs": {"column": "a"}}]}"""
_SODA = "checks for t:\n  - row_count > 0\n  - duplicate_count(a) = 0\n"


def test_checks_of_other_tools(folder: Path, tmp_path: Path) -> None:
    suite, checks = tmp_path / "suite.json", tmp_path / "checks.yml"
    suite.write_text(_SUITE, encoding="utf-8")
    checks.write_text(_SODA, encoding="utf-8")
    shown = call(folder, "import", str(checks), "--schema", "snowmelt.public", "--dry-run")
    assert (shown.exit_code, shown.stdout.count("ALTER TABLE SNOWMELT.PUBLIC.T")) == (0, 2)
    assert json.loads(call(folder, "list", "--format", "json").stdout) == []
    assert call(folder, "import", str(checks), "--schema", "snowmelt.public").exit_code == 0
    assert call(folder, "import", str(suite)).exit_code == 3
    taken = call(folder, "import", str(suite), "--table", "t")
    assert (taken.exit_code, "1 quality checks declared" in taken.stdout) == (1, True)
    assert "not taken over: expect_column_kl_divergence_to_be_less_than (a)" in taken.stdout
    listed = json.loads(call(folder, "list", "--format", "json").stdout)
    assert [item["name"] for item in listed] == ["ROW_COUNT", "A_UNIQUE", "A_NOT_NULL"]


def test_quarantined_rows_are_replayed(folder: Path) -> None:
    with open_account(folder) as opened:
        opened.session().execute_script(
            "ALTER TABLE t ADD QUALITY CHECK small AS RANGE (a) MAX = 9 ON_FAILURE = QUARANTINE;"
            "INSERT INTO t VALUES (20), (30); UPDATE t_quarantine SET a = 3 WHERE a = 30"
        )
    assert "1 quarantined rows" in call(folder, "replay", "t", "--where", "a < 10").stdout
    with open_account(folder) as opened:
        session = opened.session()
        assert sorted(session.execute("SELECT a FROM t WHERE a > 1").rows()) == [(3,)]
        assert session.execute("SELECT a FROM t_quarantine").rows() == [(20,)]
