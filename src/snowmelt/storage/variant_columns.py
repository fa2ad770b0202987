"""Objects of Arrow as VARIANT values, column by column: what `variant.encode` makes of each row, for many at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from snowmelt.core.errors import SnowmeltError
from snowmelt.storage.schema import VARIANT
from snowmelt.storage.variant import dictionary_of, encoded_value, keys_of, parse_json

Bytes = npt.NDArray[np.uint8]
_NULL, _TRUE, _FALSE, _DOUBLE, _STRING = b"\x00", b"\x04", b"\x08", 7 << 2, 16 << 2
_INTEGERS = ((1, 3 << 2), (2, 4 << 2), (4, 5 << 2), (8, 6 << 2))
"""Bytes of an integer, and what stands before them."""
_DECIMAL4, _DECIMAL8, _DIGITS = 8 << 2, 9 << 2, 9
"""Decimals of four bytes, which have nine digits, and of eight."""
_FRACTION = r"^-?(0|[1-9][0-9]{0,8})\.[0-9]{1,9}$"
_SHORT = 63
"""Bytes of a text whose length is part of its first byte."""
_MOST_NAMES = 255
_OBJECT = 2


def encode_objects(rows: Any, *, is_json: Iterable[int] = ()) -> Any | None:
    """Structs as VARIANT objects; None for those that only `encode` can do.

    Fields are text, whole numbers, floats and booleans, or, where `is_json` has their positions, text that is JSON.
    """
    fields, documents = list(rows.type), frozenset(is_json)
    if len({field.name for field in fields}) < len(fields) or not all(map(_is_plain, fields)):
        return None
    columns = rows.flatten()
    fractions = {index: found for index in documents if (found := _fractions(columns[index])) is not None}
    try:
        parsed = {index: list(map(_parsed, columns[index].to_pylist())) for index in documents - fractions.keys()}
        held = (keys_of(value) for found in parsed.values() for value in found)
        names = {field.name for field in fields}.union(*held)
        if len(names) > _MOST_NAMES:
            return None
        metadata, ids = dictionary_of(frozenset(names))
        made = fractions | {index: _documents(values, ids) for index, values in parsed.items()}
        parts = {
            ids[field.name]: made[index] if index in made else _part(columns[index])
            for index, field in enumerate(fields)
        }
    except (SnowmeltError, UnicodeEncodeError, RecursionError):
        return None
    values = _objects([part for _, part in sorted(parts.items())], sorted(parts), len(rows))
    both = [pa.repeat(pa.scalar(metadata, pa.binary()), len(rows)), values]
    return pa.StructArray.from_arrays(both, fields=list(VARIANT), mask=rows.is_null())


def _is_plain(field: pa.Field) -> bool:
    kind = field.type
    signed = pa.types.is_integer(kind) and kind != pa.uint64()
    others = (pa.types.is_string, pa.types.is_float64, pa.types.is_boolean, pa.types.is_null)
    return bool(signed or any(is_kind(kind) for is_kind in others))


def _parsed(text: str | None) -> Any:
    return None if text is None else parse_json(text)


def _documents(values: list[Any], ids: Mapping[str, int]) -> Any:
    return pa.array([encoded_value(value, ids) for value in values], pa.binary())


def _fractions(texts: Any) -> Any | None:
    """JSON numbers with a fraction and no exponent, which are decimals; None where any text is something else."""
    if texts.null_count == len(texts) or not pc.all(pc.match_substring_regex(texts, _FRACTION)).as_py():
        return None
    given = pc.fill_null(texts, "0.0")
    scales = _sizes(given) - pc.find_substring(given, ".").to_numpy(zero_copy_only=False) - 1
    digits = pc.replace_substring(given, ".", "").cast(pa.int64()).to_numpy(zero_copy_only=False)
    small = (np.abs(digits) < 10**_DIGITS) & (scales <= _DIGITS)
    made = _fixed(_prefixed(_DECIMAL8, _scaled(scales, digits.astype("<i8"))))
    if small.any():
        narrow = _fixed(_prefixed(_DECIMAL4, _scaled(scales, digits.astype("<i4"))))
        made = pc.if_else(pa.array(small), narrow, made)
    return pc.if_else(texts.is_valid(), made, pa.scalar(_NULL, pa.binary())) if texts.null_count else made


def _scaled(scales: Any, digits: Any) -> Bytes:
    return np.hstack([scales.astype(np.uint8).reshape(-1, 1), _bytes_of(digits)])


def _part(column: Any) -> Any:
    """Each value as a VARIANT has it."""
    kind = column.type
    if pa.types.is_null(kind):
        return pa.repeat(pa.scalar(_NULL, pa.binary()), len(column))
    if pa.types.is_boolean(kind):
        made = pc.if_else(column, pa.scalar(_TRUE, pa.binary()), pa.scalar(_FALSE, pa.binary()))
    elif pa.types.is_string(kind):
        made = _texts(column)
    elif pa.types.is_float64(kind):
        made = _fixed(_prefixed(_DOUBLE, _bytes_of(_numbers(column, "<f8"))))
    else:
        made = _integers(_numbers(column, "<i8"))
    return pc.if_else(column.is_valid(), made, pa.scalar(_NULL, pa.binary())) if column.null_count else made


def _numbers(column: Any, kind: str) -> Any:
    return pc.fill_null(column, 0).to_numpy(zero_copy_only=False).astype(kind)


def _texts(column: Any) -> Any:
    sizes = _sizes(pc.fill_null(column, ""))
    short = pa.array([bytes((size << 2 | 1,)) for size in range(_SHORT + 1)], pa.binary())
    heads = short.take(pa.array(np.minimum(sizes, _SHORT)))
    if sizes.size and sizes.max() > _SHORT:
        long = _fixed(_prefixed(_STRING, _bytes_of(sizes.astype("<u4"))))
        heads = pc.if_else(pa.array(sizes > _SHORT), long, heads)
    return pc.binary_join_element_wise(heads, column.cast(pa.binary()), b"")


def _integers(numbers: Any) -> Any:
    """The smallest of four sizes that a number fits in."""
    made: Any = None
    for width, kind in reversed(_INTEGERS):
        fits = (numbers >= -(1 << 8 * width - 1)) & (numbers <= (1 << 8 * width - 1) - 1)
        if made is None or fits.any():
            found = _fixed(_prefixed(kind, _bytes_of(numbers.astype(f"<i{width}"))))
            made = found if made is None else pc.if_else(pa.array(fits), found, made)
    return made


def _objects(parts: list[Any], ids: list[int], count: int) -> Any:
    """Objects whose fields have these ids, of which each row has the values."""
    ends = np.zeros((count, len(parts) + 1), np.int64)
    for index, part in enumerate(parts):
        ends[:, index + 1] = ends[:, index] + _sizes(part)
    widths = 1 + sum((ends[:, -1] >= 1 << 8 * width).astype(np.int64) for width in (1, 2, 3))
    heads: list[Any] = []
    positions: list[npt.NDArray[np.int64]] = []
    for width in np.unique(widths):
        chosen = np.flatnonzero(widths == width)
        first = np.array([(int(width) - 1) << 2 | _OBJECT, len(parts), *ids], np.uint8)
        offsets = _bytes_of(ends[chosen].astype("<u4"))[:, :, : int(width)].reshape(len(chosen), -1)
        heads.append(_fixed(np.hstack([np.tile(first, (len(chosen), 1)), offsets])))
        positions.append(chosen)
    if not heads:
        return pa.array([], pa.binary())
    order = np.argsort(np.concatenate(positions), kind="stable")
    head = heads[0] if len(heads) == 1 else pa.concat_arrays(heads).take(pa.array(order))
    return pc.binary_join_element_wise(head, *parts, b"")


def _sizes(column: Any) -> npt.NDArray[np.int64]:
    sizes: npt.NDArray[np.int64] = pc.binary_length(column).to_numpy(zero_copy_only=False).astype(np.int64)
    return sizes


def _bytes_of(numbers: Any) -> Bytes:
    """One more dimension: the bytes of each."""
    found: Bytes = np.ascontiguousarray(numbers).view(np.uint8).reshape(*numbers.shape, numbers.dtype.itemsize)
    return found


def _prefixed(first: int, content: Bytes) -> Bytes:
    return np.hstack([np.full((len(content), 1), first, np.uint8), content])


def _fixed(content: Bytes) -> Any:
    """Rows of bytes that are all as long."""
    kind = pa.binary(content.shape[1])
    buffers = [None, pa.py_buffer(np.ascontiguousarray(content))]
    return pa.FixedSizeBinaryArray.from_buffers(kind, len(content), buffers).cast(pa.binary())
