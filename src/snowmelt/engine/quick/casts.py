"""Casts that give in DuckDB what they give in Spark (ANSI mode, zone UTC).

A text is read only where it is written in the plainest way, on which both agree. Any other text raises an error in the
lane, and Spark decides what it is.
"""

from __future__ import annotations

from collections.abc import Callable

from snowmelt.engine.quick.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    VOID,
    NotQuick,
    SparkType,
)  # fmt: skip
from snowmelt.engine.quick.values import Value, guarded, is_exact_as_double, repeatable
from snowmelt.engine.quick.variants import of_variant, to_variant

_Form = Callable[[str, str], str]
"""The cast of a value's text, by CAST or TRY_CAST."""
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MINUTE = "([01][0-9]|2[0-3]):[0-5][0-9]"
_SECOND = ":[0-5][0-9]([.][0-9]{1,6})?"
_ZONE = "(Z|[+-](0[0-9]|1[0-3]):[0-5][0-9])"
_PLAIN = {
    BIGINT: "[+-]?[0-9]{1,18}",
    INT: "[+-]?[0-9]{1,9}",
    DATE: _DAY,
    TIMESTAMP_NTZ: f"{_DAY}([ T]{_MINUTE}({_SECOND})?)?",
    TIMESTAMP: f"{_DAY} {_MINUTE}{_SECOND}Z",
    TIME: f"{_MINUTE}{_SECOND}",
    DOUBLE: "[+-]?[0-9]{1,15}([.][0-9]{1,15})?",
}


def cast(value: Value, target: SparkType, *, attempt: bool = False) -> Value:
    """`CAST(value AS target)`, or TRY_CAST."""
    have = value.type
    if have == target:
        return value
    word = "TRY_CAST" if attempt else "CAST"
    if have == VOID:
        return Value(f"CAST({value.sql} AS {target.duck})", target)
    if have == VARIANT:
        return of_variant(value, target, attempt=attempt)
    if target == VARIANT:
        return to_variant(value)
    if have == STRING and target == BINARY:
        return Value(f"encode({value.sql})", BINARY)
    if have == STRING:
        return _of_text(value, target)
    if target == STRING:
        return _as_text(value)
    if target.is_decimal and target.precision == target.scale:
        # DuckDB lets values through that have no room in such a type.
        raise NotQuick("a cast to a decimal without whole digits")
    form = _between(have, target)
    if form is None:
        raise NotQuick(f"cast of {have.duck} to {target.duck}")
    return Value(form(word, value.sql), target)


def _between(have: SparkType, target: SparkType) -> _Form | None:
    if have.is_decimal and target.is_integer:
        # Spark cuts the fraction off.
        return lambda word, sql: f"{word}(trunc({sql}) AS {target.duck})"
    if have.is_exact_number and target.is_exact_number:
        return _plainly(target)
    if target == DOUBLE and is_exact_as_double(have):
        return _plainly(target)
    if have == BOOLEAN and target.is_exact_number:
        return _plainly(target)
    if have.is_integer and target == BOOLEAN:
        return lambda word, sql: f"({sql} <> 0)"
    if (have, target) in _MOMENTS:
        return _plainly(target)
    return None


_MOMENTS = {
    (DATE, TIMESTAMP_NTZ), (DATE, TIMESTAMP), (TIMESTAMP_NTZ, DATE), (TIMESTAMP, DATE), (TIMESTAMP_NTZ, TIMESTAMP),
    (TIMESTAMP, TIMESTAMP_NTZ),
}  # fmt: skip


def _plainly(target: SparkType) -> _Form:
    return lambda word, sql: f"{word}({sql} AS {target.duck})"


def _of_text(value: Value, target: SparkType) -> Value:
    if target.is_decimal:
        whole = min(target.precision - target.scale, 18)
        if whole == 0:
            raise NotQuick("a cast to a decimal without whole digits")
        fraction = f"([.][0-9]{{1,{min(target.scale, 18)}}})?" if target.scale else ""
        pattern = f"[+-]?[0-9]{{1,{whole}}}{fraction}"
    else:
        found = _PLAIN.get(target)
        if found is None:
            raise NotQuick(f"cast of a text to {target.duck}")
        pattern = found
    sql = repeatable(value)
    plain = f"{sql} IS NULL OR regexp_full_match({sql}, '{pattern}')"
    return guarded(plain, f"CAST({sql} AS {target.duck})", "text", target)


def instant_of_text(value: Value) -> Value:
    """`text::TIMESTAMP_LTZ` of texts such as Debezium's and JSON's; others are Spark's."""
    sql = repeatable(value)
    plain = f"{sql} IS NULL OR ({sql} >= '0001' AND regexp_full_match({sql}, '{_DAY}[ T]{_MINUTE}{_SECOND}{_ZONE}?'))"
    return guarded(plain, f"CAST({sql} AS TIMESTAMPTZ)", "text", TIMESTAMP)


def in_years(sql: str) -> str:
    """Whether a date or a timestamp is one that both engines write with four digits of a year; true for NULL."""
    return f"coalesce({sql} >= DATE '0001-01-01' AND {sql} < DATE '9999-12-31', true)"


def _as_text(value: Value) -> Value:
    have, sql = value.type, repeatable(value)
    if have.is_decimal and have.precision == have.scale:
        if have.precision == 38:
            raise NotQuick("text of a decimal without whole digits")
        # DuckDB leaves out the zero before the point.
        sql = f"CAST({sql} AS DECIMAL({have.precision + 1},{have.scale}))"
    if have.is_exact_number or have in (BOOLEAN, TIME):
        return Value(f"CAST({sql} AS VARCHAR)", STRING)
    if have in (DATE, TIMESTAMP_NTZ):
        return guarded(in_years(sql), f"CAST({sql} AS VARCHAR)", "year", STRING)
    raise NotQuick(f"cast of {have.duck} to text")
