"""The rules: read from the YAML tables beside this file, one for each phase."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

from snowmelt.core.yaml_text import load_yaml
from snowmelt.design.rules.conditions import FactCondition, condition
from snowmelt.design.rules.known import Facts


class Phase(StrEnum):
    FRAME = "FRAME"
    LAYOUT = "LAYOUT"
    OPTIMIZE = "OPTIMIZE"
    WIRE = "WIRE"


ABOUT = {
    Phase.FRAME: "sources, sinks, latency, volume, consistency, personal data, replay: what kind of pipeline this is",
    Phase.LAYOUT: "architecture, orchestration, contracts, partitioning, storage layers",
    Phase.OPTIMIZE: "idempotency, incrementality, cost, recovery, observability",
    Phase.WIRE: "implementation packet, tests, lineage, backfill, rollback",
}


class RuleEffect(StrEnum):
    DECIDE = "decide"
    """The first rule of a topic whose condition holds decides it."""
    ASK = "ask"
    """Somebody has to say yes, or decide, before there is a design."""
    REFUSE = "refuse"
    """There is no design."""


@dataclass(frozen=True, slots=True)
class DesignRule:
    id: str
    phase: Phase
    topic: str
    effect: RuleEffect
    when: tuple[FactCondition, ...]
    outcome: str
    """May name facts in braces. For ASK the question, for REFUSE what is refused."""
    reason: str
    field: str | None = None
    """For ASK: the field of the requirements that takes the answer; None if an approval is the answer."""

    @property
    def facts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(item.fact for item in self.when))

    @property
    def condition(self) -> str:
        return " and ".join(item.text for item in self.when) or "always"

    def holds(self, facts: Facts) -> bool:
        return all(item.of(facts) for item in self.when)


_FIELDS = {"id", "topic", "effect", "when", "outcome", "reason", "field"}


@cache
def rules() -> tuple[DesignRule, ...]:
    """All, in the order in which they are tried."""
    found = tuple(rule for phase in Phase for rule in _of_phase(phase))
    assert len({rule.id for rule in found}) == len(found), "two rules have one id"
    return found


def _of_phase(phase: Phase) -> tuple[DesignRule, ...]:
    text = files("snowmelt.design.rules").joinpath(f"{phase.lower()}.yaml").read_text(encoding="utf-8")
    return tuple(_rule(phase, row) for row in load_yaml(text))


def _rule(phase: Phase, row: dict[str, Any]) -> DesignRule:
    assert row.keys() <= _FIELDS, f"{row['id']} has fields that no rule has: {row.keys() - _FIELDS}"
    conditions = tuple(condition(text) for text in row.get("when", ()))
    effect = RuleEffect(row.get("effect", RuleEffect.DECIDE))
    reason = " ".join(row["reason"].split())
    return DesignRule(row["id"], phase, row["topic"], effect, conditions, row["outcome"], reason, row.get("field"))
