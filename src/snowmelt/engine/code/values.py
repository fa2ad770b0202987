"""Values of users' Python: from the texts that stand for them, and back.

Nothing but Python's own modules: this file's text is sent to the process that runs the code (`host`).
"""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, timedelta, timezone
from datetime import time as clock_time
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any
from zoneinfo import ZoneInfo

_UNDEFINED = "\ufdd0"
_DIGITS = Context(prec=100)


class WrongError(Exception):
    """What the user is told as it is."""


def decoded(type_: dict[str, Any], text: str | None, zone: str) -> Any:
    """The value that a text stands for, as Snowflake gives it to Python."""
    if text is None:
        return None
    kind = type_["kind"]
    if kind == "NUMBER":
        return int(text) if not type_["scale"] else Decimal(text)
    if kind in ("VARIANT", "OBJECT", "ARRAY"):
        found = json.loads(text)
        return _without_undefined(found) if _UNDEFINED in text or "\\ufdd0" in text else found
    if kind == "TIMESTAMP_LTZ":
        return datetime.fromisoformat(text).replace(tzinfo=UTC).astimezone(ZoneInfo(zone))
    if kind == "TIMESTAMP_TZ":
        instant, _, minutes = text.partition("|")
        offset = timezone(timedelta(minutes=int(minutes)))
        return datetime.fromisoformat(instant).replace(tzinfo=UTC).astimezone(offset)
    return _DECODED[kind](text)


_DECODED: dict[str, Any] = {
    "FLOAT": float,
    "VARCHAR": str,
    "BOOLEAN": lambda text: text == "true",
    "BINARY": bytes.fromhex,
    "DATE": date.fromisoformat,
    "TIME": clock_time.fromisoformat,
    "TIMESTAMP_NTZ": datetime.fromisoformat,
}


def _without_undefined(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_undefined(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_undefined(item) for key, item in value.items()}
    return None if value == _UNDEFINED else value


def encoded(type_: dict[str, Any], value: Any, zone: str) -> str | None:
    """The text for a value of the declared type. Raises for a value that is none."""
    value = plain(value)
    if value is None:
        return None
    found: str | None = _ENCODED[type_["kind"]](type_, value, zone)
    if found is None:
        raise WrongError(f"TypeError: a value of type {type(value).__name__} is no {type_['kind']}")
    return found


def plain(value: Any) -> Any:
    """Without the types of numpy and pandas."""
    module = type(value).__module__.partition(".")[0]
    if module == "numpy":
        value = value.tolist() if hasattr(value, "tolist") else value
    elif module == "pandas":
        if type(value).__name__ in ("NAType", "NaTType"):
            return None
        if hasattr(value, "to_pydatetime"):
            return value.to_pydatetime(warn=False)
    return value


def _number(type_: dict[str, Any], value: Any, _: str) -> str | None:
    if not isinstance(value, bool | int | float | Decimal):
        return None
    if isinstance(value, float) and math.isnan(value):
        return _refused(value)
    try:
        exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        rounded = exact.quantize(Decimal(1).scaleb(-type_["scale"]), ROUND_HALF_UP, _DIGITS)
    except (InvalidOperation, ValueError):
        return _refused(value)
    return f"{rounded:f}" if abs(rounded) < Decimal(10) ** (type_["precision"] - type_["scale"]) else _refused(value)


def _refused(value: Any) -> str:
    raise WrongError(f"Numeric value '{value}' is out of range")


def _float(_: dict[str, Any], value: Any, __: str) -> str | None:
    if not isinstance(value, bool | int | float | Decimal):
        return None
    found = float(value)
    if math.isinf(found):
        return "Infinity" if found > 0 else "-Infinity"
    return "NaN" if math.isnan(found) else repr(found)


def _text(_: dict[str, Any], value: Any, __: str) -> str | None:
    return None if isinstance(value, bytes | bytearray | dict | list) else str(value)


def _boolean(_: dict[str, Any], value: Any, __: str) -> str | None:
    return str(value).lower() if isinstance(value, bool) else None


def _binary(_: dict[str, Any], value: Any, __: str) -> str | None:
    return bytes(value).hex().upper() if isinstance(value, bytes | bytearray) else None


def _date(_: dict[str, Any], value: Any, __: str) -> str | None:
    if isinstance(value, datetime):
        value = value.date()
    return value.isoformat() if isinstance(value, date) else None


def _time(_: dict[str, Any], value: Any, __: str) -> str | None:
    return value.replace(tzinfo=None).isoformat() if isinstance(value, clock_time) else None


def _moment(value: Any) -> datetime | None:
    if isinstance(value, datetime):
        return value
    return datetime(value.year, value.month, value.day) if isinstance(value, date) else None


def _naive(_: dict[str, Any], value: Any, __: str) -> str | None:
    found = _moment(value)
    return None if found is None else found.replace(tzinfo=None).isoformat(" ")


def _aware(value: Any, zone: str) -> datetime | None:
    found = _moment(value)
    if found is None:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=ZoneInfo(zone))


def _local(_: dict[str, Any], value: Any, zone: str) -> str | None:
    found = _aware(value, zone)
    return None if found is None else found.astimezone(UTC).replace(tzinfo=None).isoformat(" ")


def _zoned(_: dict[str, Any], value: Any, zone: str) -> str | None:
    found = _aware(value, zone)
    if found is None:
        return None
    offset = found.utcoffset() or timedelta()
    return f"{found.astimezone(UTC).replace(tzinfo=None).isoformat(' ')}|{round(offset.total_seconds() / 60)}"


def _json(type_: dict[str, Any], value: Any, _: str) -> str | None:
    if type_["kind"] == "OBJECT" and not isinstance(value, dict):
        return None
    if type_["kind"] == "ARRAY" and not isinstance(value, list | tuple):
        return None
    try:
        return json.dumps(value, default=_jsonable, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise WrongError(f"The returned value is not JSON: {error}") from None


def _jsonable(value: Any) -> Any:
    value = plain(value)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex().upper()
    if isinstance(value, date | datetime | clock_time):
        return str(value)
    if isinstance(value, dict | list | str | int | float) or value is None:
        return value
    raise TypeError(f"a value of type {type(value).__name__}")


_ENCODED: dict[str, Any] = {
    "NUMBER": _number, "FLOAT": _float, "VARCHAR": _text, "BOOLEAN": _boolean, "BINARY": _binary, "DATE": _date,
    "TIME": _time, "TIMESTAMP_NTZ": _naive, "TIMESTAMP_LTZ": _local, "TIMESTAMP_TZ": _zoned, "VARIANT": _json,
    "OBJECT": _json, "ARRAY": _json,
}  # fmt: skip
