"""Date and time functions. What a part means is in `date_parts`; building values is in `datetime_build`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.types import DataType, Kind
from snowmelt.sql import coercion, temporal
from snowmelt.sql.building import bind
from snowmelt.sql.casts import cast
from snowmelt.sql.dialect import call, integer, spark, string
from snowmelt.sql.functions import date_parts, datetime_build
from snowmelt.sql.functions.registry import Function, FunctionCall, alias, first_type, scalar

# -- DATEADD, DATEDIFF, DATE_TRUNC, DATE_PART ----------------------------------------------------------------


def _part(invocation: FunctionCall, index: int = 0) -> str:
    return date_parts.part_named(invocation.literal(index), invocation.name)


def _dateadd(invocation: FunctionCall) -> exp.Expr:
    _, amount, value = invocation.args
    return date_parts.add(_part(invocation), amount, value, invocation.types[2], invocation.context)


def _dateadd_type(invocation: FunctionCall) -> DataType:
    return date_parts.add_type(_part(invocation), invocation.types[2])


def _datediff(invocation: FunctionCall) -> exp.Expr:
    part = _part(invocation)
    left, right = invocation.types[1:]
    common = coercion.common_type((left, right))
    if common is not None and common.kind in (Kind.NULL, Kind.VARCHAR, Kind.VARIANT):
        common = types.TIMESTAMP_NTZ
    if common is None or not (common.is_timestamp or common.kind in (Kind.DATE, Kind.TIME)):
        raise errors.invalid_argument_types(invocation.name, f"{left}, {right}")
    start = cast(invocation.args[1], left, common, invocation.context)
    end = cast(invocation.args[2], right, common, invocation.context)
    if common.kind is Kind.TIME:
        return date_parts.count_times(part, start, end)
    if part in date_parts.CLOCK_PARTS and common.kind in (Kind.TIMESTAMP_LTZ, Kind.TIMESTAMP_TZ):
        # Hours and less pass everywhere at the same rate, whatever the clocks on the wall are set to.
        if common.kind is Kind.TIMESTAMP_TZ:
            start, end = temporal.tz_instant(start), temporal.tz_instant(end)
        return date_parts.count(part, start, end, invocation.context)
    walls = tuple(temporal.wall_of(side, common, invocation.context) for side in (start, end))
    return bind(walls, lambda s, e: date_parts.count(part, s, e, invocation.context))


def _datediff_type(invocation: FunctionCall) -> DataType:
    return types.int64(18 if _part(invocation) in date_parts.CLOCK_PARTS else 9)


def _date_trunc(invocation: FunctionCall) -> exp.Expr:
    return date_parts.truncate(_part(invocation), invocation.args[1], invocation.types[1], invocation.context)


def _date_part(invocation: FunctionCall) -> exp.Expr:
    return date_parts.read(_part(invocation), invocation.args[1], invocation.types[1], invocation.context)


def _date_part_type(invocation: FunctionCall) -> DataType:
    return date_parts.part_type(_part(invocation))


def _second_type(arguments: Sequence[DataType]) -> DataType:
    return arguments[1]


def _third_type(arguments: Sequence[DataType]) -> DataType:
    return arguments[2]


def _reader(name: str, part: str) -> Function:
    """A function that reads one part, such as YEAR."""

    def emit(invocation: FunctionCall) -> exp.Expr:
        return date_parts.read(part, invocation.args[0], invocation.types[0], invocation.context)

    return scalar(name, "datetime", date_parts.part_type(part), emit)


_READERS = {
    "YEAR": "year", "YEAROFWEEK": "yearofweek", "YEAROFWEEKISO": "yearofweekiso", "DAY": "day",
    "DAYOFMONTH": "day", "DAYOFWEEK": "dayofweek", "DAYOFWEEKISO": "dayofweekiso", "DAYOFYEAR": "dayofyear",
    "WEEK": "week", "WEEKOFYEAR": "week", "WEEKISO": "weekiso", "MONTH": "month", "QUARTER": "quarter",
    "HOUR": "hour", "MINUTE": "minute", "SECOND": "second",
}  # fmt: skip

# -- names of days and months --------------------------------------------------------------------------------


def _named(pattern: str) -> Callable[[FunctionCall], exp.Expr]:
    def emit(invocation: FunctionCall) -> exp.Expr:
        wall = temporal.wall_of(invocation.args[0], invocation.types[0], invocation.context)
        return call("date_format", wall, string(pattern))

    return emit


def _date_of(invocation: FunctionCall, index: int = 0) -> exp.Expr:
    return cast(invocation.args[index], invocation.types[index], types.DATE, invocation.context)


def _next_day(invocation: FunctionCall) -> exp.Expr:
    return spark("next_day(_0, left(trim(_1), 2))", _date_of(invocation), invocation.args[1])


def _previous_day(invocation: FunctionCall) -> exp.Expr:
    return spark("date_sub(next_day(date_sub(_0, 1), left(trim(_1), 2)), 7)", _date_of(invocation), invocation.args[1])


# -- ends and distances of months ----------------------------------------------------------------------------


def _last_day(invocation: FunctionCall) -> exp.Expr:
    part = _part(invocation, 1) if len(invocation.args) > 1 else "month"
    day = _date_of(invocation)
    if part == "day":
        return day
    if part == "month":
        return call("last_day", day)
    if part not in ("year", "quarter", "week", "weekiso"):
        raise date_parts.not_for(part, invocation.types[0], "LAST_DAY")
    start = date_parts.truncate(part, day, types.DATE, invocation.context)
    if part in ("week", "weekiso"):
        return spark("date_add(_0, 6)", start)
    return spark("date_sub(add_months(_0, _1), 1)", start, integer(12 if part == "year" else 3))


def _add_months(invocation: FunctionCall) -> exp.Expr:
    """The last day of a month stays the last day, unlike in DATEADD."""
    value, amount = invocation.args
    source = invocation.types[0]
    if source.kind is Kind.DATE:
        return bind((value, amount), _months_later)

    def build(v: exp.Expr, n: exp.Expr) -> exp.Expr:
        wall = temporal.wall_of(v, source, invocation.context)
        day = spark("cast(_0 as date)", wall)
        moved = bind(day, lambda d: _months_later(d, n))
        shifted = spark("timestampadd(DAY, datediff(_0, _1), _2)", moved, day, wall)
        keep = v if source.kind is Kind.TIMESTAMP_TZ else None
        return temporal.from_wall(shifted, source, invocation.context, keep)

    return bind((value, amount), build)


def _months_later(day: exp.Expr, amount: exp.Expr) -> exp.Expr:
    return spark("if(_0 = last_day(_0), last_day(add_months(_0, int(_1))), add_months(_0, int(_1)))", day, amount)


def _months_between(invocation: FunctionCall) -> exp.Expr:
    left, right = (
        temporal.wall_of(value, type_, invocation.context)
        for value, type_ in zip(invocation.args, invocation.types, strict=True)
    )
    return spark("cast(months_between(_0, _1, false) as decimal(38, 6))", left, right)


# -- slices and zones ----------------------------------------------------------------------------------------


def _time_slice(invocation: FunctionCall) -> exp.Expr:
    value, source = invocation.args[0], invocation.types[0]
    given = invocation.literal(1) or ""
    length = int(given) if given.isdigit() else 0
    part = _part(invocation, 2)
    end = (invocation.literal(3) or "START").upper()
    if length < 1 or end not in ("START", "END"):
        raise errors.invalid_value(given if length < 1 else end, "TIME_SLICE")
    known = (*date_parts.CALENDAR_PARTS, "hour", "minute", "second")
    if part not in known or (source.kind is Kind.DATE and part in date_parts.CLOCK_PARTS):
        raise date_parts.not_for(part, source, "TIME_SLICE")

    def build(v: exp.Expr) -> exp.Expr:
        wall = temporal.wall_of(v, source, invocation.context)
        sliced = bind(wall, lambda w: _slice_of_wall(w, length, part, end == "END", invocation))
        keep = v if source.kind is Kind.TIMESTAMP_TZ else None
        return temporal.from_wall(sliced, source, invocation.context, keep)

    return bind(value, build)


def _slice_of_wall(wall: exp.Expr, length: int, part: str, end: bool, invocation: FunctionCall) -> exp.Expr:
    """Slices are counted from the start of 1970, those of weeks from the start of the week it began in."""
    origin = spark(temporal.EPOCH)
    if part == "week":
        origin = date_parts.truncate("week", origin, types.TIMESTAMP_NTZ, invocation.context)
    passed = date_parts.count(part, origin, wall, invocation.context)
    amount = spark("_0 - pmod(_0, _1)", passed, integer(length))
    if end:
        amount = spark("_0 + _1", amount, integer(length))
    return date_parts.add(part, amount, origin, types.TIMESTAMP_NTZ, invocation.context)


def _convert_timezone(invocation: FunctionCall) -> exp.Expr:
    if len(invocation.args) == 3:
        zone_type = invocation.types[1]
        source_zone, target_zone, value = invocation.args
        target_zone = cast(target_zone, zone_type, types.VARCHAR, invocation.context)
        wall = cast(value, invocation.types[2], types.TIMESTAMP_NTZ, invocation.context)
        return call("convert_timezone", source_zone, target_zone, wall)
    zone, value = invocation.args
    instant = cast(value, invocation.types[1], types.TIMESTAMP_LTZ, invocation.context)
    return bind(
        (instant, zone),
        lambda i, z: spark(
            "if(_0 is null or _1 is null, null, _2)",
            i,
            z,
            temporal.tz_value(i, spark("timestampdiff(MINUTE, _0, from_utc_timestamp(_0, _1))", i, z)),
        ),
    )


def _convert_timezone_type(invocation: FunctionCall) -> DataType:
    return types.TIMESTAMP_NTZ if len(invocation.args) == 3 else types.TIMESTAMP_TZ


_DATEADD = scalar("DATEADD", "word, int, datetime", _third_type, _dateadd, typed=_dateadd_type)
_DATEDIFF = scalar("DATEDIFF", "word, any, any", types.int64(9), _datediff, typed=_datediff_type)

FUNCTIONS: tuple[Function, ...] = (
    _DATEADD,
    *alias(_DATEADD, "TIMEADD", "TIMESTAMPADD"),
    _DATEDIFF,
    *alias(_DATEDIFF, "TIMEDIFF", "TIMESTAMPDIFF"),
    scalar("DATE_TRUNC", "word, datetime", _second_type, _date_trunc),
    scalar("DATE_PART", "word, datetime", types.int64(4), _date_part, typed=_date_part_type),
    *(_reader(name, part) for name, part in _READERS.items()),
    scalar("MONTHNAME", "ts", types.varchar(3), _named("MMM")),
    scalar("DAYNAME", "ts", types.varchar(3), _named("EEE")),
    scalar("LAST_DAY", "ts, word", types.DATE, _last_day, least=1),
    scalar("NEXT_DAY", "ts, str", types.DATE, _next_day),
    scalar("PREVIOUS_DAY", "ts, str", types.DATE, _previous_day),
    scalar("ADD_MONTHS", "ts, int", first_type, _add_months),
    scalar("MONTHS_BETWEEN", "ts, ts", types.number(38, 6), _months_between),
    scalar("TIME_SLICE", "ts, any, word, word", first_type, _time_slice, least=3),
    scalar(
        "CONVERT_TIMEZONE", "str, any, any", types.TIMESTAMP_TZ, _convert_timezone, least=2,
        typed=_convert_timezone_type,
    ),
    *datetime_build.FUNCTIONS,
)  # fmt: skip
