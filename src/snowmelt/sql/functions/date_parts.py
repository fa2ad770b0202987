"""Date and time parts: their names, and what it means to read, add, count and truncate them.

Everything works on the wall clock (`temporal.wall_of`), so that days and months follow the calendar of the
value's own zone, while hours and shorter parts of a zoned timestamp move the instant.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.types import DataType, Kind
from snowmelt.sql import temporal
from snowmelt.sql.building import bind
from snowmelt.sql.dialect import call, integer, spark, string
from snowmelt.sql.functions.registry import SessionContext

_SYNONYMS = {
    "year": "y yy yyy yyyy yr years yrs",
    "quarter": "q qtr qtrs quarters",
    "month": "mm mon mons months",
    "week": "w wk weekofyear woy wy weeks",
    "weekiso": "week_iso weekofyeariso weekofyear_iso",
    "day": "d dd days dayofmonth",
    "dayofweek": "weekday dow dw",
    "dayofweekiso": "weekday_iso dow_iso dw_iso dayofweek_iso",
    "dayofyear": "yearday doy dy",
    "yearofweek": "",
    "yearofweekiso": "",
    "hour": "h hh hr hours hrs",
    "minute": "m mi min minutes mins",
    "second": "s sec seconds secs",
    "millisecond": "ms msec milliseconds",
    "microsecond": "us usec microseconds",
    "nanosecond": "ns nsec nanosec nsecond nanoseconds nanosecs nseconds",
    "epoch_second": "epoch epoch_seconds",
    "epoch_millisecond": "epoch_milliseconds",
    "epoch_microsecond": "epoch_microseconds",
    "epoch_nanosecond": "epoch_nanoseconds",
    "timezone_hour": "tzh",
    "timezone_minute": "tzm",
}
_PARTS = {word: part for part, words in _SYNONYMS.items() for word in (part, *words.split())}

CALENDAR_PARTS = ("year", "quarter", "month", "week", "day")
CLOCK_MICROS = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000, "millisecond": 1_000}
CLOCK_PARTS = (*CLOCK_MICROS, "microsecond", "nanosecond")
_MONTHS = {"year": 12, "quarter": 3, "month": 1}
_DIGITS = {"year": 4, "yearofweek": 4, "yearofweekiso": 4, "dayofyear": 3, "nanosecond": 9}


def part_named(text: str | None, function: str) -> str:
    """The part that a word names; an error when it names none."""
    found = _PARTS.get((text or "").lower())
    if found is None:
        raise errors.compilation(
            "001007", "22023", f"'{text}' is not a valid date/time component for function {function}"
        )
    return found


def not_for(part: str, type_: DataType, function: str) -> Exception:
    return errors.compilation(
        "001007",
        "22023",
        f"'{part}' is not a valid date/time component for function {function} and type {type_.kind}",
    )


def week_start(context: SessionContext) -> int:
    """The first day of the week, Monday being 1; 0 when the session follows the default (ISO-like) rules."""
    return int(context.parameters.get("WEEK_START") or 0)


# -- reading -------------------------------------------------------------------------------------------------


def part_type(part: str) -> DataType:
    """The type of DATE_PART's result."""
    if part.startswith("epoch"):
        return types.int64(18)
    return types.int64(_DIGITS.get(part, 2))


def read(part: str, value: exp.Expr, source: DataType, context: SessionContext) -> exp.Expr:
    """DATE_PART as a 64-bit integer."""
    if source.kind is Kind.TIME and part not in CLOCK_PARTS:
        raise not_for(part, source, "DATE_PART")
    if part.startswith("epoch"):
        return _epoch(part, value, source)
    if part.startswith("timezone"):
        return _zone_part(part, value, source, context)
    if part == "nanosecond":
        wall = value if source.kind is Kind.TIME else temporal.wall_of(value, source, context)
        fraction = spark("cast(extract(SECOND FROM _0) * 1000000000 as bigint)", wall)
        return call("pmod", fraction, spark("cast(1000000000 as bigint)"))
    if source.kind is Kind.TIME or (source.kind is Kind.DATE and part not in CLOCK_PARTS):
        return spark("cast(_0 as bigint)", _field(part, value, context))
    wall = temporal.wall_of(value, source, context)
    return bind(wall, lambda w: spark("cast(_0 as bigint)", _field(part, w, context)))


_FIELDS = {
    "year": "year(_0)", "quarter": "quarter(_0)", "month": "month(_0)", "day": "day(_0)", "hour": "hour(_0)",
    "minute": "minute(_0)", "second": "second(_0)", "dayofyear": "dayofyear(_0)",
    "dayofweekiso": "weekday(_0) + 1", "weekiso": "weekofyear(_0)",
    "yearofweekiso": "extract(YEAROFWEEK FROM _0)",
}  # fmt: skip


def _field(part: str, wall: exp.Expr, context: SessionContext) -> exp.Expr:
    start = week_start(context)
    policy = int(context.parameters.get("WEEK_OF_YEAR_POLICY") or 0)
    match part:
        case "dayofweek":
            # Sunday is 0 by default; with WEEK_START the first day is 1.
            if start == 0:
                return spark("dayofweek(_0) - 1", wall)
            return spark("pmod(weekday(_0) - _1, 7) + 1", wall, integer(start - 1))
        case "week" | "yearofweek" if policy == 1:
            first = spark("_0 - 1", integer(max(start, 1)))
            if part == "yearofweek":
                return spark("year(_0)", wall)
            # Week 1 holds January 1st: count the week starts since.
            return spark("(dayofyear(_0) + 6 + pmod(weekday(trunc(_0, 'YEAR')) - (_1), 7)) div 7", wall, first)
        case "week" if start <= 1:
            return spark("weekofyear(_0)", wall)
        case "yearofweek" if start <= 1:
            return spark("extract(YEAROFWEEK FROM _0)", wall)
        case "week" | "yearofweek":
            raise errors.unsupported(f"{part.upper()} with WEEK_START = {start} and WEEK_OF_YEAR_POLICY = 0")
        case _ if part in _FIELDS:
            return spark(_FIELDS[part], wall)
        case _:
            raise errors.unsupported(f"the date part {part}")


def _epoch(part: str, value: exp.Expr, source: DataType) -> exp.Expr:
    if source.kind is Kind.TIME:
        raise not_for(part, source, "DATE_PART")
    if source.kind is Kind.TIMESTAMP_TZ:
        value = temporal.tz_instant(value)
    micros = spark("unix_micros(cast(_0 as timestamp))", value)
    match part:
        case "epoch_second":
            return spark("cast(floor(_0 / 1000000BD) as bigint)", micros)
        case "epoch_millisecond":
            return spark("cast(floor(_0 / 1000BD) as bigint)", micros)
        case "epoch_microsecond":
            return micros
        case _:
            return spark("_0 * 1000", micros)


def _zone_part(part: str, value: exp.Expr, source: DataType, context: SessionContext) -> exp.Expr:
    match source.kind:
        case Kind.TIMESTAMP_TZ:
            offset = temporal.tz_offset(value)
        case Kind.TIMESTAMP_LTZ:
            wall = temporal.wall_of(value, source, context)
            offset = spark("timestampdiff(MINUTE, _0, cast(_1 as timestamp))", value, wall)
        case _:
            raise not_for(part, source, "DATE_PART")
    template = "cast(_0 div 60 as bigint)" if part == "timezone_hour" else "cast(_0 % 60 as bigint)"
    return spark(template, offset)


# -- adding --------------------------------------------------------------------------------------------------


def add_type(part: str, source: DataType) -> DataType:
    """The type of DATEADD's result: a DATE stays one unless a clock part is added."""
    if source.kind is Kind.DATE and part in CLOCK_PARTS:
        return types.TIMESTAMP_NTZ
    return source if source.kind is Kind.DATE else replace(source, precision=9)


def add(part: str, amount: exp.Expr, value: exp.Expr, source: DataType, context: SessionContext) -> exp.Expr:
    """DATEADD. `amount` is a 64-bit integer. A day that the month does not have becomes its last one."""
    if part not in CALENDAR_PARTS and part not in CLOCK_PARTS:
        raise not_for(part, source, "DATEADD")
    if source.kind is Kind.TIME:
        if part not in CLOCK_PARTS:
            raise not_for(part, source, "DATEADD")
        return temporal.time_of_micros(spark("_0 + _1", temporal.micros_of_time(value), _micros(part, amount)))
    if source.kind is Kind.DATE and part in _MONTHS:
        return spark("add_months(_0, int(_1))", value, _scaled(amount, _MONTHS[part]))
    if source.kind is Kind.DATE and part in CALENDAR_PARTS:
        return spark("date_add(_0, int(_1))", value, _scaled(amount, 7 if part == "week" else 1))
    if part in CALENDAR_PARTS and source.kind in (Kind.TIMESTAMP_LTZ, Kind.TIMESTAMP_TZ):

        def on_the_wall(v: exp.Expr, n: exp.Expr) -> exp.Expr:
            moved = _timestampadd(part, n, temporal.wall_of(v, source, context))
            return temporal.from_wall(moved, source, context, v if source.kind is Kind.TIMESTAMP_TZ else None)

        return bind((value, amount), on_the_wall)
    if source.kind is Kind.TIMESTAMP_TZ:

        def with_offset(v: exp.Expr, n: exp.Expr) -> exp.Expr:
            moment = _timestampadd(part, n, temporal.tz_instant(v))
            shifted = temporal.tz_value(moment, temporal.tz_offset(v))
            return spark("if(_0 is null or _1 is null, null, _2)", v, n, shifted)

        return bind((value, amount), with_offset)
    start = spark("cast(_0 as timestamp_ntz)", value) if source.kind is Kind.DATE else value
    return _timestampadd(part, amount, start)


def _timestampadd(part: str, amount: exp.Expr, value: exp.Expr) -> exp.Expr:
    if part in ("microsecond", "nanosecond", "millisecond"):
        return spark("timestampadd(MICROSECOND, _0, _1)", _micros(part, amount), value)
    unit = {"quarter": "MONTH", "week": "DAY"}.get(part, part.upper())
    factor = {"quarter": 3, "week": 7}.get(part, 1)
    return call("timestampadd", exp.Var(this=unit), _scaled(amount, factor), value)


def _micros(part: str, amount: exp.Expr) -> exp.Expr:
    if part == "nanosecond":
        return spark("(_0 - pmod(_0, 1000)) div 1000", amount)
    return _scaled(amount, CLOCK_MICROS.get(part, 1))


def _scaled(amount: exp.Expr, factor: int) -> exp.Expr:
    return amount if factor == 1 else spark("_0 * _1", amount, integer(factor))


# -- counting ------------------------------------------------------------------------------------------------


def count(part: str, start: exp.Expr, end: exp.Expr, context: SessionContext) -> exp.Expr:
    """DATEDIFF between two wall clocks or two dates: how many boundaries of the part lie between them."""
    return spark("_0 - _1", _index(part, end, context), _index(part, start, context))


def count_times(part: str, start: exp.Expr, end: exp.Expr) -> exp.Expr:
    """DATEDIFF between two times of day."""
    if part not in CLOCK_PARTS:
        raise not_for(part, types.TIME, "DATEDIFF")
    return spark(
        "_0 - _1",
        _clock_index(part, temporal.micros_of_time(end)),
        _clock_index(part, temporal.micros_of_time(start)),
    )


def _index(part: str, wall: exp.Expr, context: SessionContext) -> exp.Expr:
    """The number of the part's interval that a moment lies in, counted from a fixed one."""
    day = spark("unix_date(cast(_0 as date))", wall)
    match part:
        case "year" | "yearofweek":
            return spark("cast(year(_0) as bigint)", wall)
        case "quarter":
            return spark("cast(year(_0) * 4 + quarter(_0) as bigint)", wall)
        case "month":
            return spark("cast(year(_0) * 12 + month(_0) as bigint)", wall)
        case "week" | "weekiso":
            # Day 0, 1970-01-01, was a Thursday.
            first = 1 if part == "weekiso" else max(week_start(context), 1)
            return spark("cast(floor((_0 + _1) / 7BD) as bigint)", day, integer(4 - first))
        case "day" | "dayofweek" | "dayofweekiso" | "dayofyear":
            return spark("cast(_0 as bigint)", day)
        case _ if part in CLOCK_PARTS:
            return _clock_index(part, spark("unix_micros(cast(_0 as timestamp))", wall))
        case _:
            raise errors.compilation(
                "001007", "22023", f"'{part}' is not a valid date/time component for function DATEDIFF"
            )


def _clock_index(part: str, micros: exp.Expr) -> exp.Expr:
    if part == "nanosecond":
        return spark("_0 * 1000", micros)
    if part == "microsecond":
        return micros
    unit = integer(CLOCK_MICROS[part])
    return spark("(_0 - pmod(_0, _1)) div _1", micros, unit)


# -- truncating ----------------------------------------------------------------------------------------------


def truncate(part: str, value: exp.Expr, source: DataType, context: SessionContext) -> exp.Expr:
    """DATE_TRUNC: the start of the part that the value lies in, in the value's own type."""
    if source.kind is Kind.TIME:
        if part not in CLOCK_PARTS:
            raise not_for(part, source, "DATE_TRUNC")
        return value if part in ("microsecond", "nanosecond") else spark("time_trunc(_0, _1)", string(part), value)
    if source.kind is Kind.DATE:
        return value if part in CLOCK_PARTS or part == "day" else _date_start(part, value, context)

    def build(v: exp.Expr) -> exp.Expr:
        wall = temporal.wall_of(v, source, context)
        if part in ("microsecond", "nanosecond"):
            return v
        if part in CLOCK_MICROS:
            start = bind(
                wall,
                lambda w: spark(
                    "timestampadd(MICROSECOND, -pmod(unix_micros(cast(_0 as timestamp)), _1), _0)",
                    w,
                    integer(CLOCK_MICROS[part]),
                ),
            )
        else:
            start = spark("cast(_0 as timestamp_ntz)", _date_start(part, spark("cast(_0 as date)", wall), context))
        return temporal.from_wall(start, source, context, v if source.kind is Kind.TIMESTAMP_TZ else None)

    return value if part in ("microsecond", "nanosecond") else bind(value, build)


def _date_start(part: str, day: exp.Expr, context: SessionContext) -> exp.Expr:
    match part:
        case "day":
            return day
        case "year" | "quarter" | "month":
            return call("trunc", day, string(part.upper()))
        case "week" | "weekiso":
            first = 1 if part == "weekiso" else max(week_start(context), 1)
            if first == 1:
                return call("trunc", day, string("WEEK"))
            return bind(day, lambda d: spark("date_sub(_0, pmod(weekday(_0) - _1, 7))", d, integer(first - 1)))
        case _:
            raise errors.compilation(
                "001007", "22023", f"'{part}' is not a valid date/time component for function DATE_TRUNC"
            )
