"""Rows as Arrow, in the layout that the connectors' converters know: the field's metadata says what is meant."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from snowmelt.core.types import MAX_VARCHAR, TZ_INSTANT, TZ_OFFSET, DataType, Kind
from snowmelt.serve.protocol.json_rows import ZONE_SHIFT, microseconds
from snowmelt.serve.protocol.rowtypes import fraction_digits, type_name
from snowmelt.service.results import ResultColumn

_MICROSECONDS = 1_000_000
_EPOCH = pa.struct([("epoch", pa.int64()), ("fraction", pa.int32())])
_ZONED = pa.struct([("epoch", pa.int64()), ("fraction", pa.int32()), ("timezone", pa.int32())])
_ZONED_BYTES = "16"
"""By this clients know that a TIMESTAMP_TZ has three fields."""
_WHOLE = 18
"""Digits that a 64-bit integer holds for certain."""


def arrow_stream(columns: Sequence[ResultColumn], data: pa.Table) -> bytes:
    """One IPC stream with the rows."""
    arrays = [_encoded(column.type, data.column(index)) for index, column in enumerate(columns)]
    schema = pa.schema([_field(column, array.type) for column, array in zip(columns, arrays, strict=True)])
    sink = pa.BufferOutputStream()
    table = pa.Table.from_arrays(arrays, schema=schema)
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _field(column: ResultColumn, type_: pa.DataType) -> pa.Field:
    kind = column.type
    scale = kind.scale or 0 if kind.is_number else fraction_digits(kind)
    metadata = {
        "logicalType": type_name(kind).upper(),
        "precision": str(kind.precision or 38) if kind.is_number else "38",
        "scale": str(scale if kind.is_number or kind.is_timestamp or kind.kind is Kind.TIME else 0),
        "charLength": str(kind.length or MAX_VARCHAR),
        "byteLength": _ZONED_BYTES if kind.kind is Kind.TIMESTAMP_TZ else str(kind.length or MAX_VARCHAR),
        "finalType": "T",
    }
    return pa.field(column.name, type_, nullable=column.nullable, metadata=metadata)


def _encoded(type_: DataType, values: pa.ChunkedArray) -> pa.ChunkedArray:
    match type_.kind:
        case Kind.NULL:
            return values.cast(pa.string())
        case Kind.NUMBER if not pa.types.is_integer(values.type):
            return _number(type_, values)
        case Kind.TIME:
            return _time(microseconds(values), fraction_digits(type_))
        case Kind.TIMESTAMP_NTZ | Kind.TIMESTAMP_LTZ:
            return _by_chunk(values, _EPOCH, lambda chunk: _split(microseconds(chunk), chunk.is_null()))
        case Kind.TIMESTAMP_TZ:
            return _by_chunk(values, _ZONED, _zoned)
        case _:
            return values


def _number(type_: DataType, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whole numbers as integers where every one of the type fits, as clients make their own integers of those."""
    if type_.scale == 0 and (type_.precision or 38) <= _WHOLE:
        return values.cast(pa.int64())
    return values


def _time(values: pa.ChunkedArray, digits: int) -> pa.ChunkedArray:
    if digits >= 6:
        return pc.multiply(values, 10 ** (digits - 6))
    return pc.divide(values, 10 ** (6 - digits))


def _by_chunk(values: pa.ChunkedArray, type_: pa.DataType, convert) -> pa.ChunkedArray:  # type: ignore[no-untyped-def]
    return pa.chunked_array([convert(chunk) for chunk in values.chunks], type=type_)


def _parts(micros: pa.Array) -> list[pa.Array]:
    """Whole seconds, rounded down, and the nanoseconds behind them."""
    shifted = pc.divide(pc.subtract(micros, _MICROSECONDS - 1), _MICROSECONDS)
    whole = pc.if_else(pc.less(micros, 0), shifted, pc.divide(micros, _MICROSECONDS))
    rest = pc.subtract(micros, pc.multiply(whole, _MICROSECONDS))
    return [whole, pc.multiply(rest, 1000).cast(pa.int32())]


def _split(micros: pa.Array, nulls: pa.Array) -> pa.StructArray:
    return pa.StructArray.from_arrays(_parts(micros), fields=list(_EPOCH), mask=nulls)


def _zoned(chunk: pa.StructArray) -> pa.StructArray:
    whole, fraction = _parts(microseconds(pc.struct_field(chunk, TZ_INSTANT)))
    offset = pc.add(pc.struct_field(chunk, TZ_OFFSET), ZONE_SHIFT).cast(pa.int32())
    return pa.StructArray.from_arrays([whole, fraction, offset], fields=list(_ZONED), mask=chunk.is_null())
