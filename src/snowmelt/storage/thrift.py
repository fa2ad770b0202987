"""Thrift in its compact form, as footers of Parquet files are written.

A struct is taken apart only as far as somebody wants to change something in it: whatever lies deeper stays the bytes
that it is. A footer of 24 row groups of 18 columns has 10,000 values, of which new places for the groups change 900.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_BYTE, _I16, I64, _DOUBLE, _BINARY, LIST, _SET, STRUCT = 3, 4, 6, 7, 8, 9, 10, 12
_TRUE, _FALSE = 1, 2
Fields = dict[int, tuple[int, Any]]
"""A struct: type and value by the number of the field. The value is its bytes; of a struct that was taken apart its
fields, of a list of such a list of them."""
Shape = Mapping[int, "Shape"]
"""Which fields of a struct are taken apart, and how far."""


def read_struct(data: bytes, at: int, shape: Shape) -> tuple[Fields, int]:
    """The struct that begins there, and where it ends."""
    found: Fields = {}
    number = 0
    while head := data[at]:
        kind = head & 0x0F
        number, at = (number + (head >> 4), at + 1) if head > 0x0F else _signed(data, at + 1)
        value: Any
        if number not in shape:
            end = _end(data, at, kind)
            value, at = data[at:end], end
        elif kind == STRUCT:
            value, at = read_struct(data, at, shape[number])
        else:
            value, at = _structs(data, at, shape[number])
        found[number] = (kind, value)
    return found, at + 1


def _structs(data: bytes, at: int, shape: Shape) -> tuple[list[Fields], int]:
    _, count, at = _list_head(data, at)
    found = []
    for _ in range(count):
        fields, at = read_struct(data, at, shape)
        found.append(fields)
    return found, at


def _end(data: bytes, at: int, kind: int) -> int:
    """Where the value of this type that begins at `at` ends. Called for every value of a footer."""
    if _I16 <= kind <= I64:
        while data[at] >= 0x80:
            at += 1
        return at + 1
    if kind == _BINARY:
        length, at = _number(data, at)
        return at + length
    if kind == STRUCT:
        while head := data[at]:
            at = _end(data, at + 1 if head > 0x0F else _signed(data, at + 1)[1], head & 0x0F)
        return at + 1
    if kind in (LIST, _SET):
        element, count, at = _list_head(data, at)
        if element in (_TRUE, _FALSE):
            return at + count
        for _ in range(count):
            at = _end(data, at, element)
        return at
    if kind in (_TRUE, _FALSE):  # the type says it all
        return at
    if kind in (_BYTE, _DOUBLE):
        return at + (1 if kind == _BYTE else 8)
    raise ValueError(f"a footer with a value of type {kind}")


def _list_head(data: bytes, at: int) -> tuple[int, int, int]:
    head = data[at]
    if head < 0xF0:
        return head & 0x0F, head >> 4, at + 1
    count, at = _number(data, at + 1)
    return head & 0x0F, count, at


def _number(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    found = byte & 0x7F
    shift = 7
    while byte >= 0x80:
        at += 1
        byte = data[at]
        found |= (byte & 0x7F) << shift
        shift += 7
    return found, at + 1


def _signed(data: bytes, at: int) -> tuple[int, int]:
    found, at = _number(data, at)
    return (found >> 1) ^ -(found & 1), at


def as_integer(value: bytes) -> int:
    return _signed(value, 0)[0]


def integer(value: int) -> tuple[int, bytes]:
    """A field with a number."""
    out = bytearray()
    _append_number(out, value << 1 if value >= 0 else (-value << 1) - 1)
    return I64, bytes(out)


def struct_as_bytes(fields: Fields) -> bytes:
    out = bytearray()
    _append(out, fields)
    return bytes(out)


def _append(out: bytearray, fields: Fields) -> None:
    before = 0
    for number in sorted(fields):
        kind, value = fields[number]
        if number - before <= 15:
            out.append((number - before) << 4 | kind)
        else:
            out.append(kind)
            out += integer(number)[1]
        before = number
        if isinstance(value, bytes):
            out += value
        elif kind == STRUCT:
            _append(out, value)
        else:
            _append_structs(out, value)
    out.append(0)


def _append_structs(out: bytearray, structs: list[Fields]) -> None:
    if len(structs) < 15:
        out.append(len(structs) << 4 | STRUCT)
    else:
        out.append(0xF0 | STRUCT)
        _append_number(out, len(structs))
    for fields in structs:
        _append(out, fields)


def _append_number(out: bytearray, value: int) -> None:
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
