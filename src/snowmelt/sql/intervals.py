"""Interval constants: `x + INTERVAL '1 year, 3 days'`.

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
_DEFAULT_CONTEXT = SessionContext(now=datetime(1970, 1, 1, tzinfo=UTC))


def interval_parts(interval: str | exp.Interval) -> list[tuple[int, str]]:
    """The amounts and parts of an interval constant. A number without a part counts seconds."""
    if isinstance(interval, str):
        text = interval
    else:
        amount = interval.this
        unit = interval.args.get("unit")
        if not isinstance(amount, exp.Literal):
            raise errors.unsupported("an INTERVAL that is not a constant")
        text = f"{amount.this} {unit.name}" if unit is not None else str(amount.this)
    found: list[tuple[int, str]] = []
    for item in text.split(","):
        match = _ITEM.fullmatch(item.strip())
        if match is None:
            raise errors.compilation("001009", "22023", f"invalid interval '{text}'")
        found.append((int(match[1]), date_parts.part_named(match[2] or "second", "INTERVAL")))
    return found


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
