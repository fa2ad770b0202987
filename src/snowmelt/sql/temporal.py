"""Dates, times and timestamps: time zones, and text in the forms that Snowflake recognises by itself (AUTO).

A *wall clock* is a TIMESTAMP_NTZ: what a clock on the wall shows. An *instant* is Spark's TIMESTAMP. Spark's
session time zone is UTC (see `building`), so casting between the two treats the wall clock as UTC.
"""

from __future__ import annotations

from sqlglot import exp

from snowmelt.core.types import TZ_INSTANT, TZ_OFFSET, DataType, Kind
from snowmelt.sql.building import bind
from snowmelt.sql.dialect import call, integer, spark, string
from snowmelt.sql.functions.registry import SessionContext

EPOCH = "timestamp_ntz '1970-01-01 00:00:00'"

_DIGITS = r"^\s*-?[0-9]+\s*$"
_CLOCK = r"[0-9]{1,2}(:[0-9]{1,2}(:[0-9]{1,2}(\.[0-9]*)?)?)?"
_ZONE = r"\s*(Z|z|[+-][0-9]{1,2}(:?[0-9]{2})?)"
_ISO = rf"^\s*[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}([ T]+{_CLOCK}({_ZONE})?)?\s*$"
_ZONED_MINUTES = rf"^(\s*[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}[ T]+[0-9]{{1,2}}:[0-9]{{1,2}}){_ZONE}\s*$"
"""Without seconds, where Spark takes no zone."""
_OFFSET = r"[T :][0-9.]+\s*(Z|z|[+-][0-9]{1,2}:?[0-9]{0,2})\s*[0-9]{0,4}\s*$"
_TIME = r"^\s*[0-9]{1,2}:[0-9]{1,2}(:[0-9]{1,2}(\.[0-9]*)?)?\s*$"
_WEEKDAY = r"^\s*(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+"
_ANY_ZONE = r"\s+([+-][0-9]{2}:?[0-9]{2}|Z)\b"
_OTHER_FORMS = (
    ("^[0-9]{1,2}/", "M/d/yyyy[ H:mm[:ss[.SSSSSSSSS][.SSSSSS][.SSS]]]"),
    ("^[0-9]{1,2}-[A-Za-z]", "d-[MMMM][MMM]-yyyy[ H:mm[:ss[.SSSSSSSSS][.SSSSSS][.SSS]]]"),
    ("^[0-9]{1,2} [A-Za-z]", "d MMM yyyy[ H:mm[:ss]]"),
    ("^[A-Za-z]", "MMM d H:mm:ss yyyy"),
)
"""The forms besides ISO 8601: how the text starts once weekday and zone are gone, and Spark's pattern."""


def is_utc(context: SessionContext) -> bool:
    return context.time_zone.upper() in {"UTC", "ETC/UTC", "GMT", "Z"}


def instant_of_wall(wall: exp.Expr, zone: str) -> exp.Expr:
    """The instant at which the clocks of a zone show this."""
    moment = spark("cast(_0 as timestamp)", wall)
    return moment if zone.upper() == "UTC" else call("to_utc_timestamp", moment, string(zone))


def wall_of_instant(moment: exp.Expr, zone: str) -> exp.Expr:
    shifted = moment if zone.upper() == "UTC" else call("from_utc_timestamp", moment, string(zone))
    return spark("cast(_0 as timestamp_ntz)", shifted)


def tz_value(moment: exp.Expr, offset_minutes: exp.Expr) -> exp.Expr:
    """A TIMESTAMP_TZ.

    The offset is nullable like the moment: Arrow refuses a NULL struct whose fields are declared NOT NULL.
    """
    offset = spark("if(_0 is null, null, cast(_1 as int))", moment, offset_minutes)
    return call("named_struct", string(TZ_INSTANT), moment, string(TZ_OFFSET), offset)


def tz_instant(value: exp.Expr) -> exp.Expr:
    return exp.Dot(this=_operand(value), expression=exp.to_identifier(TZ_INSTANT, quoted=True))


def tz_offset(value: exp.Expr) -> exp.Expr:
    return exp.Dot(this=_operand(value), expression=exp.to_identifier(TZ_OFFSET, quoted=True))


def _operand(value: exp.Expr) -> exp.Expr:
    plain = isinstance(value, (exp.Column, exp.Identifier, exp.Anonymous, exp.Dot, exp.Paren))
    return value.copy() if plain else exp.Paren(this=value.copy())


def tz_from_instant(moment: exp.Expr, zone: str) -> exp.Expr:
    """The instant with the offset that the zone has then; NULL stays NULL."""
    if zone.upper() == "UTC":
        return bind(moment, lambda m: spark("if(_0 is null, null, _1)", m, tz_value(m, integer(0))))
    return bind(
        moment,
        lambda m: spark(
            "if(_0 is null, null, _1)",
            m,
            tz_value(m, spark("timestampdiff(MINUTE, _0, _1)", m, call("from_utc_timestamp", m, string(zone)))),
        ),
    )


def wall_of(value: exp.Expr, source: DataType, context: SessionContext) -> exp.Expr:
    """What the clock shows for a DATE, TIME or TIMESTAMP_*: the fields that EXTRACT and formats read."""
    match source.kind:
        case Kind.TIMESTAMP_NTZ:
            return value
        case Kind.DATE:
            return spark("cast(_0 as timestamp_ntz)", value)
        case Kind.TIME:
            return spark("make_timestamp_ntz(date '1970-01-01', _0)", value)
        case Kind.TIMESTAMP_LTZ:
            return wall_of_instant(value, context.time_zone)
        case _:
            return bind(
                value,
                lambda v: spark("cast(timestampadd(MINUTE, _0, _1) as timestamp_ntz)", tz_offset(v), tz_instant(v)),
            )


def from_wall(wall: exp.Expr, target: DataType, context: SessionContext, original: exp.Expr | None = None) -> exp.Expr:
    """The value of a type from what the clock shows. A TIMESTAMP_TZ keeps `original`'s offset, if given."""
    match target.kind:
        case Kind.TIMESTAMP_NTZ:
            return wall
        case Kind.DATE:
            return spark("cast(_0 as date)", wall)
        case Kind.TIME:
            return time_of_wall(wall)
        case Kind.TIMESTAMP_LTZ:
            return instant_of_wall(wall, context.time_zone)
        case _ if original is not None:
            return bind(
                (wall, tz_offset(original)),
                lambda w, o: spark(
                    "if(_0 is null, null, _1)",
                    w,
                    tz_value(spark("timestampadd(MINUTE, -_0, cast(_1 as timestamp))", o, w), o),
                ),
            )
        case _:
            return tz_from_instant(instant_of_wall(wall, context.time_zone), context.time_zone)


def time_of_wall(wall: exp.Expr) -> exp.Expr:
    """The time of day."""
    return bind(wall, lambda w: spark("make_time(hour(_0), minute(_0), extract(SECOND FROM _0))", w))


def micros_of_time(time: exp.Expr) -> exp.Expr:
    return spark("time_diff('MICROSECOND', time '00:00:00', _0)", time)


def time_of_micros(micros: exp.Expr) -> exp.Expr:
    """Counts from midnight; what is beyond a day wraps around."""
    return bind(
        call("pmod", micros, integer(86_400_000_000)),
        lambda m: spark(
            "make_time(int(_0 div 3600000000), int(_0 div 60000000 % 60), "
            "cast(_0 % 60000000 as decimal(16, 0)) / 1000000)",
            m,
        ),
    )


def digits(type_: DataType) -> int:
    """The fractional digits of the seconds that a type keeps."""
    return 9 if type_.precision is None else type_.precision


def cut_time(time: exp.Expr, kept: int) -> exp.Expr:
    """A time of day with the fraction of its seconds cut to so many digits."""
    if kept >= 6:
        return time
    if kept == 0:
        return spark("time_trunc('SECOND', _0)", time)
    return bind(micros_of_time(time), lambda m: time_of_micros(spark("_0 - _0 % _1", m, integer(10 ** (6 - kept)))))


def cut_fraction(wall: exp.Expr, kept: int | None) -> exp.Expr:
    """A wall clock or an instant with the fraction of its seconds cut to so many digits."""
    if kept is None or kept >= 6:
        return wall
    return bind(
        wall,
        lambda w: spark(
            "timestampadd(MICROSECOND, -pmod(unix_micros(cast(_0 as timestamp)), _1), _0)",
            w,
            integer(10 ** (6 - kept)),
        ),
    )


def epoch_wall(count: exp.Expr) -> exp.Expr:
    """Digits as text count seconds, milli-, micro- or nanoseconds since 1970, as their size suggests."""
    return bind(
        spark("try_cast(_0 as bigint)", count),
        lambda n: spark(
            "cast(timestamp_micros(case when _0 between -31535999999 and 31535999999 then _0 * 1000000 "
            "when _0 between -31535999999999 and 31535999999999 then _0 * 1000 "
            "when _0 between -31535999999999999 and 31535999999999999 then _0 "
            "else _0 div 1000 end) as timestamp_ntz)",
            n,
        ),
    )


def try_wall(text: exp.Expr) -> exp.Expr:
    """The wall clock that a text shows, its offset ignored; NULL where AUTO would not recognise it."""

    def build(t: exp.Expr) -> exp.Expr:
        without_zone = call("regexp_replace", t, string(_ZONED_MINUTES), string("$1"))
        case = exp.Case()
        case = case.when(
            call("regexp_like", t, string(_ZONED_MINUTES)), spark("try_cast(_0 as timestamp_ntz)", without_zone)
        )
        case = case.when(call("regexp_like", t, string(_ISO)), spark("try_cast(_0 as timestamp_ntz)", t))
        case = case.when(call("regexp_like", t, string(_DIGITS)), epoch_wall(t))
        return case.else_(_other_wall(t))

    return bind(text, build)


def _other_wall(text: exp.Expr) -> exp.Expr:
    bare = call(
        "trim",
        call(
            "regexp_replace",
            call("regexp_replace", text, string(_WEEKDAY), _EMPTY),
            string(_ANY_ZONE),
            _EMPTY,
        ),
    )

    def build(t: exp.Expr) -> exp.Expr:
        case = exp.Case()
        for start, pattern in _OTHER_FORMS:
            parsed = spark("cast(try_to_timestamp(_0, _1) as timestamp_ntz)", t, string(pattern))
            case = case.when(call("regexp_like", t, string(start)), parsed)
        return case

    return bind(bare, build)


_EMPTY = string("")


def offset_of_text(text: exp.Expr) -> exp.Expr:
    """Minutes east of Greenwich that a text names; NULL when it names none."""

    def build(t: exp.Expr) -> exp.Expr:
        found = call("regexp_extract", t, string(_OFFSET), integer(1))
        return bind(found, minutes_of_offset)

    return bind(text, build)


def minutes_of_offset(zone: exp.Expr) -> exp.Expr:
    return spark(
        "case when _0 = '' then null when upper(_0) = 'Z' then 0 else "
        "if(left(_0, 1) = '-', -1, 1) * (int(regexp_extract(_0, '^.([0-9]{1,2})', 1)) * 60 + "
        "coalesce(try_cast(regexp_extract(_0, '^.[0-9]{1,2}:?([0-9]{2})$', 1) as int), 0)) end",
        zone,
    )


def try_from_text(text: exp.Expr, target: DataType, context: SessionContext) -> exp.Expr:
    """A text as DATE, TIME or TIMESTAMP_*; NULL where AUTO would not recognise it."""
    match target.kind:
        case Kind.DATE:
            return spark("cast(_0 as date)", try_wall(text))
        case Kind.TIME:
            return cut_time(try_time(text), digits(target))
        case Kind.TIMESTAMP_NTZ:
            return cut_fraction(try_wall(text), target.precision)
        case _:
            return bind(text, lambda t: zoned(try_wall(t), offset_of_text(t), _is_digits(t), target, context))


def _is_digits(text: exp.Expr) -> exp.Expr:
    return call("regexp_like", text, string(_DIGITS))


def zoned(
    wall: exp.Expr,
    offset: exp.Expr,
    utc: exp.Expr | None,
    target: DataType,
    context: SessionContext,
) -> exp.Expr:
    """A TIMESTAMP_LTZ or TIMESTAMP_TZ from a wall clock and an offset; the session's zone where that is NULL.

    Where `utc` is true the wall clock is UTC's, and only the offset shown is the session's.
    """
    zone = context.time_zone
    wall = cut_fraction(wall, target.precision)

    def build(w: exp.Expr, o: exp.Expr) -> exp.Expr:
        local = instant_of_wall(w, zone)
        if utc is not None and not is_utc(context):
            local = spark("if(_0, cast(_1 as timestamp), _2)", utc, w, local)
        exact = spark("timestampadd(MINUTE, -_0, cast(_1 as timestamp))", o, w)
        if target.kind is Kind.TIMESTAMP_LTZ:
            return spark("if(_0 is null, _1, _2)", o, local, exact)
        unset = tz_from_instant(local, zone)
        given = spark("if(_0 is null, null, _1)", w, tz_value(exact, o))
        return spark("if(_0 is null, _1, _2)", o, unset, given)

    return bind((wall, offset), build)


def try_time(text: exp.Expr) -> exp.Expr:
    """A text as TIME; NULL where AUTO would not recognise it."""

    def build(t: exp.Expr) -> exp.Expr:
        case = exp.Case()
        case = case.when(call("regexp_like", t, string(_TIME)), spark("try_cast(trim(_0) as time(6))", t))
        return case.else_(time_of_wall(try_wall(t)))

    return bind(text, build)


def epoch_timestamp(
    value: exp.Expr, source: DataType, scale: int, target: DataType, context: SessionContext
) -> exp.Expr:
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
            return cut_fraction(spark("cast(_0 as timestamp_ntz)", moment), target.precision)
        case Kind.TIMESTAMP_LTZ:
            return cut_fraction(moment, target.precision)
        case _:
            return tz_from_instant(cut_fraction(moment, target.precision), context.time_zone)
