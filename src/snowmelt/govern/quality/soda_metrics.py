"""Soda's metrics and conditions: `missing_percent(email) < 5 %`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from snowmelt.core.names import literal
from snowmelt.govern.quality.imported import (
    UnmappedError,
    Wanted,
    any_of,
    bounds_of,
    column_name,
    measured_by,
    next_above,
    next_below,
    number_of,
    shown,
    values_of,
)
from snowmelt.sql.statements.spelling import spelled

_NUMBER = r"(-?\d+(?:\.\d+)?)\s*%?"
_COMPARED = re.compile(rf"(<=|>=|=|<|>)\s*{_NUMBER}")
_BETWEEN = re.compile(rf"between\s+{_NUMBER}\s+and\s+{_NUMBER}")
_COUNTS = frozenset({"row_count", "missing_count", "invalid_count", "duplicate_count"})
Bounds = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class SodaMetric:
    table: str
    """As SQL."""
    name: str
    arguments: tuple[str, ...]
    settings: Mapping[str, Any]

    @property
    def counts(self) -> bool:
        """Whether it is a whole number."""
        return self.name in _COUNTS

    @property
    def column(self) -> str:
        if len(self.arguments) != 1:
            raise UnmappedError("it takes one column")
        return column_name(self.arguments[0])

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(column_name(argument) for argument in self.arguments)

    def only(self, *known: str) -> None:
        for key in self.settings:
            if key not in known:
                raise UnmappedError(f"`{key}` has no counterpart")


def passing(text: str, *, counts: bool) -> Bounds:
    """The bounds, both of them included, that a condition such as `< 5` sets."""
    between = _BETWEEN.fullmatch(text)
    if between is not None:
        return float(between[1]), float(between[2])
    compared = _COMPARED.fullmatch(text)
    if compared is None:
        raise UnmappedError(f"the condition `{text}` has no counterpart")
    value = float(compared[2])
    match compared[1]:
        case "=":
            return value, value
        case "<=":
            return None, value
        case ">=":
            return value, None
        case "<":
            return None, next_below(value, counts=counts)
    return next_above(value, counts=counts), None


def alerting(text: str, *, counts: bool) -> Bounds:
    """The bounds outside of which `when …` alerts."""
    compared = _COMPARED.fullmatch(text.removeprefix("when").strip())
    if compared is None:
        raise UnmappedError(f"the condition `{text}` has no counterpart")
    value = float(compared[2])
    match compared[1]:
        case ">":
            return None, value
        case "<":
            return value, None
        case ">=":
            return None, next_below(value, counts=counts)
        case "<=":
            return next_above(value, counts=counts), None
    if counts and value == 0:
        return 1, None
    raise UnmappedError(f"the condition `{text}` has no counterpart")


def wanted_for(metric: SodaMetric, bounds: Bounds) -> list[Wanted]:
    own = _own_metric(metric, bounds)
    if own is not None:
        return [own]
    if metric.name in _MEASURES:
        metric.only()
        return [Wanted(_MEASURES[metric.name], (metric.column,), options=bounds_of(*bounds))]
    if metric.name in _AGGREGATES:
        metric.only()
        return [_queried(metric, _AGGREGATES[metric.name].format(spelled(metric.column)), bounds)]
    rule = _RULES.get(metric.name)
    if rule is None:
        raise UnmappedError("there is no such check")
    return rule(metric, bounds)


def _own_metric(metric: SodaMetric, bounds: Bounds) -> Wanted | None:
    """A metric that the file defines itself."""
    expression, query = f"{metric.name} expression", f"{metric.name} query"
    if expression in metric.settings:
        metric.only(expression)
        return _queried(metric, str(metric.settings[expression]), bounds)
    if query in metric.settings:
        metric.only(query)
        return measured_by(str(metric.settings[query]).strip().rstrip(";"), *bounds)
    return None


def _queried(metric: SodaMetric, value: str, bounds: Bounds) -> Wanted:
    return measured_by(f"SELECT {value} FROM {metric.table}", *bounds)


def _counted(metric: SodaMetric, bounds: Bounds, checks: list[Wanted]) -> list[Wanted]:
    """Checks of rows, where none may fail; otherwise the table's rows that do are counted."""
    if bounds[1] == 0 and not bounds[0]:
        return checks
    failing = f"COUNT_IF({any_of([check.violated for check in checks])})"
    percent = metric.name.endswith("_percent")
    return [_queried(metric, f"100 * {failing} / NULLIF(COUNT(*), 0)" if percent else failing, bounds)]


def _row_count(metric: SodaMetric, bounds: Bounds) -> list[Wanted]:
    metric.only()
    return [Wanted("ROW_COUNT", options=bounds_of(*bounds))]


def _missing(metric: SodaMetric, bounds: Bounds) -> list[Wanted]:
    metric.only("missing values", "missing regex")
    column = metric.column
    checks = [Wanted("NOT_NULL", (column,))]
    if "missing values" in metric.settings:
        checks.append(_expression(f"{spelled(column)} NOT IN ({_listed(metric, 'missing values')})"))
    if "missing regex" in metric.settings:
        checks.append(_expression(f"NOT REGEXP_LIKE({spelled(column)}, {_text(metric, 'missing regex')})"))
    low, high = bounds
    if metric.name == "missing_percent" and len(checks) == 1 and high and low is None:
        return [Wanted("COMPLETENESS", (column,), options={"min": shown(100 - high)})]
    return _counted(metric, bounds, checks)


def _invalid(metric: SodaMetric, bounds: Bounds) -> list[Wanted]:
    metric.only(*_VALIDITY)
    if not metric.settings:
        raise UnmappedError("it does not say what is valid")
    column, settings = metric.column, metric.settings
    checks: list[Wanted] = []
    if "valid values" in settings:
        values = values_of(settings["valid values"])
        checks.append(Wanted("ACCEPTED_VALUES", (column,), options={"values": values}))
    if "valid regex" in settings:
        checks.append(Wanted("PATTERN", (column,), options={"pattern": str(settings["valid regex"])}))
    if "invalid values" in settings:
        checks.append(_expression(f"{spelled(column)} NOT IN ({_listed(metric, 'invalid values')})"))
    if "invalid regex" in settings:
        checks.append(_expression(f"NOT REGEXP_LIKE({spelled(column)}, {_text(metric, 'invalid regex')})"))
    for kind, low, high in (
        ("RANGE", "valid min", "valid max"),
        ("LENGTH", "valid min length", "valid max length"),
        ("LENGTH", "valid length", "valid length"),
    ):
        if low in settings or high in settings:
            ends = (None if end not in settings else number_of(settings[end]) for end in (low, high))
            checks.append(Wanted(kind, (column,), options=bounds_of(*ends)))
    return _counted(metric, bounds, checks)


_VALIDITY = (
    "valid values", "valid regex", "invalid values", "invalid regex", "valid min", "valid max", "valid length",
    "valid min length", "valid max length",
)  # fmt: skip


def _duplicates(metric: SodaMetric, bounds: Bounds) -> list[Wanted]:
    metric.only()
    if bounds[1] == 0 and not bounds[0]:
        return [Wanted("UNIQUE", metric.columns)]
    if metric.name == "duplicate_percent":
        raise UnmappedError("only `= 0` has a counterpart")
    keys = ", ".join(spelled(column) for column in metric.columns)
    known = " AND ".join(f"{spelled(column)} IS NOT NULL" for column in metric.columns)
    groups = f"SELECT {keys} FROM {metric.table} WHERE {known} GROUP BY {keys} HAVING COUNT(*) > 1"
    return [measured_by(f"SELECT COUNT(*) FROM ({groups})", *bounds)]


def _percentile(metric: SodaMetric, bounds: Bounds) -> list[Wanted]:
    metric.only()
    column, share = metric.arguments
    return [Wanted("QUANTILE", (column_name(column),), options={**bounds_of(*bounds), "quantile": float(share)})]


def _expression(text: str) -> Wanted:
    return Wanted("EXPRESSION", expression=text)


def _listed(metric: SodaMetric, setting: str) -> str:
    return ", ".join(values_of(metric.settings[setting]))


def _text(metric: SodaMetric, setting: str) -> str:
    return literal(str(metric.settings[setting]))


_MEASURES = {"avg": "MEAN", "stddev": "STDDEV", "stddev_samp": "STDDEV"}
_AGGREGATES = {
    "min": "MIN({})",
    "max": "MAX({})",
    "sum": "SUM({})",
    "stddev_pop": "STDDEV_POP({})",
    "variance": "VARIANCE({})",
    "var_samp": "VAR_SAMP({})",
    "var_pop": "VAR_POP({})",
    "avg_length": "AVG(LENGTH({}))",
    "min_length": "MIN(LENGTH({}))",
    "max_length": "MAX(LENGTH({}))",
}
_RULES: Mapping[str, Callable[[SodaMetric, Bounds], list[Wanted]]] = {
    "row_count": _row_count,
    "missing_count": _missing,
    "missing_percent": _missing,
    "invalid_count": _invalid,
    "invalid_percent": _invalid,
    "duplicate_count": _duplicates,
    "duplicate_percent": _duplicates,
    "percentile": _percentile,
}
