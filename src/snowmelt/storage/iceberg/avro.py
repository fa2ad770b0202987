"""The fields of the Avro files that Iceberg's specification (format version 2) asks for."""

from __future__ import annotations

from typing import Any


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
