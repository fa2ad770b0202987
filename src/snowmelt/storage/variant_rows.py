"""Many objects of the same fields as VARIANTs: what they have in common is encoded once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa

from snowmelt.storage import variant
from snowmelt.storage.schema import VARIANT

_OBJECT = 2
_WIDE = 256


def encode_objects(names: Sequence[str], columns: Sequence[Sequence[Any]], *, nested: bool) -> pa.Array:
    """One object a row, whose values stand in the columns; `nested` says whether some hold objects themselves.

    The bytes are those of `variant.encode` for each row.
    """
    rows = zip(*columns, strict=True)
    if nested or len(names) >= _WIDE:
        encoded = [variant.encode(dict(zip(names, row, strict=True))) for row in rows]
        return pa.array([{"metadata": one, "value": two} for one, two in encoded], VARIANT)
    metadata, ids = variant.dictionary_of(frozenset(names))
    order = sorted(range(len(names)), key=lambda place: ids[names[place]])
    encode = variant.encoded_value
    parts = [[encode(value, ids) for value in columns[place]] for place in order]
    count = len(columns[0])
    field_ids = bytes(range(len(names)))
    values = [_object(field_ids, row) for row in zip(*parts, strict=True)]
    both = [pa.repeat(pa.scalar(metadata, pa.binary()), count), pa.array(values, pa.binary())]
    return pa.StructArray.from_arrays(both, fields=list(VARIANT))


def _object(field_ids: bytes, parts: Sequence[bytes]) -> bytes:
    """An object of fewer than 256 fields, whose parts are in the order of their names."""
    offsets = list(accumulate(map(len, parts), initial=0))
    width = max(1, (offsets[-1].bit_length() + 7) // 8)
    header = bytes((((width - 1) << 2) | _OBJECT, len(field_ids)))
    if width == 1:
        return b"".join((header, field_ids, bytes(offsets), *parts))
    return b"".join((header, field_ids, *(offset.to_bytes(width, "little") for offset in offsets), *parts))
