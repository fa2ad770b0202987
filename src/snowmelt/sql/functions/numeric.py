"""Functions of numbers: rounding, remainders, powers, bits, buckets."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import BINARY, FLOAT, INTEGER, MAX_PRECISION, DataType, Kind, int64, number
from snowmelt.sql import arithmetic, coercion
from snowmelt.sql.building import bind, fail
from snowmelt.sql.dialect import call as invoke
from snowmelt.sql.dialect import integer, spark
from snowmelt.sql.functions import date_parts, numeric_float
from snowmelt.sql.functions.arguments import any_null, constant_integer
from snowmelt.sql.functions.registry import Function, FunctionCall, alias, first_type, scalar
from snowmelt.sql.patterns import constant_string

_ROUNDING_MODES = {"HALF_AWAY_FROM_ZERO": "round", "HALF_TO_EVEN": "bround"}
_LARGEST_FACTORIAL = 33
"""The factorial of 34 has more than 38 digits."""

_WHOLE_FLOAT = exp.Var(this="4503599627370496D")
"""2^52: from here on every DOUBLE is a whole number."""


def _rounded_type(call: FunctionCall) -> DataType:
    """One digit more than the argument has, and the constant scale if that is less than the argument's."""
    given = _numeric_type(call.types[0])
    if given.kind is Kind.FLOAT:
        return FLOAT
    precision = min((given.precision or MAX_PRECISION) + 1, MAX_PRECISION)
    if given.int64:
        return int64(precision)
    scale = constant_integer(call, 1, 0)
    return number(precision, given.scale or 0 if scale is None else min(max(scale, 0), given.scale or 0))


def _numeric_type(given: DataType) -> DataType:
    return given if given.kind is not Kind.NULL else INTEGER


def _round(call: FunctionCall) -> exp.Expr:
    mode = "HALF_AWAY_FROM_ZERO"
    if len(call.args) > 2:
        mode = (call.literal(2) or "").upper()
        if mode not in _ROUNDING_MODES:
            raise errors.invalid_value(call.literal(2) or "", "rounding mode")
        if call.types[0].kind is Kind.FLOAT and mode == "HALF_TO_EVEN":
            raise errors.invalid_argument_types("ROUND", f"{call.types[0]}, {call.types[1]}, {call.types[2]}")
    return _to_scale(call, _ROUNDING_MODES[mode])


def _ceil(call: FunctionCall) -> exp.Expr:
    return _to_scale(call, "ceil")


def _floor(call: FunctionCall) -> exp.Expr:
    return _to_scale(call, "floor")


def _trunc(call: FunctionCall) -> exp.Expr:
    if call.types[0].kind in (Kind.DATE, Kind.TIME) or call.types[0].is_timestamp:
        if len(call.args) == 1:
            raise errors.not_enough_arguments(call.name, 2, 1)
        part = date_parts.part_named(call.literal(1), call.name)
        return date_parts.truncate(part, call.args[0], call.types[0], call.context)
    return _to_scale(_with_number(call), "trunc")


def _with_number(call: FunctionCall) -> FunctionCall:
    """TRUNC takes dates as well, so that its first argument arrives as it was written."""
    value, type_ = coercion.argument("num", call.args[0], call.types[0], call.context)
    if len(call.args) == 1:
        return replace(call, args=(value,), types=(type_,))
    scale, scale_type = coercion.argument("int", call.args[1], call.types[1], call.context)
    return replace(call, args=(value, scale), types=(type_, scale_type))


def _trunc_type(call: FunctionCall) -> DataType:
    if call.types[0].kind in (Kind.DATE, Kind.TIME) or call.types[0].is_timestamp:
        return call.types[0]
    return _rounded_type(_with_number(call))


def _to_scale(call: FunctionCall, how: str) -> exp.Expr:
    if any_null(call):
        return arithmetic.cast(exp.Null(), _rounded_type(call))
    value, given, target = call.args[0], call.types[0], _rounded_type(call)
    scale = constant_integer(call, 1, 0)
    if given.kind is Kind.FLOAT:
        if scale is None:
            raise errors.unsupported(f"{call.name} of a FLOAT to a scale that is not constant")
        return bind(value, lambda x: _float_to_scale(x, how, scale))
    if scale is not None:
        return _number_to_scale(value, given, how, scale, target)
    return bind((value, call.args[1]), lambda x, n: _by_scale(x, given, how, n, target))


def _number_to_scale(value: exp.Expr, given: DataType, how: str, scale: int, target: DataType) -> exp.Expr:
    if scale >= (given.scale or 0):
        return value if target.spark == given.spark else arithmetic.cast(value, target)
    if how != "trunc":
        return arithmetic.cast(invoke(how, value, integer(scale)), target)
    toward_zero = bind(
        value, lambda x: spark("CASE WHEN _0 < 0 THEN ceil(_0, _1) ELSE floor(_0, _1) END", x, integer(scale))
    )
    return arithmetic.cast(toward_zero, target)


def _by_scale(value: exp.Expr, given: DataType, how: str, scale: exp.Expr, target: DataType) -> exp.Expr:
    """Spark rounds to constant scales only: one branch for each scale at which the value can change."""
    precision, most = arithmetic.decimal_digits(given)
    branches = [
        exp.If(
            this=spark("_0 = _1", scale, integer(digits)),
            true=_number_to_scale(value, given, how, digits, target),
        )
        for digits in range(most - precision - 1, most)
    ]
    unchanged = exp.If(
        this=spark("_0 >= _1 OR _0 IS NULL", scale, integer(most)),
        true=spark("CASE WHEN _0 IS NOT NULL THEN _1 END", scale, arithmetic.cast(value, target)),
    )
    vanished = spark("CASE WHEN _0 IS NOT NULL THEN _1 END", value, arithmetic.cast(integer(0), target))
    return exp.Case(ifs=[unchanged, *branches], default=vanished)


def _float_to_scale(value: exp.Expr, how: str, scale: int) -> exp.Expr:
    if how in ("round", "bround"):
        return invoke(how, value, integer(scale))
    if scale == 0:
        whole = {"ceil": "CAST(ceil(_0) AS DOUBLE)", "floor": "CAST(floor(_0) AS DOUBLE)"}.get(
            how, "CAST(CAST(_0 AS BIGINT) AS DOUBLE)"
        )
        return spark("CASE WHEN abs(_0) >= _1 THEN _0 ELSE _2 END", value, _WHOLE_FLOAT, spark(whole, value))
    # A DOUBLE times a power of ten is not exact; its shortest decimal form is.
    exact = spark("CAST(_0 AS DECIMAL(38, 18))", value)
    rounded = _number_to_scale(exact, number(MAX_PRECISION, 18), how, scale, number(MAX_PRECISION, 18))
    return spark("CASE WHEN abs(_0) >= 1E19 THEN _0 ELSE CAST(_1 AS DOUBLE) END", value, rounded)


def _operator_type(operator: str, types: tuple[DataType, ...]) -> DataType:
    return arithmetic.result_type(operator, types[0], types[1])


def _mod(call: FunctionCall) -> exp.Expr:
    return arithmetic.emit("%", call.args[0], call.types[0], call.args[1], call.types[1])


def _div0(call: FunctionCall) -> exp.Expr:
    return _guarded_division(call, "_0 = 0")


def _div0null(call: FunctionCall) -> exp.Expr:
    return _guarded_division(call, "coalesce(_0, 0) = 0")


def _guarded_division(call: FunctionCall, no_divisor: str) -> exp.Expr:
    def build(dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
        quotient = arithmetic.emit("/", dividend, call.types[0], divisor, call.types[1])
        zero = spark("CASE WHEN _0 IS NOT NULL THEN _1 END", dividend, arithmetic.cast(integer(0), call.returns))
        return exp.Case(ifs=[exp.If(this=spark(no_divisor, divisor), true=zero)], default=quotient)

    return bind((call.args[0], call.args[1]), build)


def _factorial(call: FunctionCall) -> exp.Expr:
    values = [
        arithmetic.cast(exp.Var(this=f"{math.factorial(n)}BD"), number(38, 0)) for n in range(_LARGEST_FACTORIAL + 1)
    ]
    return bind(
        call.args[0],
        lambda n: spark(
            "CASE WHEN _0 BETWEEN 0 AND 33 THEN element_at(_1, CAST(_0 AS INT) + 1) WHEN _0 IS NOT NULL THEN _2 END",
            n,
            invoke("array", *values),
            fail("100033", "22003", "Invalid argument for FACTORIAL: ", n),
        ),
    )


def _shift_left(call: FunctionCall) -> exp.Expr:
    # Snowflake shifts 128 bits: what leaves 64 must be an error here, so this multiplies.
    return bind(
        (call.args[0], call.args[1]),
        lambda value, bits: spark(
            "CASE WHEN _1 BETWEEN 0 AND 62 THEN _0 * shiftleft(1L, CAST(_1 AS INT)) WHEN _0 = 0 THEN 0L "
            "WHEN _0 IS NOT NULL AND _1 IS NOT NULL THEN _2 END",
            value,
            bits,
            fail(
                "100046",
                "22003",
                "Number out of representable range: type FIXED[SB8](38,0), shifted by ",
                bits,
            ),
        ),
    )


def _get_bit(call: FunctionCall) -> exp.Expr:
    # Beyond 63 an integer of 128 bits repeats its sign.
    return spark("CAST(getbit(_0, CAST(CASE WHEN _1 > 63 THEN 63 ELSE _1 END AS INT)) AS BIGINT)", *call.args)


def _width_bucket(call: FunctionCall) -> exp.Expr:
    value, low, high, count = call.args
    if any(type_.kind is Kind.FLOAT for type_ in call.types[:3]):
        return spark(
            "CAST(width_bucket(CAST(_0 AS DOUBLE), CAST(_1 AS DOUBLE), CAST(_2 AS DOUBLE), _3) AS BIGINT)",
            value, low, high, count,
        )  # fmt: skip

    def build(value: exp.Expr, low: exp.Expr, high: exp.Expr, count: exp.Expr) -> exp.Expr:
        types = call.types
        above = arithmetic.emit("-", value, types[0], low, types[1])
        span = arithmetic.emit("-", high, types[2], low, types[1])
        above_type = arithmetic.result_type("-", types[0], types[1])
        scaled = arithmetic.emit("*", above, above_type, count, types[3])
        return spark(
            "CASE WHEN _0 < _1 THEN 0L WHEN _0 >= _2 THEN _3 + 1L ELSE _4 div _5 + 1L END",
            value, low, high, count, scaled, span,
        )  # fmt: skip

    return bind((value, low, high, count), build)


_BYTE = "CAST(conv(substring(_0, sm_at * 2 + 1, 2), 16, 10) AS BIGINT)"


def _type_of_bits(types: tuple[DataType, ...]) -> DataType:
    return BINARY if types[0].kind is Kind.BINARY and types[1].kind is Kind.BINARY else INTEGER


def _combined(sign: str) -> Callable[[FunctionCall], exp.Expr]:
    def emit(call: FunctionCall) -> exp.Expr:
        kinds = {type_.kind for type_ in call.types[:2]}
        if Kind.BINARY in kinds:
            if kinds != {Kind.BINARY}:
                raise errors.invalid_argument_types(call.name, ", ".join(map(str, call.types[:2])))
            return _of_binary(call, sign)
        if len(call.args) > 2:
            raise errors.invalid_argument_types(call.name, ", ".join(map(str, call.types)))
        whole = [
            coercion.argument("int", value, type_, call.context)[0]
            for value, type_ in zip(call.args, call.types, strict=True)
        ]
        return spark(f"_0 {sign} _1", *whole)

    return emit


def _of_binary(call: FunctionCall, sign: str) -> exp.Expr:
    """In hexadecimal digits, two of each byte."""
    side = None
    if len(call.args) > 2:
        side = (constant_string(call.args[2]) or "").upper()
        if side not in ("LEFT", "RIGHT"):
            raise errors.invalid_value(call.literal(2) or "", "padside")
    one, other = spark("hex(_0)", call.args[0]), spark("hex(_0)", call.args[1])

    def aligned(left: exp.Expr, right: exp.Expr) -> exp.Expr:
        return bind((_padded(left, right, side), _padded(right, left, side)), lambda a, b: _bytes(a, b, sign))

    return bind((one, other), aligned)


def _padded(given: exp.Expr, other: exp.Expr, side: str | None) -> exp.Expr:
    if side is not None:
        pad = "lpad" if side == "LEFT" else "rpad"
        return spark(f"{pad}(_0, greatest(length(_0), length(_1)), '0')", given, other)
    error = fail(
        "100544", "22026", "The lengths of two variable-sized fields do not match: first length ",
        spark("length(_0) DIV 2", given), ", second length ", spark("length(_0) DIV 2", other),
    )  # fmt: skip
    return spark("if(length(_0) <> length(_1), _2, _0)", given, other, error)


def _bytes(one: exp.Expr, other: exp.Expr, sign: str) -> exp.Expr:
    byte = spark(f"_0 {sign} _1", spark(_BYTE, one), spark(_BYTE, other))
    numbers = spark("transform(sequence(0, length(_0) DIV 2 - 1), sm_at -> lpad(hex(_1), 2, '0'))", one, byte)
    return spark("unhex(if(length(_0) = 0, '', array_join(_1, '')))", one, numbers)


_ROUND = replace(scalar("ROUND", "num, int, str", first_type, _round, least=1), typed=_rounded_type)
_CEIL = replace(scalar("CEIL", "num, int", first_type, _ceil, least=1), typed=_rounded_type)
_TRUNC = replace(scalar("TRUNC", "any, any", first_type, _trunc, least=1), typed=_trunc_type)
_MOD = scalar("MOD", "num, num", lambda types: _operator_type("%", types), _mod)

_BITS = (
    scalar("BITAND", "any, any, str", _type_of_bits, _combined("&"), least=2),
    scalar("BITOR", "any, any, str", _type_of_bits, _combined("|"), least=2),
    scalar("BITXOR", "any, any, str", _type_of_bits, _combined("^"), least=2),
    scalar("BITNOT", "int", INTEGER, "~_0"),
    scalar("BITSHIFTLEFT", "int, int", INTEGER, _shift_left),
    scalar(
        "BITSHIFTRIGHT",
        "int, int",
        INTEGER,
        "shiftright(_0, CAST(CASE WHEN _1 > 63 THEN 63 ELSE _1 END AS INT))",
    ),
)

FUNCTIONS: tuple[Function, ...] = (
    scalar("ABS", "num", first_type, "abs(_0)"),
    _ROUND,
    _CEIL,
    replace(scalar("FLOOR", "num, int", first_type, _floor, least=1), typed=_rounded_type),
    _TRUNC,
    replace(_TRUNC, name="TRUNCATE"),
    _MOD,
    scalar("SIGN", "num", int64(1), "CAST(sign(_0) AS BIGINT)"),
    scalar("DIV0", "num, num", lambda types: _operator_type("/", types), _div0),
    scalar("DIV0NULL", "num, num", lambda types: _operator_type("/", types), _div0null),
    scalar("FACTORIAL", "int", number(38, 0), _factorial),
    scalar("WIDTH_BUCKET", "num, num, num, int", INTEGER, _width_bucket),
    *_BITS,
    *(alias(function, function.name.replace("BIT", "BIT_"))[0] for function in _BITS),
    scalar("GETBIT", "int, int", int64(1), _get_bit),
    *numeric_float.FUNCTIONS,
)
