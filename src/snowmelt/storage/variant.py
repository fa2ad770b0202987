"""VARIANT values in Parquet's binary variant encoding, to and from Python values and JSON text.

No installed library does this (pyarrow, arro3 and delta-rs only carry the bytes), and asking Spark would cost
a job. The number types chosen for JSON are those of Spark's `parse_json`, so that a value has the same type
whichever
writer stored it: the smallest integer that fits; a decimal for what is written without an exponent in at most
38 digits; else a double.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from functools import lru_cache
from itertools import accumulate
from types import NoneType
from typing import Any
from uuid import UUID

from snowmelt.core.errors import internal, invalid_json
from snowmelt.core.result_json import with_marks
from snowmelt.core.types import UNDEFINED
from snowmelt.storage.variant_parts import keys_in

_PRIMITIVE, _SHORT_STRING, _OBJECT, _ARRAY = range(4)
_NULL, _TRUE, _FALSE, _INT8, _INT16, _INT32, _INT64, _DOUBLE = range(8)
_DECIMAL4, _DECIMAL8, _DECIMAL16, _DATE, _TIMESTAMP, _TIMESTAMP_NTZ, _FLOAT, _BINARY = range(8, 16)
_STRING, _TIME, _TIMESTAMP_NANOS, _TIMESTAMP_NTZ_NANOS, _UUID = range(16, 21)
_INTEGERS = ((_INT8, 1), (_INT16, 2), (_INT32, 4), (_INT64, 8))
_DECIMALS = ((_DECIMAL4, 4, 9), (_DECIMAL8, 8, 18), (_DECIMAL16, 16, 38))
_SHORT_STRING_LIMIT = 63
_MAX_DIGITS = 38
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_EXACT = Context(prec=_MAX_DIGITS + 1)
_LEAVES = (str, int, float, Decimal, NoneType)
"""Values that hold no others."""


def encode(value: Any) -> tuple[bytes, bytes]:
    """The metadata and value bytes of a Python value.

    None is the variant null (a SQL NULL has no bytes at all). A naive datetime has no time zone, an aware one
    is an instant. An integer of more than 38 digits becomes a double.
    """
    metadata, ids = dictionary_of(frozenset(keys_of(value)))
    return metadata, encoded_value(value, ids)


def encode_json(text: str) -> tuple[bytes, bytes]:
    """The bytes of a JSON document, as Spark's `parse_json` makes them."""
    return encode(parse_json(text))


def parse_json(text: str) -> Any:
    """A JSON document with exact numbers. Raises `invalid_json`, also for a key that an object has twice."""
    try:
        return json.loads(
            with_marks(text), parse_float=_number, parse_int=int, parse_constant=_reject, object_pairs_hook=_object
        )
    except json.JSONDecodeError as error:
        raise invalid_json(f"{error.msg}, pos {error.pos + 1}") from error
    except RecursionError as error:
        raise invalid_json("nested too deeply") from error


def decode(metadata: bytes, value: bytes) -> Any:
    """The Python value: exact decimals, dates, times, datetimes (aware when it is an instant), bytes,
    UUIDs."""
    try:
        return _decode(value, 0, keys_in(metadata))
    except (IndexError, struct.error, ValueError, OverflowError, RecursionError) as error:
        raise internal(f"a malformed VARIANT value: {error}") from error


def to_json(value: Any, *, pretty: bool = False) -> str:
    """A decoded value as Snowflake prints it: compact for TO_JSON, with `pretty` as in a result grid.

    Keys come sorted, a double has 15 decimals and an exponent, and what JSON has no type for is text.
    """
    return _text(value, "\n" if pretty else "")


def _text(value: Any, newline: str) -> str:
    """`newline` is the line break and indentation of the enclosing level; empty for compact text."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:.15e}" if math.isfinite(value) else f'"{_infinite(value)}"'
        case int():
            return str(value)
        case Decimal():
            plain = f"{value:f}"
            return plain.rstrip("0").rstrip(".") if "." in plain else plain
        case str():
            return "undefined" if value == UNDEFINED else json.dumps(value, ensure_ascii=False)
        case bytes():
            return f'"{value.hex().upper()}"'
        case datetime():
            shown = f"{value:%H:%M:%S}.{value.microsecond // 1000:03d}"
            return f'"{value.date().isoformat()} {shown}{"" if value.tzinfo is None else " Z"}"'
        case date() | time() | UUID():
            return f'"{value}"'
    inner = newline + "  " if newline else ""
    if isinstance(value, Mapping):
        pairs = sorted(value.items(), key=lambda pair: pair[0].encode())
        items = [
            json.dumps(key, ensure_ascii=False) + (": " if newline else ":") + _text(item, inner) for key, item in pairs
        ]
        return "{" + inner + ("," + inner).join(items) + newline + "}" if items else "{}"
    items = [_text(item, inner) for item in value]
    return "[" + inner + ("," + inner).join(items) + newline + "]" if items else "[]"


def _infinite(value: float) -> str:
    return "NaN" if math.isnan(value) else ("inf" if value > 0 else "-inf")


# JSON to Python


def _number(text: str) -> Decimal | float:
    if "e" in text or "E" in text:
        return float(text)
    number = Decimal(text)
    if len(text) <= _MAX_DIGITS:
        return number
    _, digits, exponent = number.as_tuple()
    fits = len(digits) <= _MAX_DIGITS and -int(exponent) <= _MAX_DIGITS
    return number if fits else float(text)


def _reject(constant: str) -> Any:
    raise invalid_json(f"unknown keyword '{constant}'")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for index, key in enumerate(names) if key in names[:index])
        raise invalid_json(f"duplicate object attribute '{twice}'")
    return found


# Python to bytes


def keys_of(value: Any) -> set[str]:
    """The names in a value and in all that it holds."""
    found: set[str] = set()
    pending = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, dict | Mapping):
            found.update(current)
            pending += [item for item in current.values() if not isinstance(item, _LEAVES)]
        elif isinstance(current, list | tuple):
            pending += [item for item in current if not isinstance(item, _LEAVES)]
    return found


@lru_cache(maxsize=4096)
def dictionary_of(keys: frozenset[str]) -> tuple[bytes, dict[str, int]]:
    """The metadata of objects with these keys, and each key's id. Documents of one kind share it."""
    ordered = sorted((key.encode(), key) for key in keys)
    ids = {key: position for position, (_, key) in enumerate(ordered)}
    return _metadata([content for content, _ in ordered]), ids


def _width(largest: int) -> int:
    return max(1, (largest.bit_length() + 7) // 8)


def _packed(numbers: Iterable[int], width: int) -> bytes:
    return b"".join(number.to_bytes(width, "little") for number in numbers)


def _offsets(parts: Sequence[bytes]) -> list[int]:
    return list(accumulate(map(len, parts), initial=0))


def _metadata(keys: Sequence[bytes]) -> bytes:
    offsets = _offsets(keys)
    width = _width(max(offsets[-1], len(keys)))
    # Version 1, and bit 4: the keys are sorted and unique, which lets a reader search by halves.
    header = 1 | (0b1_0000 if keys else 0) | (width - 1) << 6
    return bytes([header]) + _packed([len(keys), *offsets], width) + b"".join(keys)


def _primitive(kind: int, content: bytes = b"") -> bytes:
    return bytes((kind << 2 | _PRIMITIVE,)) + content


def encoded_value(value: Any, ids: Mapping[str, int]) -> bytes:
    """A value's bytes, of which names are these ids."""
    # The types that JSON has come first, and most often: looking them up takes a fraction of trying one by one.
    known = _ENCODERS.get(type(value))
    return known(value, ids) if known is not None else _rarer(value, ids)


def _text_value(value: str, _: Mapping[str, int]) -> bytes:
    content = value.encode()
    if len(content) <= _SHORT_STRING_LIMIT:
        return bytes((len(content) << 2 | _SHORT_STRING,)) + content
    return _primitive(_STRING, struct.pack("<I", len(content)) + content)


def _rarer(value: Any, ids: Mapping[str, int]) -> bytes:
    match value:
        case None:
            return _primitive(_NULL)
        case bool():
            return _primitive(_TRUE if value else _FALSE)
        case int():
            return _integer(value)
        case float():
            return _primitive(_DOUBLE, struct.pack("<d", value))
        case Decimal():
            return _decimal(value)
        case str():
            return _text_value(value, ids)
        case bytes():
            return _primitive(_BINARY, struct.pack("<I", len(value)) + value)
        case datetime():
            kind = _TIMESTAMP_NTZ if value.tzinfo is None else _TIMESTAMP
            naive = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
            return _primitive(kind, struct.pack("<q", (naive - _EPOCH) // _MICROSECOND))
        case date():
            return _primitive(_DATE, struct.pack("<i", value.toordinal() - _EPOCH.toordinal()))
        case time():
            since = timedelta(
                hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond
            )
            return _primitive(_TIME, struct.pack("<q", since // _MICROSECOND))
        case UUID():
            return _primitive(_UUID, value.bytes)
        case Mapping():
            return _object_value(value, ids)
        case list() | tuple():
            return _array_value([encoded_value(item, ids) for item in value])
        case _:
            raise internal(f"a {type(value).__name__} can't be a VARIANT")


def _integer(value: int) -> bytes:
    for kind, width in _INTEGERS:
        if -(1 << (8 * width - 1)) <= value < 1 << (8 * width - 1):
            return _primitive(kind, value.to_bytes(width, "little", signed=True))
    if abs(value) < 10**_MAX_DIGITS:
        return _decimal(Decimal(value))
    try:
        return _primitive(_DOUBLE, struct.pack("<d", value))
    except OverflowError:
        return _primitive(_DOUBLE, struct.pack("<d", math.copysign(math.inf, value)))


def _decimal(value: Decimal) -> bytes:
    if not value.is_finite():
        return _primitive(_DOUBLE, struct.pack("<d", float(value)))
    scale, unscaled = _unscaled(value)
    precision = max(len(str(abs(unscaled))), scale)
    for kind, width, most in _DECIMALS:
        if precision <= most and scale <= _MAX_DIGITS:
            return _primitive(kind, bytes([scale]) + unscaled.to_bytes(width, "little", signed=True))
    return _primitive(_DOUBLE, struct.pack("<d", float(value)))


def _unscaled(value: Decimal) -> tuple[int, int]:
    """The digits behind the point, and all digits as one number."""
    text = str(value)
    if "E" not in text:
        whole, _, fraction = text.partition(".")
        return len(fraction), int(whole + fraction)
    sign, digits, exponent = value.as_tuple()
    unscaled = int("".join(map(str, digits))) * 10 ** max(0, int(exponent)) * (-1 if sign else 1)
    return max(0, -int(exponent)), unscaled


def _object_value(value: Mapping[str, Any], ids: Mapping[str, int]) -> bytes:
    # The ids follow the keys' order in UTF-8, which is the order the encoding asks for.
    fields = sorted([(ids[key], encoded_value(item, ids)) for key, item in value.items()])
    numbers = [number for number, _ in fields]
    parts = [part for _, part in fields]
    offsets = _offsets(parts)
    id_width, offset_width = _width(numbers[-1] if numbers else 0), _width(offsets[-1])
    large = len(fields) > 255
    header = ((offset_width - 1) | (id_width - 1) << 2 | large << 4) << 2 | _OBJECT
    if id_width == offset_width == 1 and not large:
        return bytes((header, len(fields), *numbers, *offsets)) + b"".join(parts)
    size = len(fields).to_bytes(4 if large else 1, "little")
    return b"".join([bytes((header,)), size, _packed(numbers, id_width), _packed(offsets, offset_width), *parts])


def _array_value(parts: Sequence[bytes]) -> bytes:
    offsets = _offsets(parts)
    width = _width(offsets[-1])
    large = len(parts) > 255
    header = ((width - 1) | large << 2) << 2 | _ARRAY
    if width == 1 and not large:
        return bytes((header, len(parts), *offsets)) + b"".join(parts)
    size = len(parts).to_bytes(4 if large else 1, "little")
    return bytes((header,)) + size + _packed(offsets, width) + b"".join(parts)


_ENCODERS: dict[type, Callable[[Any, Mapping[str, int]], bytes]] = {
    type(None): lambda _value, _ids: _primitive(_NULL),
    bool: lambda value, _ids: _primitive(_TRUE if value else _FALSE),
    int: lambda value, _ids: _integer(value),
    float: lambda value, _ids: _primitive(_DOUBLE, struct.pack("<d", value)),
    Decimal: lambda value, _ids: _decimal(value),
    str: _text_value,
    dict: _object_value,
    list: lambda value, ids: _array_value([encoded_value(item, ids) for item in value]),
}


# Bytes to Python


def _read(content: bytes, position: int, width: int) -> int:
    if position + width > len(content):
        raise IndexError("it ends too early")
    return int.from_bytes(content[position : position + width], "little")


def _decode(content: bytes, start: int, keys: Sequence[str]) -> Any:
    basic, header, start = content[start] & 3, content[start] >> 2, start + 1
    if basic == _PRIMITIVE:
        return _decode_primitive(header, content, start)
    if basic == _SHORT_STRING:
        return content[start : start + header].decode()
    offset_width = (header & 3) + 1
    large = header >> (4 if basic == _OBJECT else 2) & 1
    size, start = _read(content, start, 4 if large else 1), start + (4 if large else 1)
    names: list[str] = []
    if basic == _OBJECT:
        id_width = (header >> 2 & 3) + 1
        names = [keys[_read(content, start + id_width * n, id_width)] for n in range(size)]
        start += id_width * size
    base = start + offset_width * (size + 1)
    values = [
        _decode(content, base + _read(content, start + offset_width * n, offset_width), keys) for n in range(size)
    ]
    return dict(zip(names, values, strict=True)) if basic == _OBJECT else values


def _decode_primitive(kind: int, content: bytes, start: int) -> Any:
    match kind:
        case 0:
            return None
        case 1 | 2:
            return kind == _TRUE
        case 3 | 4 | 5 | 6:
            width = dict(_INTEGERS)[kind]
            return int.from_bytes(content[start : start + width], "little", signed=True)
        case 7:
            return struct.unpack_from("<d", content, start)[0]
        case 8 | 9 | 10:
            width = _DECIMALS[kind - _DECIMAL4][1]
            unscaled = int.from_bytes(content[start + 1 : start + 1 + width], "little", signed=True)
            return Decimal(unscaled).scaleb(-content[start], _EXACT)
        case 11:
            return date.fromordinal(struct.unpack_from("<i", content, start)[0] + _EPOCH.toordinal())
        case 12 | 13 | 18 | 19:
            ticks = struct.unpack_from("<q", content, start)[0]
            nanoseconds = kind in (_TIMESTAMP_NANOS, _TIMESTAMP_NTZ_NANOS)
            found = _EPOCH + timedelta(microseconds=ticks // 1000 if nanoseconds else ticks)
            return found.replace(tzinfo=UTC) if kind in (_TIMESTAMP, _TIMESTAMP_NANOS) else found
        case 14:
            return struct.unpack_from("<f", content, start)[0]
        case 15 | 16:
            size = _read(content, start, 4)
            found_bytes = content[start + 4 : start + 4 + size]
            return found_bytes if kind == _BINARY else found_bytes.decode()
        case 17:
            return (_EPOCH + timedelta(microseconds=struct.unpack_from("<q", content, start)[0])).time()
        case 20:
            return UUID(bytes=content[start : start + 16])
        case _:
            raise internal(f"a VARIANT value of the unknown type {kind}")
