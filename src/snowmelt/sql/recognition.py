"""Text recognised as a value, and the errors when it is not; how large a value of a type may be."""

from __future__ import annotations

import re
from decimal import Decimal

from sqlglot import exp

from snowmelt.core.types import MAX_PRECISION, TIMESTAMPS, DataType, Kind, number
from snowmelt.sql.building import constant_text, fail, or_fail
from snowmelt.sql.dialect import call, spark, spark_type, string

_TRUE = ("true", "t", "yes", "y", "on", "1")
_FALSE = ("false", "f", "no", "n", "off", "0")
NOT_RECOGNIZED = {
    Kind.NUMBER: ("100038", "22018", "Numeric value"),
    Kind.FLOAT: ("100038", "22018", "Numeric value"),
    Kind.BOOLEAN: ("100037", "22018", "Boolean value"),
    Kind.DATE: ("100040", "22007", "Date"),
    Kind.TIME: ("100108", "22007", "Time"),
    Kind.TIMESTAMP_NTZ: ("100035", "22007", "Timestamp"),
    Kind.TIMESTAMP_LTZ: ("100035", "22007", "Timestamp"),
    Kind.TIMESTAMP_TZ: ("100035", "22007", "Timestamp"),
    Kind.BINARY: ("100115", "22000", "Binary value"),
}
"""Code, SQLSTATE and the word that begins "… is not recognized"."""

_NO_ROOM = "Number out of representable range: type FIXED"
_CLASSES = ((2, "SB1"), (4, "SB2"), (9, "SB4"), (18, "SB8"), (38, "SB16"))

_FAR_EXPONENT = re.compile(r"[eE][+-]?[0-9]{5}")
INT64_DIGITS = 19
"""Digits before the point that a 64-bit integer may have."""


def failed(attempt_value: exp.Expr, original: exp.Expr, kind: Kind, attempt: bool) -> exp.Expr:
    """The attempt itself, or with "… is not recognized" raised where it is NULL and the original is not."""
    if attempt:
        return attempt_value
    code, sqlstate, word = NOT_RECOGNIZED[kind]
    return or_fail(attempt_value, original, code, sqlstate, f"{word} '", "' is not recognized")


def lead(type_: DataType) -> int:
    """Digits before the decimal point that a NUMBER may have."""
    if type_.int64:
        return min(type_.precision or INT64_DIGITS, INT64_DIGITS)
    return (type_.precision or 0) - (type_.scale or 0)


def out_of_range(attempt_value: exp.Expr, original: exp.Expr, source: DataType, target: DataType) -> exp.Expr:
    """The attempt, or an error raised where it is NULL and the number it was made from is not."""
    error = fail("100046", "22003", f"{_NO_ROOM}[", _storage_class(original, source, target), "]",
                 f"({target.precision},{target.scale}){{{_nullability(original)}}}, value ",
                 _plain_digits(original, source))  # fmt: skip
    return spark("coalesce(_0, if(_1 is null, null, _2))", attempt_value, original, error)


def variant_out_of_range(shown: exp.Expr) -> exp.Expr:
    """The error for a number inside a VARIANT that does not fit."""
    return fail("100046", "22003", f"{_NO_ROOM}, value ", shown)


def _nullability(value: exp.Expr) -> str:
    return "not null" if isinstance(value, (exp.Literal, exp.Var, exp.Neg)) else "nullable"


def _storage_class(value: exp.Expr, source: DataType, target: DataType) -> exp.Expr:
    """Snowflake names the smallest integer that holds the value's digits, or the target's if it is a FLOAT."""
    if source.kind is Kind.FLOAT:
        precision = target.precision or 0
        return string(next(name for digits, name in _CLASSES if precision <= digits))
    scale = source.scale or 0
    digits = call("abs", spark_cast(value, number(MAX_PRECISION, scale)))
    limits = exp.Case()
    for bits, name in ((7, "SB1"), (15, "SB2"), (31, "SB4"), (63, "SB8")):
        limit = exp.Var(this=f"{Decimal(2**bits - 1).scaleb(-scale):f}BD")
        limits = limits.when(spark("_0 <= _1", digits, limit), string(name))
    return limits.else_(string("SB16"))


def _plain_digits(value: exp.Expr, source: DataType) -> exp.Expr:
    text = spark("cast(_0 as string)", value)
    return spark("rtrim('.', rtrim('0', _0))", text) if source.scale else text


def try_number(text: exp.Expr, target: DataType) -> exp.Expr:
    """A text as NUMBER, rounded; NULL where it is not a number or does not fit."""
    literal = constant_text(text)
    if literal is not None and not _FAR_EXPONENT.search(literal):
        return _try_near_number(text, target)
    # Spark writes all digits of 1e-99999, and fails at 1e-999999999. A FLOAT of either is 0 or beyond every NUMBER.
    far = spark_try(spark("try_cast(_0 as double)", text), target)
    return spark(
        "if(_0 rlike _1, _2, _3)", text, string(_FAR_EXPONENT.pattern), far, _try_near_number(text, target)
    )  # fmt: skip


def _try_near_number(text: exp.Expr, target: DataType) -> exp.Expr:
    if not target.int64:
        return spark_try(text, target)
    exact = spark("try_cast(try_cast(_0 as decimal(38, 0)) as bigint)", text)
    return spark("coalesce(try_cast(_0 as bigint), _1)", text, exact)


def spark_cast(value: exp.Expr, target: DataType) -> exp.Expr:
    return exp.cast(value.copy(), target.spark, dialect="spark")


def spark_try(value: exp.Expr, target: DataType) -> exp.Expr:
    return exp.TryCast(this=value.copy(), to=spark_type(target.spark), safe=True)


def try_boolean(text: exp.Expr) -> exp.Expr:
    """A text as BOOLEAN; NULL for a text that Snowflake does not read as BOOLEAN."""
    word = spark("lower(trim(_0))", text)
    case = exp.Case()
    case = case.when(exp.In(this=word.copy(), expressions=[string(item) for item in _TRUE]), exp.true())
    return case.when(exp.In(this=word.copy(), expressions=[string(item) for item in _FALSE]), exp.false())


def try_float(text: exp.Expr) -> exp.Expr:
    """A text as FLOAT; NULL where it is not a number. Spark would also read Java's suffixes: 1d, 1f."""
    return spark(r"if(_0 rlike '[0-9.]\\s*[dDfF]\\s*$', null, try_cast(_0 as double))", text)


def text_length(source: DataType) -> int:
    """The most characters that a value of a type can have as text."""
    match source.kind:
        case Kind.VARCHAR:
            return source.length or 0
        case Kind.NUMBER:
            return 20 if source.int64 else (source.precision or 0) + 3
        case Kind.BOOLEAN:
            return 5
        case Kind.DATE:
            return 12
        case Kind.FLOAT | Kind.TIME:
            return 30
        case kind if kind in TIMESTAMPS:
            return 64
        case _:
            return 1 << 31
