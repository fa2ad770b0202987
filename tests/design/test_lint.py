"""`snowmelt lint`: every anti-pattern that SQL shows is found where it is, and not where it is not."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from typer.testing import CliRunner, Result

from snowmelt.cli.main import app
from snowmelt.design.antipatterns.linting import lint_texts
from snowmelt.design.antipatterns.model import FAMILIES, known_antipatterns

GIVEN = yaml.safe_load((Path(__file__).parent / "lint_cases.yaml").read_text(encoding="utf-8"))
# As Microsoft's package @microsoft/jest-sarif (MIT) has it: OASIS' schema of SARIF 2.1.0 with its corrections.
SARIF = json.loads((Path(__file__).parent / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8"))
TABLES, CASES = GIVEN["tables"], [(case["id"], case["bad"], case["good"]) for case in GIVEN["cases"]]


def found_in(sql: str) -> set[str]:
    return {item.pattern.id for item in lint_texts([("a.sql", TABLES + sql)])}


@pytest.mark.parametrize(("identifier", "bad", "good"), CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_found_where_it_is_and_not_where_it_is_not(identifier: str, bad: str, good: str) -> None:
    assert identifier in found_in(bad)
    assert identifier not in found_in(good)


def test_all_that_sql_can_show_has_a_case() -> None:
    shown = {item.id for item in known_antipatterns().values() if "sql" in item.looked_for_in} - {"DW-07"}
    assert shown == {identifier for identifier, _, _ in CASES}


def test_the_antipatterns_have_four_families_of_seven() -> None:
    numbers = [f"{family}-0{number}" for family in FAMILIES for number in range(1, 8)]
    assert list(known_antipatterns()) == numbers
    assert all(item.looks and item.hurts and item.remedy for item in known_antipatterns().values())


def test_a_comment_takes_responsibility() -> None:
    bad = "CREATE VIEW v AS SELECT a.id FROM orders a CROSS JOIN customers b"
    assert "DW-05" in found_in(bad)
    assert "DW-05" not in found_in(f"-- every pair is meant. snowmelt:ignore DW-05\n{bad}")


def lint(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["lint", *arguments])


def test_what_can_be_mended_is_mended_and_stays_so(tmp_path: Path) -> None:
    path = tmp_path / "a.sql"
    path.write_text(
        "CREATE TABLE b (id INT, n INT);\n"
        "CREATE STREAM z ON TABLE b;\n"
        "CREATE DYNAMIC TABLE s TARGET_LAG = '5 minutes' WAREHOUSE = w AS SELECT * FROM b; -- kept\n"
        "CREATE DYNAMIC TABLE d TARGET_LAG = '5 minutes' WAREHOUSE = w AS SELECT id FROM s;\n"
        "CREATE TASK t WAREHOUSE = w SCHEDULE = '1 minute' AS INSERT INTO x SELECT id FROM z;\n",
        encoding="utf-8",
    )
    assert lint(str(path)).exit_code == 1
    mended = lint(str(path), "--fix")
    text = path.read_text(encoding="utf-8")
    assert "CREATE TABLE b (id INT, n INT) CHANGE_TRACKING = TRUE;" in text
    assert "s TARGET_LAG = DOWNSTREAM WAREHOUSE = w REFRESH_MODE = INCREMENTAL\nAS SELECT ID, N FROM b; -- kept" in text
    assert "WHEN SYSTEM$STREAM_HAS_DATA('Z')\nAS INSERT" in text
    assert mended.exit_code == 0, mended.stdout
    assert "DW-03" in mended.stdout and "PD" not in mended.stdout
    assert lint(str(path), "--fix").exit_code == 0
    assert path.read_text(encoding="utf-8") == text


def test_formats_levels_and_choice(tmp_path: Path) -> None:
    path = tmp_path / "a.sql"
    path.write_text("TRUNCATE TABLE raw_x;\nCOPY INTO x FROM @s ON_ERROR = CONTINUE;\n", encoding="utf-8")
    rows = json.loads(lint(str(path), "--format", "json").stdout)
    assert [(row["id"], row["line"]) for row in rows] == [("PD-05", 1), ("ES-07", 2)]
    assert [row["id"] for row in json.loads(lint(str(path), "--format", "json", "--select", "ES").stdout)] == ["ES-07"]
    assert lint(str(path), "--ignore", "PD", "--ignore", "ES-07").exit_code == 0
    assert lint(str(tmp_path / "nothing.sql")).exit_code == 3
    assert lint().exit_code == 2


def test_only_what_was_asked_for_is_mended(tmp_path: Path) -> None:
    path = tmp_path / "a.sql"
    path.write_text("CREATE TABLE b (id INT);\nCREATE STREAM s ON TABLE b;\nCREATE DYNAMIC TABLE d "
                    "TARGET_LAG = '5 minutes' WAREHOUSE = w AS SELECT * FROM b;\n")  # fmt: skip
    lint(str(path), "--fix", "--select", "PD-04")
    assert "SELECT ID FROM b" in path.read_text()
    assert "CHANGE_TRACKING" not in path.read_text() and "REFRESH_MODE" not in path.read_text()
    lint(str(path), "--fix", "--ignore", "DW")
    assert "CHANGE_TRACKING" in path.read_text() and "REFRESH_MODE" not in path.read_text()


def test_an_id_that_is_none_is_no_good_result(tmp_path: Path) -> None:
    for option in ("--select", "--ignore"):
        result = lint(str(tmp_path), option, "PF-04")
        assert result.exit_code == 2 and "'PF-04' is neither an id nor a family" in result.stderr


def test_a_report_that_can_t_be_written_is_told(tmp_path: Path) -> None:
    result = lint(str(tmp_path), "-o", str(tmp_path / "none" / "report"))
    assert result.exit_code == 3 and "can't be read or written" in result.stderr


def test_sarif(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("\nTRUNCATE TABLE raw_x;\n", encoding="utf-8")
    report = tmp_path / "report.sarif"
    assert lint(str(tmp_path), "--format", "sarif", "-o", str(report)).exit_code == 1
    log = json.loads(report.read_text(encoding="utf-8"))
    assert log["version"] == "2.1.0"
    run = log["runs"][0]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == list(known_antipatterns())
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == ("PD-05", "error")
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "PD-05"
    jsonschema.validate(log, SARIF)
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("a.sql") and place["region"] == {"startLine": 2}


def test_sarif_of_every_kind_of_finding(tmp_path: Path) -> None:
    """Those of a design have no line, and those of dbt no statement."""
    given = "\n".join(TABLES + bad + ";" for _, bad, _ in CASES)
    (tmp_path / "all.sql").write_text(given, encoding="utf-8")
    design = Path(__file__).parent / "golden" / "design.yaml"
    report = lint(str(tmp_path), str(design), "--format", "sarif").stdout
    log = json.loads(report)
    jsonschema.validate(log, SARIF)
    assert len({result["ruleId"] for result in log["runs"][0]["results"]}) > 10


PYTHON = '''"""Two stages."""

import snowmelt


@snowmelt.dynamic_table(target_lag="5 minutes", warehouse="w", refresh_mode="INCREMENTAL")
def staged():
    return """
        SELECT *
        FROM raw_orders
    """


@snowmelt.dynamic_table(target_lag="5 minutes", warehouse="w", refresh_mode="INCREMENTAL", name="totals")
def summed_up():
    return "SELECT id, COUNT(*) AS n FROM staged GROUP BY id"


@snowmelt.scd_table(key=["id"], sequence_by=["at"], target_lag="downstream", refresh_mode="INCREMENTAL")
def versions():
    return "SELECT id, at, city FROM raw_orders"


@snowmelt.dynamic_table(target_lag="5 minutes")
def computed(tables):
    return tables.table("raw_orders").select("id")
'''


def test_sql_in_python_files_of_projects(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.py").write_text(PYTHON, encoding="utf-8")
    project = tmp_path / "project"
    project.mkdir()
    (project / "snowmelt.toml").write_text('[project]\nname = "x"\n', encoding="utf-8")
    (project / "raw.sql").write_text(
        "CREATE TABLE raw_orders (id INT, at DATE, city VARCHAR) CHANGE_TRACKING = TRUE;\n", encoding="utf-8"
    )
    (project / "stages.py").write_text(PYTHON, encoding="utf-8")
    (project / "broken.py").write_text("def (", encoding="utf-8")
    rows = json.loads(lint(str(tmp_path), "--format", "json", "--select", "PD").stdout)
    assert [(row["id"], row["object"], row["line"], row["fixable"]) for row in rows] == [
        ("PD-03", "STAGED", 9, False), ("PD-04", "STAGED", 9, False),
    ]  # fmt: skip
    assert all(row["file"].endswith("project/stages.py") for row in rows)
    lint(str(tmp_path), "--fix")
    assert (project / "stages.py").read_text(encoding="utf-8") == PYTHON


def test_models_of_dbt_need_tests(tmp_path: Path) -> None:
    (tmp_path / "dbt_project.yml").write_text("name: x\n", encoding="utf-8")
    models = tmp_path / "models"
    models.mkdir()
    (models / "a.sql").write_text("{{ config(materialized='table') }} select 1 as id", encoding="utf-8")
    (models / "b.sql").write_text("select id from {{ ref('a') }}", encoding="utf-8")
    (models / "s.yml").write_text(
        "models: [{name: a, columns: [{name: id, data_tests: [unique]}]}]\n", encoding="utf-8"
    )
    rows = json.loads(lint(str(tmp_path), "--format", "json").stdout)
    assert [(row["id"], row["object"]) for row in rows] == [("DW-07", "b")]


def test_the_examples_have_no_errors() -> None:
    examples = Path(__file__).parents[2] / "examples"
    rows = json.loads(lint(str(examples), "--format", "json").stdout)
    assert not [row for row in rows if row["level"] == "error"]
    assert ("ES-02", "TOP_CUSTOMERS") in {(row["id"], row["object"]) for row in rows}
