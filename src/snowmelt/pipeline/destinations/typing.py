"""Records as columns of the types that their fields say, for destinations that have types."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from snowmelt.pipeline.records import Record
from snowmelt.pipeline.schemas import Field, SchemaDriftError, fits, infer_fields, number_size, type_head

_TRUE = frozenset({"true", "t", "yes", "y", "on", "1"})


def with_inferred(fields: Sequence[Field], records: Sequence[Record]) -> list[Field]:
    """The fields that are known; where none is, what the records look like."""
    return list(fields) if fields else infer_fields(records)


def arrow_table(fields: Sequence[Field], records: Sequence[Record]) -> pa.Table:
    """Raises for a column that no field describes and for a value that does not fit."""
    known = {field.name for field in fields}
    for record in records:
        for name in record:
            if name not in known:
                raise SchemaDriftError(f"column {name} is new")
    schema = pa.schema([pa.field(field.name, arrow_type(field.type), field.nullable) for field in fields])
    columns = [
        pa.array([_value(record, field) for record in records], schema.field(field.name).type) for field in fields
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _value(record: Record, field: Field) -> Any:
    value = record.get(field.name)
    if value is None:
        return None
    if not fits(value, field.type):
        raise SchemaDriftError(f"column {field.name} holds {str(value)[:40]!r}, which is no {field.type}")
    return typed(value, field.type)


def typed(value: Any, sql_type: str) -> Any:
    """A value that fits, as Python's own type."""
    convert = _CONVERSIONS.get(type_head(sql_type))
    return _text(value) if convert is None else convert(value)


def arrow_type(sql_type: str) -> pa.DataType:
    head = type_head(sql_type)
    if head in _NUMBERS:
        size = number_size(sql_type)
        return pa.decimal128(*size) if size is not None else pa.int64()
    return _ARROW.get(head, pa.string())


def _text(value: Any) -> str:
    """Documents stay documents, as text."""
    return value if isinstance(value, str) else json.dumps(value)


def _boolean(value: Any) -> bool:
    return value if isinstance(value, bool) else str(value).strip().lower() in _TRUE


def _instant(value: Any) -> dt.datetime:
    found = dt.datetime.fromisoformat(value)
    return found if found.tzinfo is not None else found.replace(tzinfo=dt.UTC)


_NUMBERS = ("NUMBER", "DECIMAL", "NUMERIC", "INT", "INTEGER", "BIGINT", "SMALLINT")
_INSTANTS = ("TIMESTAMP_TZ", "TIMESTAMP_LTZ")
_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(_NUMBERS, lambda value: Decimal(str(value))),
    **dict.fromkeys(("FLOAT", "DOUBLE", "REAL"), float),
    **dict.fromkeys(_INSTANTS, _instant),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_NTZ", "DATETIME"), dt.datetime.fromisoformat),
    "DATE": dt.date.fromisoformat, "TIME": dt.time.fromisoformat, "BOOLEAN": _boolean,
}  # fmt: skip
_ARROW: dict[str, pa.DataType] = {
    **dict.fromkeys(("FLOAT", "DOUBLE", "REAL"), pa.float64()),
    **dict.fromkeys(_INSTANTS, pa.timestamp("us", "UTC")),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_NTZ", "DATETIME"), pa.timestamp("us")),
    "DATE": pa.date32(), "TIME": pa.time64("us"), "BOOLEAN": pa.bool_(),
}  # fmt: skip
