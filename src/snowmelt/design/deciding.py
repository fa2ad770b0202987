"""From requirements to decisions: FRAME, LAYOUT, OPTIMIZE, WIRE, one after the other over the same facts."""

from __future__ import annotations

from dataclasses import dataclass

from snowmelt.design.answering import check_approvals
from snowmelt.design.requirements.amounts import show_seconds
from snowmelt.design.requirements.model import Requirements
from snowmelt.design.rules.facts import facts_of
from snowmelt.design.rules.known import MEANINGS, Fact, Facts, shown_value
from snowmelt.design.rules.table import DesignRule, Phase, RuleEffect, rules

CHECKS_PER_INTERVAL = 2
ALERT_FACTOR = 1.5
MODE_TOPIC = "mode"


@dataclass(frozen=True, slots=True)
class Decision:
    rule: DesignRule
    outcome: str
    facts: tuple[Fact, ...]
    """What the rule looked at, with the values it saw."""


@dataclass(frozen=True, slots=True)
class DesignDecisions:
    decisions: tuple[Decision, ...]
    asks: tuple[Decision, ...]
    """Not answered yet."""
    answered: tuple[tuple[Decision, str], ...]
    refusals: tuple[Decision, ...]
    facts: Facts

    @property
    def final(self) -> bool:
        return not self.asks and not self.refusals

    def outcome(self, topic: str) -> str | None:
        return next((item.outcome for item in self.decisions if item.rule.topic == topic), None)

    def decision(self, topic: str) -> Decision:
        return next(item for item in self.decisions if item.rule.topic == topic)


def decide(requirements: Requirements) -> DesignDecisions:
    """Every topic's decision, and all that stands in the way of a design: nothing is left for a second run.

    Raises for an approval of what no rule asks: it would be thought to have said something.
    """
    check_approvals(requirements)
    facts = facts_of(requirements)
    decisions: list[Decision] = []
    asks: list[Decision] = []
    answered: list[tuple[Decision, str]] = []
    refusals: list[Decision] = []
    settled: set[str] = set()
    tried: dict[str, list[str]] = {}
    for phase in Phase:
        for rule in (item for item in rules() if item.phase is phase):
            # What asks about a topic that is decided already has no question left.
            if rule.topic in settled and rule.effect is not RuleEffect.REFUSE:
                continue
            if not rule.holds(facts):
                tried.setdefault(rule.topic, []).extend(rule.facts)
                continue
            # What holds always holds because of what the rules before it did not find.
            looked_at = rule.facts or tuple(dict.fromkeys(tried.get(rule.topic, ())))
            made = Decision(rule, _outcome(rule, facts), facts.cited(looked_at))
            if rule.effect is RuleEffect.REFUSE:
                refusals.append(made)
            elif rule.effect is RuleEffect.ASK and rule.id in requirements.approvals:
                answered.append((made, requirements.approvals[rule.id]))
            elif rule.effect is RuleEffect.ASK:
                asks.append(made)
                settled |= {rule.topic} if rule.topic == MODE_TOPIC else set()
            else:
                decisions.append(made)
                settled.add(rule.topic)
                if rule.topic in MEANINGS and facts.value(rule.topic) is None:
                    facts.put(rule.topic, made.outcome, rule.id)
    return DesignDecisions(tuple(decisions), tuple(asks), tuple(answered), tuple(refusals), facts)


def _outcome(rule: DesignRule, facts: Facts) -> str:
    """The outcome with its facts filled in, and the times that follow from the promised latency."""
    values = {name: shown_value(name, fact.value) for name, fact in facts.known.items()}
    latency = facts.value("latency_seconds")
    if latency is not None:
        values["check_seconds"] = f"every {show_seconds(latency / CHECKS_PER_INTERVAL)}"
        values["alert_seconds"] = f"after {show_seconds(latency * ALERT_FACTOR)}"
    return rule.outcome.format_map(_Unknown(values))


class _Unknown(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "unknown"
