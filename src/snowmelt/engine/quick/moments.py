"""Functions of dates and timestamps, on the quick lane's list."""

from __future__ import annotations

import re
from collections.abc import Sequence

from snowmelt.engine.quick import operators
from snowmelt.engine.quick.casts import cast, in_years
from snowmelt.engine.quick.types import (
    BIGINT,
    DATE,
    INT,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    NotQuick,
    SparkType,
)  # fmt: skip
from snowmelt.engine.quick.values import Function, Value, guarded, literal, repeatable, typed

_DAYS = (DATE, TIMESTAMP_NTZ)
_MICROSECONDS = {"MICROSECOND": 1, "MILLISECOND": 1_000, "SECOND": 10**6, "MINUTE": 60 * 10**6, "HOUR": 3600 * 10**6}
_CALENDAR = {
    "DAY": ("days", 1),
    "WEEK": ("days", 7),
    "MONTH": ("months", 1),
    "QUARTER": ("months", 3),
    "YEAR": ("months", 12),
}
_UNITS = {"YEAR": "year", "QUARTER": "quarter", "MONTH": "month", "WEEK": "week"}
_UNITS_OF_TIME = {**_UNITS, "DAY": "day", "HOUR": "hour", "MINUTE": "minute", "SECOND": "second"}
_PATTERN = re.compile(r"'((?:[^']|'')*)'|(y+|M+|d+|H+|m+|s+|S+|E+)|(.)")
_WORDS = {
    "EEE": "%a",
    "EEEE": "%A",
    "MMM": "%b",
    "MMMM": "%B",
    "yyyy": "%Y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
    "SSS": "%g",
    "SSSSSS": "%f",
}


def _part(name: str, *of: SparkType) -> Function:
    """A part of a date or a timestamp, as a number."""

    def function(arguments: Sequence[Value]) -> Value:
        (value,) = arguments
        if value.type not in of:
            raise NotQuick(f"{name} of {value.type.duck}")
        return Value(f"CAST({name}({value.sql}) AS INTEGER)", INT)

    return function


def _moved(sign: str) -> Function:
    def function(arguments: Sequence[Value]) -> Value:
        day, days = arguments
        if day.type != DATE or days.type != INT:
            raise NotQuick("days from what is no date")
        return _day(f"CAST({day.sql} {sign} {days.sql} AS DATE)")

    return function


def _add_months(arguments: Sequence[Value]) -> Value:
    day, months = typed(arguments, DATE, INT)
    return _day(f"CAST({day.sql} + to_months({months.sql}) AS DATE)")


def _day(sql: str) -> Value:
    """A date that both engines know."""
    sql = repeatable(Value(sql, DATE))
    return guarded(in_years(sql), sql, "year", DATE)


def _make_date(arguments: Sequence[Value]) -> Value:
    parts = typed(arguments, INT, INT, INT)
    return _day(f"make_date({', '.join(part.sql for part in parts)})")


def _make_timestamp(arguments: Sequence[Value]) -> Value:
    day, time = typed(arguments, DATE, TIME)
    return Value(f"({day.sql} + {time.sql})", TIMESTAMP_NTZ)


def _time_diff(arguments: Sequence[Value]) -> Value:
    unit, start, end = typed(arguments, STRING, TIME, TIME)
    if unit.text != "MICROSECOND":
        raise NotQuick("time_diff of this kind")
    return Value(f"date_diff('microsecond', {start.sql}, {end.sql})", BIGINT)


def _last_day(arguments: Sequence[Value]) -> Value:
    (day,) = typed(arguments, DATE)
    return Value(f"last_day({day.sql})", DATE)


def added_time(unit: str, number: Value, moment: Value) -> Value:
    """`timestampadd(unit, number, moment)`."""
    if moment.type not in (TIMESTAMP_NTZ, TIMESTAMP) or not number.type.is_integer:
        raise NotQuick("timestampadd of this kind")
    if unit in _MICROSECONDS:
        count = f"CAST({number.sql} AS BIGINT) * CAST({_MICROSECONDS[unit]} AS BIGINT)"
        interval = f"to_microseconds({count})"
    elif unit in _CALENDAR:
        name, factor = _CALENDAR[unit]
        interval = f"to_{name}(CAST({number.sql} * {factor} AS INTEGER))"
    else:
        raise NotQuick(f"timestampadd of {unit}")
    # In the zone UTC the two kinds of timestamps have the same calendar.
    sql = repeatable(Value(f"(CAST({moment.sql} AS TIMESTAMP) + {interval})", TIMESTAMP_NTZ))
    return cast(guarded(in_years(sql), sql, "year", TIMESTAMP_NTZ), moment.type)


def _unix_micros(arguments: Sequence[Value]) -> Value:
    (moment,) = typed(arguments, TIMESTAMP)
    return Value(f"epoch_us({moment.sql})", BIGINT)


def _dayofweek(arguments: Sequence[Value]) -> Value:
    (day,) = arguments
    if day.type not in _DAYS:
        raise NotQuick("dayofweek of this kind")
    return Value(f"CAST(dayofweek({day.sql}) + 1 AS INTEGER)", INT)


def _trunc(arguments: Sequence[Value]) -> Value:
    day, unit = arguments
    name = _UNITS.get((unit.text or "").upper())
    if day.type != DATE or name is None:
        raise NotQuick("trunc of this kind")
    return Value(f"CAST(date_trunc('{name}', {day.sql}) AS DATE)", DATE)


def _date_trunc(arguments: Sequence[Value]) -> Value:
    unit, moment = arguments
    name = _UNITS_OF_TIME.get((unit.text or "").upper())
    if moment.type not in (TIMESTAMP_NTZ, TIMESTAMP) or name is None:
        raise NotQuick("date_trunc of this kind")
    # Whatever it is given, Spark takes it for a TIMESTAMP.
    plain = f"CAST({moment.sql} AS TIMESTAMP)"
    return Value(f"CAST(date_trunc('{name}', {plain}) AS TIMESTAMPTZ)", TIMESTAMP)


def _unix_date(arguments: Sequence[Value]) -> Value:
    (day,) = typed(arguments, DATE)
    return Value(f"CAST({day.sql} - DATE '1970-01-01' AS INTEGER)", INT)


def _datediff(arguments: Sequence[Value]) -> Value:
    left, right = arguments
    return operators.days_between(left, right)


def _date_format(arguments: Sequence[Value]) -> Value:
    moment, pattern = arguments
    if moment.type not in (DATE, TIMESTAMP_NTZ) or pattern.text is None:
        raise NotQuick("date_format of this kind")
    parts = []
    for quoted, word, other in _PATTERN.findall(pattern.text):
        if (word and word not in _WORDS) or other.isalpha():
            raise NotQuick("date_format with this pattern")
        parts.append(_WORDS[word] if word else (quoted.replace("''", "'") or other).replace("%", "%%"))
    sql = repeatable(moment)
    return guarded(in_years(sql), f"strftime({sql}, {literal(''.join(parts))})", "year", STRING)


MOMENTS: dict[str, Function] = {
    "add_months": _add_months,
    "date_add": _moved("+"),
    "date_format": _date_format,
    "date_sub": _moved("-"),
    "date_trunc": _date_trunc,
    "datediff": _datediff,
    "day": _part("day", *_DAYS),
    "dayofmonth": _part("day", *_DAYS),
    "dayofweek": _dayofweek,
    "dayofyear": _part("dayofyear", *_DAYS),
    "hour": _part("hour", TIMESTAMP_NTZ, TIME),
    "last_day": _last_day,
    "make_date": _make_date,
    "make_timestamp_ntz": _make_timestamp,
    "minute": _part("minute", TIMESTAMP_NTZ, TIME),
    "month": _part("month", *_DAYS),
    "quarter": _part("quarter", *_DAYS),
    "time_diff": _time_diff,
    "trunc": _trunc,
    "unix_date": _unix_date,
    "unix_micros": _unix_micros,
    "weekofyear": _part("weekofyear", *_DAYS),
    "year": _part("year", *_DAYS),
}
"""By Spark's name."""
