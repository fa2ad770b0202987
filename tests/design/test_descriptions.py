"""Descriptions as people write them, and what is understood of each: exactly that, from words that stand in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from snowmelt.design.conversation.understanding import SEVERAL, UnderstoodFact, understand

DESCRIPTIONS = yaml.safe_load((Path(__file__).parent / "descriptions.yaml").read_text(encoding="utf-8"))


def shown(finding: UnderstoodFact) -> Any:
    value = finding.value
    if isinstance(value, dict):
        named = f"{value['kind']} {value['name']}" if value["name"] else value["kind"]
        return f"{named}: {', '.join(value['tables'])}".rstrip()
    return round(value, 3) if isinstance(value, float) else value


def facts_of(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    findings = understand(text)
    twice = {item.field for item in findings if sum(other.field == item.field for other in findings) > 1}
    for finding in findings:
        if finding.field in SEVERAL or finding.field in twice:
            found.setdefault(finding.field, []).append(shown(finding))
        else:
            found[finding.field] = shown(finding)
    return found


@pytest.mark.parametrize("case", DESCRIPTIONS, ids=[case["text"][:50] for case in DESCRIPTIONS])
def test_a_description_is_understood(case: dict[str, Any]) -> None:
    expected = {
        name: round(value, 3) if isinstance(value, float) else value
        for name, value in case["facts"].items() if value != []
    }  # fmt: skip
    found = facts_of(case["text"])
    assert {**found, **_rounded(found, expected)} == expected
    for finding in understand(case["text"]):
        assert finding.words in case["text"]


def _rounded(found: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    return {
        name: expected[name] for name, value in found.items()
        if isinstance(value, float) and abs(value - expected.get(name, 0)) <= 0.001 * max(1, value)
    }  # fmt: skip


def test_there_are_sixty_of_them() -> None:
    assert len(DESCRIPTIONS) >= 60
    assert len({case["text"] for case in DESCRIPTIONS}) == len(DESCRIPTIONS)
