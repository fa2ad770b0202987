"""The list of aggregates and of functions over windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from snowmelt.engine.quick import operators
from snowmelt.engine.quick.types import BIGINT, BOOLEAN, DOUBLE, INT, NotQuick, SparkType, array_of, decimal
from snowmelt.engine.quick.values import Value, of_digits, repeatable

_SUMMABLE_DIGITS = 28
"""Ten thousand million values of so many digits have a sum of 38. Where a sum overflows on the way Spark fails, even if
later values would bring it back."""
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
        return f"sum({word}{of_digits(value, _SUMMABLE_DIGITS)})", decimal(value.type.precision + 10, value.type.scale)
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


def _any(arguments: Sequence[Value], distinct: bool) -> tuple[str, SparkType]:
    (value,) = _one(arguments, "any_value")
    return f"first({value.sql})", value.type


def _by(name: str) -> Aggregate:
    """The value where another one is largest or smallest."""

    def aggregate(arguments: Sequence[Value], distinct: bool) -> tuple[str, SparkType]:
        value, key = arguments
        if distinct or not key.type.has_order or key.type == DOUBLE:
            raise NotQuick(f"{name} by {key.type.duck}")
        return f"{name}({value.sql}, {key.sql})", value.type

    return aggregate


def _list(arguments: Sequence[Value], distinct: bool) -> tuple[str, SparkType]:
    (value,) = _one(arguments, "collect_list")
    if distinct:
        raise NotQuick("collect_list(DISTINCT)")
    type_ = array_of(value.type)
    sql = repeatable(value)
    return f"coalesce(list({sql}) FILTER (WHERE {sql} IS NOT NULL), CAST([] AS {type_.duck}))", type_


AGGREGATES: dict[str, Aggregate] = {
    "any_value": _any,
    "bool_and": _logical("bool_and"),
    "bool_or": _logical("bool_or"),
    "collect_list": _list,
    "count": _count,
    "count_if": _count_if,
    "max": _extreme("max"),
    "max_by": _by("arg_max_null"),
    "min": _extreme("min"),
    "min_by": _by("arg_min_null"),
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
        if len(more) > 1 or any(index.number is None or index.number < 0 for index in more):
            raise NotQuick(f"{name} of this kind")
        return f"{name}({value.sql}, {more[0].number if more else 1})", value.type

    return function


def _edge_value(name: str) -> Callable[[Sequence[Value]], tuple[str, SparkType]]:
    def function(arguments: Sequence[Value]) -> tuple[str, SparkType]:
        if len(arguments) != 1:
            raise NotQuick(f"{name} of this kind")
        return f"{name}({arguments[0].sql})", arguments[0].type

    return function


def _ntile(arguments: Sequence[Value]) -> tuple[str, SparkType]:
    (count,) = arguments
    if count.number is None or count.number < 1:
        raise NotQuick("ntile of what is no literal")
    return f"ntile({count.number})", INT


WINDOW_FUNCTIONS: dict[str, Callable[[Sequence[Value]], tuple[str, SparkType]]] = {
    "dense_rank": _numbered("dense_rank"),
    "first_value": _edge_value("first_value"),
    "lag": _neighbour("lag"),
    "last_value": _edge_value("last_value"),
    "lead": _neighbour("lead"),
    "ntile": _ntile,
    "rank": _numbered("rank"),
    "row_number": _numbered("row_number"),
}
"""By Spark's name. Aggregates stand over windows too."""
