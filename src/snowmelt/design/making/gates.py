"""Quality gates: those that were asked for, those that follow from keys and promises, and their SQL."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from snowmelt.core import errors
from snowmelt.core.names import literal
from snowmelt.design.making.clean_tables import named
from snowmelt.design.making.enforcing import action_of, enforce, number
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
_WIDE = 4
"""Standard deviations beyond which a value is out of the ordinary."""
_NUMBERS = ("NUMBER", "INT", "FLOAT", "DECIMAL", "NUMERIC", "DOUBLE", "REAL", "BIGINT", "SMALLINT")


@dataclass(frozen=True, slots=True)
class Came:
    """What a clean table comes from."""

    looked_at: str
    """The flow, or the source whose log is read, under which a run notes what it saw."""
    flow: str
    columns: tuple[DescribedColumn, ...]
    compared: bool = True
    """Whether its rows can be held against the source: nobody can ask a webhook once more."""


def gates(
    given: Requirements, stages: Sequence[DesignStage], came: Mapping[str, Came], tier: int = 3
) -> list[DesignGate]:  # fmt: skip
    """`came` says of each clean table, by its name, what it comes from."""
    rules = list(given.quality) if isinstance(given.quality, tuple) else []
    for rule in rules:
        compared = [name for name, source in came.items() if source.compared]
        if rule.check is Check.RECONCILIATION and rule.table not in compared:
            known = ", ".join(compared) or "none"
            raise errors.configuration(
                "The check reconciliation needs a table that can be read from a source again: "
                f"{rule.table} can't, {known} can."
            )
    found: dict[tuple[object, ...], QualityRule] = {}
    for rule in (*rules, *_derived(given, stages, came, tier)):
        found.setdefault((rule.check, rule.table.lower(), rule.columns, rule.references), rule)
    versioned = {stage.name.lower() for stage in stages if stage.load is Load.SCD_TYPE_2}
    elsewhere = {stage.name.lower() for stage in stages if not stage.sql}
    made = []
    for rule in found.values():
        held = enforce(rule, versioned, elsewhere)
        how = _BEFORE[action_of(rule)].format(table=rule.table) if held.checks else _ON_FAILURE[rule.severity]
        made.append(
            DesignGate(
                rule=rule, sql=query(rule, versioned, came), checks=held.checks, counted=held.counted,
                dimension=_DIMENSIONS[rule.check], on_failure=how,
            )
        )  # fmt: skip
    return made


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


def query(rule: QualityRule, versioned: Container[str] = (), came: Mapping[str, Came] | None = None) -> str:
    """One number: how many break the rule, 0 when all is well. Tables that keep versions have one current row a key."""
    column = named(rule.columns[0]) if rule.columns else ""
    listed = ", ".join(map(named, rule.columns))
    source = (came or {}).get(rule.table)
    match rule.check:
        case Check.NOT_NULL:
            conditions = " OR ".join(f"{named(name)} IS NULL" for name in rule.columns)
            return f"SELECT COUNT_IF({conditions}) AS breaches FROM {rule.table}"
        case Check.UNIQUE:
            current = " WHERE is_current" if rule.table.lower() in versioned else ""
            twice = f"SELECT {listed} FROM {rule.table}{current} GROUP BY {listed} HAVING COUNT(*) > 1"
            return f"SELECT COUNT(*) AS breaches FROM ({twice})"
        case Check.RANGE:
            bounds = [f"{named(name)} < {number(rule.minimum)}" for name in rule.columns if rule.minimum is not None]
            bounds += [f"{named(name)} > {number(rule.maximum)}" for name in rule.columns if rule.maximum is not None]
            return f"SELECT COUNT_IF({' OR '.join(bounds)}) AS breaches FROM {rule.table}"
        case Check.ACCEPTED_VALUES:
            values = ", ".join(map(literal, rule.values))
            others = " OR ".join(f"{named(name)} NOT IN ({values})" for name in rule.columns)
            return f"SELECT COUNT_IF({others}) AS breaches FROM {rule.table}"
        case Check.FRESHNESS if source is not None and not column:
            # Whether rows came or not: a source that was read to its end is quiet, one that was not may be dead.
            age = "DATEDIFF('second', MAX(looked_at), CURRENT_TIMESTAMP())"
            seen = f"FROM heartbeats WHERE flow = {literal(source.looked_at)}"
            return f"SELECT IFF({age} <= {number(rule.within or 86_400)}, 0, 1) AS breaches {seen}"
        case Check.SCHEMA if source is not None:
            open_ = f"flow = {literal(source.flow)} AND ended_at IS NULL"
            return f"SELECT COUNT(*) AS breaches FROM schema_changes WHERE {open_}"
        case Check.RECONCILIATION:
            flow = literal(source.flow if source is not None else rule.table)
            return (
                f"SELECT breaches FROM reconciliations WHERE flow = {flow} "
                "QUALIFY ROW_NUMBER() OVER (ORDER BY checked_at DESC) = 1"
            )
        case Check.FRESHNESS:
            age = f"DATEDIFF('second', MAX({column or 'loaded_at'}), CURRENT_TIMESTAMP())"
            return f"SELECT IFF({age} <= {number(rule.within or 86_400)}, 0, 1) AS breaches FROM {rule.table}"
        case Check.ROW_COUNT:
            bounds = [f"COUNT(*) >= {number(1 if rule.minimum is None else rule.minimum)}"]
            bounds += [f"COUNT(*) <= {number(rule.maximum)}"] if rule.maximum is not None else []
            return f"SELECT IFF({' AND '.join(bounds)}, 0, 1) AS breaches FROM {rule.table}"
        case Check.REFERENTIAL_INTEGRITY:
            assert rule.references is not None
            table, _, referred = rule.references.rstrip(")").partition("(")
            other = named(referred) if referred else column
            return (
                f"SELECT COUNT(*) AS breaches FROM {rule.table} AS a LEFT JOIN {table} AS b "
                f"ON b.{other} = a.{column} WHERE a.{column} IS NOT NULL AND b.{other} IS NULL"
            )
        case Check.DISTRIBUTION:
            inner = f"SELECT {column} AS v, AVG({column}) OVER () AS m, STDDEV({column}) OVER () AS s FROM {rule.table}"
            return f"SELECT COUNT_IF(ABS(v - m) > {_WIDE} * s) AS breaches FROM ({inner})"
        case Check.SCHEMA:
            names = ", ".join(literal(name.upper()) for name in rule.columns)
            return (
                f"SELECT {len(rule.columns)} - COUNT(*) AS breaches FROM INFORMATION_SCHEMA.COLUMNS "
                f"WHERE TABLE_NAME = {literal(rule.table.upper())} AND COLUMN_NAME IN ({names})"
            )
