"""`snowmelt sql` and its relatives, as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from typer.testing import CliRunner

from snowmelt.cli.main import app
from snowmelt.runtime.account import Account


@pytest.fixture
def run(account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Runs `snowmelt sql` on one data directory; `account` keeps Spark up meanwhile."""
    account.engine.session()
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, stdin: str | None = None):  # type: ignore[no-untyped-def]
        return CliRunner().invoke(app, ["sql", "--data", "data", *arguments], input=stdin)

    return call


def test_formats(run) -> None:  # type: ignore[no-untyped-def]
    query = "SELECT 1 AS a, 'x,y' AS b, NULL AS c, 1.50 AS d"
    assert run("-q", query, "--format", "csv").stdout == 'A,B,C,D\n1,"x,y",,1.50\n'
    assert json.loads(run("-q", query, "--format", "json").stdout) == [{"A": 1, "B": "x,y", "C": None, "D": "1.50"}]
    assert "x,y" in run("-q", query).stdout
    document = """SELECT PARSE_JSON('{"a": [1]}') AS v"""
    assert '{\n   "a": [\n     1\n   ]\n }' in "\n".join(map(str.rstrip, run("-q", document).stdout.splitlines()))
    assert run("-q", document, "--format", "csv").stdout == 'V\n"{""a"":[1]}"\n'
    assert json.loads(run("-q", document, "--format", "json").stdout) == [{"V": {"a": [1]}}]


def test_several_statements_from_a_file_and_from_standard_input(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    script = tmp_path / "a.sql"
    script.write_text("CREATE TABLE t (id INT);\nINSERT INTO t VALUES (1), (2); -- done\n", encoding="utf-8")
    assert run("-f", str(script)).exit_code == 0
    assert run("-f", "-", "--format", "csv", stdin="SELECT COUNT(*) AS n FROM t").stdout == "N\n2\n"


def test_a_pipe_is_a_script(run) -> None:  # type: ignore[no-untyped-def]
    assert run("--format", "csv", stdin="SELECT 1 AS a; SELECT 2 AS b;").stdout == "A\n1\nB\n2\n"


def test_what_is_too_wide_is_shown_value_by_value(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("COLUMNS", "80")
    lines = [line.rstrip() for line in run("-q", "SHOW SCHEMAS LIKE 'PUBLIC'").stdout.splitlines()]
    assert lines[0] == "row 1"
    assert any(line.split() == ["name", "PUBLIC"] for line in lines)
    assert "row 1" not in run("-q", "SELECT 1 AS a, REPEAT('x', 200) AS b").stdout


def test_exit_codes_and_errors(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    failed = run("-q", "SELECT * FROM missing")
    assert failed.exit_code == 1
    assert "002003 (42S02)" in failed.stderr
    assert run("-f", "no-such-file.sql").exit_code == 3
    (tmp_path / "snowmelt.toml").write_text("no_such_setting = 1\n", encoding="utf-8")
    wrong = run("-q", "SELECT 1")
    assert wrong.exit_code == 3
    assert "no_such_setting" in wrong.stderr


def test_version() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout.startswith("snowmelt ")


def test_check_says_by_its_exit_code_whether_a_dynamic_table_differs(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    def check(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, ["check", *arguments, "--data", "data"])
        return result.exit_code, result.stdout

    assert run("-q", "CREATE TABLE s (id INT); INSERT INTO s VALUES (1), (2)").exit_code == 0
    assert check() == (0, "There are no dynamic tables.\n")
    create = "CREATE DYNAMIC TABLE d TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH AS SELECT id FROM s"
    assert run("-q", create).exit_code == 0
    code, text = check()
    assert code == 0 and "SNOWMELT.PUBLIC.D  equal  2 rows" in text
    folder = next((tmp_path / "data" / "tables").glob("*/*/d-*"))
    kept = pa.schema(DeltaTable(folder).schema().to_arrow())
    write_deltalake(folder, pa.table({"ID": [7]}).cast(kept), mode="append")
    code, text = check("d")
    assert code == 1 and "different" in text and "missing: 0, unexpected: 1" in text and "7" in text
    assert check("nowhere")[0] == 1
