"""A decision that does not change the build must not be made: each value, and the built file that shows it."""

from __future__ import annotations

import fnmatch
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from snowmelt.design.building.project import project_files
from snowmelt.design.deciding import decide
from snowmelt.design.making.checking import check_design
from snowmelt.design.making.designing import design
from snowmelt.design.requirements.model import ORCHESTRATORS, Evolution, Load, Mode, Requirements
from snowmelt.design.rules.table import RuleEffect, rules
from tests.design.building import call

DATA: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "decisions.yaml").read_text(encoding="utf-8"))
ROWS: list[dict[str, Any]] = DATA["decisions"]
_GIVEN = {
    "mode_given": set(Mode), "orchestrator_given": set(ORCHESTRATORS) - {"snowmelt"},
    "shape_given": {"star", "snowflake", "one_big_table", "vault"}, "schema_evolution": set(Evolution) - {"none"},
    "idempotency_given": {"key", "watermark", "overwrite"},
}  # fmt: skip


def requirements(row: dict[str, Any]) -> Requirements:
    return Requirements.model_validate({**DATA["situations"][row.get("in", "plain")], **row.get("with", {})})


@cache
def _built(number: int) -> dict[str, str]:
    """Without design.yaml, which repeats every decision."""
    given = requirements(ROWS[number])
    made = design(given, decide(given))
    check_design(made)
    return {path: text for path, text in project_files(made).items() if path != "design.yaml"}


def _shown(files: dict[str, str], row: dict[str, Any]) -> bool:
    """The file is there and has the text; without a text, that it is there."""
    found = [text for path, text in files.items() if fnmatch.fnmatch(path, row["file"])]
    return any(re.search(row.get("text", ""), text) for text in found)


@pytest.mark.parametrize("number", range(len(ROWS)), ids=[f"{row['topic']}={row['is']}" for row in ROWS])
def test_a_decision_shows_in_the_built_files(number: int) -> None:
    row = ROWS[number]
    verdict = decide(requirements(row))
    assert verdict.final, [item.outcome for item in (*verdict.asks, *verdict.refusals)]
    assert verdict.outcome(row["topic"]) == row["is"]
    assert _shown(_built(number), row), row
    others = [other for other, item in enumerate(ROWS) if item["topic"] == row["topic"] and item["is"] != row["is"]]
    unlike = [other for other in others if not _shown(_built(other), row)]
    assert unlike or not others or row.get("like"), "no other value of the decision is built otherwise"


def test_every_value_of_every_decision_is_held() -> None:
    held = {(row["topic"], row["is"]) for row in ROWS}
    for rule in rules():
        if rule.effect is not RuleEffect.DECIDE:
            continue
        named = re.fullmatch(r"\{(\w+)\}", rule.outcome)
        if named and named[1] in _GIVEN:
            assert {(rule.topic, str(value)) for value in _GIVEN[named[1]]} <= held, rule.id
        elif "{" in rule.outcome:
            assert any(topic == rule.topic for topic, _ in held), rule.id
        else:
            assert (rule.topic, rule.outcome) in held, rule.id


def test_what_is_asked_first_or_refused_is_told_and_nothing_is_designed(tmp_path: Path) -> None:
    """The other outcomes of rules: each is met by a case, and the command line says it."""
    open_ = {rule.id: rule for rule in rules() if rule.effect is not RuleEffect.DECIDE}
    for path in sorted((Path(__file__).parent / "cases").glob("*.yaml")):
        case = yaml.safe_load(path.read_text(encoding="utf-8"))
        given, expected = case["requirements"], case["expect"]
        # What somebody has approved is asked where nobody has.
        approved = open_.keys() & given.pop("approvals", {}).keys()
        met = approved | open_.keys() & {*expected.get("asks", ()), *expected.get("refuses", ())}
        if not met:
            continue
        requirements_file, out = tmp_path / path.name, tmp_path / path.stem
        requirements_file.write_text(yaml.safe_dump(given), encoding="utf-8")
        result = call("design", "-f", str(requirements_file), "-o", str(out), "--non-interactive")
        said = " ".join(result.output.split())
        assert result.exit_code in (1, 4) and not (out / "design.yaml").exists(), path.name
        for name in met:
            begins = " ".join(open_[name].outcome.partition("{")[0].split())[:40]
            if begins in said:
                del open_[name]
    assert not open_, "what no case meets, or the command line does not say"


@pytest.mark.parametrize("load", sorted(load for load in Load if load.startswith("scd")))
def test_slowly_changing_dimensions_are_built_as_their_type(load: str) -> None:
    previous = ["city"] if load == Load.SCD_TYPE_3 else []
    sink = {"name": "dim", "kind": "snowmelt", "load": load, "previous": previous}
    given = Requirements.model_validate({**DATA["situations"]["plain"], "transformations": [], "sinks": [sink]})
    made = design(given, decide(given))
    check_design(made)
    text = project_files(made)["sql/staging/201_stg_customers.sql"]
    assert {"scd_type_1": "SCD TYPE 1 TABLE", "scd_type_2": "SCD TYPE 2 TABLE", "scd_type_3": "previous_city"}[
        load
    ] in text
