"""Interval constants: `x + INTERVAL '1 year, 3 days'`, and literals of interval types: `INTERVAL '1-3' YEAR TO MONTH`.

Snowflake adds the parts in the order in which they are written, which matters at the ends of months.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import DataType, Kind
from snowmelt.sql.casts import cast
from snowmelt.sql.dialect import integer
from snowmelt.sql.functions import date_parts
from snowmelt.sql.functions.registry import SessionContext

_ITEM = re.compile(r"([+-]?\d+)\s*+([A-Za-z_]*)")
_SPANS = {
    "YEAR MONTH": (re.compile(r"([+-]?)(\d{1,9})-(\d{1,9})"), ("year", "month")),
    "DAY HOUR": (re.compile(r"([+-]?)(\d{1,9}) (\d{1,9})"), ("day", "hour")),
    "DAY MINUTE": (re.compile(r"([+-]?)(\d{1,9}) (\d{1,9}):(\d{1,9})"), ("day", "hour", "minute")),
    "DAY SECOND": (
        re.compile(r"([+-]?)(\d{1,9}) (\d{1,9}):(\d{1,9}):(\d{1,9})(?:\.(\d{1,9}))?"),
        ("day", "hour", "minute", "second"),
    ),
    "HOUR MINUTE": (re.compile(r"([+-]?)(\d{1,9}):(\d{1,9})"), ("hour", "minute")),
    "HOUR SECOND": (re.compile(r"([+-]?)(\d{1,9}):(\d{1,9}):(\d{1,9})(?:\.(\d{1,9}))?"), ("hour", "minute", "second")),
    "MINUTE SECOND": (re.compile(r"([+-]?)(\d{1,9}):(\d{1,9})(?:\.(\d{1,9}))?"), ("minute", "second")),
    "SECOND": (re.compile(r"([+-]?)(\d{1,9})(?:\.(\d{1,9}))?"), ("second",)),
}  # fmt: skip
"""How a literal of an interval type is written, by its first and last part. Seconds may have a fraction."""
_LARGEST = {"month": 11, "hour": 23, "minute": 59, "second": 59}
"""Of parts behind the first."""
_DEFAULT_CONTEXT = SessionContext(now=datetime(1970, 1, 1, tzinfo=UTC))


def interval_parts(interval: str | exp.Interval) -> list[tuple[int, str]]:
    """The amounts and parts of an interval constant. A number without a part counts seconds."""
    if isinstance(interval, str):
        text = interval
    else:
        amount = interval.this
        unit = interval.args.get("unit")
        if not isinstance(amount, exp.Literal):
            raise errors.unsupported(
                "an INTERVAL that is not a constant", hint="DATEADD takes an amount from a column."
            )
        if isinstance(unit, exp.IntervalSpan):
            return _span(str(amount.this), f"{unit.this.name} {unit.expression.name}".upper())
        if unit is not None and unit.name.upper() == "SECOND" and "." in str(amount.this):
            return _span(str(amount.this), "SECOND")
        text = f"{amount.this} {unit.name}" if unit is not None else str(amount.this)
    found: list[tuple[int, str]] = []
    for item in text.split(","):
        match = _ITEM.fullmatch(item.strip())
        if match is None:
            raise errors.compilation("001009", "22023", f"invalid interval '{text}'")
        found.append((int(match[1]), date_parts.part_named(match[2] or "second", "INTERVAL")))
    return found


def _span(text: str, parts: str) -> list[tuple[int, str]]:
    """The amounts of `INTERVAL '3 04:05:06' DAY TO SECOND`. A sign before the first holds for all."""
    pattern, names = _SPANS.get(parts, (None, ()))
    found = pattern.fullmatch(text.strip()) if pattern is not None else None
    amounts = [int(found[index]) for index in range(2, len(names) + 2)] if found is not None else []
    later = zip(amounts[1:], names[1:], strict=False)
    if found is None or any(amount > _LARGEST[name] for amount, name in later):
        shown = " TO ".join(parts.split())
        raise errors.compilation("001009", "22023", f"invalid interval '{text}' {shown}")
    sign = -1 if found[1] == "-" else 1
    fraction = found[len(names) + 2] if names[-1] == "second" else None
    values = [(sign * amount, name) for amount, name in zip(amounts, names, strict=True)]
    return [*values, (sign * int(fraction.ljust(9, "0")), "nanosecond")] if fraction else values


def add_interval(
    value: exp.Expr,
    source: DataType,
    interval: str | exp.Interval,
    sign: int,
    context: SessionContext = _DEFAULT_CONTEXT,
) -> tuple[exp.Expr, DataType]:
    """The value plus (`sign` 1) or minus (-1) an interval, and its type. Text is read as a timestamp."""
    tree, type_ = value, source
    if source.kind in (Kind.VARCHAR, Kind.NULL, Kind.VARIANT):
        type_ = DataType(Kind.TIMESTAMP_NTZ, precision=9)
        tree = cast(value, source, type_, context)
    elif not source.is_timestamp and source.kind not in (Kind.DATE, Kind.TIME):
        raise errors.compilation("001007", "22023", f"invalid type [{source}] for an addition of an INTERVAL")
    for amount, part in interval_parts(interval):
        tree = date_parts.add(part, integer(sign * amount), tree, type_, context)
        type_ = date_parts.add_type(part, type_)
    return tree, type_
