"""Column types as they lie on disk: in Arrow for delta-rs, and as a Delta schema.

The Delta schema is built from its JSON form rather than from Arrow, because Arrow has no type that says
VARIANT.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.compute as pc

from snowmelt.core.errors import internal
from snowmelt.core.types import TZ_INSTANT, TZ_OFFSET, DataType, Kind
from snowmelt.state.model import Column

VARIANT = pa.struct([pa.field("metadata", pa.binary(), False), pa.field("value", pa.binary(), False)])
"""A VARIANT value as delta-rs takes and gives it: the two parts of Parquet's binary encoding."""

_INSTANT = pa.timestamp("us", tz="UTC")
_ARROW = {
    Kind.FLOAT: pa.float64(),
    Kind.VARCHAR: pa.string(),
    Kind.BINARY: pa.binary(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.DATE: pa.date32(),
    Kind.TIME: pa.string(),
    Kind.TIMESTAMP_NTZ: pa.timestamp("us"),
    Kind.TIMESTAMP_LTZ: _INSTANT,
    Kind.TIMESTAMP_TZ: pa.struct([(TZ_INSTANT, _INSTANT), (TZ_OFFSET, pa.int32())]),
    Kind.VARIANT: VARIANT,
    Kind.OBJECT: VARIANT,
    Kind.ARRAY: VARIANT,
    # A bare NULL has no type of its own; Snowflake makes such a column text.
    Kind.NULL: pa.string(),
}
_DELTA: dict[Kind, Any] = {
    Kind.FLOAT: "double",
    Kind.VARCHAR: "string",
    Kind.BINARY: "binary",
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date",
    Kind.TIME: "string",
    Kind.TIMESTAMP_NTZ: "timestamp_ntz",
    Kind.TIMESTAMP_LTZ: "timestamp",
    Kind.TIMESTAMP_TZ: {
        "type": "struct",
        "fields": [
            {"name": TZ_INSTANT, "type": "timestamp", "nullable": True, "metadata": {}},
            {"name": TZ_OFFSET, "type": "integer", "nullable": True, "metadata": {}},
        ],
    },
    Kind.VARIANT: "variant",
    Kind.OBJECT: "variant",
    Kind.ARRAY: "variant",
    Kind.NULL: "string",
}


def arrow_type(data_type: DataType) -> pa.DataType:
    if data_type.kind is Kind.NUMBER:
        return pa.int64() if data_type.int64 else pa.decimal128(*_digits(data_type))
    return _ARROW[data_type.kind]


def arrow_schema(columns: Sequence[Column]) -> pa.Schema:
    return pa.schema([pa.field(column.name, arrow_type(column.type), column.nullable) for column in columns])


def delta_schema(columns: Sequence[Column]) -> deltalake.Schema:
    fields = [
        {
            "name": column.name,
            "type": _delta_type(column.type),
            "nullable": column.nullable,
            "metadata": {"comment": column.comment} if column.comment else {},
        }
        for column in columns
    ]
    return deltalake.Schema.from_json(json.dumps({"type": "struct", "fields": fields}))


def as_type(array: pa.Array, target: pa.DataType) -> pa.Array:
    """`array` in a storage type; raises ArrowInvalid when a value does not fit."""
    if target != VARIANT:
        return array if array.type == target else array.cast(target)
    if pa.types.is_null(array.type):
        array = pa.nulls(len(array), VARIANT)
    # Below a NULL variant Arrow often has NULL parts, which neither Arrow's cast nor Parquet's writer
    # accepts.
    absent = array.is_null()
    parts = [array.field(field.name).cast(field.type) for field in VARIANT]
    if any(pc.any(pc.and_not(part.is_null(), absent)).as_py() for part in parts):
        raise pa.ArrowInvalid("a variant that is not NULL lacks its metadata or its value")
    return pa.StructArray.from_arrays([part.fill_null(b"") for part in parts], fields=list(VARIANT), mask=absent)


def _delta_type(data_type: DataType) -> Any:
    if data_type.kind is Kind.NUMBER:
        precision, scale = _digits(data_type)
        return "long" if data_type.int64 else f"decimal({precision},{scale})"
    return _DELTA[data_type.kind]


def _digits(data_type: DataType) -> tuple[int, int]:
    if data_type.precision is None or data_type.scale is None:
        raise internal(f"a NUMBER without precision and scale: {data_type!r}")
    return data_type.precision, data_type.scale
