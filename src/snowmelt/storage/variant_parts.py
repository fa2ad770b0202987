"""Parts of VARIANT values as they lie in their bytes: what is at a path, elements of arrays, fields of objects.

A part of a value is a value under the same metadata. Nothing is decoded that is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

_PRIMITIVE, _SHORT_STRING, _OBJECT, _ARRAY = range(4)
_WIDTHS = (0, 0, 0, 1, 2, 4, 8, 8, 5, 9, 17, 4, 8, 8, 4)
"""Bytes behind the head, of the primitive types that always have as many."""
_TEXTS = (15, 16)
"""The primitive types that tell their length: bytes and texts."""
_MOST_KEPT, _KEPT_BYTES = 1024, 1024
"""What was found out of the shape of documents is kept, of so many and for names of that size at most: rows of a table
have the same few shapes again and again."""


def find_at(metadata: bytes, value: bytes, path: Sequence[str | int]) -> bytes | None:
    """The value at a path of keys and positions; None if there is none."""
    found: bytes | None = value
    for step in path:
        if found is None:
            return None
        found = _element(found, step) if isinstance(step, int) else _field(metadata, found, step)
    return found


def elements_of(value: bytes) -> list[bytes] | None:
    """The elements of an array. None if the value is not an array."""
    return list(_children(value)) if value[0] & 3 == _ARRAY else None


def fields_of(metadata: bytes, value: bytes) -> list[tuple[str, bytes]] | None:
    """The fields of an object in their stored order. None if the value is not an object."""
    if value[0] & 3 != _OBJECT:
        return None
    keys = keys_in(metadata)
    return [(keys[number], child) for number, child in zip(_ids(value), _children(value), strict=True)]


def keys_in(metadata: bytes) -> tuple[str, ...]:
    """The names that objects may have, by their ids."""
    # PySpark gives a bytearray, which is no key of a cache.
    return _kept_keys(bytes(metadata)) if len(metadata) <= _KEPT_BYTES else _keys_in(metadata)


def _keys_in(metadata: bytes) -> tuple[str, ...]:
    if not metadata or metadata[0] & 0x0F != 1:
        raise ValueError("metadata of an unknown version")
    width = (metadata[0] >> 6) + 1
    size = _number(metadata, 1, width)
    offsets = [_number(metadata, 1 + width * (1 + index), width) for index in range(size + 1)]
    start = 1 + width * (size + 2)
    return tuple(metadata[start + offsets[n] : start + offsets[n + 1]].decode() for n in range(size))


_kept_keys = lru_cache(_MOST_KEPT)(_keys_in)


def _number(content: bytes, start: int, width: int) -> int:
    if start + width > len(content):
        raise ValueError("a value that ends too early")
    return int.from_bytes(content[start : start + width], "little")


def _layout(value: bytes, start: int) -> tuple[int, int, int, int, int]:
    """An object's or array's size, where its ids start, their width, where its offsets start, their width."""
    basic, header = value[start] & 3, value[start] >> 2
    large = header >> (4 if basic == _OBJECT else 2) & 1
    size = _number(value, start + 1, 4 if large else 1)
    ids = start + (5 if large else 2)
    id_width = (header >> 2 & 3) + 1 if basic == _OBJECT else 0
    return size, ids, id_width, ids + id_width * size, (header & 3) + 1


def _ids(value: bytes) -> list[int]:
    size, ids, width, _, _ = _layout(value, 0)
    return [_number(value, ids + width * index, width) for index in range(size)]


def _children(value: bytes) -> Iterator[bytes]:
    size, *_ = _layout(value, 0)
    return (_child(value, index) for index in range(size))


def _child(value: bytes, index: int) -> bytes:
    size, _, _, offsets, width = _layout(value, 0)
    return _child_at(value, offsets + width * (size + 1), offsets + width * index, width)


def _child_at(value: bytes, first: int, offset: int, width: int) -> bytes:
    """The child whose offset from the first one stands there."""
    start = first + _number(value, offset, width)
    return value[start : start + _length(value, start)]


def _element(value: bytes, index: int) -> bytes | None:
    if value[0] & 3 != _ARRAY or not 0 <= index < _layout(value, 0)[0]:
        return None
    return _child(value, index)


def _field(metadata: bytes, value: bytes, key: str) -> bytes | None:
    if value[0] & 3 != _OBJECT:
        return None
    size, ids, width, offsets, offset_width = _layout(value, 0)
    if not size:
        return None
    if offsets > len(value):
        raise ValueError("a value that ends too early")
    numbers = value[ids:offsets]
    find = _kept_index if len(metadata) + len(numbers) <= _KEPT_BYTES else _index_of
    index = find(bytes(metadata), bytes(numbers), width, key)
    if index is None:
        return None
    return _child_at(value, offsets + offset_width * (size + 1), offsets + offset_width * index, offset_width)


def _index_of(metadata: bytes, numbers: bytes, width: int, key: str) -> int | None:
    """Which field of an object has the key, given the numbers of all their keys."""
    keys = keys_in(metadata)
    for index in range(len(numbers) // width):
        if keys[_number(numbers, width * index, width)] == key:
            return index
    return None


_kept_index = lru_cache(_MOST_KEPT)(_index_of)


def _length(value: bytes, start: int) -> int:
    """How many bytes the value has that starts there."""
    basic, header = value[start] & 3, value[start] >> 2
    if basic == _SHORT_STRING:
        return 1 + header
    if basic == _PRIMITIVE:
        if header in _TEXTS:
            return 5 + _number(value, start + 1, 4)
        if header >= len(_WIDTHS):
            raise ValueError(f"a value of the type {header}")
        return 1 + _WIDTHS[header]
    size, _, _, offsets, width = _layout(value, start)
    return offsets + width * (size + 1) + _number(value, offsets + width * size, width) - start
