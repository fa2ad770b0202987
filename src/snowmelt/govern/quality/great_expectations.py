"""Suites of Great Expectations (JSON, both layouts of 0.x and 1.x) as checks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

from snowmelt.core import errors
from snowmelt.core.names import literal
from snowmelt.core.types import parse_type
from snowmelt.govern.quality.imported import (
    Collected,
    Imported,
    UnmappedError,
    Wanted,
    bounds_of,
    column_name,
    measured_by,
    number_of,
    shown,
    table_name,
    values_of,
)
from snowmelt.sql.statements.spelling import spelled

_IGNORED = frozenset(
    {"result_format", "catch_exceptions", "include_config", "meta", "batch_id", "auto", "ignore_row_if"}
)
"""Arguments that say how results are shown, not what is checked."""
_WARNINGS = frozenset({"warning", "info"})


class ExpectationArguments:
    """The arguments of one expectation, each asked for once. `left` are the others: the check can't express them."""

    def __init__(self, table: str, given: Mapping[str, Any]) -> None:
        self.table = table
        self._left = {name: value for name, value in given.items() if value is not None and name not in _IGNORED}

    def take(self, name: str) -> Any:
        return self._left.pop(name, None)

    def need(self, name: str) -> Any:
        if name not in self._left:
            raise UnmappedError(f"it has no `{name}`")
        return self._left.pop(name)

    def column(self, name: str = "column") -> str:
        return column_name(self.need(name))

    def columns(self, name: str = "column_list") -> tuple[str, ...]:
        return tuple(column_name(one) for one in self.need(name))

    def bounds(self, low: str = "min_value", high: str = "max_value") -> tuple[float | None, float | None]:
        given = (self.take(low), self.take(high))
        first, last = (None if value is None else number_of(value) for value in given)
        return first, last

    def left(self) -> list[str]:
        return sorted(name for name, value in self._left.items() if value is not False)


def imported(text: str, table: str) -> Imported:
    """The checks of a suite, for the named table: a suite names none."""
    name, found = table_name(table), Collected()
    for number, item in enumerate(_expectations(text)):
        kind = str(item.get("type") or item.get("expectation_type") or f"expectation {number + 1}")
        given = item.get("kwargs") or {}
        label = f"{kind} ({given['column']})" if "column" in given else kind
        with found.noting(label):
            _add(found, name, kind, item, given)
    return found.done()


def _expectations(text: str) -> list[Mapping[str, Any]]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise errors.configuration(f"The suite is not valid JSON: {error}.") from None
    found = document.get("expectations") if isinstance(document, Mapping) else None
    if not isinstance(found, list) or not all(isinstance(item, Mapping) for item in found):
        raise errors.configuration("This is not a suite of Great Expectations: it has no list of `expectations`.")
    return found


def _add(found: Collected, table: str, kind: str, item: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    rule = _RULES.get(kind)
    if rule is None:
        raise UnmappedError("there is no such check")
    arguments = ExpectationArguments(table, given)
    mostly = arguments.take("mostly")
    wanted = rule(arguments)
    if arguments.left():
        raise UnmappedError(f"{', '.join(arguments.left())} has no counterpart")
    threshold = None
    if mostly is not None and mostly != 1:
        if wanted[0].kind not in _PER_ROW:
            raise UnmappedError("mostly has no counterpart")
        threshold = f"{shown(round(100 - 100 * number_of(mostly), 9))} %"
    severity = "WARN" if item.get("severity") in _WARNINGS else None
    for one in wanted:
        found.add(table, one, threshold=threshold, severity=severity)


_PER_ROW = frozenset({"NOT_NULL", "ACCEPTED_VALUES", "RANGE", "LENGTH", "EXPRESSION"})
"""Checks whose share of failing rows means the same in both tools. UNIQUE counts all rows of a key there."""


# -- rows -------------------------------------------------------------------------------------------------------------


def _not_null(given: ExpectationArguments) -> list[Wanted]:
    return [Wanted("NOT_NULL", (given.column(),))]


def _unique(given: ExpectationArguments) -> list[Wanted]:
    return [Wanted("UNIQUE", (given.column(),))]


def _compound_unique(given: ExpectationArguments) -> list[Wanted]:
    return [Wanted("UNIQUE", given.columns())]


def _in_set(given: ExpectationArguments) -> list[Wanted]:
    return [Wanted("ACCEPTED_VALUES", (given.column(),), options={"values": values_of(given.need("value_set"))})]


def _between(given: ExpectationArguments) -> list[Wanted]:
    column = given.column()
    strict = {"min": bool(given.take("strict_min")), "max": bool(given.take("strict_max"))}
    raw = {"min": given.take("min_value"), "max": given.take("max_value")}
    bounds = {end: values_of([value])[0] for end, value in raw.items() if value is not None}
    if not bounds:
        raise UnmappedError("it has no bounds")
    if not any(strict[end] for end in bounds):
        return [Wanted("RANGE", (column,), options=bounds)]
    words = {"min": (">", ">="), "max": ("<", "<=")}
    parts = [f"{spelled(column)} {words[end][not strict[end]]} {value}" for end, value in bounds.items()]
    return [_expression(" AND ".join(parts))]


def _lengths(given: ExpectationArguments) -> list[Wanted]:
    return [Wanted("LENGTH", (given.column(),), options=bounds_of(*given.bounds()))]


def _length(given: ExpectationArguments) -> list[Wanted]:
    value = shown(number_of(given.need("value")))
    return [Wanted("LENGTH", (given.column(),), options={"min": value, "max": value})]


def _condition(template: str, argument: str) -> Callable[[ExpectationArguments], list[Wanted]]:
    """One over a column `{0}` and a string `{1}`."""

    def build(given: ExpectationArguments) -> list[Wanted]:
        return [_expression(template.format(spelled(given.column()), literal(str(given.need(argument)))))]

    return build


def _null(given: ExpectationArguments) -> list[Wanted]:
    return [_expression(f"{spelled(given.column())} IS NULL")]


def _not_in_set(given: ExpectationArguments) -> list[Wanted]:
    return [_expression(f"{spelled(given.column())} NOT IN ({', '.join(values_of(given.need('value_set')))})")]


def _pair(operator: str) -> Callable[[ExpectationArguments], list[Wanted]]:
    def build(given: ExpectationArguments) -> list[Wanted]:
        first, second = given.column("column_A"), given.column("column_B")
        word = f"{operator}=" if given.take("or_equal") else operator
        return [_expression(f"{spelled(first)} {word} {spelled(second)}")]

    return build


def _different_in_row(given: ExpectationArguments) -> list[Wanted]:
    pairs = combinations(map(spelled, given.columns()), 2)
    return [_expression(" AND ".join(f"{first} <> {second}" for first, second in pairs))]


def _expression(text: str) -> Wanted:
    return Wanted("EXPRESSION", expression=text)


# -- the table --------------------------------------------------------------------------------------------------------


def _exists(given: ExpectationArguments) -> list[Wanted]:
    return [Wanted("SCHEMA", options={"values": (literal(spelled(given.column())),)})]


def _column_set(given: ExpectationArguments) -> list[Wanted]:
    columns = given.columns("column_set")
    if given.take("exact_match") is not False:
        raise UnmappedError("other columns can't be forbidden")
    return [Wanted("SCHEMA", options={"values": tuple(literal(spelled(column)) for column in columns)})]


def _of_type(given: ExpectationArguments) -> list[Wanted]:
    column, type_ = given.column(), str(given.need("type_"))
    if parse_type(type_) is None:
        raise UnmappedError(f"{type_} is not an SQL type")
    return [Wanted("SCHEMA", options={"values": (literal(f"{spelled(column)} {type_}"),)})]


def _row_count(given: ExpectationArguments) -> list[Wanted]:
    return [Wanted("ROW_COUNT", options=bounds_of(*given.bounds()))]


def _row_count_is(given: ExpectationArguments) -> list[Wanted]:
    value = number_of(given.need("value"))
    return [Wanted("ROW_COUNT", options=bounds_of(value, value))]


def _same_row_count(given: ExpectationArguments) -> list[Wanted]:
    other = table_name(str(given.need("other_table_name")))
    query = f"SELECT (SELECT COUNT(*) FROM {given.table}) - (SELECT COUNT(*) FROM {other})"
    return [measured_by(query, 0, 0)]


def _measure(kind: str, **options: object) -> Callable[[ExpectationArguments], list[Wanted]]:
    def build(given: ExpectationArguments) -> list[Wanted]:
        return [Wanted(kind, (given.column(),), options={**bounds_of(*given.bounds()), **options})]

    return build


def _aggregate(template: str) -> Callable[[ExpectationArguments], list[Wanted]]:
    def build(given: ExpectationArguments) -> list[Wanted]:
        query = f"SELECT {template.format(spelled(given.column()))} FROM {given.table}"
        return [measured_by(query, *given.bounds())]

    return build


def _quantiles(given: ExpectationArguments) -> list[Wanted]:
    column, ranges = given.column(), given.need("quantile_ranges")
    given.take("allow_relative_error")
    pairs = zip(ranges["quantiles"], ranges["value_ranges"], strict=True)
    return [
        Wanted("QUANTILE", (column,), options={**bounds_of(*bounds), "quantile": float(share)})
        for share, bounds in pairs
    ]


def _non_null_share(given: ExpectationArguments) -> list[Wanted]:
    column, (low, high) = given.column(), given.bounds()
    if low is None or high not in (None, 1):
        raise UnmappedError("at most so many values that are not NULL has no counterpart")
    return [Wanted("COMPLETENESS", (column,), options={"min": shown(round(low * 100, 9))})]


_RULES: Mapping[str, Callable[[ExpectationArguments], list[Wanted]]] = {
    "expect_column_values_to_not_be_null": _not_null,
    "expect_column_values_to_be_null": _null,
    "expect_column_values_to_be_unique": _unique,
    "expect_compound_columns_to_be_unique": _compound_unique,
    "expect_select_column_values_to_be_unique_within_record": _different_in_row,
    "expect_column_values_to_be_in_set": _in_set,
    "expect_column_distinct_values_to_be_in_set": _in_set,
    "expect_column_values_to_not_be_in_set": _not_in_set,
    "expect_column_values_to_be_between": _between,
    "expect_column_value_lengths_to_be_between": _lengths,
    "expect_column_value_lengths_to_equal": _length,
    "expect_column_values_to_match_regex": _condition("REGEXP_INSTR({0}, {1}) > 0", "regex"),
    "expect_column_values_to_not_match_regex": _condition("REGEXP_INSTR({0}, {1}) = 0", "regex"),
    "expect_column_values_to_match_like_pattern": _condition("{0} LIKE {1}", "like_pattern"),
    "expect_column_values_to_not_match_like_pattern": _condition("{0} NOT LIKE {1}", "like_pattern"),
    "expect_column_pair_values_to_be_equal": _pair("="),
    "expect_column_pair_values_a_to_be_greater_than_b": _pair(">"),
    "expect_column_to_exist": _exists,
    "expect_column_values_to_be_of_type": _of_type,
    "expect_table_columns_to_match_set": _column_set,
    "expect_table_row_count_to_be_between": _row_count,
    "expect_table_row_count_to_equal": _row_count_is,
    "expect_table_row_count_to_equal_other_table": _same_row_count,
    "expect_column_mean_to_be_between": _measure("MEAN"),
    "expect_column_stdev_to_be_between": _measure("STDDEV"),
    "expect_column_median_to_be_between": _measure("QUANTILE", quantile=0.5),
    "expect_column_quantile_values_to_be_between": _quantiles,
    "expect_column_min_to_be_between": _aggregate("MIN({0})"),
    "expect_column_max_to_be_between": _aggregate("MAX({0})"),
    "expect_column_sum_to_be_between": _aggregate("SUM({0})"),
    "expect_column_unique_value_count_to_be_between": _aggregate("COUNT(DISTINCT {0})"),
    "expect_column_proportion_of_unique_values_to_be_between": _aggregate(
        "COUNT(DISTINCT {0}) / NULLIF(COUNT({0}), 0)"
    ),
    "expect_column_proportion_of_non_null_values_to_be_between": _non_null_share,
}
