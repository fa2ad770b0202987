"""Values as text, as Snowflake's clients show them by default."""

from __future__ import annotations

import json
import math
import re
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from snowmelt.core import result_json
from snowmelt.core.types import UNDEFINED, DataType, Kind


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
    return _json(json.loads(result_json.with_marks(text), parse_float=_Digits, parse_int=_Digits))


_PARTS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|\{\s*\}|\[\s*\]|[\[{,\]}:]|[^\s"{}\[\],:]+', re.DOTALL)


def indented_json(text: str, spaces: int) -> str:
    """JSON as Snowflake's drivers get it: each element on a line of its own, `spaces` more in each level.

    Nothing but white space changes: numbers keep their digits, and what is no JSON (`undefined`) stays.
    Without spaces it is one line, as JSON_INDENT = 0 asks for.
    """
    if text[:1] not in ("{", "["):
        return text
    if spaces <= 0:
        return "".join(_PARTS.findall(text))
    found: list[str] = []
    line = "\n"
    for part in _PARTS.findall(text):
        first = part[0]
        if first in "{[" and len(part) == 1:
            line += " " * spaces
            found += part, line
        elif first in "{[":
            found.append(first + part[-1])
        elif first in "}]":
            line = line[:-spaces]
            found += line, part
        elif first == ",":
            found += part, line
        else:
            found.append(": " if first == ":" else part)
    return "".join(found)


class _Digits(str):
    """A JSON number as it was written."""

    __slots__ = ()


def _json(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{_json(key)}:{_json(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_json(item) for item in value) + "]"
    if value == UNDEFINED:
        return "undefined"
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
