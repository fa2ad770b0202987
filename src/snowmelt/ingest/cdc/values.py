"""Cleaned JSON values as the values that a typed column stores."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Context, Decimal, InvalidOperation
from typing import Any, TypeVar

import pyarrow as pa

from snowmelt.core.types import DataType, Kind
from snowmelt.storage import variant
from snowmelt.storage.schema import VARIANT, arrow_type

_FIRST_DATE, _LAST_DATE = date(1, 1, 1), date(9999, 12, 31)
_FIRST, _LAST = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)
"""What stands for an infinity, and for what lies beyond the years that a timestamp here can have."""
_OUTSIDE = re.compile(r"([+-])\d{5,}-")
_EXACT = Context(prec=76)
"""Python's own context has 28 digits, and a column up to 38."""
_NOT_FINITE = frozenset({"NaN", "Infinity", "-Infinity"})


Instant = TypeVar("Instant", bound=date)
Converter = Callable[[Any, DataType], Any]


class UnfitError(Exception):
    """A value that its column can't hold."""


def array_of(values: Sequence[Any], type_: DataType) -> pa.Array:
    """The values as a column of this type; raises `UnfitError`."""
    convert: Converter = _CONVERTERS.get(type_.kind, _text)
    try:
        stored = [None if value is None else convert(value, type_) for value in values]
        if type_.is_semi_structured:
            return _variants(stored)
        return pa.array(stored, arrow_type(type_))
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, ValueError, TypeError, InvalidOperation) as error:
        raise UnfitError(f"{error} ({type_})") from None


def variant_array(values: Sequence[Any]) -> pa.Array:
    """JSON values as VARIANTs; None is SQL's NULL."""
    return _variants([None if value is None else variant.encode(value) for value in values])


def _variants(encoded: Sequence[tuple[bytes, bytes] | None]) -> pa.Array:
    parts = [{"metadata": item[0], "value": item[1]} if item is not None else None for item in encoded]
    return pa.array(parts, VARIANT)


def _integer(value: Any, type_: DataType) -> Any:
    if isinstance(value, str) and value in _NOT_FINITE:
        return None
    if type_.int64:
        return int(value)
    number = Decimal(str(value))
    exact = number.quantize(Decimal(1).scaleb(-(type_.scale or 0)), context=_EXACT)
    if exact != number:
        raise UnfitError(f"{value} has more digits behind the point than {type_}")
    return exact


def _float(value: Any, _: DataType) -> float:
    return float(value)


def _text(value: Any, type_: DataType) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return variant.to_json(value)
    text = format(value, "f") if isinstance(value, Decimal) else str(value)
    if type_.length is not None and len(text) > type_.length:
        raise UnfitError(f"a text of {len(text)} characters is too long for {type_}")
    return text


def _binary(value: Any, _: DataType) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, TypeError) as error:
        raise UnfitError(f"not base64: {error}") from None


def _boolean(value: Any, _: DataType) -> bool:
    if not isinstance(value, bool):
        raise UnfitError(f"{value!r} is neither true nor false")
    return value


def _date(value: Any, _: DataType) -> date:
    return _bounded(str(value), _FIRST_DATE, _LAST_DATE, lambda text: date.fromisoformat(text[:10]))


def _naive(value: Any, _: DataType) -> datetime:
    return _bounded(str(value), _FIRST, _LAST, datetime.fromisoformat)


def _instant(value: Any, _: DataType) -> datetime:
    first, last = _FIRST.replace(tzinfo=UTC), _LAST.replace(tzinfo=UTC)
    return _bounded(str(value), first, last, lambda text: datetime.fromisoformat(text).astimezone(UTC))


def _bounded(text: str, first: Instant, last: Instant, read: Callable[[str], Instant]) -> Instant:
    """Infinities, and years that don't exist here, are the first or the last there is."""
    far = _OUTSIDE.match(text)
    if text == "infinity" or (far is not None and far[1] == "+"):
        return last
    if text == "-infinity" or far is not None or text.startswith("-"):
        return first
    return read(text)


def _time(value: Any, _type: DataType) -> str:
    text = str(value)
    if text.startswith("24:"):
        # PostgreSQL has the end of the day as a time of its own.
        return "23:59:59.999999"
    whole, _, fraction = text.partition(".")
    whole = whole if whole.count(":") == 2 else f"{whole}:00"
    # The shortest form, which is the one on disk.
    fraction = fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def _encoded(value: Any, _: DataType) -> tuple[bytes, bytes]:
    return variant.encode(value)


_CONVERTERS: dict[Kind, Converter] = {
    Kind.NUMBER: _integer,
    Kind.FLOAT: _float,
    Kind.VARCHAR: _text,
    Kind.BINARY: _binary,
    Kind.BOOLEAN: _boolean,
    Kind.DATE: _date,
    Kind.TIME: _time,
    Kind.TIMESTAMP_NTZ: _naive,
    Kind.TIMESTAMP_LTZ: _instant,
    Kind.VARIANT: _encoded,
    Kind.OBJECT: _encoded,
    Kind.ARRAY: _encoded,
}
