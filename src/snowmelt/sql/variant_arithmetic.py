"""Arithmetic on VARIANT inside a lambda: exact numbers stay exact, as `REDUCE([1, 2, 3], 0, (a, x) -> a + x)` is 6.

Outside of lambdas a VARIANT operand is a FLOAT. Inside, the result goes back into a VARIANT, where 6 and 6.0 are
told apart and integers have more digits than a FLOAT holds; so the kind of each value decides.
"""

from __future__ import annotations

from sqlglot import exp

from snowmelt.core import types
from snowmelt.core.types import DataType
from snowmelt.sql import arithmetic, casts, variants
from snowmelt.sql.building import bind
from snowmelt.sql.dialect import integer, spark
from snowmelt.sql.functions.registry import SessionContext

_EXACT_FUNCTIONS = {"+": "try_add", "-": "try_subtract", "*": "try_multiply", "%": "try_mod"}
_IS_INTEGER = "schema_of_variant(_{0}) RLIKE '^(BIGINT|DECIMAL\\\\(\\\\d+,0\\\\))$'"
_IS_EXACT = "schema_of_variant(_{0}) RLIKE '^(BIGINT|DECIMAL)'"
_FRACTION_DIGITS = 12
_QUOTIENT_DIGITS = 6


def emit(
    operator: str, left: exp.Expr, left_type: DataType, right: exp.Expr, right_type: DataType, context: SessionContext
) -> exp.Expr:
    """A VARIANT: an exact number where both operands are, a double otherwise."""

    def build(one: exp.Expr, other: exp.Expr) -> exp.Expr:
        floats = [casts.cast(value, types.VARIANT, types.FLOAT, context) for value in (one, other)]
        approximate = arithmetic.emit(operator, floats[0], types.FLOAT, floats[1], types.FLOAT)
        return bind((one, other, approximate), lambda a, b, result: _chosen(operator, a, b, result))

    return bind((variants.to_variant(left, left_type), variants.to_variant(right, right_type)), build)


def _chosen(operator: str, one: exp.Expr, other: exp.Expr, approximate: exp.Expr) -> exp.Expr:
    digits = integer(_QUOTIENT_DIGITS if operator == "/" else _FRACTION_DIGITS)
    rounded = spark(f"CAST(CAST(round(_0, _1) AS DECIMAL(38, {_FRACTION_DIGITS})) AS VARIANT)", approximate, digits)
    fallback = spark("CAST(_0 AS VARIANT)", approximate)
    exact = spark(
        f"CASE WHEN {_IS_EXACT.format(0)} AND {_IS_EXACT.format(1)} AND abs(_2) < 1e15 THEN _3 ELSE _4 END",
        one,
        other,
        approximate,
        rounded,
        fallback,
    )
    if operator not in _EXACT_FUNCTIONS:
        return exact
    whole = spark(
        f"CAST({_EXACT_FUNCTIONS[operator]}(variant_get(_0, '$', 'decimal(38, 0)'), "
        "variant_get(_1, '$', 'decimal(38, 0)')) AS VARIANT)",
        one,
        other,
    )
    return spark(
        f"CASE WHEN {_IS_INTEGER.format(0)} AND {_IS_INTEGER.format(1)} THEN coalesce(_2, _3) ELSE _4 END",
        one,
        other,
        whole,
        fallback,
        exact,
    )
