"""What is wrong in the requirements is told, with its place, and nothing is written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from snowmelt.cli.main import app
from tests.design.building import project_flows

ORDERS = "{name: public.orders, key: [id], columns: [{name: id, type: NUMBER}, {name: amount, type: NUMBER}]}"
GOOD = f"""\
name: shop
owner: sales
latency: 1 hour
volume: {{per_day: 1 GB}}
pii: {{present: false}}
sources: [{{name: shop, kind: postgres, connection: SHOP_URL, tables: [{ORDERS}]}}]
sinks: [{{name: mart, kind: snowmelt}}]
"""


def design(tmp_path: Path, text: str, *more: str) -> Result:
    path = tmp_path / "r.yaml"
    path.write_text(text, encoding="utf-8")
    return CliRunner().invoke(app, ["design", "-f", str(path), "-o", str(tmp_path / "out"), "--non-interactive", *more])


def hidden_columns(tmp_path: Path) -> list[str]:
    """What the project that is built of the design hides on its way in."""
    (flow,) = project_flows(tmp_path / "out" / "design.yaml", tmp_path / "project")
    assert flow["strategy"] == "hash"
    return list(flow["protect"])


def transformations(**queries: str) -> str:
    return yaml.safe_dump({"transformations": [{"name": name, "sql": sql} for name, sql in queries.items()]})


MISTAKES = {
    "a field twice": (GOOD + "name: other\n", "r.yaml:8:1: name: this stands here twice"),
    "an approval of nothing": (GOOD + "approvals: {ASK-PIE: me}\n", "There is nothing called ASK-PIE to approve"),
    "an approval of a mode": (GOOD + "approvals: {MODE-03: me}\n", "MODE-03 needs an answer, not an approval"),
    "a schedule that is none": (GOOD + "schedule: every day\n", "r.yaml:8:1: schedule: 'every day' is not a schedule"),
    "a zone that is none": (GOOD + "schedule: 0 6 * * * Mars\n", "is not a schedule"),
    "a key that is no column": (GOOD.replace("key: [id]", "key: [idd]"), "idd is not one of its columns: id, amount"),
    "a change column that is none": (GOOD.replace("key: [id]", "change_column: at"), "at is not one of its columns"),
    "a table twice": (GOOD.replace("tables: [", f"tables: [{ORDERS}, "), "two tables named public.orders"),
    "a password": (
        GOOD.replace("SHOP_URL", '"postgresql://me:hunter2@host/shop"'), "connection of shop is a secret"
    ),
    "a password as an option": (
        GOOD.replace("SHOP_URL", "SHOP_URL, options: {password: hunter2}"), "password is a secret"
    ),
    "a sink of nothing": (GOOD.replace("kind: snowmelt", "kind: snowmelt, reads: [sales]"), "sink mart reads sales"),
    "two statements": (GOOD + transformations(a="SELECT 1 AS x; DROP TABLE stg_orders"), "this is not one query"),
    "no query": (GOOD + transformations(a="DROP TABLE stg_orders"), "this is not one query"),
    "no SQL": (GOOD + transformations(a="selec 1"), "this is not a query"),
    "a circle": (GOOD + transformations(a="SELECT * FROM b", b="SELECT * FROM a"), "each other: a reads b reads a"),
    "a name that is taken": (GOOD + transformations(stg_orders="SELECT 1 AS x"), "stg_orders would be made twice"),
    "a key that the query has not": (
        GOOD + "transformations: [{name: a, key: [day], sql: SELECT id FROM stg_orders}]\n",
        "a has no column day, which is its key: there are id",
    ),
    "a gate of no table": (
        GOOD + "quality: [{check: unique, table: orders, columns: [id]}]\n", "unique is asked of orders"
    ),
    "a gate of no column": (
        GOOD + "quality: [{check: not_null, table: stg_orders, columns: [total]}]\n",
        "stg_orders has no column total, which is asked by not_null",
    ),
    "a reference to no table": (
        GOOD + "quality: [{check: referential_integrity, table: stg_orders, columns: [id], references: people(id)}]\n",
        "referential_integrity is asked of people",
    ),
    "a share above all": (
        GOOD + "quality: [{check: unique, table: stg_orders, columns: [id], threshold: 5}]\n", "less than or equal to 1"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told(name: str, tmp_path: Path) -> None:
    text, words = MISTAKES[name]
    result = design(tmp_path, text)
    assert result.exit_code == 3, result.output
    assert words in result.stderr
    assert "hunter2" not in result.output
    assert not (tmp_path / "out").exists()


def test_the_good_one_is_good(tmp_path: Path) -> None:
    assert design(tmp_path, GOOD + "schedule: 0 6 * * * Europe/Berlin\n").exit_code == 0


def made(tmp_path: Path, text: str) -> dict[str, list[dict[str, str]]]:
    result = design(tmp_path, text)
    assert result.exit_code == 0, result.output
    found: dict[str, list[dict[str, str]]] = yaml.safe_load((tmp_path / "out" / "design.yaml").read_text("utf-8"))
    return found


def test_tables_of_one_name_stay_apart(tmp_path: Path) -> None:
    other = ORDERS.replace("public", "archive")
    stages = made(tmp_path, GOOD.replace("tables: [", f"tables: [{other}, "))["stages"]
    assert [stage["name"] for stage in stages] == [
        "raw_shop_archive_orders", "raw_shop_public_orders", "stg_shop_archive_orders", "stg_shop_public_orders",
    ]  # fmt: skip


def test_what_is_read_is_made_first(tmp_path: Path) -> None:
    text = transformations(last="SELECT id FROM middle", middle="SELECT id FROM stg_orders")
    stages = made(tmp_path, GOOD + text)["stages"]
    assert [stage["name"] for stage in stages] == ["raw_orders", "stg_orders", "middle", "last"]


def test_bounds_of_gates_have_all_their_digits_and_hold_for_all_columns(tmp_path: Path) -> None:
    rule = "{check: range, table: stg_orders, columns: [id, amount], minimum: 1234567, maximum: 98765432.5}"
    count = "{check: row_count, table: stg_orders, minimum: 0, maximum: 12345678}"
    gates = [gate["sql"] for gate in made(tmp_path, GOOD + f"quality: [{rule}, {count}]\n")["quality"]]
    assert "id < 1234567 OR amount < 1234567 OR id > 98765432.5 OR amount > 98765432.5" in gates[0]
    assert "COUNT(*) >= 0 AND COUNT(*) <= 12345678" in gates[1]


def test_personal_data_that_is_in_no_column_is_asked_about(tmp_path: Path) -> None:
    text = GOOD.replace("present: false", "present: true, strategy: hash") + "approvals: {ASK-PII: the officer}\n"
    result = design(tmp_path, text)
    assert result.exit_code == 4
    assert "ASK-PII-COLUMNS: asks first" in result.stderr
    assert design(tmp_path, text.replace("{name: amount,", "{name: amount, pii: true,")).exit_code == 0


def test_a_column_that_is_marked_is_protected_whatever_else_is_said(tmp_path: Path) -> None:
    text = GOOD.replace("{name: amount,", "{name: amount, pii: true,") + "approvals: {ASK-PII: the officer}\n"
    assert "missing: pii.strategy" in design(tmp_path, text).stderr
    hashed = made(tmp_path, text.replace("present: false", "present: false, strategy: hash"))
    assert "record:amount::VARCHAR AS amount" in hashed["stages"][1]["sql"], "a number that is hashed is a text"
    assert hidden_columns(tmp_path) == ["amount"]


def test_what_was_seen_contradicts_what_was_written(tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_text("id,amount\n1,2\n")
    tables = "tables: [{name: orders.csv, key: [number]}, {name: people.csv}]"
    source = f"sources: [{{name: drop, kind: files, connection: {tmp_path}, {tables}}}]"
    text = "\n".join(source if line.startswith("sources") else line for line in GOOD.splitlines())
    told = design(tmp_path, text, "--look")
    assert told.exit_code == 3 and "number is not one of its columns: id, amount" in told.stderr
    seen = design(tmp_path, text.replace("[number]", "[id]"), "--look")
    assert seen.exit_code == 0 and "people.csv is not there" in seen.stdout


def test_the_example_of_the_page_is_a_design(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "design.md").read_text(encoding="utf-8")
    example = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0]
    assert design(tmp_path, example).exit_code == 0


def test_answers_are_kept_when_there_is_no_design(tmp_path: Path) -> None:
    answers = ["shop", "web:kafka:clicks", "mart:snowmelt", "10 seconds", "2 GB", "no", "me", "window", "", "", "", ""]
    out = tmp_path / "out"
    asked = ["design", "--interactive", "-o", str(out)]
    result = CliRunner().invoke(app, asked, input="\n".join(answers) + "\n")
    assert result.exit_code == 4 and "What was answered is kept" in result.stderr
    again = ["design", "-f", str(out / "requirements.yaml"), "-o", str(out), "--non-interactive"]
    assert CliRunner().invoke(app, [*again, "--approve", "ASK-LATENCY=web team"]).exit_code == 0


def test_a_mode_is_asked_for_until_it_is_one(tmp_path: Path) -> None:
    text = GOOD.replace("1 hour", "30 seconds") + "approvals: {ASK-LATENCY: me for the desk}\nscheduled: true\n"
    path = tmp_path / "r.yaml"
    path.write_text(text, encoding="utf-8")
    asked = ["design", "-f", str(path), "-o", str(tmp_path / "out"), "--interactive"]
    result = CliRunner().invoke(app, asked, input="\n\n\n\nsometimes\nstreaming\n")
    assert "'sometimes' is not one of BATCH, STREAMING, HYBRID" in result.stderr
    assert result.exit_code == 0, result.output
