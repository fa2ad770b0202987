"""Described situations, small and large, ambiguous and impossible, each with the decisions that are expected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from snowmelt.design.antipatterns.library import read_items
from snowmelt.design.antipatterns.linting import lint_texts
from snowmelt.design.antipatterns.model import SarifLevel
from snowmelt.design.antipatterns.on_designs import design_findings
from snowmelt.design.deciding import DesignDecisions, decide
from snowmelt.design.making.designing import design
from snowmelt.design.model import Design
from snowmelt.design.requirements.missing import questions
from snowmelt.design.requirements.model import Requirements
from snowmelt.design.requirements.reading import parse, to_yaml

CASES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_case(path: Path) -> None:
    case: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    expected = case["expect"]
    given = parse(yaml.safe_dump(case["requirements"]), Requirements, path.name)
    missing = [item.field for item in questions(given) if item.essential]
    verdict = decide(given)
    assert missing == expected.get("missing", [])
    assert sorted(item.rule.id for item in verdict.asks) == sorted(expected.get("asks", []))
    assert sorted(item.rule.id for item in verdict.refusals) == sorted(expected.get("refuses", []))
    wanted: dict[str, str] = expected.get("decisions", {})
    assert {topic: verdict.outcome(topic) for topic in wanted} == wanted
    _cites_its_facts(verdict)
    if not missing and verdict.final:
        _holds(design(given, verdict), expected)
    else:
        assert not wanted, "a case that stops has no decisions to expect"


def test_there_are_more_than_forty_of_them() -> None:
    """Each with what an expert would say: decisions, or what has to be asked or refused first."""
    expected = [yaml.safe_load(path.read_text(encoding="utf-8"))["expect"] for path in CASES]
    assert all({"decisions", "asks", "refuses", "missing"} & set(case) for case in expected) and len(expected) >= 40


def _cites_its_facts(verdict: DesignDecisions) -> None:
    for item in (*verdict.decisions, *verdict.asks, *verdict.refusals):
        assert {fact.name for fact in item.facts} >= set(item.rule.facts)
        assert "{" not in item.outcome


def _holds(made: Design, expected: dict[str, Any]) -> None:
    """What every design has to be, whatever was asked."""
    assert parse(to_yaml(made), Design, "design.yaml") == made
    found = design_findings(made)
    assert [item for item in found if item.pattern.level is SarifLevel.ERROR] == []
    if "findings" in expected:
        assert sorted({item.pattern.id for item in found}) == expected["findings"]
    if "dimensions" in expected:
        assert sorted({gate.dimension for gate in made.quality}) == expected["dimensions"]
    # Its statements are what its own linter would have anybody write.
    assert all(item.statement is not None for item in _items(made))
    assert not any(item.pattern.id.startswith("PD") for item in lint_texts((s.name, s.sql) for s in made.stages))
    assert made.quality and made.alerts and made.backfill and made.replay and made.rollback and made.packets
    assert made.service_level.check_every and made.idempotency


def _items(made: Design) -> list[Any]:
    return [item for stage in made.stages for item in read_items(stage.name, stage.sql)]
