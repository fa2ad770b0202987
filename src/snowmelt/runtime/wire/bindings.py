"""Values that clients bind: text with a type, by number or by name, or a list of them for many rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal, InvalidOperation
from typing import Any

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.binds import Typed
from snowmelt.runtime.wire.json_rows import ZONE_SHIFT

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_VALUES = 5_000_000


@dataclass(frozen=True, slots=True)
class Bindings:
    """`rows` has one row, unless `many`: then the statement is meant for each of them."""

    rows: tuple[tuple[Any, ...], ...] = ()
    many: bool = False
    names: Mapping[str, int] = field(default_factory=dict)
    """Which value of a row each name stands for, in capitals. A value that the statement does not name is left out."""


def invalid(detail: str) -> SnowmeltError:
    return SnowmeltError("002090", "22000", f"Invalid bind value: {detail}.")


def read_bindings(raw: object) -> Bindings:
    """What stands under `bindings` in a request. Raises when it makes no sense."""
    if raw is None or raw == {}:
        return Bindings()
    if not isinstance(raw, Mapping):
        raise invalid("not an object")
    named = [name for name in raw if not name.isdigit()]
    numbered = [str(number + 1) for number in range(len(raw) - len(named))]
    names = {name.upper(): len(numbered) + index for index, name in enumerate(named)}
    columns = [_column(raw.get(name)) for name in (*numbered, *named)]
    many = any(isinstance(value, list) for _, value in columns)
    if not many:
        return Bindings((tuple(_value(kind, value) for kind, value in columns),), names=names)
    lengths = {len(value) for _, value in columns if isinstance(value, list)}
    if len(lengths) != 1 or not all(isinstance(value, list) for _, value in columns):
        raise invalid("the lists of values are not equally long")
    if lengths.pop() * len(columns) > _MOST_VALUES:
        raise invalid(f"more than {_MOST_VALUES} values")
    converted = [[_value(kind, value) for value in values] for kind, values in columns]
    return Bindings(tuple(zip(*converted, strict=True)), many=True, names=names)


def _column(entry: object) -> tuple[str, Any]:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("type"), str):
        raise invalid("a value has no type, or numbers are left out")
    return entry["type"].upper(), entry.get("value")


def _value(kind: str, value: Any) -> Any:
    if value is None:
        return None
    text = value if isinstance(value, str) else str(value)
    try:
        return _converted(kind, text)
    except (ValueError, OverflowError, InvalidOperation, TypeError):
        raise invalid(f"'{text[:100]}' is no {kind}") from None


def _converted(kind: str, text: str) -> Any:
    match kind:
        case "FIXED":
            number = Decimal(text)
            if not number.is_finite() or abs(number.adjusted()) > 100:
                raise ValueError(text)
            return number
        case "REAL":
            return float(text)
        case "BOOLEAN":
            return text.lower() in ("1", "true", "t", "yes", "y", "on")
        case "BINARY":
            return bytes.fromhex(text)
        case "DATE":
            return _date(text)
        case "TIME":
            return _time(text)
        case "TIMESTAMP_NTZ":
            return _instant(text).replace(tzinfo=None) if _is_count(text) else Typed(text, kind)
        case "TIMESTAMP_LTZ":
            return Typed(_instant(text).isoformat(sep=" ") if _is_count(text) else text, kind)
        case "TIMESTAMP_TZ":
            return _zoned(text)
        case "VARIANT" | "OBJECT" | "ARRAY":
            return Typed(text, "VARIANT")
        case _:
            return text


def _is_count(text: str) -> bool:
    return text.lstrip("-").isdigit()


def _date(text: str) -> Any:
    """Milliseconds since 1970."""
    if not _is_count(text):
        return Typed(text, "DATE")
    return date(1970, 1, 1) + timedelta(milliseconds=int(text))


def _time(text: str) -> Any:
    """Nanoseconds since midnight."""
    if not _is_count(text):
        return Typed(text, "TIME")
    return (_EPOCH + timedelta(microseconds=int(text) // 1000)).time()


def _instant(text: str) -> datetime:
    """Nanoseconds since 1970."""
    return _EPOCH + timedelta(microseconds=int(text) // 1000)


def _zoned(text: str) -> Any:
    """Nanoseconds since 1970, and minutes from UTC, shifted."""
    count, _, zone = text.partition(" ")
    if not _is_count(count):
        return Typed(text, "TIMESTAMP_TZ")
    offset = timezone(timedelta(minutes=int(zone) - ZONE_SHIFT)) if zone else UTC
    return _instant(count).astimezone(offset)
