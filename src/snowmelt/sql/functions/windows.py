"""Functions that stand in a window only. Each emits the call alone; the binder puts OVER (…) behind it."""

from __future__ import annotations

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import FLOAT, INTEGER, MAX_PRECISION, DataType, Kind, number
from snowmelt.sql import arithmetic
from snowmelt.sql.dialect import call as invoke
from snowmelt.sql.dialect import integer, spark
from snowmelt.sql.functions.aggregates import spark_sum_type, summand
from snowmelt.sql.functions.arguments import constant_integer
from snowmelt.sql.functions.registry import Function, FunctionCall, first_type, refused, window


def _with_nulls(call: FunctionCall, tree: exp.Expr) -> exp.Expr:
    return exp.IgnoreNulls(this=tree) if call.ignore_nulls else tree


def _neighbour(name: str, call: FunctionCall) -> exp.Expr:
    offset = constant_integer(call, 1, 1)
    if offset is None:
        raise errors.unsupported(f"{call.name} with an offset that is not constant")
    return _with_nulls(call, invoke(name, call.args[0], integer(offset), *call.args[2:]))


def _edge(name: str, call: FunctionCall) -> exp.Expr:
    return _with_nulls(call, invoke(name, call.args[0]))


def _nth_value(call: FunctionCall) -> exp.Expr:
    number = constant_integer(call, 1, 1)
    if number is None or number < 1:
        raise errors.invalid_value(call.literal(1) or "", "n")
    return _with_nulls(call, invoke("nth_value", call.args[0], integer(number)))


def _ntile(call: FunctionCall) -> exp.Expr:
    buckets = constant_integer(call, 0, 1)
    if buckets is None:
        raise errors.unsupported("NTILE with a number of buckets that is not constant")
    if buckets < 1:
        raise errors.invalid_value(str(buckets), "number of buckets")
    return spark("CAST(_0 AS BIGINT)", invoke("ntile", integer(buckets)))


def _share_type(types: tuple[DataType, ...]) -> DataType:
    if types[0].kind is Kind.FLOAT:
        return FLOAT
    return number(MAX_PRECISION, arithmetic.result_type("/", types[0], types[0]).scale or 0)


def _ratio_to_report(call: FunctionCall) -> exp.Expr:
    value, given = call.args[0], call.types[0]
    total = spark("nullif(sum(_0), 0)", summand(value, given))
    if given.kind is Kind.FLOAT:
        return spark("_0 / _1", value, total)
    return arithmetic.cast(arithmetic.emit("/", value, given, total, spark_sum_type(given)), call.returns)


def _filled(name: str, call: FunctionCall) -> exp.Expr:
    return exp.IgnoreNulls(this=invoke(name, call.args[0]))


def _change_event(call: FunctionCall) -> exp.Expr:
    raise errors.unsupported(f"{call.name} here", hint="It may stand in a SELECT list, QUALIFY and ORDER BY.")


FUNCTIONS: tuple[Function, ...] = (
    window("ROW_NUMBER", "", INTEGER, "CAST(row_number() AS BIGINT)"),
    window("RANK", "", INTEGER, "CAST(rank() AS BIGINT)"),
    window("DENSE_RANK", "", INTEGER, "CAST(dense_rank() AS BIGINT)"),
    window("NTILE", "int", INTEGER, _ntile),
    window("PERCENT_RANK", "", FLOAT, "percent_rank()"),
    window("CUME_DIST", "", FLOAT, "cume_dist()"),
    window("LAG", "same, int, same", first_type, lambda call: _neighbour("lag", call), least=1, accepts="nulls"),
    window("LEAD", "same, int, same", first_type, lambda call: _neighbour("lead", call), least=1, accepts="nulls"),
    window("FIRST_VALUE", "any", first_type, lambda call: _edge("first_value", call), accepts="nulls"),
    window("LAST_VALUE", "any", first_type, lambda call: _edge("last_value", call), accepts="nulls"),
    window("NTH_VALUE", "any, int", first_type, _nth_value, accepts="nulls"),
    window("RATIO_TO_REPORT", "num", _share_type, _ratio_to_report),
    window("CONDITIONAL_TRUE_EVENT", "bool", INTEGER, "count_if(_0)"),
    window("CONDITIONAL_CHANGE_EVENT", "any", INTEGER, _change_event),
    window("INTERPOLATE_FFILL", "any", first_type, lambda call: _filled("last_value", call)),
    window("INTERPOLATE_BFILL", "any", first_type, lambda call: _filled("first_value", call)),
    refused("INTERPOLATE_LINEAR", "INTERPOLATE_FFILL and INTERPOLATE_BFILL exist."),
)
