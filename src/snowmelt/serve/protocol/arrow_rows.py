"""Rows as Arrow, in the layout that the connectors' converters know: the field's metadata says what is meant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from snowmelt.core.types import MAX_VARCHAR, TZ_INSTANT, TZ_OFFSET, Kind
from snowmelt.runtime.results import Result, ResultColumn, indented_texts
from snowmelt.runtime.wire.json_rows import ZONE_SHIFT, microseconds
from snowmelt.runtime.wire.rowtypes import fraction_digits, type_name

_MICROSECONDS = 1_000_000
_EPOCH = pa.struct([("epoch", pa.int64()), ("fraction", pa.int32())])
_ZONED = pa.struct([("epoch", pa.int64()), ("fraction", pa.int32()), ("timezone", pa.int32())])
_ZONED_SHORT = pa.struct([("epoch", pa.int64()), ("timezone", pa.int32())])
_ONE_NUMBER = 6
"""Up to so many digits of a second, a TIMESTAMP_NTZ or _LTZ is one number: the epoch in units of its last digit."""
_ONE_ZONED_NUMBER = 3
"""The same of a TIMESTAMP_TZ, whose offset stands beside it."""
_SHORT_TIME = 4
"""Up to so many digits of a second, a TIME is a number of 32 bits. Go's driver reads it as nothing else."""
_SHORT_BYTES, _LONG_BYTES = "8", "16"
"""By these clients know whether a TIMESTAMP_TZ has two fields or three."""
_WHOLE = 18
"""Digits that a 64-bit integer holds for certain."""
_INTEGER = pa.int64()
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ArrowLayout:
    """How the columns of one result travel. All parts of a result have the same one: clients put them together."""

    columns: tuple[ResultColumn, ...]
    integers: frozenset[int]
    """Columns of NUMBERs that travel as 64-bit integers without their decimal point."""
    indent: int
    """Of the text of semi-structured values."""

    @classmethod
    def of(cls, result: Result) -> ArrowLayout:
        """Reads wide NUMBERs once: of integers clients make int64 and float64, of decimals objects."""
        numbers = (index for index, column in enumerate(result.columns) if column.type.is_number)
        integers = frozenset(index for index in numbers if _are_integers(result, index))
        return cls(result.columns, integers, result.json_indent)

    def stream(self, data: pa.Table) -> bytes:
        """One IPC stream with the rows."""
        arrays = [self._encoded(index, data.column(index)) for index in range(len(self.columns))]
        fields = [_field(column, array.type) for column, array in zip(self.columns, arrays, strict=True)]
        schema = pa.schema(fields)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as writer:
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
        return bytes(sink.getvalue())

    def _encoded(self, index: int, values: pa.ChunkedArray) -> pa.ChunkedArray:
        type_ = self.columns[index].type
        digits = fraction_digits(type_)
        match type_.kind:
            case Kind.NULL:
                return values.cast(pa.string())
            case Kind.NUMBER:
                return _by_chunk(values, _INTEGER, _unscaled) if index in self.integers else values
            case Kind.VARIANT | Kind.OBJECT | Kind.ARRAY:
                return pa.chunked_array([pa.array(indented_texts(values, self.indent), pa.string())])
            case Kind.TIME:
                units = _units(microseconds(values), digits)
                return units.cast(pa.int32()) if digits <= _SHORT_TIME else units
            case Kind.TIMESTAMP_NTZ | Kind.TIMESTAMP_LTZ if digits <= _ONE_NUMBER:
                return _by_chunk(values, _INTEGER, lambda chunk: _units(microseconds(chunk), digits))
            case Kind.TIMESTAMP_NTZ | Kind.TIMESTAMP_LTZ:
                return _by_chunk(values, _EPOCH, _split)
            case Kind.TIMESTAMP_TZ if digits <= _ONE_ZONED_NUMBER:
                return _by_chunk(values, _ZONED_SHORT, partial(_zoned_short, digits))
            case Kind.TIMESTAMP_TZ:
                return _by_chunk(values, _ZONED, _zoned)
            case _:
                return values


def _are_integers(result: Result, index: int) -> bool:
    type_ = result.columns[index].type
    if type_.int64 or (type_.precision or 38) <= _WHOLE:
        return True
    most = Decimal(_LARGEST).scaleb(-(type_.scale or 0))
    return all(least >= -most and largest <= most for least, largest in result.extremes(index))


def _field(column: ResultColumn, type_: pa.DataType) -> pa.Field:
    kind = column.type
    scale = kind.scale or 0 if kind.is_number else fraction_digits(kind)
    length = str(kind.length or MAX_VARCHAR)
    zoned = _SHORT_BYTES if type_ == _ZONED_SHORT else _LONG_BYTES
    metadata = {
        "logicalType": type_name(kind).upper(),
        "precision": str(kind.precision or 38) if kind.is_number else "38",
        "scale": str(scale if kind.is_number or kind.is_timestamp or kind.kind is Kind.TIME else 0),
        "charLength": length,
        "byteLength": zoned if kind.kind is Kind.TIMESTAMP_TZ else length,
        "finalType": "T",
    }
    return pa.field(column.name, type_, nullable=column.nullable, metadata=metadata)


def _by_chunk(values: pa.ChunkedArray, type_: pa.DataType, convert: Callable[[pa.Array], pa.Array]) -> pa.ChunkedArray:
    return pa.chunked_array([convert(chunk) for chunk in values.chunks], type=type_)


def _unscaled(chunk: pa.Array) -> pa.Array:
    """A NUMBER's digits as a whole number."""
    if pa.types.is_integer(chunk.type):
        return chunk
    whole = pa.decimal128(38, 0)
    digits = pa.Array.from_buffers(whole, len(chunk), chunk.buffers(), chunk.null_count, chunk.offset)
    return digits.cast(_INTEGER)


def _units(micros: pa.Array, digits: int) -> pa.Array:
    """In units of the last of so many digits behind the seconds, rounded down."""
    if digits >= 6:
        return pc.multiply(micros, 10 ** (digits - 6))
    return _floor(micros, 10 ** (6 - digits))


def _floor(micros: pa.Array, unit: int) -> pa.Array:
    """Arrow divides towards zero; instants before 1970 have to go down."""
    return pc.divide(pc.if_else(pc.less(micros, 0), pc.subtract(micros, unit - 1), micros), unit)


def _parts(micros: pa.Array) -> list[pa.Array]:
    """Whole seconds, rounded down, and the nanoseconds behind them."""
    whole = _floor(micros, _MICROSECONDS)
    rest = pc.subtract(micros, pc.multiply(whole, _MICROSECONDS))
    return [whole, pc.multiply(rest, 1000).cast(pa.int32())]


def _split(chunk: pa.Array) -> pa.StructArray:
    return pa.StructArray.from_arrays(_parts(microseconds(chunk)), fields=list(_EPOCH), mask=chunk.is_null())


def _zoned(chunk: pa.StructArray) -> pa.StructArray:
    parts = [*_parts(_instants(chunk)), _offsets(chunk)]
    return pa.StructArray.from_arrays(parts, fields=list(_ZONED), mask=chunk.is_null())


def _zoned_short(digits: int, chunk: pa.StructArray) -> pa.StructArray:
    parts = [_units(_instants(chunk), digits), _offsets(chunk)]
    return pa.StructArray.from_arrays(parts, fields=list(_ZONED_SHORT), mask=chunk.is_null())


def _instants(chunk: pa.StructArray) -> pa.Array:
    return microseconds(pc.struct_field(chunk, TZ_INSTANT))


def _offsets(chunk: pa.StructArray) -> pa.Array:
    return pc.add(pc.struct_field(chunk, TZ_OFFSET), ZONE_SHIFT).cast(pa.int32())
