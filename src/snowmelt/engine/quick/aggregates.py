"""The list of aggregates and of functions over windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from snowmelt.engine.quick import operators
from snowmelt.engine.quick.types import BIGINT, BOOLEAN, INT, NotQuick, SparkType, decimal
from snowmelt.engine.quick.values import Value

Aggregate = Callable[[Sequence[Value], bool], tuple[str, SparkType]]
"""From the arguments, and whether DISTINCT stands before them, to the call and the type that Spark gives it."""


def _count(arguments: Sequence[Value], distinct: bool) -> tuple[str, SparkType]:
    if distinct:
        (value,) = _one(arguments, "count(DISTINCT)")
        if not value.type.can_be_key:
            raise NotQuick(f"count(DISTINCT) of {value.type.duck}")
        return f"count(DISTINCT {value.sql})", BIGINT
    if len(arguments) > 1:
        raise NotQuick("count of several values")
    return f"count({arguments[0].sql})" if arguments else "count(*)", BIGINT


def _one(arguments: Sequence[Value], name: str) -> Sequence[Value]:
    if len(arguments) != 1:
        raise NotQuick(f"{name} of several values")
    return arguments


def _sum(arguments: Sequence[Value], distinct: bool) -> tuple[str, SparkType]:
    (value,) = _one(arguments, "sum")
    word = "DISTINCT " if distinct else ""
    if value.type.is_integer:
        return f"sum({word}{value.sql})", BIGINT
    if value.type.is_decimal:
        return f"sum({word}{value.sql})", decimal(value.type.precision + 10, value.type.scale)
    # Doubles: the result depends on the order of the rows.
    raise NotQuick(f"sum of {value.type.duck}")


def _extreme(name: str) -> Aggregate:
    def aggregate(arguments: Sequence[Value], distinct: bool) -> tuple[str, SparkType]:
        (value,) = _one(arguments, name)
        if not value.type.has_order:
            raise NotQuick(f"{name} of {value.type.duck}")
        return f"{name}({value.sql})", value.type

    return aggregate


def _count_if(arguments: Sequence[Value], distinct: bool) -> tuple[str, SparkType]:
    (value,) = _one(arguments, "count_if")
    if distinct:
        raise NotQuick("count_if(DISTINCT)")
    # DuckDB's own gives NULL for no rows.
    return f"count(CASE WHEN {operators.condition(value)} THEN 1 END)", BIGINT


def _logical(name: str) -> Aggregate:
    def aggregate(arguments: Sequence[Value], distinct: bool) -> tuple[str, SparkType]:
        (value,) = _one(arguments, name)
        return f"{name}({operators.condition(value)})", BOOLEAN

    return aggregate


AGGREGATES: dict[str, Aggregate] = {
    "bool_and": _logical("bool_and"),
    "bool_or": _logical("bool_or"),
    "count": _count,
    "count_if": _count_if,
    "max": _extreme("max"),
    "min": _extreme("min"),
    "sum": _sum,
}
"""By Spark's name."""


def _numbered(name: str) -> Callable[[Sequence[Value]], tuple[str, SparkType]]:
    def function(arguments: Sequence[Value]) -> tuple[str, SparkType]:
        return f"{name}()", INT

    return function


def _neighbour(name: str) -> Callable[[Sequence[Value]], tuple[str, SparkType]]:
    def function(arguments: Sequence[Value]) -> tuple[str, SparkType]:
        value, *more = arguments
        if len(more) > 1 or any(place.number is None or place.number < 0 for place in more):
            raise NotQuick(f"{name} of this kind")
        return f"{name}({value.sql}, {more[0].number if more else 1})", value.type

    return function


WINDOW_FUNCTIONS: dict[str, Callable[[Sequence[Value]], tuple[str, SparkType]]] = {
    "dense_rank": _numbered("dense_rank"),
    "lag": _neighbour("lag"),
    "lead": _neighbour("lead"),
    "rank": _numbered("rank"),
    "row_number": _numbered("row_number"),
}
"""By Spark's name. Aggregates stand over windows too."""
