"""What was agreed, in ten lines, and the design that follows from it."""

from __future__ import annotations

from dataclasses import dataclass

from snowmelt.core.errors import SnowmeltError
from snowmelt.design.conversation.state import Conversation
from snowmelt.design.deciding import DesignDecisions, decide
from snowmelt.design.making.checking import check_design
from snowmelt.design.making.designing import design
from snowmelt.design.model import Design, StageKind
from snowmelt.design.requirements.missing import questions

QUESTION = "Shall I build it?"


@dataclass(frozen=True, slots=True)
class Summary:
    lines: tuple[str, ...]
    """Ten, when there is a design."""
    design: Design | None
    problems: tuple[str, ...] = ()
    """Why there is none."""


def summary(state: Conversation) -> Summary:
    given = state.requirements
    missing = [f"missing: {item.text}" for item in questions(given) if item.essential]
    if missing:
        return Summary((), None, tuple(missing))
    verdict = decide(given)
    problems = [f"refused: {item.outcome}. {item.rule.reason}" for item in verdict.refusals]
    problems += [f"nobody has approved: {item.outcome}" for item in verdict.asks]
    if problems:
        return Summary((), None, tuple(problems))
    try:
        made = design(given, verdict)
        check_design(made)
    except SnowmeltError as error:
        return Summary((), None, (error.message,))
    return Summary(tuple(_lines(state, made, verdict)), made)


def _lines(state: Conversation, made: Design, verdict: DesignDecisions) -> list[str]:
    tables = [stage.name for stage in made.stages if stage.kind is not StageKind.TABLE]
    sources = "; ".join(
        f"{item.name} ({item.kind}, by {item.capture.way}): {', '.join(t.name for t in item.tables)}"
        for item in made.sources
    )
    sinks = "; ".join(f"{item.name} ({item.kind}): {', '.join(item.reads)}" for item in made.sinks) or "none"
    hidden = f"{made.pii.strategy} {', '.join(made.pii.columns)}" if made.pii is not None else "none"
    cost = next((item.value for item in made.estimates if item.what == "refreshes"), "not estimated")
    channel = next((alert.channel for alert in made.alerts), "log")
    runs = made.schedule.cron or f"target lag {made.schedule.target_lag}"
    return [
        f"Pipeline:      {made.name}, owned by {made.owner}",
        f"From:          {sources}",
        f"To:            {sinks}",
        f"Tables:        {', '.join(tables) or 'none'}",
        f"Fresh within:  {made.service_level.freshness}; {made.mode}, {made.pattern}; {verdict.outcome('transform')}",
        f"Runs:          {made.schedule.orchestrator}, {runs}",
        f"Personal data: {hidden}",
        f"Quality:       {len(made.quality)} gates; schema changes: {made.schema_evolution}",
        f"Alerts:        {channel}; tier {made.service_level.tier}, alert after {made.service_level.alert_after}",
        f"Cost:          {cost}; {len(state.assumed) + len(made.assumptions)} assumptions",
    ]
