"""Functions of FLOAT: roots, powers, logarithms, trigonometry."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from snowmelt.core.types import FLOAT
from snowmelt.sql.building import bind, fail
from snowmelt.sql.dialect import spark
from snowmelt.sql.functions.registry import Function, FunctionCall, alias, scalar

_EARTH_RADIUS_KM = "6371.0D"


def _within(domain: str, word: str, template: str) -> Callable[[FunctionCall], exp.Expr]:
    """A function that Snowflake refuses outside of its domain, where Spark gives NaN or NULL."""

    def emit(call: FunctionCall) -> exp.Expr:
        def build(*values: exp.Expr) -> exp.Expr:
            shown: list[str | exp.Expr] = [f"Invalid floating point operation: {word}("]
            for index, value in enumerate(values):
                shown += [",", value] if index else [value]
            refused = fail("100132", "P0000", *shown, ")")
            return spark("CASE WHEN _0 THEN _1 ELSE _2 END", spark(domain, *values), spark(template, *values), refused)

        return bind(call.args, build)

    return emit


def _log(call: FunctionCall) -> exp.Expr:
    # The quotient of two logarithms may miss a whole number by a bit; two bases Spark has by themselves.
    by_base = {"10": "log10(_1)", "2": "log2(_1)"}
    template = by_base.get(call.literal(0) or "", "ln(_1) / ln(_0)")
    return _within("_0 > 0 AND _0 <> 1 AND _1 > 0 OR _0 IS NULL OR _1 IS NULL", "log", template)(call)


_HAVERSINE = (
    "2 * " + _EARTH_RADIUS_KM + " * asin(sqrt(power(sin(radians(_2 - _0) / 2), 2) "
    "+ cos(radians(_0)) * cos(radians(_2)) * power(sin(radians(_3 - _1) / 2), 2)))"
)


def _unchecked(name: str, template: str) -> Function:
    return scalar(name, "float", FLOAT, template)


def _checked(name: str, domain: str, template: str) -> Function:
    return scalar(name, "float", FLOAT, _within(domain + " OR _0 IS NULL", name.lower(), template))


_POWER = scalar(
    "POWER", "float, float", FLOAT,
    _within("_0 >= 0 OR _1 % 1 = 0 OR _0 IS NULL OR _1 IS NULL", "pow", "power(_0, _1)"),
)  # fmt: skip

FUNCTIONS: tuple[Function, ...] = (
    _checked("SQRT", "_0 >= 0", "sqrt(_0)"),
    _unchecked("CBRT", "cbrt(_0)"),
    scalar("SQUARE", "float", FLOAT, "_0 * _0"),
    _POWER,
    *alias(_POWER, "POW"),
    _unchecked("EXP", "exp(_0)"),
    _checked("LN", "_0 > 0", "ln(_0)"),
    scalar("LOG", "float, float", FLOAT, _log),
    scalar("PI", "", FLOAT, "pi()"),
    _unchecked("DEGREES", "degrees(_0)"),
    _unchecked("RADIANS", "radians(_0)"),
    _unchecked("SIN", "sin(_0)"),
    _unchecked("COS", "cos(_0)"),
    _unchecked("TAN", "tan(_0)"),
    _unchecked("COT", "cot(_0)"),
    _checked("ASIN", "_0 BETWEEN -1 AND 1", "asin(_0)"),
    _checked("ACOS", "_0 BETWEEN -1 AND 1", "acos(_0)"),
    _unchecked("ATAN", "atan(_0)"),
    scalar("ATAN2", "float, float", FLOAT, "atan2(_0, _1)"),
    _unchecked("SINH", "sinh(_0)"),
    _unchecked("COSH", "cosh(_0)"),
    _unchecked("TANH", "tanh(_0)"),
    _unchecked("ASINH", "asinh(_0)"),
    _checked("ACOSH", "_0 >= 1", "acosh(_0)"),
    _checked("ATANH", "_0 > -1 AND _0 < 1", "atanh(_0)"),
    scalar("HAVERSINE", "float, float, float, float", FLOAT, _HAVERSINE),
)
