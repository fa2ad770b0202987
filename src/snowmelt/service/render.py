"""Values as text, as Snowflake's clients show them by default."""

from __future__ import annotations

import json
import math
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from snowmelt.core.types import DataType, Kind


def render(value: Any, type_: DataType) -> str | None:
    """The text of one value from `Result.rows()`; None for NULL."""
    if value is None:
        return None
    match type_.kind:
        case Kind.BOOLEAN:
            return "TRUE" if value else "FALSE"
        case Kind.FLOAT:
            return render_float(value)
        case Kind.BINARY:
            return bytes(value).hex().upper()
        case Kind.TIMESTAMP_NTZ | Kind.TIMESTAMP_LTZ | Kind.TIMESTAMP_TZ:
            return _timestamp(value)
        case Kind.TIME:
            return _time(value)
        case Kind.VARIANT | Kind.OBJECT | Kind.ARRAY:
            return compact_json(value)
        case _:
            return _plain(value)


def render_float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return repr(value)


def compact_json(text: str) -> str:
    """JSON on one line with sorted keys; numbers keep their digits."""
    return _json(json.loads(text, parse_float=_Digits, parse_int=_Digits))


class _Digits(str):
    """A JSON number as it was written."""

    __slots__ = ()


def _json(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{_json(key)}:{_json(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_json(item) for item in value) + "]"
    return str(value) if isinstance(value, _Digits) else json.dumps(value, ensure_ascii=False)


def _timestamp(value: datetime) -> str:
    text = value.strftime("%Y-%m-%d %H:%M:%S.") + _fraction(value.microsecond, 3)
    text = text if value.year >= 1000 else text.rjust(23, "0")
    return text if value.tzinfo is None else f"{text} {value.strftime('%z')[:5]}"


def _time(value: time) -> str:
    return value.strftime("%H:%M:%S") + (f".{_fraction(value.microsecond, 0)}" if value.microsecond else "")


def _fraction(microseconds: int, least: int) -> str:
    digits = f"{microseconds:06d}"
    kept = len(digits.rstrip("0"))
    return digits[: max(kept, least)]


def _plain(value: Any) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, date):
        return value.isoformat()
    return str(value)
