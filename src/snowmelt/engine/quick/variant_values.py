"""What Spark makes of VARIANT values: their types, their texts, and what they are as numbers, dates and so on.

`Uncertain` is raised wherever Spark's result is not known for sure (32-bit and 64-bit floating numbers as texts,
timestamps, texts that are not written in the plainest way): the query goes to Spark then.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

from snowmelt.storage import variant

Variant = tuple[bytes, bytes]
"""Metadata and value."""
_EXACT = Context(prec=80)
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CONTROL = re.compile(r"[\x00-\x07\x0b\x0e-\x1f]")
_PLAIN_NUMBER = re.compile(r"[+-]?[0-9]{1,18}([.][0-9]{1,18})?")
_PLAIN_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_PLAIN_DOUBLE = re.compile(r"[+-]?[0-9]{1,15}([.][0-9]{1,15})?")
_PLAIN_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PLAIN_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?")
_LAST_PLAIN_LETTER = "\ud7ff"
"""Behind it, Java's order of texts differs from that of their bytes."""
_OBJECT, _ARRAY = 2, 3
_SINGLE = 14 << 2
_LARGEST = 1 << 63
_MAX_DIGITS = 38


class Uncertain(Exception):  # noqa: N818 - it is an answer, not a failure
    """Only Spark knows the result."""


def decoded(given: Variant) -> Any:
    metadata, value = given
    if value[0] == _SINGLE:
        raise Uncertain("a 32-bit floating number")
    return variant.decode(metadata, value)


def parsed(text: str) -> Variant:
    """`parse_json`."""
    if "undefined" in text or "\\u" in text:
        raise Uncertain("a text with escapes")
    found = variant.parse_json(text)
    if any(map(_is_beyond, variant.keys_of(found))):
        raise Uncertain("a key beyond the plain letters")
    return variant.encode(found)


def _is_beyond(key: str) -> bool:
    return max(key, default="") > _LAST_PLAIN_LETTER


# -- types ------------------------------------------------------------------------------------------------------------


def schema(given: Variant) -> str:
    """`schema_of_variant`."""
    value = decoded(given)
    return "DOUBLE" if isinstance(value, float) else _schema(value)


def kind(given: Variant) -> str:
    """`schema_of_variant` as far as it tells arrays and objects apart from others, but not what is in them."""
    basic = given[1][0] & 3
    return "OBJECT<" if basic == _OBJECT else "ARRAY<" if basic == _ARRAY else schema(given)


def _schema(value: Any) -> str:
    match value:
        case None:
            return "VOID"
        case bool():
            return "BOOLEAN"
        case int():
            return "BIGINT"
        case Decimal():
            return "DECIMAL({},{})".format(*_digits(value))
        case str():
            return "STRING"
        case bytes():
            return "BINARY"
        case datetime():
            return "TIMESTAMP_NTZ" if value.tzinfo is None else "TIMESTAMP"
        case date():
            return "DATE"
        case dict():
            if not all(map(_PLAIN_KEY.fullmatch, value)):
                raise Uncertain("the type of an object with other keys")
            return "OBJECT<" + ", ".join(f"{key}: {_schema(item)}" for key, item in value.items()) + ">"
        case list():
            kinds = {_schema(item) for item in value} - {"VOID"}
            if len(kinds) > 1:
                raise Uncertain("the type of an array of several types")
            return f"ARRAY<{kinds.pop() if kinds else 'VOID'}>"
    raise Uncertain("a type")


def _digits(value: Decimal) -> tuple[int, int]:
    """Precision and scale without the zeros at the end."""
    _, digits, exponent = value.normalize(_EXACT).as_tuple()
    scale = max(-int(exponent), 0)
    length = len(digits) + max(int(exponent), 0)
    return max(length, scale), scale


# -- texts ------------------------------------------------------------------------------------------------------------


def text(given: Variant) -> str | None:
    """The VARIANT as STRING."""
    value = decoded(given)
    if value is None or isinstance(value, str):
        return value
    return value.isoformat() if type(value) is date else _json(value)


def to_json(given: Variant) -> str:
    return _json(decoded(given))


def _json(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case Decimal():
            plain = f"{value:f}"
            plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
            return "0" if plain == "-0" else plain
        case str():
            return _quoted(value)
        case dict():
            return "{" + ",".join(f"{_quoted(key)}:{_json(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ",".join(map(_json, value)) + "]"
    if type(value) is date:
        return f'"{value.isoformat()}"'
    raise Uncertain("the text of such a value")


def _quoted(value: str) -> str:
    if _CONTROL.search(value):
        raise Uncertain("a control character")
    return json.dumps(value, ensure_ascii=False)


# -- as other types ---------------------------------------------------------------------------------------------------
# Each gives None where Spark's try_variant_get gives NULL, whatever it is given.


def _as_number(value: Any, plain: re.Pattern[str]) -> Decimal | None:
    match value:
        case bool():
            return Decimal(int(value))
        case int() | Decimal():
            return Decimal(value)
        case str():
            if not plain.fullmatch(value):
                raise Uncertain("a text as a number")
            return Decimal(value)
        case dict() | list() | None:
            return None
    raise Uncertain("a number of such a value")


def bigint(given: Variant) -> int | None:
    number = _as_number(decoded(given), _PLAIN_INTEGER)
    if number is None:
        return None
    whole = int(number.to_integral_value(ROUND_DOWN, _EXACT))
    return whole if -_LARGEST <= whole < _LARGEST else None


def decimal(given: Variant, precision: int, scale: int) -> Decimal | None:
    number = _as_number(decoded(given), _PLAIN_NUMBER)
    if number is None:
        return None
    try:
        found = number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACT)
    except InvalidOperation:
        return None
    return found if abs(found) < Decimal(10) ** (precision - scale) else None


def double(given: Variant) -> float | None:
    value = decoded(given)
    if isinstance(value, float):
        return value
    number = _as_number(value, _PLAIN_DOUBLE)
    return None if number is None else float(number)


def boolean(given: Variant) -> bool | None:
    value = decoded(given)
    match value:
        case bool() | None:
            return value
        case int() | Decimal():
            return value != 0
        case str():
            if value not in ("true", "false"):
                raise Uncertain("a text as a boolean")
            return value == "true"
        case dict() | list():
            return None
    raise Uncertain("a boolean of such a value")


def binary(given: Variant) -> bytes | None:
    value = decoded(given)
    if isinstance(value, str):
        return value.encode()
    return value if isinstance(value, bytes) else None


def day(given: Variant) -> date | None:
    value = decoded(given)
    if isinstance(value, str):
        if not _PLAIN_DATE.fullmatch(value) or value < "0001":
            raise Uncertain("a text as a date")
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise Uncertain("a text as a date") from None
    if type(value) is date:
        return value
    if value is None or isinstance(value, dict | list):
        return None
    raise Uncertain("a date of such a value")


def moment(given: Variant) -> datetime | None:
    """The VARIANT as TIMESTAMP_NTZ."""
    value = decoded(given)
    if isinstance(value, str):
        if not _PLAIN_MOMENT.fullmatch(value) or value < "0001":
            raise Uncertain("a text as a timestamp")
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            raise Uncertain("a text as a timestamp") from None
    if isinstance(value, datetime) and value.tzinfo is None:
        return value
    if value is None or isinstance(value, dict | list):
        return None
    raise Uncertain("a timestamp of such a value")


def instant(given: Variant) -> datetime | None:
    """The VARIANT as TIMESTAMP, where it is one."""
    value = decoded(given)
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value
    if value is None or isinstance(value, dict | list):
        return None
    raise Uncertain("an instant of such a value")


SCALARS: dict[str, Callable[[Variant], Any]] = {
    "bigint": bigint, "double": double, "boolean": boolean, "binary": binary, "date": day, "timestamp_ntz": moment,
    "timestamp": instant,
    "string": text,
}  # fmt: skip
"""By Spark's name of the type."""


# -- making them ------------------------------------------------------------------------------------------------------


def array(items: list[Variant]) -> Variant:
    """`to_variant_object` of an array."""
    return variant.encode([_whole(item) for item in items])


def object_(entries: list[tuple[str | None, Variant | None]]) -> Variant:
    """`to_variant_object` of a map. An entry without a value has a JSON null."""
    found: dict[str, Any] = {}
    for key, item in entries:
        if key is None or key in found or _is_beyond(key):
            raise Uncertain("such a key")
        found[key] = None if item is None else _whole(item)
    return variant.encode(found)


def _whole(given: Variant | None) -> Any:
    if given is None:
        raise Uncertain("an element that is NULL")
    value = decoded(given)
    if _has_inexact(value):
        raise Uncertain("floating numbers in an object or an array")
    return value


def _has_inexact(value: Any) -> bool:
    """Whether there is something whose width or kind is not kept by decoding it."""
    if isinstance(value, dict):
        return any(map(_has_inexact, value.values()))
    if isinstance(value, list):
        return any(map(_has_inexact, value))
    return not isinstance(value, bool | int | Decimal | str | date | None)
