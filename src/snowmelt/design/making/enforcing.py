"""Gates that stand before rows are visible: quality checks of the engine. The others are counted after each refresh."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from itertools import chain, count

from snowmelt.core.names import literal
from snowmelt.design.making.clean_tables import named
from snowmelt.design.model import GateCheck
from snowmelt.design.requirements.model import Check, GateSeverity, QualityRule

_NO_WORD = re.compile(r"\W+")
_COUNTED = {
    Check.FRESHNESS: "what is looked at is when the source answered last, not a row",
    Check.SCHEMA: "what is looked at is the source's columns, not a row",
    Check.RECONCILIATION: "rows are held against the source behind the load",
    Check.ROW_COUNT: "an empty table is not a bad row, and a refused one would stay empty",
    Check.DISTRIBUTION: "what is usual depends on all rows",
    Check.REFERENTIAL_INTEGRITY: "the row that is referred to may come a moment later",
}
"""Why a gate stays a query."""
_PERCENT = 100
Taken = set[tuple[str, str]]
"""Tables with names of their checks."""


@dataclass(frozen=True, slots=True)
class Enforcement:
    """How a gate is held."""

    checks: tuple[GateCheck, ...] = ()
    counted: str = ""
    """Why it is a query after each refresh; empty where checks hold it."""


def enforce(
    rule: QualityRule, versioned: Container[str], elsewhere: Container[str], taken: Taken | None = None
) -> Enforcement:  # fmt: skip
    """`versioned`: tables with many rows a key. `elsewhere`: tables that others make, whose gates are theirs to set.

    `taken`: names of checks that tables have already, to which those of this one are added.
    """
    taken = set() if taken is None else taken
    if rule.table.lower() in elsewhere:
        return Enforcement(counted="the table is made elsewhere, and its gates are its owner's to set")
    if rule.share is not None:
        return Enforcement(checks=(_check(rule, (), taken),))
    if rule.check in _COUNTED:
        return Enforcement(counted=_COUNTED[rule.check])
    if rule.check is Check.UNIQUE and rule.table.lower() in versioned:
        return Enforcement(counted="a key has many versions, and one that is current")
    groups = [rule.columns] if rule.check in (Check.NOT_NULL, Check.UNIQUE) else [(name,) for name in rule.columns]
    return Enforcement(checks=tuple(_check(rule, columns, taken) for columns in groups))


def _name(rule: QualityRule, columns: tuple[str, ...], taken: Taken) -> str:
    """The name of a check: two bounds of one column are two checks."""
    first = "_".join(["gate", rule.check, *(_NO_WORD.sub("_", column.lower()) for column in columns)])
    names = chain([first], (f"{first}_{number}" for number in count(2)))
    name = next(name for name in names if (rule.table.lower(), name) not in taken)
    taken.add((rule.table.lower(), name))
    return name


def _check(rule: QualityRule, columns: tuple[str, ...], taken: Taken) -> GateCheck:
    name = _name(rule, columns, taken)
    listed = ", ".join(map(named, columns))
    severity = str(rule.severity).upper()
    action = action_of(rule)
    allowed = f" THRESHOLD = '{rule.threshold * _PERCENT:g} %'" if rule.threshold else ""
    return GateCheck(
        name=name, table=rule.table, quarantines=action == "QUARANTINE",
        sql=f"ALTER DYNAMIC TABLE {rule.table} ADD OR REPLACE QUALITY CHECK {name} AS\n"
        f"  {_kind(rule, listed)} SEVERITY = {severity} ON_FAILURE = {action}{allowed}",
    )  # fmt: skip


def action_of(rule: QualityRule) -> str:
    """A warning lets rows through. An error takes the bad rows out, where each is bad by itself; else, as what is
    critical, it refuses the refresh: the last good version stays."""
    if rule.severity is GateSeverity.WARN:
        return "WARN"
    whole = rule.check in (Check.UNIQUE, Check.ROW_COUNT)
    return "QUARANTINE" if rule.severity is GateSeverity.ERROR and not whole else "FAIL"


def _kind(rule: QualityRule, listed: str) -> str:
    match rule.check:
        case Check.NOT_NULL:
            return f"NOT_NULL ({listed})"
        case Check.UNIQUE:
            return f"UNIQUE ({listed})"
        case Check.ROW_COUNT:
            return f"ROW_COUNT OF_BEFORE = '{(rule.share or 0) * _PERCENT:g} %'"
        case Check.ACCEPTED_VALUES:
            return f"ACCEPTED_VALUES ({listed}) VALUES = ({', '.join(map(literal, rule.values))})"
        case _:
            bounds = [f" MIN = {number(rule.minimum)}"] if rule.minimum is not None else []
            bounds += [f" MAX = {number(rule.maximum)}"] if rule.maximum is not None else []
            return f"RANGE ({listed}){''.join(bounds)}"


def number(value: float) -> str:
    """All of its digits: a bound that is rounded is another bound."""
    return f"{value:.0f}" if value == int(value) else repr(value)
