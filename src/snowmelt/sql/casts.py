"""CAST and `::` from every type to every type, as Snowflake does them.

Where Spark differs: numbers round half away from zero, text is read with Snowflake's spellings, a value that
does not fit is an error with Snowflake's code, and TIMESTAMP_TZ, OBJECT and ARRAY exist.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import SEMI_STRUCTURED, TIMESTAMPS, DataType, Kind, number
from snowmelt.sql import formats, temporal, variants
from snowmelt.sql.building import bind, constant_text, fail
from snowmelt.sql.dialect import call, integer, spark, string
from snowmelt.sql.functions.registry import SessionContext
from snowmelt.sql.recognition import (
    INT64_DIGITS,
    NOT_RECOGNIZED,
    failed,
    lead,
    out_of_range,
    spark_cast,
    spark_try,
    text_length,
    try_boolean,
    try_float,
    try_number,
    variant_out_of_range,
)

_TEMPORAL = TIMESTAMPS | {Kind.DATE, Kind.TIME}
_INTERNAL_NAMES = {Kind.NUMBER: "FIXED", Kind.FLOAT: "REAL", Kind.VARCHAR: "TEXT"}
"""How Snowflake names a type in errors about VARIANT values."""


@dataclass(frozen=True, slots=True)
class How:
    """What is cast to what, for whom, and whether failure is NULL."""

    source: DataType
    target: DataType
    context: SessionContext
    attempt: bool


_Caster = Callable[[exp.Expr, How], exp.Expr]


def cast(
    value: exp.Expr,
    source: DataType,
    target: DataType,
    context: SessionContext,
    *,
    attempt: bool = False,
) -> exp.Expr:
    """The Spark expression of `value::target`.

    With `attempt` it is TRY_CAST: NULL instead of an error, for text only. A cast to the type that a value
    already has is the value itself. An error when Snowflake has no such cast.
    """
    if source == target:
        return value
    if target.kind is Kind.NULL:
        return value
    if source.kind is Kind.NULL:
        return spark("cast(null as time(6))") if target.kind is Kind.TIME else spark_cast(value, target)
    if attempt and source.kind is not Kind.VARCHAR:
        raise errors.compilation(
            "001065",
            "22023",
            f"Function TRY_CAST cannot be used with arguments of types {source} and {target}",
        )
    caster = _CASTERS.get((source.kind, target.kind))
    if caster is None:
        raise errors.compilation(
            "001065", "22023", f"Function CAST cannot be used with arguments of types {source} and {target}"
        )
    return caster(value, How(source, target, context, attempt))


# -- numbers -------------------------------------------------------------------------------------------------


def _number_to_number(value: exp.Expr, how: How) -> exp.Expr:
    if how.source.int64 and how.target.int64:
        return value
    # Rounding may carry into one more digit.
    grows = int((how.source.scale or 0) > (how.target.scale or 0))
    digits = lead(how.source) + grows
    if digits < INT64_DIGITS if how.target.int64 else digits <= lead(how.target):
        rounds_first = grows and how.target.int64
        return spark_cast(call("round", value, integer(0)) if rounds_first else value, how.target)

    def build(v: exp.Expr) -> exp.Expr:
        rounded = call("round", v, integer(0)) if grows and how.target.int64 else v
        return out_of_range(spark_try(rounded, how.target), v, how.source, how.target)

    return bind(value, build)


def _float_to_number(value: exp.Expr, how: How) -> exp.Expr:
    def build(v: exp.Expr) -> exp.Expr:
        rounded = call("round", v, integer(0)) if how.target.int64 else v
        return out_of_range(spark_try(rounded, how.target), v, how.source, how.target)

    return bind(value, build)


def _text_to_number(value: exp.Expr, how: How) -> exp.Expr:
    def build(v: exp.Expr) -> exp.Expr:
        tried = try_number(v, how.target)
        if how.attempt:
            return tried
        code, sqlstate, word = NOT_RECOGNIZED[Kind.NUMBER]
        return spark(
            "coalesce(_0, if(_1 is null, null, if(try_cast(_1 as decimal(38, 0)) is null, _2, _3)))",
            tried,
            v,
            fail(code, sqlstate, f"{word} '", v, "' is not recognized"),
            fail("100039", "22003", f"{word} '", v, "' is out of range"),
        )

    return bind(value, build)


def _to_spark_type(value: exp.Expr, how: How) -> exp.Expr:
    """Casts by Spark's own cast, which does as Snowflake's."""
    return spark_cast(value, how.target)


def _text_to_float(value: exp.Expr, how: How) -> exp.Expr:
    return bind(value, lambda v: failed(try_float(v), v, Kind.FLOAT, how.attempt))


# -- booleans ------------------------------------------------------------------------------------------------


def _text_to_boolean(value: exp.Expr, how: How) -> exp.Expr:
    return bind(value, lambda v: failed(try_boolean(v), v, Kind.BOOLEAN, how.attempt))


def _numeric_to_boolean(value: exp.Expr, how: How) -> exp.Expr:
    return spark("(_0 <> 0)", value)


# -- text ----------------------------------------------------------------------------------------------------


def _to_text(value: exp.Expr, how: How) -> exp.Expr:
    match how.source.kind:
        case Kind.VARCHAR:
            text = value
            if (how.source.length or 0) <= (how.target.length or 0):
                return text
        case Kind.FLOAT:
            text = bind(value, variants.float_text)
        case Kind.BINARY:
            text = formats.binary_text(value, how.context)
        case Kind.VARIANT | Kind.OBJECT | Kind.ARRAY:
            text = bind(value, variants.to_text)
        case kind if kind in _TEMPORAL:
            text = formats.temporal_text(
                value, how.source, formats.output_model(how.source.kind, how.context), how.context
            )
        case _:
            text = spark("cast(_0 as string)", value)
    return _fit(text, how.source, how.target, how.attempt)


def _fit(text: exp.Expr, source: DataType, target: DataType, attempt: bool) -> exp.Expr:
    """A text that is longer than VARCHAR(n) allows is an error: a cast never cuts."""
    length = target.length or 0
    if text_length(source) <= length:
        return text
    literal = constant_text(text)
    if literal is not None and len(literal) <= length:
        return text

    def build(t: exp.Expr) -> exp.Expr:
        error = fail("100078", "22000", "String '", t, "' is too long and would be truncated")
        error = exp.Null() if attempt else error
        return spark("if(length(_0) > _1, _2, _0)", t, integer(length), error)

    return bind(text, build)


def _binary_to_binary(value: exp.Expr, how: How) -> exp.Expr:
    if (how.source.length or 0) <= (how.target.length or 0):
        return value
    error = fail("100078", "22000", "Binary value is too long and would be truncated")
    return bind(value, lambda v: spark("if(octet_length(_0) > _1, _2, _0)", v, integer(how.target.length or 0), error))


def _text_to_binary(value: exp.Expr, how: How) -> exp.Expr:
    def build(v: exp.Expr) -> exp.Expr:
        return failed(formats.try_binary(v, formats.binary_input(how.context)), v, Kind.BINARY, how.attempt)

    return bind(value, build)


# -- dates and times -----------------------------------------------------------------------------------------


def _text_to_temporal(value: exp.Expr, how: How) -> exp.Expr:
    literal = constant_text(value)
    if literal is not None:
        exact = formats.iso_constant(literal, how.target, how.context)
        if exact is not None:
            return exact
    model = formats.input_model(how.target.kind, how.context)

    def build(v: exp.Expr) -> exp.Expr:
        if model is None:
            tried = temporal.try_from_text(v, how.target, how.context)
        else:
            tried = formats.parse_temporal(v, how.target, model, how.context)
        return failed(tried, v, how.target.kind, how.attempt)

    return bind(value, build)


def _temporal_to_temporal(value: exp.Expr, how: How) -> exp.Expr:
    if how.source.kind is how.target.kind and temporal.digits(how.source) <= temporal.digits(how.target):
        return value
    if how.source.kind is Kind.TIME:
        return temporal.cut_time(value, temporal.digits(how.target))
    if how.source.kind is Kind.TIMESTAMP_TZ and how.target.kind is Kind.TIMESTAMP_LTZ:
        return temporal.cut_fraction(temporal.tz_instant(value), how.target.precision)
    if how.source.kind is Kind.TIMESTAMP_LTZ and how.target.kind is Kind.TIMESTAMP_TZ:
        return temporal.tz_from_instant(temporal.cut_fraction(value, how.target.precision), how.context.time_zone)
    wall = temporal.wall_of(value, how.source, how.context)
    if how.target.kind is not Kind.DATE:
        wall = temporal.cut_fraction(wall, how.target.precision)
    keep = value if how.source.kind is Kind.TIMESTAMP_TZ and how.target.kind is Kind.TIMESTAMP_TZ else None
    return temporal.from_wall(wall, how.target, how.context, keep)


def _number_to_timestamp(value: exp.Expr, how: How) -> exp.Expr:
    return temporal.epoch_timestamp(value, how.source, 0, how.target, how.context)


# -- semi-structured -----------------------------------------------------------------------------------------


def _to_variant(value: exp.Expr, how: How) -> exp.Expr:
    return (
        bind(value, lambda v: variants.to_variant(v, how.source)) if how.source.kind not in SEMI_STRUCTURED else value
    )


def _from_variant(value: exp.Expr, how: How) -> exp.Expr:
    def build(v: exp.Expr) -> exp.Expr:
        tried = _try_from_variant(v, how.target, how.context)
        name = _INTERNAL_NAMES.get(how.target.kind, str(how.target.kind))
        shown = call("to_json", v)
        error = fail("100071", "22000", "Failed to cast variant value ", shown, f" to {name}")
        if how.target.is_number:
            is_number = spark("left(schema_of_variant(_0), 6) in ('BIGINT', 'DECIMA', 'DOUBLE')", v)
            error = spark("if(_0, _1, _2)", is_number, variant_out_of_range(shown), error)
        return spark("coalesce(_0, if(_1 is null or is_variant_null(_1), null, _2))", tried, v, error)

    return bind(value, build)


def _try_from_variant(value: exp.Expr, target: DataType, context: SessionContext) -> exp.Expr:
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
            # A DATE or TIMESTAMP inside the VARIANT is taken as it is, text is read, and a number counts
            # seconds up to an instant, so that the session's zone shows even in a TIMESTAMP_NTZ.
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
                cast(temporal.epoch_timestamp(seconds, number(38, 9), 0, ltz, context), ltz, target, context),
            )


def _array_of_one(value: exp.Expr, how: How) -> exp.Expr:
    return bind(value, lambda v: spark("if(_0 is null, null, to_variant_object(array(_0)))", v))


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
