"""Values as text, as Snowflake's clients show them by default."""

from __future__ import annotations

import json
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
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return repr(value)


def compact_json(text: str) -> str:
    """JSON on one line with sorted keys; numbers keep their digits."""
    value = json.loads(text, parse_float=_Number, parse_int=_Number)
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False, cls=_Encoder)


class _Number(float):
    """A number that prints as it was written."""

    def __new__(cls, text: str) -> _Number:
        number = super().__new__(cls, text)
        number.text = text
        return number

    text: str

    def __repr__(self) -> str:
        return self.text


class _Encoder(json.JSONEncoder):
    def iterencode(self, o: Any, _one_shot: bool = False) -> Any:
        return super().iterencode(o, _one_shot=False)


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
