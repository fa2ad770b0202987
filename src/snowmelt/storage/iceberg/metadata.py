"""The parts of an Iceberg table that has one snapshot: its manifest, its manifest list, its metadata."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastavro import parse_schema, writer

from snowmelt.storage.iceberg.avro import MANIFEST, MANIFEST_LIST

_NO_ORDER = {"order-id": 0, "fields": ()}
_ADDED = 1


@dataclass(frozen=True, slots=True)
class IcebergFile:
    address: str
    size: int
    rows: int


@dataclass(frozen=True, slots=True)
class IcebergSnapshot:
    id: int
    number: int
    """Its sequence number: later versions of a table have higher ones."""
    milliseconds: int
    """When it was committed, since 1970."""
    files: Sequence[IcebergFile]

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    def manifest(self, schema: Mapping[str, Any]) -> bytes:
        """One manifest has all files, so that no earlier one is ever needed."""
        entries = [
            {
                "status": _ADDED, "snapshot_id": self.id, "sequence_number": self.number,
                "file_sequence_number": self.number,
                "data_file": {
                    "content": 0, "file_path": file.address, "file_format": "PARQUET", "partition": {},
                    "record_count": file.rows, "file_size_in_bytes": file.size,
                },
            }
            for file in self.files
        ]  # fmt: skip
        about = {
            "schema": json.dumps(schema), "schema-id": str(schema["schema-id"]), "partition-spec": "[]",
            "partition-spec-id": "0", "format-version": "2", "content": "data",
        }  # fmt: skip
        return _avro(MANIFEST, entries, about)

    def manifest_list(self, address: str, length: int) -> bytes:
        """`address`, `length`: of the manifest."""
        manifest = {
            "manifest_path": address, "manifest_length": length, "partition_spec_id": 0, "content": 0,
            "sequence_number": self.number, "min_sequence_number": self.number, "added_snapshot_id": self.id,
            "added_files_count": len(self.files), "existing_files_count": 0, "deleted_files_count": 0,
            "added_rows_count": self.rows, "existing_rows_count": 0, "deleted_rows_count": 0,
        }  # fmt: skip
        about = {"snapshot-id": str(self.id), "sequence-number": str(self.number), "format-version": "2"}
        return _avro(MANIFEST_LIST, [manifest] if self.files else [], about)

    def metadata(
        self, schema: Mapping[str, Any], last_column: int, names: Sequence[Mapping[str, Any]], manifest_list: str
    ) -> dict[str, Any]:
        """All but the table's location and id. `names`: the name mapping; `manifest_list`: where that is."""
        summary = {
            "operation": "overwrite", "total-data-files": str(len(self.files)), "total-records": str(self.rows),
            "total-files-size": str(sum(file.size for file in self.files)), "total-delete-files": "0",
            "total-position-deletes": "0", "total-equality-deletes": "0",
        }  # fmt: skip
        described = {
            "snapshot-id": self.id, "sequence-number": self.number, "timestamp-ms": self.milliseconds,
            "schema-id": schema["schema-id"], "manifest-list": manifest_list, "summary": summary,
        }  # fmt: skip
        return {
            "format-version": 2, "last-sequence-number": self.number, "last-updated-ms": self.milliseconds,
            "last-column-id": last_column, "schemas": [schema], "current-schema-id": schema["schema-id"],
            "partition-specs": [{"spec-id": 0, "fields": []}], "default-spec-id": 0, "last-partition-id": 999,
            "sort-orders": [_NO_ORDER], "default-sort-order-id": 0,
            "properties": {"schema.name-mapping.default": json.dumps(names)}, "current-snapshot-id": self.id,
            "refs": {"main": {"snapshot-id": self.id, "type": "branch"}}, "snapshots": [described],
            "snapshot-log": [{"snapshot-id": self.id, "timestamp-ms": self.milliseconds}], "metadata-log": [],
        }  # fmt: skip


def _avro(schema: dict[str, Any], records: Sequence[Mapping[str, Any]], about: Mapping[str, str]) -> bytes:
    target = io.BytesIO()
    writer(target, parse_schema(schema), records, codec="deflate", metadata=dict(about))
    return target.getvalue()
