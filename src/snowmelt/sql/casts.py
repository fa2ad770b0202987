"""CAST and `::` from every type to every type, as Snowflake does them.

Where Spark differs: numbers round half away from zero, text is read with Snowflake's spellings, a value that does
not fit is an error with Snowflake's code, and TIMESTAMP_TZ, OBJECT and ARRAY exist.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import SEMI_STRUCTURED, TIMESTAMPS, DataType, Kind, number
from snowmelt.sql import formats, temporal, variants
from snowmelt.sql.building import bind, constant_text, fail, or_fail
from snowmelt.sql.dialect import call, integer, spark, string
from snowmelt.sql.functions.registry import SessionContext

_TRUE = ("true", "t", "yes", "y", "on", "1")
_FALSE = ("false", "f", "no", "n", "off", "0")
_TEMPORAL = TIMESTAMPS | {Kind.DATE, Kind.TIME}
_NOT_RECOGNIZED = {
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
_INTERNAL_NAMES = {Kind.NUMBER: "FIXED", Kind.FLOAT: "REAL", Kind.VARCHAR: "TEXT"}
"""How Snowflake names a type in errors about VARIANT values."""

INT64_DIGITS = 19
"""Digits before the point that a 64-bit integer may have."""

_Caster = Callable[[exp.Expression, DataType, DataType, SessionContext, bool], exp.Expression]


def cast(
    value: exp.Expression,
    source: DataType,
    target: DataType,
    context: SessionContext,
    *,
    attempt: bool = False,
) -> exp.Expression:
    """The Spark expression of `value::target`.

    With `attempt` it is TRY_CAST: NULL instead of an error, for text only. A cast to the type that a value has
    already is the value itself. An error when Snowflake has no such cast.
    """
    if source == target:
        return value
    if target.kind is Kind.NULL:
        return value
    if source.kind is Kind.NULL:
        return exp.cast(value.copy(), target.spark, dialect="spark") if target.kind is not Kind.TIME else _null_time()
    if attempt and source.kind is not Kind.VARCHAR:
        raise errors.compilation(
            "001065", "22023", f"Function TRY_CAST cannot be used with arguments of types {source} and {target}"
        )
    caster = _CASTERS.get((source.kind, target.kind))
    if caster is None:
        raise errors.compilation(
            "001065", "22023", f"Function CAST cannot be used with arguments of types {source} and {target}"
        )
    return caster(value, source, target, context, attempt)


def _null_time() -> exp.Expression:
    return spark("cast(null as time(6))")


def failed(
    attempt_value: exp.Expression, original: exp.Expression, kind: Kind, attempt: bool
) -> exp.Expression:
    """The attempt itself, or with "… is not recognized" raised where it is NULL and the original is not."""
    if attempt:
        return attempt_value
    code, sqlstate, word = _NOT_RECOGNIZED[kind]
    return or_fail(attempt_value, original, code, sqlstate, f"{word} '", "' is not recognized")


# -- numbers ----------------------------------------------------------------------------------------------------


def lead(type_: DataType) -> int:
    """Digits before the decimal point that a NUMBER may have."""
    if type_.int64:
        return INT64_DIGITS
    return (type_.precision or 0) - (type_.scale or 0)


def _out_of_range(attempt_value: exp.Expression, original: exp.Expression) -> exp.Expression:
    return or_fail(attempt_value, original, "100039", "22003", "Numeric value '", "' is out of range")


def _number_to_number(
    value: exp.Expression, source: DataType, target: DataType, context: SessionContext, attempt: bool
) -> exp.Expression:
    if source.int64 and target.int64:
        return value
    rounded = value
    grows = 0
    if (source.scale or 0) > (target.scale or 0):
        grows = 1
        if target.int64:
            rounded = call("round", value, integer(0))
    if lead(source) + grows <= lead(target) or (target.int64 and lead(source) + grows < INT64_DIGITS):
        return _spark_cast(rounded, target)
    return bind(rounded, lambda v: _out_of_range(_spark_try(v, target), v))


def _float_to_number(
    value: exp.Expression, source: DataType, target: DataType, context: SessionContext, attempt: bool
) -> exp.Expression:
    def build(v: exp.Expression) -> exp.Expression:
        rounded = call("round", v, integer(0)) if target.int64 else v
        return _out_of_range(_spark_try(rounded, target), v)

    return bind(value, build)


def _text_to_number(
    value: exp.Expression, source: DataType, target: DataType, context: SessionContext, attempt: bool
) -> exp.Expression:
    def build(v: exp.Expression) -> exp.Expression:
        tried = try_number(v, target)
        if attempt:
            return tried
        code, sqlstate, word = _NOT_RECOGNIZED[Kind.NUMBER]
        return spark(
            "coalesce(_0, if(_1 is null, null, if(try_cast(_1 as double) is null, _2, _3)))",
            tried,
            v,
            fail(code, sqlstate, f"{word} '", v, "' is not recognized"),
            fail("100039", "22003", f"{word} '", v, "' is out of range"),
        )

    return bind(value, build)


def try_number(text: exp.Expression, target: DataType) -> exp.Expression:
    """A text as NUMBER, rounded; NULL where it is not a number or does not fit."""
    if not target.int64:
        return _spark_try(text, target)
    exact = spark("try_cast(try_cast(_0 as decimal(38, 0)) as bigint)", text)
    return spark("coalesce(try_cast(_0 as bigint), _1)", text, exact)


def _spark_cast(value: exp.Expression, target: DataType) -> exp.Expression:
    return exp.cast(value.copy(), target.spark, dialect="spark")


def _spark_try(value: exp.Expression, target: DataType) -> exp.Expression:
    return exp.TryCast(
        this=value.copy(), to=exp.DataType.build(target.spark, dialect="spark"), safe=True
    )


def _to_spark_type(
    value: exp.Expression, source: DataType, target: DataType, context: SessionContext, attempt: bool
) -> exp.Expression:
    """For casts that Spark does as Snowflake does."""
    return _spark_cast(value, target)


def _text_to_float(
    value: exp.Expression, source: DataType, target: DataType, context: SessionContext, attempt: bool
) -> exp.Expression:
    def build(v: exp.Expression) -> exp.Expression:
        # Spark also reads Java's suffixes: 1d, 1f.
        tried = spark(r"if(_0 rlike '[0-9.]\\s*[dDfF]\\s*$', null, try_cast(_0 as double))", v)
        return failed(tried, v, Kind.FLOAT, attempt)

    return bind(value, build)


# -- booleans ---------------------------------------------------------------------------------------------------


def _text_to_boolean(
    value: exp.Expression, source: DataType, target: DataType, context: SessionContext, attempt: bool
) -> exp.Expression:
    return bind(value, lambda v: failed(try_boolean(v), v, Kind.BOOLEAN, attempt))


def try_boolean(text: exp.Expression) -> exp.Expression:
    """A text as BOOLEAN; NULL where it is none of Snowflake's words."""
    word = spark("lower(trim(_0))", text)
    case = exp.Case()
    case = case.when(exp.In(this=word.copy(), expressions=[string(item) for item in _TRUE]), exp.true())
    return case.when(exp.In(this=word.copy(), expressions=[string(item) for item in _FALSE]), exp.false())


def _numeric_to_boolean(
    value: exp.Expression, source: DataType, target: DataType, context: SessionContext, attempt: bool
) -> exp.Expression:
    return spark("(_0 <> 0)", value)


# -- text -------------------------------------------------------------------------------------------------------


def _to_text(
    value: exp.Expression, source: DataType, target: DataType, context: SessionContext, attempt: bool
) -> exp.Expression:
    match source.kind:
        case Kind.VARCHAR:
            text = value
            if (source.length or 0) <= (target.length or 0):
                return text
        case Kind.FLOAT:
            text = bind(value, variants.float_text)
        case Kind.BINARY:
            text = formats.binary_text(value, context)
        case Kind.VARIANT | Kind.OBJECT | Kind.ARRAY:
            text = bind(value, variants.to_text)
        case kind if kind in _TEMPORAL:
            text = formats.temporal_text(value, source, formats.output_model(source.kind, context), context)
        case _:
            text = spark("cast(_0 as string)", value)
    return _fit(text, source, target, attempt)


def _fit(text: exp.Expression, source: DataType, target: DataType, attempt: bool) -> exp.Expression:
    """A text that is longer than VARCHAR(n) allows is an error: a cast never cuts."""
    length = target.length or 0
    if text_length(source) <= length:
        return text
    literal = constant_text(text)
    if literal is not None and len(literal) <= length:
        return text

    def build(t: exp.Expression) -> exp.Expression:
        error = exp.Null() if attempt else fail("100078", "22000", "String '", t, "' is too long and would be truncated")
        return spark("if(length(_0) > _1, _2, _0)", t, integer(length), error)

    return bind(text, build)


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


def _binary_to_binary(
    value: exp.Expression, source: DataType, target: DataType, context: SessionContext, attempt: bool
) -> exp.Expression:
    if (source.length or 0) <= (target.length or 0):
        return value
    error = fail("100078", "22000", "Binary value is too long and would be truncated")
    return bind(value, lambda v: spark("if(octet_length(_0) > _1, _2, _0)", v, integer(target.length or 0), error))


def _text_to_binary(
    value: exp.Expression, source: DataType, target: DataType, context: SessionContext, attempt: bool
) -> exp.Expression:
    def build(v: exp.Expression) -> exp.Expression:
        return failed(formats.try_binary(v, formats.binary_input(context)), v, Kind.BINARY, attempt)

    return bind(value, build)


# -- dates and times --------------------------------------------------------------------------------------------


def _text_to_temporal(
    value: exp.Expression, source: DataType, target: DataType, context: SessionContext, attempt: bool
) -> exp.Expression:
    literal = constant_text(value)
    if literal is not None:
        exact = formats.iso_constant(literal, target, context)
        if exact is not None:
            return exact
    model = formats.input_model(target.kind, context)

    def build(v: exp.Expression) -> exp.Expression:
        if model is None:
            tried = temporal.try_from_text(v, target, context)
        else:
            tried = formats.parse_temporal(v, target, model, context)
        return failed(tried, v, target.kind, attempt)

    return bind(value, build)


def _temporal_to_temporal(
    value: exp.Expression, source: DataType, target: DataType, context: SessionContext, attempt: bool
) -> exp.Expression:
    if source.kind is target.kind and temporal.digits(source) <= temporal.digits(target):
        return value
    if source.kind is Kind.TIME:
        return temporal.cut_time(value, temporal.digits(target))
    if source.kind is Kind.TIMESTAMP_TZ and target.kind is Kind.TIMESTAMP_LTZ:
        return temporal.cut_fraction(temporal.tz_instant(value), target.precision)
    if source.kind is Kind.TIMESTAMP_LTZ and target.kind is Kind.TIMESTAMP_TZ:
        return temporal.tz_from_instant(temporal.cut_fraction(value, target.precision), context.time_zone)
    wall = temporal.wall_of(value, source, context)
    if target.kind is not Kind.DATE:
        wall = temporal.cut_fraction(wall, target.precision)
    keep = value if source.kind is Kind.TIMESTAMP_TZ and target.kind is Kind.TIMESTAMP_TZ else None
    return temporal.from_wall(wall, target, context, keep)


def _number_to_timestamp(
    value: exp.Expression, source: DataType, target: DataType, context: SessionContext, attempt: bool
) -> exp.Expression:
    return epoch_timestamp(value, source, 0, target, context)


def epoch_timestamp(
    value: exp.Expression, source: DataType, scale: int, target: DataType, context: SessionContext
) -> exp.Expression:
    """A NUMBER that counts units of 10^-scale seconds since 1970 in UTC, as TIMESTAMP_*."""
    if source.int64 and scale <= 6:
        micros = spark("_0 * _1", value, integer(10 ** (6 - scale)))
    else:
        shifted = spark("_0 * _1", value, exp.Literal.number(str(10 ** (6 - scale)))) if scale <= 6 else value
        if scale > 6:
            shifted = spark("_0 / _1", value, exp.Literal.number(str(10 ** (scale - 6))))
        micros = spark("cast(floor(_0) as bigint)", shifted)
    moment = call("timestamp_micros", micros)
    match target.kind:
        case Kind.TIMESTAMP_NTZ:
            return temporal.cut_fraction(spark("cast(_0 as timestamp_ntz)", moment), target.precision)
        case Kind.TIMESTAMP_LTZ:
            return temporal.cut_fraction(moment, target.precision)
        case _:
            return temporal.tz_from_instant(temporal.cut_fraction(moment, target.precision), context.time_zone)


# -- semi-structured --------------------------------------------------------------------------------------------


def _to_variant(
    value: exp.Expression, source: DataType, target: DataType, context: SessionContext, attempt: bool
) -> exp.Expression:
    return bind(value, lambda v: variants.to_variant(v, source)) if source.kind not in SEMI_STRUCTURED else value


def _from_variant(
    value: exp.Expression, source: DataType, target: DataType, context: SessionContext, attempt: bool
) -> exp.Expression:
    def build(v: exp.Expression) -> exp.Expression:
        tried = _try_from_variant(v, target, context)
        name = _INTERNAL_NAMES.get(target.kind, str(target.kind))
        error = fail("100071", "22000", "Failed to cast variant value ", call("to_json", v), f" to {name}")
        return spark("coalesce(_0, if(_1 is null or is_variant_null(_1), null, _2))", tried, v, error)

    return bind(value, build)


def _try_from_variant(value: exp.Expression, target: DataType, context: SessionContext) -> exp.Expression:
    match target.kind:
        case Kind.NUMBER:
            held = number(38, 0) if target.int64 else target
            found = call("try_variant_get", value, string("$"), string(held.spark.lower().replace(" ", "")))
            return spark("try_cast(_0 as bigint)", found) if target.int64 else found
        case Kind.FLOAT:
            return spark("try_variant_get(_0, '$', 'double')", value)
        case Kind.BOOLEAN:
            return spark(
                "case when left(schema_of_variant(_0), 6) in ('BIGINT', 'DECIMA', 'DOUBLE') "
                "then cast(_0 as double) <> 0 else _1 end",
                value,
                try_boolean(spark("try_variant_get(_0, '$', 'string')", value)),
            )
        case Kind.BINARY:
            return formats.try_binary(spark("try_variant_get(_0, '$', 'string')", value), "HEX")
        case Kind.OBJECT:
            return spark("if(startswith(schema_of_variant(_0), 'OBJECT'), _0, null)", value)
        case Kind.ARRAY:
            return spark(
                "if(_0 is null or is_variant_null(_0), null, "
                "if(startswith(schema_of_variant(_0), 'ARRAY'), _0, to_variant_object(array(_0))))",
                value,
            )
        case _:
            text = temporal.try_from_text(spark("try_variant_get(_0, '$', 'string')", value), target, context)
            if target.kind is Kind.TIME:
                return text
            # A DATE or TIMESTAMP inside the VARIANT is taken as it is, text is read, and a number counts seconds up
            # to an instant, so that the session's zone shows even in a TIMESTAMP_NTZ.
            instant = spark("try_variant_get(_0, '$', 'timestamp')", value)
            seconds = spark("try_variant_get(_0, '$', 'decimal(38,9)')", value)
            wall = spark("try_variant_get(_0, '$', 'timestamp_ntz')", value)
            ltz = replace(target, kind=Kind.TIMESTAMP_LTZ)
            ntz = replace(target, kind=Kind.TIMESTAMP_NTZ)
            return spark(
                "case left(schema_of_variant(_0), 13) when 'TIMESTAMP' then _1 when 'TIMESTAMP_NTZ' then _2 "
                "when 'DATE' then _2 when 'STRING' then _3 else _4 end",
                value,
                cast(instant, ltz, target, context),
                cast(wall, ntz, target, context),
                text,
                cast(epoch_timestamp(seconds, number(38, 9), 0, ltz, context), ltz, target, context),
            )


def _array_of_one(
    value: exp.Expression, source: DataType, target: DataType, context: SessionContext, attempt: bool
) -> exp.Expression:
    wrapped = lambda v: spark("if(_0 is null, null, to_variant_object(array(_0)))", v)  # noqa: E731
    return bind(value, wrapped)


def _casters() -> dict[tuple[Kind, Kind], _Caster]:
    table: dict[tuple[Kind, Kind], _Caster] = {
        (Kind.NUMBER, Kind.NUMBER): _number_to_number,
        (Kind.NUMBER, Kind.FLOAT): _to_spark_type,
        (Kind.NUMBER, Kind.BOOLEAN): _numeric_to_boolean,
        (Kind.FLOAT, Kind.NUMBER): _float_to_number,
        (Kind.FLOAT, Kind.BOOLEAN): _numeric_to_boolean,
        (Kind.BOOLEAN, Kind.NUMBER): _to_spark_type,
        (Kind.BOOLEAN, Kind.FLOAT): _to_spark_type,
        (Kind.VARCHAR, Kind.NUMBER): _text_to_number,
        (Kind.VARCHAR, Kind.FLOAT): _text_to_float,
        (Kind.VARCHAR, Kind.BOOLEAN): _text_to_boolean,
        (Kind.VARCHAR, Kind.BINARY): _text_to_binary,
        (Kind.BINARY, Kind.BINARY): _binary_to_binary,
        (Kind.OBJECT, Kind.ARRAY): _array_of_one,
    }
    for kind in Kind:
        if kind is Kind.NULL:
            continue
        table[kind, Kind.VARCHAR] = _to_text
        table[kind, Kind.VARIANT] = _to_variant
        if kind not in (Kind.VARCHAR, Kind.VARIANT):
            table[Kind.VARIANT, kind] = _from_variant
    for kind in _TEMPORAL:
        table[Kind.VARCHAR, kind] = _text_to_temporal
    for source in (*TIMESTAMPS, Kind.DATE):
        for target in (*TIMESTAMPS, Kind.DATE):
            table[source, target] = _temporal_to_temporal
    for source in TIMESTAMPS:
        table[source, Kind.TIME] = _temporal_to_temporal
        table[Kind.NUMBER, source] = _number_to_timestamp
    table[Kind.TIME, Kind.TIME] = _temporal_to_temporal
    return table


_CASTERS = _casters()
