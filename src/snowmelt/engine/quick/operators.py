"""Arithmetic, comparisons and logic, with Spark's result types (ANSI mode, no digit lost)."""

from __future__ import annotations

from collections.abc import Callable

from snowmelt.engine.quick.types import BOOLEAN, DATE, DOUBLE, INT, STRING, VOID, NotQuick, SparkType, decimal
from snowmelt.engine.quick.values import Value, as_decimal, common, guarded, of_digits, repeatable, unified, widened
from snowmelt.sql.arithmetic import spark_quotient

_MAX = 38
_DIGITS_OF_SIGNS = 34
_Rule = Callable[[Value, Value], Value]


def arithmetic(operator: str, left: Value, right: Value) -> Value:
    """`left operator right` for + - * / %."""
    if VOID in (left.type, right.type):
        raise NotQuick("arithmetic with a bare NULL")
    if left.type.is_integer and right.type.is_integer and operator != "/":
        target = common((left.type, right.type), operator)
        one, other = widened(left, target), widened(right, target)
        return Value(f"({one.sql} {operator} {other.sql})", target)
    if left.type.is_exact_number and right.type.is_exact_number:
        one, other = (widened(side, as_decimal(side.type)) for side in (left, right))
        if operator == "/" and left.type.is_integer and right.type.is_integer:
            raise NotQuick("division of integers as doubles")
        return _DECIMAL[operator](one, other)
    if left.type == right.type == DOUBLE and operator in "+-*":
        return Value(f"({left.sql} {operator} {right.sql})", DOUBLE)
    if left.type == right.type == DOUBLE and operator == "/":
        return guarded(f"coalesce({right.sql} <> 0, true)", f"{left.sql} / {right.sql}", "zero", DOUBLE)
    raise NotQuick(f"{left.type.duck} {operator} {right.type.duck}")


def _sum(operator: str) -> _Rule:
    def rule(left: Value, right: Value) -> Value:
        a, b = left.type, right.type
        scale = max(a.scale, b.scale)
        target = decimal(max(a.precision - a.scale, b.precision - b.scale) + scale + 1, scale)
        one, other = widened(left, target), widened(right, target)
        return Value(f"CAST({one.sql} {operator} {other.sql} AS {target.duck})", target)

    return rule


def _product(left: Value, right: Value) -> Value:
    a, b = left.type, right.type
    if a.scale + b.scale > _MAX:
        raise NotQuick("a product with more than 38 fractional digits")
    target = decimal(a.precision + b.precision + 1, a.scale + b.scale)
    return Value(f"CAST({left.sql} * {right.sql} AS {target.duck})", target)


def _remainder(left: Value, right: Value) -> Value:
    a, b = left.type, right.type
    scale = max(a.scale, b.scale)
    target = decimal(min(a.precision - a.scale, b.precision - b.scale) + scale, scale)
    wide = decimal(max(a.precision - a.scale, b.precision - b.scale) + scale, scale)
    if wide.precision < max(a.precision - a.scale, b.precision - b.scale) + scale:
        raise NotQuick("a remainder of wide decimals")
    one, other = widened(left, wide), widened(right, wide)
    return Value(f"CAST({one.sql} % {other.sql} AS {target.duck})", target)


def quotient_type(left: SparkType, right: SparkType) -> SparkType:
    """Spark's, with `spark.sql.decimalOperations.allowPrecisionLoss` off."""
    before, behind = spark_quotient(left.precision, left.scale, right.precision, right.scale)
    return decimal(before + behind, behind)


def _quotient(left: Value, right: Value) -> Value:
    """Divides as whole numbers, as DuckDB divides decimals as doubles. What needs more than 128 bits is an error."""
    target = quotient_type(left.type, right.type)
    shift = target.scale - left.type.scale + right.type.scale
    if shift < 0 or target.precision == target.scale:
        raise NotQuick("a quotient with fewer digits than its dividend")
    whole_left, b = unscaled(left), unscaled(right)
    a = f"({whole_left} * CAST({10**shift} AS HUGEINT))" if shift else whole_left
    repeatable(Value(a + b, target))
    # Rounded half away from zero: one more where twice the remainder reaches the divisor.
    more = f"CASE WHEN abs({a} % {b}) >= abs({b}) - abs({a} % {b}) THEN sign({a}) * sign({b}) ELSE 0 END"
    whole = f"({a} // {b} + {more})"
    return Value(_scaled(whole, target), target)


def unscaled(value: Value) -> str:
    """The digits of a decimal as a HUGEINT."""
    type_ = value.type
    if not type_.scale:
        return f"CAST({value.sql} AS HUGEINT)"
    if type_.precision + type_.scale + 1 <= _MAX:
        return f"CAST({value.sql} * CAST({10**type_.scale} AS DECIMAL({type_.scale + 1},0)) AS HUGEINT)"
    return f"CAST(replace(CAST({value.sql} AS VARCHAR), '.', '') AS HUGEINT)"


def _scaled(whole: str, target: SparkType) -> str:
    one = "0." + "0" * (target.scale - 1) + "1"
    return (
        f"CAST(CAST({whole} AS DECIMAL(38,0)) * CAST('{one}' AS DECIMAL({target.scale + 1},{target.scale}))"
        f" AS {target.duck})"
    )


_DECIMAL = {"+": _sum("+"), "-": _sum("-"), "*": _product, "/": _quotient, "%": _remainder}


def has_sign(type_: SparkType) -> bool:
    return type_.is_exact_number or type_ == DOUBLE


def with_sign(value: Value) -> str:
    """The value, if both engines turn its sign alike: Spark computes with 34 digits there."""
    return of_digits(value, _DIGITS_OF_SIGNS) if value.type.is_decimal else value.sql


def negated(value: Value) -> Value:
    if not has_sign(value.type):
        raise NotQuick(f"minus {value.type.duck}")
    if value.number is not None:
        return Value(f"CAST(-{value.number} AS {value.type.duck})", value.type, number=-value.number)
    return Value(f"(-{with_sign(value)})", value.type)


def compared(operator: str, left: Value, right: Value) -> Value:
    (one, other), target = unified((left, right), "comparison")
    if not target.has_order:
        raise NotQuick(f"comparison of {target.duck}")
    return Value(f"({one.sql} {operator} {other.sql})", BOOLEAN)


def condition(value: Value) -> str:
    if value.type not in (BOOLEAN, VOID):
        raise NotQuick(f"a condition of type {value.type.duck}")
    return value.sql


def joined_text(left: Value, right: Value) -> Value:
    if left.type != STRING or right.type != STRING:
        raise NotQuick("|| of what is no text")
    return Value(f"({left.sql} || {right.sql})", STRING)


def days_between(left: Value, right: Value) -> Value:
    if left.type != DATE or right.type != DATE:
        raise NotQuick("days between what are no dates")
    return Value(f"CAST({left.sql} - {right.sql} AS INTEGER)", INT)
