"""The list of scalar functions. A function of Spark's that is not here is computed by Spark.

Each entry takes the arguments and gives the value in DuckDB's words, for every input for which both engines agree. For
an input on which they might differ (a letter beyond ASCII in `upper`, a year of five digits) the text raises an error
when it is met, and Spark computes the query instead. `tests/engine/quick` compares each entry with Spark.
"""

from __future__ import annotations

from collections.abc import Sequence

from snowmelt.engine.quick import operators
from snowmelt.engine.quick.arrays import ARRAYS
from snowmelt.engine.quick.casts import cast
from snowmelt.engine.quick.moments import MOMENTS
from snowmelt.engine.quick.patterns import PATTERNS
from snowmelt.engine.quick.texts import TEXTS
from snowmelt.engine.quick.types import BOOLEAN, DOUBLE, INT, STRING, VOID, NotQuick, SparkType, decimal
from snowmelt.engine.quick.values import Function, Value, common, failing, typed, unified, widened
from snowmelt.engine.quick.variants import VARIANTS


def _coalesce(arguments: Sequence[Value]) -> Value:
    given, target = unified(arguments, "coalesce")
    return Value(f"coalesce({', '.join(value.sql for value in given)})", target)


def _extreme(name: str) -> Function:
    def function(arguments: Sequence[Value]) -> Value:
        given, target = unified(arguments, name)
        if not target.has_order or target in (DOUBLE, VOID):
            raise NotQuick(f"{name} of {target.duck}")
        return Value(f"{name}({', '.join(value.sql for value in given)})", target)

    return function


def _if(arguments: Sequence[Value]) -> Value:
    test, *branches = arguments
    (yes, no), target = unified(branches, "if")
    return Value(f"CASE WHEN {operators.condition(test)} THEN {yes.sql} ELSE {no.sql} END", target)


def _nullif(arguments: Sequence[Value]) -> Value:
    value, other = arguments
    equal = operators.compared("=", value, other)
    return Value(f"CASE WHEN {equal.sql} THEN NULL ELSE {value.sql} END", value.type)


def _raise(arguments: Sequence[Value]) -> Value:
    typed(arguments, STRING)
    return Value(failing("raised", VOID), VOID)


def _abs(arguments: Sequence[Value]) -> Value:
    (value,) = arguments
    if not operators.has_sign(value.type):
        raise NotQuick(f"abs of {value.type.duck}")
    return Value(f"CAST(abs({operators.with_sign(value)}) AS {value.type.duck})", value.type)


def _round(arguments: Sequence[Value]) -> Value:
    value, *indexes = arguments
    number = indexes[0].number if indexes else 0
    if not value.type.is_decimal or number is None or number < 0:
        raise NotQuick(f"round of {value.type.duck}")
    scale = min(value.type.scale, number)
    target = decimal(value.type.precision - value.type.scale + 1 + scale, scale)
    return Value(f"CAST({value.sql} AS {target.duck})", target)


def _whole(name: str) -> Function:
    def function(arguments: Sequence[Value]) -> Value:
        (value,) = arguments
        if not value.type.is_decimal:
            raise NotQuick(f"{name} of {value.type.duck}")
        if not value.type.scale:
            return value
        target = decimal(value.type.precision - value.type.scale + 1, 0)
        return Value(f"CAST({name}({value.sql}) AS {target.duck})", target)

    return function


def _cast_to(target: SparkType) -> Function:
    def function(arguments: Sequence[Value]) -> Value:
        (value,) = arguments
        return cast(value, target)

    return function


def _pmod(arguments: Sequence[Value]) -> Value:
    value, modulus = arguments
    if not value.type.is_integer or modulus.number is None or modulus.number <= 0:
        raise NotQuick("pmod by what is no literal")
    target = common((value.type, modulus.type), "pmod")
    one, other = widened(value, target).sql, widened(modulus, target).sql
    return Value(f"((({one} % {other}) + {other}) % {other})", target)


def _sqrt(arguments: Sequence[Value]) -> Value:
    (value,) = typed(arguments, DOUBLE)
    return Value(f"sqrt({value.sql})", DOUBLE)


def _is_nan(arguments: Sequence[Value]) -> Value:
    (value,) = typed(arguments, DOUBLE)
    return Value(f"coalesce(isnan({value.sql}), false)", BOOLEAN)


FUNCTIONS: dict[str, Function] = {
    **TEXTS,
    **MOMENTS,
    **PATTERNS,
    **VARIANTS,
    **ARRAYS,
    "abs": _abs,
    "ceil": _whole("ceil"),
    "coalesce": _coalesce,
    "double": _cast_to(DOUBLE),
    "floor": _whole("floor"),
    "greatest": _extreme("greatest"),
    "if": _if,
    "int": _cast_to(INT),
    "isnan": _is_nan,
    "least": _extreme("least"),
    "nullif": _nullif,
    "pmod": _pmod,
    "raise_error": _raise,
    "round": _round,
    "sqrt": _sqrt,
    "string": _cast_to(STRING),
}
"""By Spark's name."""
