"""Rows as columns of the types that their fields say, for destinations that have types."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from snowmelt.extract_load.drift import Field
from snowmelt.extract_load.fitting import arrow_type, as_type, column_fits
from snowmelt.extract_load.kinds import FLOATS, NUMBERS, TRUE_WORDS, fits, type_head
from snowmelt.extract_load.records import Rows
from snowmelt.extract_load.schemas import SchemaDriftError, fields_of


def with_inferred(fields: Sequence[Field], rows: Rows) -> list[Field]:
    """The fields that are known; where none is, what the rows look like."""
    return list(fields) if fields else fields_of(rows)


def typed_table(fields: Sequence[Field], rows: Rows) -> pa.Table:
    """Raises for a column that no field describes and for a value that does not fit."""
    known = {field.name for field in fields}
    new = next((name for name in names_of(rows) if name not in known), None)
    if new is not None:
        raise SchemaDriftError(f"column {new} is new")
    schema = pa.schema([pa.field(field.name, arrow_type(field.type), field.nullable) for field in fields])
    return pa.Table.from_arrays([_column(rows, field) for field in fields], schema=schema)


def names_of(rows: Rows) -> list[str]:
    """The columns of all rows."""
    if rows.columnar:
        return list(rows.table.column_names) if len(rows) else []
    return list(dict.fromkeys(name for record in rows.records for name in record))


def _column(rows: Rows, field: Field) -> Any:
    """Converts a column as a whole if that is sure to be right, else value by value."""
    if rows.columnar and field.name in rows.table.column_names:
        column, source = rows.table.column(field.name), rows.table.schema.field(field.name)
        made = as_type(column, source, field.type) if column_fits(column, source, field.type) else None
        if made is not None:
            return made
    return pa.array([_value(value, field) for value in rows.values(field.name)], arrow_type(field.type))


_ALIKE: tuple[Callable[[pa.DataType], bool], ...] = (
    lambda kind: pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_floating(kind),
    lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind),
    lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind),
    lambda kind: pa.types.is_timestamp(kind) and kind.tz is None,
    lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None,
)
"""Types of which one may hold the values of another."""


def lossless(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray | None:
    """The same values in another type; None when some would be others, or are of another kind."""
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column), wanted)])
    if not any(alike(column.type) and alike(wanted) for alike in _ALIKE):
        return None
    try:
        made = column.cast(wanted)
        return made if made.cast(column.type).equals(column) else None
    except pa.ArrowInvalid:
        return None


def _value(value: Any, field: Field) -> Any:
    if value is None:
        return None
    if not fits(value, field.type):
        raise SchemaDriftError(f"column {field.name} holds {str(value)[:40]!r}, which is no {field.type}")
    return typed(value, field.type)


def typed(value: Any, sql_type: str) -> Any:
    """A value that fits, as Python's own type."""
    convert = _CONVERSIONS.get(type_head(sql_type))
    return _text(value) if convert is None else convert(value)


def _text(value: Any) -> str:
    """Documents stay documents, as text."""
    return value if isinstance(value, str) else json.dumps(value)


def _boolean(value: Any) -> bool:
    return value if isinstance(value, bool) else str(value).strip().lower() in TRUE_WORDS


def _instant(value: Any) -> dt.datetime:
    found = dt.datetime.fromisoformat(value)
    return found if found.tzinfo is not None else found.replace(tzinfo=dt.UTC)


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(NUMBERS, lambda value: Decimal(str(value))),
    **dict.fromkeys(FLOATS, float),
    **dict.fromkeys(("TIMESTAMP_TZ", "TIMESTAMP_LTZ"), _instant),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_NTZ", "DATETIME"), dt.datetime.fromisoformat),
    "DATE": dt.date.fromisoformat, "TIME": dt.time.fromisoformat, "BOOLEAN": _boolean,
}  # fmt: skip
