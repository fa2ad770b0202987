"""Snowflake's rules for `+ - * / %` and unary minus.

`result_type` gives the type Snowflake documents, `emit` a Spark expression of exactly that type and value.
With L the digits left of the point and S the scale:

* `+ -`: L = max(L1, L2) + 1, S = max(S1, S2)
* `*`: L = L1 + L2, S = min(S1 + S2, max(S1, S2, 12))
* `/`: L = L1 + S2, S = max(S1, min(S1 + 6, 12))
* `%`: L = max(L1, L2), S = max(S1, S2)

always within 38 digits, rounded half away from zero. Spark must run with `SPARK_SETTINGS`: by default it
drops fractional digits of wide results.

Limits, each an error and never another value: two 64-bit integers give a 64-bit integer; the quotient of
operands that have more than about 20 digits by type may have 14 to 20 digits before the point, depending on
the scales; division to a scale above 18 is refused where the types are wide.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import DATE, FLOAT, INTEGER, MAX_PRECISION, DataType, Kind, int64, number
from snowmelt.sql.building import bind
from snowmelt.sql.dialect import spark, spark_type

SPARK_SETTINGS = {"spark.sql.ansi.enabled": "true", "spark.sql.decimalOperations.allowPrecisionLoss": "false"}

_INT64_DIGITS = 19
_SCALE_GAINED_BY_DIVISION = 6
_SCALE_THRESHOLD = 12
_DAYS_BETWEEN = int64(9)
_LOOSE = (exp.Binary, exp.Unary, exp.Between, exp.In, exp.Case)

_NODES: dict[str, Callable[..., exp.Expr]] = {
    "+": exp.Add, "-": exp.Sub, "*": exp.Mul, "/": exp.Div, "%": exp.Mod,
}  # fmt: skip


def result_type(operator: str, left: DataType, right: DataType) -> DataType:
    """The type of `left operator right`; an error for operands that have no arithmetic."""
    if Kind.NULL in (left.kind, right.kind):
        return _with_null(operator, left, right)
    if left.is_numeric and right.is_numeric:
        if Kind.FLOAT in (left.kind, right.kind):
            return FLOAT
        return _number_type(operator, left, right)
    if operator == "-" and left.kind is Kind.DATE and right.kind is Kind.DATE:
        return _DAYS_BETWEEN
    if operator in "+-" and left.kind is Kind.DATE and right.is_number:
        return DATE
    if operator == "+" and left.is_number and right.kind is Kind.DATE:
        return DATE
    raise errors.invalid_argument_types(operator, f"{left}, {right}")


def emit(operator: str, left: exp.Expr, left_type: DataType, right: exp.Expr, right_type: DataType) -> exp.Expr:
    """`left operator right` in Spark; each operand is a Spark expression of its type's Spark type."""
    target = result_type(operator, left_type, right_type)
    if Kind.NULL in (left_type.kind, right_type.kind):
        return cast(exp.Null(), target)
    if target.kind is Kind.FLOAT:
        return _node(operator, _as(left, left_type, FLOAT), _as(right, right_type, FLOAT))
    if target is DATE or target is _DAYS_BETWEEN:
        return _emit_date(operator, left, left_type, right, right_type)
    if operator == "*":
        return _multiply(left, left_type, right, right_type, target)
    if operator == "/":
        return _divide(left, left_type, right, right_type, target)
    if target.int64:
        return _node(operator, _as(left, left_type, INTEGER), _as(right, right_type, INTEGER))
    return cast(_node(operator, _decimal(left, left_type), _decimal(right, right_type)), target)


def negated_type(operand: DataType) -> DataType:
    """The type of `-operand`: the operand's."""
    if operand.is_numeric or operand.kind is Kind.NULL:
        return operand
    raise errors.invalid_argument_types("-", str(operand))


def negate(operand: exp.Expr, operand_type: DataType) -> exp.Expr:
    """`-operand` in Spark."""
    target = negated_type(operand_type)
    if target.kind is Kind.NULL:
        return operand
    return spark("-_0", _as(operand, operand_type, target))


def cast(value: exp.Expr, target: DataType) -> exp.Expr:
    """A Spark cast to the type that holds `target`."""
    return exp.Cast(this=value, to=spark_type(target.spark))


def decimal_digits(kind: DataType) -> tuple[int, int]:
    """Precision and scale of the Spark DECIMAL that holds every value of a NUMBER type."""
    precision, scale = kind.precision or MAX_PRECISION, kind.scale or 0
    return (min(precision, _INT64_DIGITS) if kind.int64 else precision), scale


def _with_null(operator: str, left: DataType, right: DataType) -> DataType:
    other = right if left.kind is Kind.NULL else left
    if other.kind is Kind.NULL:
        return INTEGER
    if other.kind is Kind.DATE and operator in "+-":
        return DATE
    return result_type(operator, other, other)


def _number_type(operator: str, left: DataType, right: DataType) -> DataType:
    scale_left, scale_right = left.scale or 0, right.scale or 0
    leading_left = (left.precision or MAX_PRECISION) - scale_left
    leading_right = (right.precision or MAX_PRECISION) - scale_right
    if operator == "*":
        leading = leading_left + leading_right
        scale = min(scale_left + scale_right, max(scale_left, scale_right, _SCALE_THRESHOLD))
    elif operator == "/":
        leading = leading_left + scale_right
        scale = max(scale_left, min(scale_left + _SCALE_GAINED_BY_DIVISION, _SCALE_THRESHOLD))
    else:
        leading = max(leading_left, leading_right) + (operator in "+-")
        scale = max(scale_left, scale_right)
    precision = min(leading + scale, MAX_PRECISION)
    both_int64 = left.int64 and right.int64 and operator != "/"
    return int64(precision) if both_int64 else number(precision, scale)


def _node(operator: str, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return _NODES[operator](this=_operand(left), expression=_operand(right))


def _operand(value: exp.Expr) -> exp.Expr:
    if isinstance(value, (exp.Dot, exp.Paren)) or not isinstance(value, _LOOSE):
        return value.copy()
    return exp.Paren(this=value.copy())


def _as(value: exp.Expr, have: DataType, want: DataType) -> exp.Expr:
    # A bare integer literal is a 32-bit integer to Spark, so it is cast even when the type is the wanted one.
    if have.spark == want.spark and not _is_literal(value):
        return value
    return cast(value.copy(), want)


def _is_literal(value: exp.Expr) -> bool:
    inner = value.unnest()
    return isinstance(inner.this if isinstance(inner, exp.Neg) else inner, exp.Literal)


def _decimal(value: exp.Expr, have: DataType, precision: int = 0) -> exp.Expr:
    """The value as the smallest DECIMAL that is right, or one with at least `precision` digits."""
    digits, scale = decimal_digits(have)
    return _as(value, have, number(max(digits, precision), scale))


def _emit_date(operator: str, left: exp.Expr, left_type: DataType, right: exp.Expr, right_type: DataType) -> exp.Expr:
    if left_type.kind is right_type.kind:
        return spark("CAST(datediff(_0, _1) AS BIGINT)", left, right)
    date, days = (left, right) if left_type.kind is Kind.DATE else (right, left)
    days_type = right_type if left_type.kind is Kind.DATE else left_type
    whole = days if days_type.scale == 0 else spark("round(_0)", days)
    template = "date_add(_0, CAST(_1 AS INT))" if operator == "+" else "date_sub(_0, CAST(_1 AS INT))"
    return spark(template, date, whole)


def _multiply(left: exp.Expr, left_type: DataType, right: exp.Expr, right_type: DataType, target: DataType) -> exp.Expr:
    if target.int64:
        return _node("*", _as(left, left_type, INTEGER), _as(right, right_type, INTEGER))
    precision_left, scale_left = decimal_digits(left_type)
    precision_right, scale_right = decimal_digits(right_type)
    left, right = _decimal(left, left_type), _decimal(right, right_type)
    exact = scale_left + scale_right == target.scale
    if exact or precision_left + precision_right + 1 <= MAX_PRECISION:
        return cast(_node("*", left, right), target)
    left_type, right_type = number(precision_left, scale_left), number(precision_right, scale_right)
    return bind((left, right), lambda a, b: _multiply_wide(a, left_type, b, right_type, target))


def _multiply_wide(
    left: exp.Expr, left_type: DataType, right: exp.Expr, right_type: DataType, target: DataType
) -> exp.Expr:
    """A product whose full scale does not fit beside the leading digits that its type may have.

    Most values are small enough for Spark's own product all the same.
    """
    in_parts = _multiply_in_parts(left, left_type, right, right_type, target)
    if (left_type.scale or 0) + (right_type.scale or 0) > MAX_PRECISION:
        return in_parts
    whole = cast(spark("try_multiply(_0, _1)", left, right), target)
    return spark("coalesce(_0, _1)", whole, in_parts)


def _multiply_in_parts(
    left: exp.Expr, left_type: DataType, right: exp.Expr, right_type: DataType, target: DataType
) -> exp.Expr:
    """A product of any size.

    Whole and fractional parts are multiplied apart. Only the product of the fractions has more than the
    target's scale, and as all four products have the same sign, rounding that one is rounding their sum.
    """
    scale = target.scale or 0
    of_fractions = number(min(scale + 1, MAX_PRECISION), scale)
    total: exp.Expr | None = None
    for a, a_type in _parts(left, left_type):
        for b, b_type in _parts(right, right_type):
            product = _node("*", a, b)
            if a_type.scale and b_type.scale:
                product = cast(product, of_fractions)
            total = product if total is None else _node("+", total, product)
    assert total is not None
    return cast(total, target)


def _parts(value: exp.Expr, kind: DataType) -> list[tuple[exp.Expr, DataType]]:
    precision, scale = decimal_digits(kind)
    if precision == scale:
        return [(value, kind)]
    whole, fraction = number(precision - scale, 0), number(scale, scale)
    return [
        (cast(spark("_0 - _0 % CAST(1 AS DECIMAL(1, 0))", value), whole), whole),
        (cast(spark("_0 % CAST(1 AS DECIMAL(1, 0))", value), fraction), fraction),
    ]


def _divide(left: exp.Expr, left_type: DataType, right: exp.Expr, right_type: DataType, target: DataType) -> exp.Expr:
    precision_left, scale_left = decimal_digits(left_type)
    precision_right, scale_right = decimal_digits(right_type)
    wide = _division_operands(precision_left, scale_left, precision_right, scale_right, target.scale or 0)
    if wide is None:
        raise errors.unsupported(f"division of {left_type} by {right_type}", hint="Cast the operands to a lower scale.")
    quotient = _node("/", _decimal(left, left_type, wide[0]), _decimal(right, right_type, wide[1]))
    return cast(quotient, target)


@lru_cache(maxsize=1024)
def _division_operands(
    precision_left: int, scale_left: int, precision_right: int, scale_right: int, scale: int
) -> tuple[int, int] | None:
    """The precisions to give both operands, so that Spark's quotient has the digits needed; None if none do.

    Spark derives the digits of a quotient from its operands' types. Before the point as many are needed as
    the result type has. Behind it either exactly `scale`, or `scale + precision_right`: a quotient rounded
    there is on the same side of every tie as the exact one, so that rounding again is rounding once. Where
    neither fits, ten digits more than `scale` leave one quotient in 10^10 close enough to a tie to be rounded
    twice.
    """
    leading = min(precision_left - scale_left + scale_right, MAX_PRECISION - scale)
    enough = min(scale + precision_right, MAX_PRECISION)

    def worth(precisions: tuple[int, int]) -> tuple[bool, bool, int, int, int]:
        before, behind = spark_quotient(precisions[0], scale_left, precisions[1], scale_right)
        digits = enough if behind == scale else min(behind, enough)
        rounds_once = digits >= min(enough, scale + 10)
        return behind >= scale, rounds_once, min(before, leading), digits, -sum(precisions)

    choices = [
        (a, b) for a in range(precision_left, MAX_PRECISION + 1) for b in range(precision_right, MAX_PRECISION + 1)
    ]
    best = max(choices, key=worth)
    return best if worth(best)[0] else None


def spark_quotient(precision_left: int, scale_left: int, precision_right: int, scale_right: int) -> tuple[int, int]:
    """Spark's digits before and behind the point of a quotient (allowPrecisionLoss = false)."""
    before = min(MAX_PRECISION, precision_left - scale_left + scale_right)
    behind = min(MAX_PRECISION, max(6, scale_left + precision_right + 1))
    excess = before + behind - MAX_PRECISION
    if excess <= 0:
        return before, behind
    behind -= excess // 2 + 1
    return MAX_PRECISION - behind, behind
