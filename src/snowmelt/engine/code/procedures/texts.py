"""Values of results and of binds, as Snowflake's clients write them. Nothing but Python's own modules."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from datetime import time as clock_time
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

_EPOCH = datetime(1970, 1, 1)
_ZONE_SHIFT = 1440


def value_of(column: dict[str, Any], text: str | None, zone: str) -> Any:
    """The Python value of a text in a result."""
    if text is None:
        return None
    kind = column["type"]
    if kind == "fixed":
        return Decimal(text) if column.get("scale") else int(text)
    if kind == "date":
        return date(1970, 1, 1) + timedelta(days=int(text))
    if kind == "time":
        return (_EPOCH + _seconds(text)).time()
    if kind == "timestamp_ntz":
        return _EPOCH + _seconds(text)
    if kind == "timestamp_ltz":
        return (_EPOCH + _seconds(text)).replace(tzinfo=UTC).astimezone(ZoneInfo(zone))
    if kind == "timestamp_tz":
        instant, _, minutes = text.partition(" ")
        offset = timezone(timedelta(minutes=int(minutes or _ZONE_SHIFT) - _ZONE_SHIFT))
        return (_EPOCH + _seconds(instant)).replace(tzinfo=UTC).astimezone(offset)
    if kind == "real":
        return float(text)
    if kind == "boolean":
        return text in ("1", "true", "TRUE")
    return bytes.fromhex(text) if kind == "binary" else text


def _seconds(text: str) -> timedelta:
    whole, _, fraction = text.partition(".")
    micro = int((fraction + "000000")[:6])
    return timedelta(seconds=int(whole), microseconds=-micro if whole.startswith("-") else micro)


def bind(value: Any) -> dict[str, Any]:
    """A value for `?`."""
    if value is None:
        return {"type": "TEXT", "value": None}
    if isinstance(value, bool):
        return {"type": "BOOLEAN", "value": str(value).lower()}
    if isinstance(value, int):
        return {"type": "FIXED", "value": str(value)}
    if isinstance(value, Decimal):
        return {"type": "FIXED", "value": f"{value:f}"}
    if isinstance(value, float):
        return {"type": "REAL", "value": repr(value)}
    if isinstance(value, bytes | bytearray):
        return {"type": "BINARY", "value": bytes(value).hex()}
    if isinstance(value, datetime):
        return _moment(value)
    if isinstance(value, date):
        return {"type": "DATE", "value": str((value - date(1970, 1, 1)).days * 86_400_000)}
    if isinstance(value, clock_time):
        since = timedelta(hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond)
        return {"type": "TIME", "value": str(since // timedelta(microseconds=1) * 1000)}
    if isinstance(value, dict | list | tuple):
        return {"type": "TEXT", "value": json.dumps(value, default=str)}
    return {"type": "TEXT", "value": str(value)}


def _moment(value: datetime) -> dict[str, Any]:
    offset = value.utcoffset()
    instant = value.replace(tzinfo=None) - (offset or timedelta())
    nanoseconds = str((instant - _EPOCH) // timedelta(microseconds=1) * 1000)
    if offset is None:
        return {"type": "TIMESTAMP_NTZ", "value": nanoseconds}
    minutes = int(offset.total_seconds() // 60) + _ZONE_SHIFT
    return {"type": "TIMESTAMP_TZ", "value": f"{nanoseconds} {minutes}"}
