"""Dates, times and timestamps from their parts. What is out of range carries over (month 13)."""

from __future__ import annotations

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.types import DataType, Kind
from snowmelt.sql import temporal
from snowmelt.sql.building import bind
from snowmelt.sql.casts import cast
from snowmelt.sql.dialect import call, spark
from snowmelt.sql.functions.registry import Function, FunctionCall, alias, scalar


def _integers(invocation: FunctionCall, start: int, stop: int) -> list[exp.Expr]:
    return [
        cast(invocation.args[index], invocation.types[index], types.INTEGER, invocation.context)
        for index in range(start, min(stop, len(invocation.args)))
    ]


def _date(year: exp.Expr, month: exp.Expr, day: exp.Expr) -> exp.Expr:
    return spark("date_add(add_months(make_date(int(_0), 1, 1), int(_1 - 1)), int(_2 - 1))", year, month, day)


def _micros_of_day(parts: list[exp.Expr]) -> exp.Expr:
    """Hours, minutes, seconds and perhaps nanoseconds as a count of microseconds."""
    micros = spark("(_0 * 3600 + _1 * 60 + _2) * 1000000", *parts[:3])
    if len(parts) > 3:
        return spark("_0 + (_1 - pmod(_1, 1000)) div 1000", micros, parts[3])
    return micros


def _date_from_parts(invocation: FunctionCall) -> exp.Expr:
    return _date(*invocation.args)


def _time_from_parts(invocation: FunctionCall) -> exp.Expr:
    return temporal.time_of_micros(_micros_of_day(list(invocation.args)))


def _wall_from_parts(invocation: FunctionCall) -> exp.Expr:
    if len(invocation.args) == 2:
        day = cast(invocation.args[0], invocation.types[0], types.DATE, invocation.context)
        time = cast(invocation.args[1], invocation.types[1], types.TIME, invocation.context)
        return call("make_timestamp_ntz", day, time)
    if len(invocation.args) < 6:
        raise errors.not_enough_arguments(invocation.name, 6, len(invocation.args))
    numbers = _integers(invocation, 0, 7)
    return spark(
        "timestampadd(MICROSECOND, _0, cast(_1 as timestamp_ntz))",
        _micros_of_day(numbers[3:]),
        _date(*numbers[:3]),
    )


def _kind_of(invocation: FunctionCall) -> DataType:
    if len(invocation.args) == 8:
        return types.TIMESTAMP_TZ
    name = invocation.name.replace("TIMESTAMP_", "TIMESTAMP").replace("_", "")
    for suffix, type_ in (("LTZ", types.TIMESTAMP_LTZ), ("TZ", types.TIMESTAMP_TZ)):
        if name.startswith(f"TIMESTAMP{suffix}"):
            return type_
    return types.TIMESTAMP_NTZ


def _timestamp_from_parts(invocation: FunctionCall) -> exp.Expr:
    target = _kind_of(invocation)
    wall = _wall_from_parts(invocation)
    if target.kind is Kind.TIMESTAMP_TZ and len(invocation.args) == 8:
        return bind(
            (wall, invocation.args[7]),
            lambda w, zone: bind(
                spark("to_utc_timestamp(cast(_0 as timestamp), _1)", w, zone),
                lambda moment: spark(
                    "if(_0 is null, null, _1)",
                    moment,
                    temporal.tz_value(moment, spark("timestampdiff(MINUTE, _0, cast(_1 as timestamp))", moment, w)),
                ),
            ),
        )
    return temporal.from_wall(wall, target, invocation.context)


_DATE_FROM_PARTS = scalar("DATE_FROM_PARTS", "int, int, int", types.DATE, _date_from_parts)
_TIME_FROM_PARTS = scalar("TIME_FROM_PARTS", "int, int, int, int", types.TIME, _time_from_parts, least=3)
_TIMESTAMP_FROM_PARTS = scalar(
    "TIMESTAMP_FROM_PARTS", "any, any, any, any, any, any, any, str", types.TIMESTAMP_NTZ,
    _timestamp_from_parts, least=2, typed=_kind_of,
)  # fmt: skip

FUNCTIONS: tuple[Function, ...] = (
    _DATE_FROM_PARTS,
    *alias(_DATE_FROM_PARTS, "DATEFROMPARTS"),
    _TIME_FROM_PARTS,
    *alias(_TIME_FROM_PARTS, "TIMEFROMPARTS"),
    _TIMESTAMP_FROM_PARTS,
    *alias(
        _TIMESTAMP_FROM_PARTS,
        "TIMESTAMPFROMPARTS", "TIMESTAMP_NTZ_FROM_PARTS", "TIMESTAMPNTZFROMPARTS", "TIMESTAMP_LTZ_FROM_PARTS",
        "TIMESTAMPLTZFROMPARTS", "TIMESTAMP_TZ_FROM_PARTS", "TIMESTAMPTZFROMPARTS",
    ),
)  # fmt: skip
