"""One version of a managed table as a table of Iceberg, with metadata that are made when somebody asks."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from snowmelt.storage.folders import TableFolder
from snowmelt.storage.iceberg.columns import IcebergColumns, iceberg_columns
from snowmelt.storage.iceberg.metadata import IcebergFile, IcebergSnapshot
from snowmelt.storage.origins import ORIGIN_FILE, ORIGIN_ROW
from snowmelt.storage.snapshot import FileList

FOLDER = "_iceberg"
"""In the table's folder. Delta leaves alone what begins with `_`."""
FRESH_SECONDS = 3600.0
"""For so long metadata are given out; after twice that they go. So a reader has an hour for what they lead to."""
LEFT_OUT = "snowmelt.left-out"
VERSION = "snowmelt.delta-version"
_WRITTEN = "snowmelt.written"


@dataclass(frozen=True, slots=True)
class PublishedVersion:
    address: str
    """Where its metadata are."""
    metadata: dict[str, Any]


def publish(folder: TableFolder, uri: str, files: FileList, table_id: str, committed_at: datetime) -> PublishedVersion:
    """`uri`: the table's folder as readers reach it. Raises ValueError with a reason for what Iceberg can't say.

    A version does not change, so that metadata which are there are taken, and it does not matter who writes them twice.
    """
    columns = iceberg_columns(files.metadata.schema_json, _in_files(folder, files))
    reason = _unsayable(files, columns)
    if reason is not None:
        raise ValueError(reason)
    name = f"{FOLDER}/v{files.version}.metadata.json"
    now = time.time()
    with contextlib.suppress(FileNotFoundError):
        known = json.loads(folder.read(name))
        if float(known["properties"][_WRITTEN]) > now - FRESH_SECONDS:
            return PublishedVersion(f"{uri}/{name}", known)
    metadata = _write(folder, uri, files, columns, table_id, committed_at)
    metadata["properties"][_WRITTEN] = str(now)
    folder.put(name, json.dumps(metadata).encode())
    folder.drop_old(FOLDER, now - 2 * FRESH_SECONDS)
    return PublishedVersion(f"{uri}/{name}", metadata)


def _write(
    folder: TableFolder, uri: str, files: FileList, columns: IcebergColumns, table_id: str, committed_at: datetime
) -> dict[str, Any]:
    """Writes the manifests; the metadata that name them."""
    identity = hashlib.sha256(f"{table_id} {files.version}".encode()).digest()
    snapshot = IcebergSnapshot(
        int.from_bytes(identity[:8], "big") >> 1, files.version + 1, int(committed_at.timestamp() * 1000),
        [IcebergFile(file.uri.removeprefix("file://"), file.size, file.rows or 0) for file in files.files],
    )  # fmt: skip
    schema = {"type": "struct", "schema-id": 0, "fields": columns.fields}
    stamp = f"{files.version}-{uuid.uuid4().hex}.avro"
    manifest = snapshot.manifest(schema)
    folder.put(f"{FOLDER}/files-{stamp}", manifest)
    folder.put(f"{FOLDER}/snap-{stamp}", snapshot.manifest_list(f"{uri}/{FOLDER}/files-{stamp}", len(manifest)))
    metadata = snapshot.metadata(schema, columns.last_id, columns.names, f"{uri}/{FOLDER}/snap-{stamp}")
    metadata["properties"][VERSION] = str(files.version)
    if columns.left_out:
        left_out = (f"{name} ({kind.upper()})" for name, kind in columns.left_out.items())
        metadata["properties"][LEFT_OUT] = ", ".join(left_out)
    table_uuid = uuid.UUID(bytes=hashlib.sha256(table_id.encode()).digest()[:16], version=4)
    return {**metadata, "location": uri, "table-uuid": str(table_uuid)}


def _in_files(folder: TableFolder, files: FileList) -> Iterator[pa.Field]:
    """What files have, perhaps beside the table's columns: where their rows came from, and columns that are gone."""
    yield from (pa.field(ORIGIN_FILE, pa.string()), pa.field(ORIGIN_ROW, pa.int64()))
    if files.metadata.column_mapping:
        for file in files.files:
            yield from pq.read_schema(folder.present(file.path))


def _unsayable(files: FileList, columns: IcebergColumns) -> str | None:
    if files.metadata.partition_columns:
        return f"it is partitioned by {', '.join(files.metadata.partition_columns)}, whose values are not in its files"
    if not files.whole_files:
        return "some of its rows are marked as deleted by deletion vectors"
    if files.uncounted:
        return "its log does not say how many rows each file has"
    if not columns.fields:
        return "none of its columns has a type that Iceberg has a word for"
    return None
