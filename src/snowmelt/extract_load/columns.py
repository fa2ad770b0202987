"""Columns of Arrow as the values, the text and the JSON that they stand for.

A column of *documents* has text that is JSON; its field says so. Everything is done for whole columns, and value by
value only where Arrow has no way of its own.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Sequence
from decimal import Decimal
from types import NoneType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from snowmelt.core.result_json import with_nulls
from snowmelt.ingest.channels.rows import DOCUMENTS

_NO_VALUE_OF_THAT_TYPE = (pa.ArrowException, OverflowError, ValueError, TypeError)
_KINDS: dict[type, pa.DataType] = {
    str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_(), bytes: pa.binary(),
    dt.date: pa.date32(), dt.time: pa.time64("us"),
}  # fmt: skip
_UTC = frozenset({"UTC", "Etc/UTC", "+00:00", "Z"})
_SCALES = frozenset(range(-38, 1))
_ESCAPED = '[\\x00-\\x1f"\\\\]'
"""What JSON does not write as it is."""


def plain(value: Any) -> Any:
    """A value as JSON holds it: nothing is lost, times are ISO 8601 and exact numbers are text."""
    match value:
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case set() | frozenset():
            return sorted(plain(item) for item in value)
        case dt.datetime() | dt.date() | dt.time():
            return value.isoformat()
        case Decimal():
            return str(value)
        case bytes() | bytearray() | memoryview():
            return bytes(value).hex()
        case None | bool() | int() | float() | str():
            return value
    return str(value)


# -- columns from values ----------------------------------------------------------------------------------------------


def column_of(name: str, values: Sequence[Any], wanted: pa.DataType | None = None) -> tuple[pa.Field, pa.Array]:
    """Values as a column of that type, or of their own where they have one in common, or else as text or documents."""
    kind = wanted if wanted is not None else _kind_of(values)
    if kind is not None:
        try:
            return pa.field(name, kind), pa.array(values, kind)
        except _NO_VALUE_OF_THAT_TYPE:
            pass
    held = [plain(value) for value in values]
    if all(value is None or isinstance(value, str) for value in held):
        return pa.field(name, pa.string()), pa.array(held, pa.string())
    return documents_field(name), pa.array([_json(value) for value in held], pa.string())


def _kind_of(values: Sequence[Any]) -> pa.DataType | None:
    kinds = set(map(type, values)) - {NoneType}
    if len(kinds) != 1:
        return None
    kind = kinds.pop()
    if kind is Decimal:
        # Arrow has one scale for all values: with several, some would be written with other digits than were given.
        scales = {value.as_tuple().exponent for value in values if value is not None}
        return pa.array(values).type if len(scales) == 1 and scales <= _SCALES else None
    if kind is dt.datetime:
        offsets = {value.utcoffset() for value in values if value is not None}
        return {(None,): pa.timestamp("us"), (dt.timedelta(),): pa.timestamp("us", "UTC")}.get(tuple(offsets))
    return _KINDS.get(kind)


def documents_field(name: str) -> pa.Field:
    return pa.field(name, pa.string(), metadata=DOCUMENTS)


def is_documents(field: pa.Field) -> bool:
    return DOCUMENTS.items() <= (field.metadata or {}).items()


def simplified(table: pa.Table) -> pa.Table:
    """The same values in the usual one of several types that Arrow has for them."""
    for index, field in enumerate(table.schema):
        if isinstance(field.type, pa.BaseExtensionType):
            # Such as a UUID, which only its own class can read.
            table = table.set_column(index, *column_of(field.name, table.column(index).to_pylist()))
        elif _usual(field.type) != field.type:
            wanted = _usual(field.type)
            table = table.set_column(index, field.with_type(wanted), table.column(index).cast(wanted))
    return table


def _usual(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _usual(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    return kind


def with_documents(table: pa.Table) -> pa.Table:
    """Lists and objects as documents."""
    for index, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            table = table.set_column(index, documents_field(field.name), text_of(table.column(index), field))
    return table


# -- what columns stand for -------------------------------------------------------------------------------------------


def values_of(column: Any, field: pa.Field) -> list[Any]:
    """The values as JSON holds them."""
    if is_documents(field):
        return [None if text is None else json.loads(with_nulls(text)) for text in column.to_pylist()]
    if _is_iso(field.type) or pa.types.is_decimal(field.type):
        column = text_of(column, field)
    found: list[Any] = column.to_pylist()
    return [plain(value) for value in found] if pa.types.is_nested(column.type) or _is_rare(column.type) else found


def text_of(column: Any, field: pa.Field) -> Any:
    """The values as text: JSON for what is neither text, number nor time."""
    kind = field.type
    if pa.types.is_string(kind):
        return column
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return column.cast(pa.string())
    if _is_iso(kind):
        return _iso(column, kind)
    if pa.types.is_floating(kind):
        texts = [None if value is None else _number_text(value) for value in column.to_pylist()]
    else:
        held = [plain(value) for value in column.to_pylist()]
        texts = [value if isinstance(value, str) else _json(value) for value in held]
    return pa.chunked_array([pa.array(texts, pa.string())])


def json_of(column: Any, field: pa.Field) -> Any:
    """The values as JSON; NULL is the JSON null."""
    kind = field.type
    text = text_of(column, field)
    bare = is_documents(field) or pa.types.is_nested(kind) or pa.types.is_boolean(kind) or _is_number(kind)
    return pc.fill_null(text if bare else _quoted(text), "null")


def documents_of(table: pa.Table) -> Any:
    """Every row as one JSON object."""
    if not table.num_columns:
        return pa.array(["{}"] * table.num_rows, pa.string())
    parts: list[Any] = []
    for field, column in zip(table.schema, table.combine_chunks().columns, strict=True):
        parts += [f"{',' if parts else '{'}{json.dumps(field.name, ensure_ascii=False)}:", json_of(column, field)]
    return pc.binary_join_element_wise(*parts, "}", "").combine_chunks()


def objects_of(table: pa.Table) -> Any:
    """Every row as one object, whose fields are what JSON has: text, numbers, and documents for all that holds more."""
    fields: list[pa.Field] = []
    columns: list[Any] = []
    for field, column in zip(table.schema, table.combine_chunks().columns, strict=True):
        kind = field.type
        kept = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind)
        # Numbers with a fraction are exact in a document, as they are written.
        document = is_documents(field) or pa.types.is_nested(kind) or pa.types.is_floating(kind)
        columns.append((column if kept else text_of(column, field)).combine_chunks())
        fields.append(documents_field(field.name) if document else pa.field(field.name, columns[-1].type))
    return pa.StructArray.from_arrays(columns, fields=fields)


def records_of(table: pa.Table) -> list[dict[str, Any]]:
    names = table.column_names
    columns = [values_of(column, field) for field, column in zip(table.schema, table.columns, strict=True)]
    rows = zip(*columns, strict=True) if columns else [()] * table.num_rows
    return [dict(zip(names, row, strict=True)) for row in rows]


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _is_iso(kind: pa.DataType) -> bool:
    """Times that Arrow can write as Python would, but for details."""
    if pa.types.is_timestamp(kind):
        return kind.unit != "ns" and (kind.tz is None or kind.tz in _UTC)
    return bool(pa.types.is_date32(kind) or kind == pa.time64("us"))


def _is_rare(kind: pa.DataType) -> bool:
    return not (_is_number(kind) or pa.types.is_boolean(kind) or pa.types.is_string(kind) or pa.types.is_null(kind))


def _iso(column: Any, kind: pa.DataType) -> Any:
    """Times as Python's isoformat writes them: without a fraction of zero, and UTC as an offset."""
    if not pa.types.is_timestamp(kind):
        return pc.replace_substring(column.cast(pa.string()), ".000000", "")
    text = column.cast(pa.timestamp("us")).cast(pa.string())
    made = pc.replace_substring(pc.replace_substring(text, " ", "T"), ".000000", "")
    return made if kind.tz is None else pc.binary_join_element_wise(made, "+00:00", "")


def _number_text(value: float) -> str:
    """A number as JSON writes it, without asking its encoder each time."""
    return repr(value) if math.isfinite(value) else json.dumps(value)


def _quoted(texts: Any) -> Any:
    if pc.any(pc.match_substring_regex(texts, _ESCAPED)).as_py():
        return pa.chunked_array([pa.array([_json(text) for text in texts.to_pylist()], pa.string())])
    return pc.binary_join_element_wise('"', texts, '"', "")


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)
