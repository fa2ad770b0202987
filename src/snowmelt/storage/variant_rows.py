"""Many objects of the same fields as VARIANTs, column by column: what `variant.encode` makes of each, without a loop.

A column's values become pieces of bytes that lie somewhere in a buffer. The pieces of a row, behind the object's head,
are copied next to each other for many rows at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from snowmelt.storage import variant
from snowmelt.storage.schema import VARIANT

ColumnValues: TypeAlias = Any
"""Arrow's whole numbers, booleans, texts and decimals of at most 18 digits; of anything else a list of values."""

_OBJECT = 2
_MOST_FIELDS = 255
_SLICE = 8192
"""Rows that are put together at a time: what is counted for each of their bytes has to be held."""
_LONG = 512
"""Bytes of a piece that is copied alone."""
_INTEGER_HEADS = ((8, 12, 2), (16, 16, 3), (32, 20, 5), (64, 24, 9))
"""Bits, head and length of whole numbers, by how large they are."""
_TRUE, _FALSE = 4, 8
_DECIMAL4, _DECIMAL8 = 32, 36
_SHORT_DIGITS, _MOST_DIGITS = 9, 18
_SHORT_TEXT = 63
_LONG_TEXT_HEAD = 64


@dataclass(frozen=True, slots=True)
class _Pieces:
    """One piece of a buffer for each row."""

    buffer: Any
    starts: Any
    lengths: Any

    def part(self, first: int, last: int) -> _Pieces:
        return _Pieces(self.buffer, self.starts[first:last], self.lengths[first:last])


def encode_objects(names: Sequence[str], columns: Sequence[ColumnValues], *, nested: bool) -> pa.Array:
    """One object a row, whose values stand in the columns; `nested` says whether some hold objects themselves."""
    if nested or len(names) > _MOST_FIELDS:
        plain = [column.to_pylist() if isinstance(column, pa.Array) else column for column in columns]
        encoded = [variant.encode(dict(zip(names, row, strict=True))) for row in zip(*plain, strict=True)]
        return pa.array([{"metadata": one, "value": two} for one, two in encoded], VARIANT)
    metadata, ids = variant.dictionary_of(frozenset(names))
    in_order = sorted(range(len(names)), key=lambda index: ids[names[index]])
    fields = [list(_pieces(columns[index], ids)) for index in in_order]
    count = len(columns[0])
    parts = [_objects(fields, first, min(first + _SLICE, count)) for first in range(0, count, _SLICE)]
    values = pa.concat_arrays(parts) if parts else pa.array([], pa.binary())
    both = [pa.repeat(pa.scalar(metadata, pa.binary()), count), values]
    return pa.StructArray.from_arrays(both, fields=list(VARIANT))


# -- rows -------------------------------------------------------------------------------------------------------------


def _objects(fields: Sequence[Sequence[_Pieces]], first: int, last: int) -> pa.Array:
    """The objects of some rows, each of which is a head and the pieces of its fields."""
    own = [[pieces.part(first, last) for pieces in field] for field in fields]
    offsets = np.zeros((last - first, len(own) + 1), np.int64)
    for index, field in enumerate(own):
        offsets[:, index + 1] = offsets[:, index] + sum(pieces.lengths for pieces in field)
    head = _heads(offsets)
    lengths = head.lengths + offsets[:, -1]
    ends = np.cumsum(lengths)
    at = ends - lengths
    made = np.empty(int(ends[-1]), np.uint8)
    for pieces in (head, *(pieces for field in own for pieces in field)):
        _copy(pieces, made, at)
        at = at + pieces.lengths
    borders = np.concatenate(([0], ends)).astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), last - first, [None, pa.py_buffer(borders), pa.py_buffer(made)])


def _heads(offsets: Any) -> _Pieces:
    """How many fields there are, their ids, and where each begins, in as many bytes as the last one needs."""
    count = offsets.shape[1] - 1
    last = offsets[:, -1]
    widths = 1 + (last >= 1 << 8) + (last >= 1 << 16) + (last >= 1 << 24)
    lengths = 2 + count + (count + 1) * widths
    starts = np.cumsum(lengths) - lengths
    buffer = np.empty(int(lengths.sum()), np.uint8)
    little = np.ascontiguousarray(offsets).view(np.uint8).reshape(*offsets.shape, 8)
    for width in np.unique(widths):
        rows = np.flatnonzero(widths == width)
        block = np.empty((len(rows), 2 + count + (count + 1) * int(width)), np.uint8)
        block[:, 0] = ((int(width) - 1) << 2) | _OBJECT
        block[:, 1] = count
        block[:, 2 : 2 + count] = np.arange(count)
        block[:, 2 + count :] = little[rows, :, : int(width)].reshape(len(rows), -1)
        buffer[starts[rows][:, None] + np.arange(block.shape[1])] = block
    return _Pieces(buffer, starts, lengths)


def _copy(pieces: _Pieces, into: Any, at: Any) -> None:
    for row in np.flatnonzero(pieces.lengths > _LONG):
        start, length = pieces.starts[row], pieces.lengths[row]
        into[at[row] : at[row] + length] = pieces.buffer[start : start + length]
    lengths = np.where(pieces.lengths > _LONG, 0, pieces.lengths)
    ends = np.cumsum(lengths)
    within = np.arange(int(ends[-1])) - np.repeat(ends - lengths, lengths)
    into[np.repeat(at, lengths) + within] = pieces.buffer[np.repeat(pieces.starts, lengths) + within]


# -- columns ----------------------------------------------------------------------------------------------------------


def _pieces(column: ColumnValues, ids: Mapping[str, int]) -> Iterator[_Pieces]:
    """What a value's bytes are made of, one piece behind the other."""
    if isinstance(column, pa.Array):
        yield from _arrow_pieces(column)
        return
    encoded = pa.array([variant.encoded_value(value, ids) for value in column], pa.binary())
    yield _content(encoded)


def _arrow_pieces(column: pa.Array) -> Iterator[_Pieces]:
    null = column.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_string(column.type):
        yield from _texts(column, null)
    else:
        make = _FIXED[next(kind for kind in _FIXED if kind(column.type))]
        block, lengths = make(column)
        block[null, 0] = 0
        lengths[null] = 1
        yield _Pieces(block.reshape(-1), np.arange(len(block)) * block.shape[1], lengths)


def _whole_numbers(column: pa.Array) -> tuple[Any, Any]:
    values = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    block = np.empty((len(values), 9), np.uint8)
    block[:, 1:] = np.ascontiguousarray(values).view(np.uint8).reshape(-1, 8)
    lengths = np.empty(len(values), np.int64)
    for bits, head, length in reversed(_INTEGER_HEADS):
        fits = (values >= -(1 << (bits - 1))) & (values <= (1 << (bits - 1)) - 1)
        block[fits, 0] = head
        lengths[fits] = length
    return block, lengths


def _booleans(column: pa.Array) -> tuple[Any, Any]:
    values = column.fill_null(False).to_numpy(zero_copy_only=False)
    return np.where(values, _TRUE, _FALSE).astype(np.uint8).reshape(-1, 1), np.ones(len(values), np.int64)


def _decimals(column: pa.Array) -> tuple[Any, Any]:
    scale = column.type.scale
    # The lower half of 128 bits, which is all there is of so few digits.
    halves = np.frombuffer(column.buffers()[1], np.int64)[2 * column.offset : 2 * (column.offset + len(column))]
    values = np.where(column.is_null().to_numpy(zero_copy_only=False), 0, halves[::2])
    block = np.empty((len(values), 10), np.uint8)
    block[:, 1] = scale
    block[:, 2:] = np.ascontiguousarray(values).view(np.uint8).reshape(-1, 8)
    short = (np.abs(values) < 10**_SHORT_DIGITS) & (scale <= _SHORT_DIGITS)
    block[:, 0] = np.where(short, _DECIMAL4, _DECIMAL8)
    return block, np.where(short, 6, 10)


def _texts(column: pa.Array, null: Any) -> Iterator[_Pieces]:
    content = _content(column.fill_null("").cast(pa.binary()))
    lengths = content.lengths
    block = np.empty((len(lengths), 5), np.uint8)
    block[:, 1:] = lengths.astype(np.uint32).view(np.uint8).reshape(-1, 4)
    short = lengths <= _SHORT_TEXT
    block[:, 0] = np.where(short, (lengths << 2) | 1, _LONG_TEXT_HEAD)
    block[null, 0] = 0
    yield _Pieces(block.reshape(-1), np.arange(len(lengths)) * 5, np.where(short, 1, 5))
    yield content


def _content(column: pa.Array) -> _Pieces:
    _, offsets, data = column.buffers()
    borders = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1].astype(np.int64)
    buffer = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return _Pieces(buffer, borders[:-1], np.diff(borders))


_FIXED: dict[Callable[[pa.DataType], bool], Callable[[pa.Array], tuple[Any, Any]]] = {
    pa.types.is_integer: _whole_numbers,
    pa.types.is_boolean: _booleans,
    pa.types.is_decimal: _decimals,
}
