"""Rows as JSON: every value is text or null."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from snowmelt.core.types import TZ_INSTANT, TZ_OFFSET, DataType, Kind
from snowmelt.runtime.results import ResultColumn, indented_texts
from snowmelt.runtime.wire.rowtypes import fraction_digits

ZONE_SHIFT = 1440
"""Added to offsets from UTC, in minutes, so that they are never negative."""
Value = str | None


def json_rows(columns: Sequence[ResultColumn], data: pa.Table, indent: int) -> list[list[Value]]:
    """The rows of `rowset`; `indent` is for the text of semi-structured values."""
    texts = [_texts(column.type, data.column(index), indent) for index, column in enumerate(columns)]
    return [list(row) for row in zip(*texts, strict=True)] if texts else []


def chunk_text(rows: list[list[Value]]) -> bytes:
    """A part of a result: rows one after the other; the client puts the brackets around them."""
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))[1:-1].encode()


def _texts(type_: DataType, values: pa.ChunkedArray, indent: int) -> list[Value]:
    match type_.kind:
        case Kind.VARCHAR | Kind.NULL:
            return _plain(values)
        case Kind.VARIANT | Kind.OBJECT | Kind.ARRAY:
            return indented_texts(values, indent)
        case Kind.NUMBER:
            return _mapped(values, str if pa.types.is_integer(values.type) else lambda value: format(value, "f"))
        case Kind.BOOLEAN:
            return _mapped(values, lambda value: "1" if value else "0")
        case Kind.FLOAT:
            return _mapped(values, _float)
        case Kind.BINARY:
            return _mapped(values, lambda value: bytes(value).hex().upper())
        case Kind.DATE:
            return _mapped(values.cast(pa.int32()), str)
        case Kind.TIME | Kind.TIMESTAMP_NTZ | Kind.TIMESTAMP_LTZ:
            digits = fraction_digits(type_)
            return _mapped(microseconds(values), lambda value: seconds(value, digits))
        case Kind.TIMESTAMP_TZ:
            return _zoned(values, fraction_digits(type_))
    raise AssertionError(type_)


def _plain(values: pa.ChunkedArray) -> list[Value]:
    texts: list[Value] = values.to_pylist()
    return texts


def _mapped(values: pa.ChunkedArray, convert: Callable[[Any], str]) -> list[Value]:
    return [None if value is None else convert(value) for value in values.to_pylist()]


def _zoned(values: pa.ChunkedArray, digits: int) -> list[Value]:
    instants = microseconds(pc.struct_field(values, TZ_INSTANT)).to_pylist()
    offsets = pc.struct_field(values, TZ_OFFSET).to_pylist()
    return [
        None if instant is None else f"{seconds(instant, digits)} {offset + ZONE_SHIFT}"
        for instant, offset in zip(instants, offsets, strict=True)
    ]


def microseconds(values: Any) -> Any:
    """Times of day since midnight, timestamps since 1970; Spark gives times of day in nanoseconds."""
    if pa.types.is_time(values.type):
        return values.cast(pa.time64("us")).cast(pa.int64())
    return values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64())


def seconds(micros: int, digits: int) -> str:
    """Seconds with so many digits behind the point, as one decimal number."""
    sign = "-" if micros < 0 else ""
    whole, rest = divmod(abs(micros), 1_000_000)
    return f"{sign}{whole}.{f'{rest:06d}000'[:digits]}" if digits else f"{sign}{whole}"


def _float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return repr(value)
