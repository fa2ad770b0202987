"""What Iceberg's specification (format version 2) calls a table's columns, and the fields of its own Avro files."""

from __future__ import annotations

import re
from typing import Any

from deltalake import Schema

_TYPES = {
    "boolean": "boolean", "byte": "int", "short": "int", "integer": "int", "long": "long", "float": "float",
    "double": "double", "string": "string", "binary": "binary", "date": "date", "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
}  # fmt: skip
_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")
_PROMOTED = {("int", "long"), ("float", "double")}


def iceberg_schema(schema: Schema, previous: dict[str, Any] | None) -> tuple[dict[str, Any], int]:
    """The schema, and the highest id that a column ever had.

    A column keeps its id for as long as it has its name and what is in it can be read as its type. All may be NULL:
    what may not is for writers, and a column that was added later is NULL in earlier files in any case.
    """
    nothing: dict[str, Any] = {"schema-id": -1, "fields": []}
    before = nothing if previous is None else previous["schemas"][0]
    last = previous["last-column-id"] if previous is not None else 0
    known = {field["name"]: field for field in before["fields"]}
    fields = []
    for field in schema.fields:
        named, kind = known.get(field.name), iceberg_type(field.type)
        if named is None or not _continues(named["type"], kind):
            last += 1
            named = {"id": last}
        fields.append({"id": named["id"], "name": field.name, "required": False, "type": kind})
    number = before["schema-id"] + (fields != before["fields"])
    return {"type": "struct", "schema-id": number, "fields": fields}, last


def iceberg_type(kind: Any) -> str | None:
    """None for what Iceberg has no word for, or one that this project's tables never need: nested types."""
    decimal = _DECIMAL.fullmatch(str(kind.type))
    return f"decimal({decimal[1]}, {decimal[2]})" if decimal is not None else _TYPES.get(str(kind.type))


def _continues(before: str, now: str | None) -> bool:
    """Whether files of the one type can be read as the other: Iceberg's own promotions."""
    if before == now or (before, now) in _PROMOTED:
        return True
    narrow, wide = _DECIMAL.fullmatch(before), _DECIMAL.fullmatch(now or "")
    if narrow is None or wide is None:
        return False
    return narrow[2] == wide[2] and int(narrow[1]) <= int(wide[1])


def _field(number: int, name: str, kind: Any) -> dict[str, Any]:
    optional = {"default": None} if isinstance(kind, list) else {}
    return {"name": name, "type": kind, "field-id": number, **optional}


def _record(name: str, *fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


_OPTIONAL_LONG = ["null", "long"]
MANIFEST = _record(
    "manifest_entry",
    _field(0, "status", "int"),
    _field(1, "snapshot_id", _OPTIONAL_LONG),
    _field(3, "sequence_number", _OPTIONAL_LONG),
    _field(4, "file_sequence_number", _OPTIONAL_LONG),
    _field(
        2,
        "data_file",
        _record(
            "r2",
            _field(134, "content", "int"),
            _field(100, "file_path", "string"),
            _field(101, "file_format", "string"),
            _field(102, "partition", _record("r102")),
            _field(103, "record_count", "long"),
            _field(104, "file_size_in_bytes", "long"),
        ),
    ),
)
"""One data file."""

MANIFEST_LIST = _record(
    "manifest_file",
    _field(500, "manifest_path", "string"),
    _field(501, "manifest_length", "long"),
    _field(502, "partition_spec_id", "int"),
    _field(517, "content", "int"),
    _field(515, "sequence_number", "long"),
    _field(516, "min_sequence_number", "long"),
    _field(503, "added_snapshot_id", "long"),
    _field(504, "added_files_count", "int"),
    _field(505, "existing_files_count", "int"),
    _field(506, "deleted_files_count", "int"),
    _field(512, "added_rows_count", "long"),
    _field(513, "existing_rows_count", "long"),
    _field(514, "deleted_rows_count", "long"),
)
"""One manifest of a snapshot."""
