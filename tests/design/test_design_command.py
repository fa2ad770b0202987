"""`snowmelt design`: the file, the questions, the refusals, and what is written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from jsonschema import Draft202012Validator
from typer.testing import CliRunner, Result

from snowmelt.cli.main import app
from snowmelt.design.antipatterns.linting import lint_paths
from snowmelt.design.deciding import decide
from snowmelt.design.making.designing import design as make_design
from snowmelt.design.making.estimating import rates
from snowmelt.design.requirements.model import Requirements
from snowmelt.design.rules.known import MEANINGS
from snowmelt.design.rules.table import Phase, rules
from tests.design.building import project_flows

HERE = Path(__file__).parent
CASES = sorted((HERE / "cases").glob("*.yaml"))


def design(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["design", *arguments], input=stdin)


@pytest.fixture
def golden_case(tmp_path: Path) -> Path:
    """The requirements of the case whose document is kept as a whole."""
    case = yaml.safe_load((HERE / "cases" / "26-cdc.yaml").read_text(encoding="utf-8"))
    path = tmp_path / "requirements.yaml"
    path.write_text(yaml.safe_dump(case["requirements"]), encoding="utf-8")
    return path


def test_the_document_of_a_case_word_for_word(golden_case: Path, tmp_path: Path, rewrite: bool) -> None:
    out = tmp_path / "out"
    result = design("-f", str(golden_case), "-o", str(out), "--non-interactive")
    assert result.exit_code == 0, result.output
    for name in ("design.md", "design.yaml"):
        text = (out / name).read_text(encoding="utf-8")
        kept = HERE / "golden" / name
        if rewrite:
            kept.write_text(text, encoding="utf-8")
        assert text == kept.read_text(encoding="utf-8"), "run with --rewrite, and read what changed"
    html = (out / "design.html").read_text(encoding="utf-8")
    assert "<svg" in html and "http" not in html.replace("http://www.w3.org/2000/svg", "")
    ElementTree.parse(out / "design.svg")
    assert (out / "design.mmd").read_text(encoding="utf-8").startswith("flowchart LR")
    assert design("check", str(out / "design.yaml")).exit_code == 0
    again = tmp_path / "again"
    assert design("-f", str(out / "requirements.yaml"), "-o", str(again), "--non-interactive").exit_code == 0
    assert (again / "design.yaml").read_text(encoding="utf-8") == (out / "design.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("latency", "others"),
    [("30 minutes", ["15 minutes", "1 hour"]), ("1 hour", ["15 minutes", "6 hours"]), ("1 day", ["6 hours"]),
     ("10 seconds", ["1 minute"])],
)  # fmt: skip
def test_a_promise_is_priced_beside_others(latency: str, others: list[str]) -> None:
    """A later one never costs more."""
    case = yaml.safe_load((HERE / "projects.yaml").read_text(encoding="utf-8"))["postgres_snowmelt"]
    approvals = {"ASK-LATENCY": "the board", "ASK-DELETES": "the owner"}
    given = Requirements.model_validate({**case, "latency": latency, "orchestrator": None, "approvals": approvals})
    found = {item.what: item.value for item in make_design(given, decide(given)).estimates}
    priced = {name: value for name, value in found.items() if name.startswith("refreshes, if")}
    assert list(priced) == [f"refreshes, if data may be {other} old" for other in others]
    costs = {name: float(re.findall(r"([\d.e-]+) credits", found[name])[0]) for name in ("refreshes", *priced)}
    if len(others) == 2:
        first, last = priced
        assert costs[first] >= costs["refreshes"] >= costs[last]


def test_a_pattern_is_priced_beside_another() -> None:
    """By changes, and as a whole each time: the larger the tables, the dearer the whole."""
    case = yaml.safe_load((HERE / "projects.yaml").read_text(encoding="utf-8"))["postgres_snowmelt"]

    def cost(rows: int | None) -> float | None:
        sources = [{**source, "tables": [{**table, "rows": rows} for table in source["tables"]]}
                   for source in case["sources"]]  # fmt: skip
        given = Requirements.model_validate({**case, "sources": sources})
        found = {item.what: item.value for item in make_design(given, decide(given)).estimates}
        told = found.get("beside it: computed as a whole each time")
        return float(re.findall(r"([\d.e+-]+) credits", told)[0]) if told is not None else None

    small, large = cost(1_000), cost(50_000_000)
    assert cost(None) is None and small is not None and large is not None and large > 2 * small


def test_cdc_names_snapshot_publication_slot_identity_and_hand_over() -> None:
    document = (HERE / "golden" / "design.md").read_text(encoding="utf-8")
    for words in ("WHEN_NEEDED", "snowmelt_shop", "public.customers: full", "so that nothing is lost"):
        assert words in document


def test_what_is_missing_is_asked_for(tmp_path: Path) -> None:
    answers = [
        "shop", "wms:postgres:public.stock", "mart:snowmelt", "soon", "5 minutes", "2 GB", "maybe", "no",
        "me", "window", "at_least_once", "30 days", "important",
    ]  # fmt: skip
    out = tmp_path / "out"
    result = design("--interactive", "-o", str(out), stdin="\n".join(answers) + "\n")
    assert result.exit_code == 0, result.output
    made = yaml.safe_load((out / "design.yaml").read_text(encoding="utf-8"))
    assert (made["name"], made["owner"], made["mode"]) == ("shop", "me", "BATCH")
    assert "assumptions" not in made and "pii" not in made


PERSONAL = """
name: x
owner: me
latency: 1 hour
volume: {per_day: 1 GB}
pii: {present: true, strategy: hash}
sources:
  - {name: s, kind: files, tables: [{name: c.csv, key: [id], columns: [{name: id}, {name: email}, {name: city}]}]}
sinks: [{name: m, kind: snowmelt}]
"""


def test_an_answer_about_personal_data_marks_columns_and_is_not_swallowed(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(PERSONAL, encoding="utf-8")

    def run(*approvals: str) -> Result:
        words = [word for text in ("ASK-PII=the officer", *approvals) for word in ("--approve", text)]
        return design("-f", str(path), "-o", str(tmp_path / "out"), "--non-interactive", *words)

    assert run().exit_code == 4
    nothing = run("ASK-PII-COLUMNS=the officer said yes")
    assert nothing.exit_code == 3 and "names none" in nothing.stderr and "id, email, city" in nothing.stderr
    assert run("ASK-PII-COLUMNS=email, says the officer").exit_code == 0
    made = yaml.safe_load((tmp_path / "out" / "design.yaml").read_text(encoding="utf-8"))
    assert made["pii"] == {"strategy": "hash", "columns": ["c.csv.email"]}
    (flow,) = project_flows(tmp_path / "out" / "design.yaml", tmp_path / "project")
    assert (flow["protect"], flow["strategy"]) == (["email"], "hash")
    assert run("ASK-LATENCY=yes").exit_code == 3, "an approval names a person and a reason"


def test_what_contradicts_itself_is_answered_by_marking_columns(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(PERSONAL.replace("present: true, strategy: hash", "present: false, strategy: hash"), "utf-8")
    arguments = ["-f", str(path), "-o", str(tmp_path / "out"), "--non-interactive", "--approve"]
    result = design(*arguments, "ASK-PII-DOUBT=yes, it is", "--approve", "ASK-PII=the officer")
    assert result.exit_code == 0, result.output
    made = yaml.safe_load((tmp_path / "out" / "design.yaml").read_text(encoding="utf-8"))
    assert made["pii"]["columns"] == ["c.csv.email"]
    assert design(*arguments, "ASK-PII-DOUBT=the owner: addresses of machines").exit_code == 0
    assert "pii" not in yaml.safe_load((tmp_path / "out" / "design.yaml").read_text(encoding="utf-8"))


def test_an_answer_in_the_terminal_marks_columns(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(PERSONAL, encoding="utf-8")
    answers = ["window", "at_least_once", "30 days", "standard", "the officer", "nothing such", "email and city"]
    result = design("-f", str(path), "-o", str(tmp_path / "out"), "--interactive", stdin="\n".join(answers) + "\n")
    assert result.exit_code == 0, result.output
    made = yaml.safe_load((tmp_path / "out" / "design.yaml").read_text(encoding="utf-8"))
    assert made["pii"]["columns"] == ["c.csv.email", "c.csv.city"]
    assert made["answers"][0]["answer"] == "the officer"


def test_what_is_missing_fails_without_questions(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text("name: x\nlatency: 10 seconds\n", encoding="utf-8")
    result = design("-f", str(path), "--non-interactive")
    assert result.exit_code == 4
    for words in ("missing: sources", "missing: sinks", "missing: volume.per_day", "ASK-LATENCY", "--approve"):
        assert words in result.stderr


def test_an_approval_answers_and_a_refusal_does_not_wait(tmp_path: Path) -> None:
    def run(name: str, *more: str) -> Result:
        case = yaml.safe_load(next(HERE.glob(f"cases/{name}*")).read_text(encoding="utf-8"))
        path = tmp_path / "r.yaml"
        path.write_text(yaml.safe_dump(case["requirements"]), encoding="utf-8")
        return design("-f", str(path), "-o", str(tmp_path / "out"), "--non-interactive", *more)

    assert run("04").exit_code == 4
    assert run("04", "--approve", "ASK-LATENCY=web team").exit_code == 0
    refused = run("20")
    assert refused.exit_code == 1
    assert "NEVER-01: refused: a design without idempotency." in refused.stderr
    assert "because idempotency_given = none (idempotency)" in refused.stderr


def test_recipes_are_commands(golden_case: Path, tmp_path: Path) -> None:
    assert design("cdc", "-f", str(golden_case), "-o", str(tmp_path / "a"), "--non-interactive").exit_code == 0
    assert design("reverse", "-f", str(golden_case), "-o", str(tmp_path / "b"), "--non-interactive").exit_code == 1


def test_errors_have_their_place(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text("name: x\nsources:\n  - name: a\n    kind: oracle\nlatency: soon\n", encoding="utf-8")
    result = design("-f", str(path))
    assert result.exit_code == 3
    assert "r.yaml:4:5: sources.0.kind" in result.stderr and "r.yaml:5:1: latency" in result.stderr
    path.write_text("a: [\n", encoding="utf-8")
    assert "r.yaml:2:1: this is not YAML" in design("-f", str(path)).stderr


_OPTIONS = """name: x
sources:
  - {name: web, kind: api, options: {auth: digest}, tables: [{name: orders, options: {pagings: page, page_size: many}}]}
  - {name: events, kind: kafka, options: {sasl.username: me}, tables: [{name: clicks, options: {parallel: 2}}]}
sinks:
  - {name: lake, kind: parquet, options: {regoin: x, secret_key: hush}}
"""


def test_options_are_checked_before_anything_is_designed_or_built(golden_case: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(_OPTIONS, encoding="utf-8")
    told = " ".join(design("-f", str(path), "--non-interactive").stderr.split())
    for problem in (
        "r.yaml:3:5: sources.0: options: auth must be one of none, bearer, basic, api_key; "
        "options of orders: there is no option pagings; known are batch_rows,",
        "options of orders: page_size must be a whole number above 0.",
        "r.yaml:4:5: sources.1: options of clicks: there is no option parallel; known are batch_rows.",
        "r.yaml:6:5: sinks.0: options: there is no option regoin; known are",
        "options: secret_key is a secret; write the name of a variable, secret_key: ${NAME}, and set that.",
    ):
        assert problem in told, told
    assert "hush" not in told
    assert design("-f", str(golden_case), "-o", str(tmp_path / "out"), "--non-interactive").exit_code == 0
    made = tmp_path / "out" / "design.yaml"
    text = made.read_text(encoding="utf-8")
    made.write_text(text.replace("    stage: raw_shop_changes\n", "    stage: x\n    options: {paralel: 2}\n"), "utf-8")
    result = CliRunner().invoke(app, ["build", str(made), "-o", str(tmp_path / "project")])
    assert result.exit_code == 3 and "no option paralel" in " ".join(result.stderr.split())


@pytest.mark.parametrize("of", ["requirements", "design"])
def test_the_published_schemas_accept_what_is_written(of: str) -> None:
    schema = json.loads(design("schema", of).stdout)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    if of == "design":
        validator.validate(yaml.safe_load((HERE / "golden" / "design.yaml").read_text(encoding="utf-8")))
        return
    for path in CASES:
        validator.validate(yaml.safe_load(path.read_text(encoding="utf-8"))["requirements"])
    assert not validator.is_valid({"latency": "soon", "nonsense": 1})
    published = HERE.parents[1] / "docs" / "reference" / "requirements.schema.json"
    assert json.loads(published.read_text(encoding="utf-8")) == schema


def test_every_rule_can_be_listed_and_every_fact_is_used() -> None:
    rows = json.loads(design("rules", "--format", "json").stdout)
    assert [row["id"] for row in rows] == [rule.id for rule in rules()]
    assert {row["phase"] for row in rows} == set(Phase)
    assert all(row["reason"] and row["outcome"] for row in rows)
    assert {name for row in rows for name in row["facts"]} == set(MEANINGS)
    text = design("rules").stdout
    assert all(rule.id in text for rule in rules())
    assert "PD-01" in design("patterns").stdout and len(json.loads(design("patterns", "--format", "json").stdout)) == 28


def test_every_rule_is_tried_by_a_case() -> None:
    """A rule that no described situation reaches is one that nobody has thought through."""
    reached: set[str] = set()
    for path in CASES:
        reached |= _rules_of(yaml.safe_load(path.read_text(encoding="utf-8"))["requirements"])
    assert {rule.id for rule in rules()} == reached


def _rules_of(data: dict[str, object]) -> set[str]:
    verdict = decide(Requirements.model_validate(data))
    asked = [item for item, _ in verdict.answered]
    return {item.rule.id for item in (*verdict.decisions, *verdict.asks, *asked, *verdict.refusals)}


def test_measured_rates_are_those_of_the_page() -> None:
    page = (HERE.parents[1] / "docs" / "performance.md").read_text(encoding="utf-8").replace(",", "")
    for name in ("channel_rows_per_second", "channel_events_per_second", "channel_visible_p99_seconds",
                 "copy_rows_per_second", "credits_per_million_events"):  # fmt: skip
        rate = rates()[name]
        assert f"{rate.value}" in page
        assert f"benchmarks {rate.benchmark}" in page


def test_sql_that_does_not_fit_is_told(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(
        "name: x\nowner: me\nlatency: 1 hour\nvolume: {per_day: 1 GB}\npii: {present: false}\n"
        "sources: [{name: s, kind: files, tables: [{name: orders.csv, key: [id]}]}]\n"
        "sinks: [{name: m, kind: snowmelt}]\n"
        'transformations: [{name: t, key: [id], sql: "SELECT id, amount FROM stg_orders"}]\n',
        encoding="utf-8",
    )
    result = design("-f", str(path), "-o", str(tmp_path / "out"), "--non-interactive")
    assert result.exit_code == 3
    assert "t: SQL compilation error" in result.stderr and "'AMOUNT'" in result.stderr and "--look" in result.stderr


def test_the_recipe_dbt_writes_models_that_have_tests(tmp_path: Path) -> None:
    case = yaml.safe_load((HERE / "cases" / "34-dbt.yaml").read_text(encoding="utf-8"))["requirements"]
    case["transformations"] = [{"name": "daily", "key": ["event_id"], "sql": "SELECT event_id FROM stg_events"}]
    path = tmp_path / "r.yaml"
    path.write_text(yaml.safe_dump(case), encoding="utf-8")
    assert design("-f", str(path), "-o", str(tmp_path), "--non-interactive").exit_code == 0
    models = tmp_path / "dbt" / "models"
    assert "FROM {{ source('raw', 'raw_events') }}" in (models / "staging" / "stg_events.sql").read_text("utf-8")
    assert (models / "marts" / "daily.sql").read_text("utf-8").startswith("{{ config(target_lag='10 minutes'")
    assert "FROM {{ ref('stg_events') }}" in (models / "marts" / "daily.sql").read_text("utf-8")
    found = lint_paths([tmp_path / "dbt"])
    assert [item for item in found if item.pattern.id == "DW-07"] == []


def test_the_recipe_reverse_by_the_command_line(tmp_path: Path) -> None:
    """It reads a model that is here already, which the design does not make."""
    case = yaml.safe_load((HERE / "cases" / "24-reverse.yaml").read_text(encoding="utf-8"))["requirements"]
    del case["recipe"]
    path = tmp_path / "r.yaml"
    path.write_text(yaml.safe_dump(case), encoding="utf-8")
    result = design("reverse", "-f", str(path), "-o", str(tmp_path / "out"), "--non-interactive")
    assert result.exit_code == 0, result.output
    built = CliRunner().invoke(app, ["build", str(tmp_path / "out" / "design.yaml"), "-o", str(tmp_path / "project")])
    assert built.exit_code == 0, built.output
    case["sinks"][0]["reads"] = ["nothing_such"]
    path.write_text(yaml.safe_dump(case), encoding="utf-8")
    wrong = design("reverse", "-f", str(path), "-o", str(tmp_path / "out"), "--non-interactive")
    assert wrong.exit_code == 3 and "nothing_such, which the design does not make" in wrong.stderr
