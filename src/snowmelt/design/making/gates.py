"""Quality gates: those that were asked for, those that follow from keys and promises, and their SQL."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from snowmelt.core import errors
from snowmelt.design.making.enforcing import Taken, action_of, enforce
from snowmelt.design.making.gate_queries import Came, examples, query
from snowmelt.design.model import DesignGate, DesignStage
from snowmelt.design.requirements.model import (
    Check,
    DescribedColumn,
    GateSeverity,
    Load,
    QualityRule,
    Recipe,
    Requirements,
)

Dimension = Literal[
    "freshness", "completeness", "uniqueness", "validity", "distribution", "schema", "consistency"
]  # fmt: skip
_DIMENSIONS: dict[Check, Dimension] = {
    Check.NOT_NULL: "completeness", Check.ROW_COUNT: "completeness", Check.UNIQUE: "uniqueness",
    Check.RANGE: "validity", Check.ACCEPTED_VALUES: "validity", Check.FRESHNESS: "freshness",
    Check.DISTRIBUTION: "distribution", Check.SCHEMA: "schema", Check.REFERENTIAL_INTEGRITY: "consistency",
    Check.RECONCILIATION: "consistency",
}  # fmt: skip
_ON_FAILURE = {
    GateSeverity.WARN: "a message; the run goes on",
    GateSeverity.ERROR: "an alert is raised; sinks get their rows, and the run ends as failed",
    GateSeverity.CRITICAL: "an alert is raised; nothing is published to sinks outside, and the run ends as failed",
}
_BEFORE = {
    "WARN": "a message; the rows go through",
    "QUARANTINE": "the row goes to {table}_quarantine, others go on; an alert is raised, and the run ends as failed",
    "FAIL": "the refresh is refused, and the last good version stays; an alert is raised, and the run ends as failed",
}
_NUMBERS = ("NUMBER", "INT", "FLOAT", "DECIMAL", "NUMERIC", "DOUBLE", "REAL", "BIGINT", "SMALLINT")


def gates(
    given: Requirements, stages: Sequence[DesignStage], came: Mapping[str, Came], tier: int = 3
) -> list[DesignGate]:  # fmt: skip
    """`came` says of each clean table, by its name, what it comes from."""
    rules = list(given.quality) if isinstance(given.quality, tuple) else []
    versioned = {stage.name.lower() for stage in stages if stage.load is Load.SCD_TYPE_2}
    elsewhere = {stage.name.lower() for stage in stages if not stage.sql}
    for rule in rules:
        _check_subject(rule, [name for name, source in came.items() if source.compared], elsewhere)
    found = {rule.model_dump_json(): rule for rule in rules}
    asked = set(map(_subject, rules))
    for rule in _derived(given, stages, came, tier):
        if _subject(rule) not in asked:
            asked.add(_subject(rule))
            found[rule.model_dump_json()] = rule
    by_name = {stage.name.lower(): stage for stage in stages}
    taken: Taken = set()
    made = []
    for rule in found.values():
        held = enforce(rule, versioned, elsewhere, taken)
        how = _BEFORE[action_of(rule)].format(table=rule.table) if held.checks else _ON_FAILURE[rule.severity]
        made.append(
            DesignGate(
                rule=rule, sql=query(rule, versioned, came, [check.name for check in held.checks]), checks=held.checks,
                counted=held.counted, examples=examples(rule, by_name.get(rule.table.lower()), held, versioned),
                dimension=_DIMENSIONS[rule.check], on_failure=how,
            )
        )  # fmt: skip
    return made


def _check_subject(rule: QualityRule, compared: Sequence[str], elsewhere: Container[str]) -> None:
    """Raises for a rule that can't be held of its table."""
    if rule.check is Check.RECONCILIATION and rule.table not in compared:
        known = ", ".join(compared) or "none"
        raise errors.configuration(
            "The check reconciliation compares a table with its source, so the source must be readable again: "
            f"{rule.table} can't, {known} can."
        )
    if rule.share is not None and rule.table.lower() in elsewhere:
        raise errors.configuration(
            f"row_count with share holds a refresh against the rows before it, and {rule.table} is made elsewhere.",
            hint="Ask it of a table of this design, or write minimum.",
        )


def _subject(rule: QualityRule) -> tuple[object, ...]:
    """What a rule is about: where somebody asked for one, none is derived."""
    return rule.check, rule.table.lower(), rule.columns, rule.references, rule.share is None


def _derived(
    given: Requirements, stages: Iterable[DesignStage], came: Mapping[str, Came], tier: int
) -> Iterator[QualityRule]:  # fmt: skip
    for stage in stages:
        if stage.layer == "bronze":
            continue
        source = came.get(stage.name)
        if source is not None:
            yield from _of_source(given, stage, source, tier)
        for key in stage.key:
            yield _rule(Check.NOT_NULL, stage, (key,), GateSeverity.CRITICAL)
        if stage.key:
            yield _rule(Check.UNIQUE, stage, stage.key, GateSeverity.CRITICAL)
        if given.recipe is Recipe.QUALITY:
            yield from _all_dimensions(stage, source.columns if source is not None else ())


def _of_source(given: Requirements, stage: DesignStage, source: Came, tier: int) -> Iterator[QualityRule]:
    """What a table promises because of where it comes from."""
    within = 1.5 * given.latency if given.latency is not None else None
    yield QualityRule(check=Check.FRESHNESS, table=stage.name, within=within)
    shown = tuple(column.name for column in source.columns)
    if shown:
        yield QualityRule(
            check=Check.SCHEMA, table=stage.name, columns=shown,
            severity=GateSeverity.WARN,
        )  # fmt: skip
    if stage.key and source.compared:
        severity = GateSeverity.CRITICAL if tier == 1 else GateSeverity.ERROR
        yield QualityRule(check=Check.RECONCILIATION, table=stage.name, columns=stage.key, severity=severity)
    for column in source.columns:
        if not column.nullable and column.name not in stage.key and not column.pii:
            yield _rule(Check.NOT_NULL, stage, (column.name,), GateSeverity.ERROR)


def _all_dimensions(stage: DesignStage, columns: tuple[DescribedColumn, ...]) -> Iterator[QualityRule]:
    """The recipe quality leaves no dimension out."""
    yield QualityRule(check=Check.ROW_COUNT, table=stage.name, minimum=1, severity=GateSeverity.ERROR)
    if not columns:
        return
    for column in columns:
        if column.type.upper().startswith(_NUMBERS) and column.name not in stage.key and not column.pii:
            yield _rule(Check.DISTRIBUTION, stage, (column.name,), GateSeverity.WARN)


def _rule(check: Check, stage: DesignStage, columns: tuple[str, ...], severity: GateSeverity) -> QualityRule:
    return QualityRule(check=check, table=stage.name, columns=columns, severity=severity)
