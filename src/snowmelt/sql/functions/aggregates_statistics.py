"""Statistical aggregates: variance, correlation, regression, percentiles.

Percentiles of NUMBERs are exact: the group is gathered, sorted and interpolated in DECIMAL, with three digits
of scale more than the values have.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import FLOAT, INTEGER, MAX_PRECISION, DataType, Kind, number
from snowmelt.sql import arithmetic
from snowmelt.sql.building import bind
from snowmelt.sql.dialect import call as invoke
from snowmelt.sql.dialect import spark
from snowmelt.sql.functions.registry import Function, FunctionCall, aggregate, alias, first_type

_MAX_SCALE = 37
_SCALE_GAINED_BY_INTERPOLATION = 3


def _median_type(given: DataType) -> DataType:
    if given.kind is Kind.FLOAT:
        return FLOAT
    if not given.is_number:
        raise errors.invalid_argument_types("MEDIAN", str(given))
    precision = min((given.precision or MAX_PRECISION) + _SCALE_GAINED_BY_INTERPOLATION, MAX_PRECISION)
    return number(precision, min((given.scale or 0) + _SCALE_GAINED_BY_INTERPOLATION, _MAX_SCALE))


def _median(call: FunctionCall) -> exp.Expr:
    return _interpolate(call.args[0], call.types[0], Decimal("0.5"), descending=False)


def _percentile(call: FunctionCall) -> Decimal:
    try:
        fraction = Decimal(call.literal(0) or "")
    except InvalidOperation:
        raise errors.unsupported(f"{call.name} of a percentile that is not constant") from None
    if not 0 <= fraction <= 1:
        raise errors.invalid_value(str(fraction), "percentile")
    return fraction


def _order(call: FunctionCall) -> tuple[exp.Ordered, DataType]:
    types = call.order_types
    if len(call.order) != 1:
        raise errors.unsupported(f"{call.name} without WITHIN GROUP (ORDER BY one expression)")
    return call.order[0], types[0]


def _percentile_cont(call: FunctionCall) -> exp.Expr:
    item, type_ = _order(call)
    return _interpolate(item.this, type_, _percentile(call), descending=bool(item.args.get("desc")))


def _percentile_cont_type(call: FunctionCall) -> DataType:
    return _median_type(_order(call)[1])


def _percentile_disc(call: FunctionCall) -> exp.Expr:
    """The first value whose share of the group, with all before it, reaches the percentile."""
    item, _ = _order(call)
    fraction = _percentile(call)
    ascending = exp.Boolean(this=not item.args.get("desc"))
    ordered = invoke("sort_array", invoke("collect_list", item.this), ascending)
    return bind(
        ordered,
        lambda values: spark("get(_0, CAST(greatest(ceil(_1 * size(_0)) - 1, 0) AS INT))", values, _decimal(fraction)),
    )


def _percentile_disc_type(call: FunctionCall) -> DataType:
    return _order(call)[1]


def _interpolate(value: exp.Expr, type_: DataType, fraction: Decimal, *, descending: bool) -> exp.Expr:
    fraction = 1 - fraction if descending else fraction
    target = _median_type(type_)
    if target.kind is Kind.FLOAT:
        return invoke("percentile", value, exp.Var(this=f"{fraction}D"))
    ordered = invoke("sort_array", invoke("collect_list", value))

    def build(values: exp.Expr) -> exp.Expr:
        position = spark("_1 * greatest(size(_0) - 1, 0)", values, _decimal(fraction))
        low = spark("get(_0, CAST(floor(_1) AS INT))", values, position)
        high = spark("get(_0, CAST(ceil(_1) AS INT))", values, position)
        digits = max(-int(fraction.as_tuple().exponent), 1)
        beyond = arithmetic.cast(spark("_0 % 1BD", position), number(digits, digits))
        step = arithmetic.emit("-", high, type_, low, type_)
        step_type = arithmetic.result_type("-", type_, type_)
        part = arithmetic.emit("*", step, step_type, beyond, number(digits, digits))
        part_type = arithmetic.result_type("*", step_type, number(digits, digits))
        return arithmetic.cast(arithmetic.emit("+", low, type_, part, part_type), target)

    return bind(ordered, build)


def _decimal(value: Decimal) -> exp.Expr:
    return exp.Var(this=f"{value:f}BD")


def _approx_percentile(call: FunctionCall) -> exp.Expr:
    # Exact values are an approximation too, and the same in every run.
    return invoke("percentile", call.args[0], exp.Var(this=f"{percentile_at(call, 1)}D"))


def percentile_at(call: FunctionCall, index: int) -> Decimal:
    return _percentile(replace(call, source=call.source[index:]))


def _variance_type(types: tuple[DataType, ...]) -> DataType:
    """As for a quotient of squares."""
    if types[0].kind is Kind.FLOAT:
        return FLOAT
    square = arithmetic.result_type("*", types[0], types[0])
    return number(MAX_PRECISION, arithmetic.result_type("/", square, INTEGER).scale or 0)


def _over_values(name: str, call: FunctionCall) -> exp.Expr:
    """A Spark aggregate of the argument's values, or of its distinct ones."""
    if call.distinct and call.window:
        raise errors.unsupported(f"{call.name}(DISTINCT …) OVER")
    values = [exp.Distinct(expressions=[call.args[0]])] if call.distinct else [call.args[0]]
    return exp.Anonymous(this=name, expressions=values)


def _variance(name: str, call: FunctionCall) -> exp.Expr:
    found = _over_values(name, call)
    return found if call.returns.kind is Kind.FLOAT else arithmetic.cast(found, call.returns)


def _variance_function(name: str, spark_name: str) -> Function:
    return aggregate(name, "num", _variance_type, lambda call: _variance(spark_name, call), accepts="distinct")


def _kurtosis_type(types: tuple[DataType, ...]) -> DataType:
    return FLOAT if types[0].kind is Kind.FLOAT else number(MAX_PRECISION, 12)


def _kurtosis(call: FunctionCall) -> exp.Expr:
    # From the population's excess kurtosis to the sample's.
    sample = spark(
        "CASE WHEN count(_0) > 3 THEN (count(_0) - 1D) / ((count(_0) - 2D) * nullif(count(_0) - 3D, 0)) "
        "* ((count(_0) + 1D) * kurtosis(_0) + 6) END",
        call.args[0],
    )
    return sample if call.returns.kind is Kind.FLOAT else arithmetic.cast(sample, call.returns)


_SKEW = "CASE WHEN count(_0) > 2 THEN skewness(_0) * sqrt(count(_0) * (count(_0) - 1D)) / nullif(count(_0) - 2D, 0) END"
# Spark's corr divides by zero where one side is constant.
_CORR = "regr_sxy(_0, _1) / nullif(sqrt(regr_sxx(_0, _1)) * sqrt(regr_syy(_0, _1)), 0)"

_VAR_SAMP = _variance_function("VAR_SAMP", "var_samp")
_VAR_POP = _variance_function("VAR_POP", "var_pop")
_STDDEV = aggregate("STDDEV", "float", FLOAT, lambda call: _over_values("stddev_samp", call), accepts="distinct")
_REGRESSION = ("avgx", "avgy", "intercept", "r2", "slope", "sxx", "sxy", "syy")

FUNCTIONS: tuple[Function, ...] = (
    aggregate("MEDIAN", "num", lambda types: _median_type(types[0]), _median),
    aggregate("PERCENTILE_CONT", "any", FLOAT, _percentile_cont, typed=_percentile_cont_type, accepts="order"),
    aggregate("PERCENTILE_DISC", "any", first_type, _percentile_disc, typed=_percentile_disc_type, accepts="order"),
    aggregate("APPROX_PERCENTILE", "float, float", FLOAT, _approx_percentile),
    _VAR_SAMP,
    *alias(_VAR_SAMP, "VARIANCE", "VARIANCE_SAMP"),
    _VAR_POP,
    *alias(_VAR_POP, "VARIANCE_POP"),
    _STDDEV,
    *alias(_STDDEV, "STDDEV_SAMP"),
    aggregate("STDDEV_POP", "float", FLOAT, lambda call: _over_values("stddev_pop", call), accepts="distinct"),
    aggregate("CORR", "float, float", FLOAT, _CORR),
    aggregate("COVAR_POP", "float, float", FLOAT, "covar_pop(_0, _1)"),
    aggregate("COVAR_SAMP", "float, float", FLOAT, "covar_samp(_0, _1)"),
    aggregate("REGR_COUNT", "float, float", INTEGER, "regr_count(_0, _1)"),
    *(aggregate(f"REGR_{name.upper()}", "float, float", FLOAT, f"regr_{name}(_0, _1)") for name in _REGRESSION),
    aggregate("SKEW", "float", FLOAT, _SKEW),
    aggregate("KURTOSIS", "num", _kurtosis_type, _kurtosis),
)
