"""Changing a table's columns: in the log alone, or by writing its rows anew in the new shape.

Delta can drop and rename columns without touching files, by column mapping, but then delta-rs can no longer write the
table. So a table that is small enough is rewritten instead, and stays one that both writers know. The rewrite says
`dataChange: false`: no row is new, and readers of the change feed pass over it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

import pyarrow as pa
from deltalake.exceptions import CommitFailedError

from snowmelt.core.lazy import lazy_imports
from snowmelt.state.model import Column
from snowmelt.storage.append import TARGET_FILE_BYTES, conform, write_files
from snowmelt.storage.commits import CommitTag
from snowmelt.storage.feed import in_schema
from snowmelt.storage.first import new_metadata
from snowmelt.storage.handles import Handle
from snowmelt.storage.layout import StorageRoot
from snowmelt.storage.log import Action
from snowmelt.storage.origins import ORIGINS, with_origins
from snowmelt.storage.schema import VARIANT, as_type
from snowmelt.storage.snapshot import FileList, TableMetadata
from snowmelt.storage.variant import encode

with lazy_imports():
    from snowmelt.storage.rewrite_many import slices

_MAPPING = "columnMapping"
_WIDEST = 38


@dataclass(frozen=True, slots=True)
class Reshape:
    """The columns a table is to have, and where each comes from."""

    columns: tuple[Column, ...]
    sources: Mapping[str, str]
    """New name to present name. A column that is not here is new."""
    fills: Mapping[str, Any] = field(default_factory=dict)
    """What existing rows get in new columns, as Python values; NULL where nothing is said."""


def can_evolve(metadata: TableMetadata) -> bool:
    """Whether the commit can be written here: there is nothing in the table's rules that we do not know."""
    return (
        not metadata.partition_columns
        and metadata.min_writer >= 7
        and replace(metadata, features=metadata.features - {_MAPPING}).plain_features
        and not any(key.startswith("delta.constraints.") for key in metadata.configuration)
    )


def set_columns(handle: Handle, files: FileList, columns: Sequence[Column], tag: CommitTag) -> tuple[int, list[Action]]:
    """Commit a new schema over the same files. Columns that are new read as NULL in the rows that are there."""
    return _commit(handle, files, _evolved(files.metadata, columns), tag, [])


def write_anew(
    root: StorageRoot, handle: Handle, files: FileList, shape: Reshape, tag: CommitTag, *, origins: bool = False
) -> tuple[int, list[Action]]:
    """Write all rows in the new shape and commit them in place of the present files.

    `origins`: keep where each row was born, if the files are such that this is known.
    """
    origins = origins and files.plain
    metadata = _evolved(files.metadata, shape.columns)
    target = metadata.arrow_schema
    folder = root.path(handle.location)
    adds: list[Action] = []
    for part in _rows(handle, files, shape, origins=origins):
        data = conform(_reshaped(part, shape, target), target, handle.location)
        data = with_origins(data, "", part.select(ORIGINS)) if origins else data
        adds += write_files(data, folder)
    now = int(time.time() * 1000)
    moved: list[Action] = [
        {
            "remove": {
                "path": quote(file.path, safe="/=:-_.~"),
                "deletionTimestamp": now,
                "dataChange": False,
                "extendedFileMetadata": True,
                "partitionValues": {},
                "size": file.size,
            }
        }
        for file in files.files
    ]
    moved += [{"add": {**action["add"], "dataChange": False}} for action in adds]
    return _commit(handle, files, metadata, tag, moved)


def _evolved(metadata: TableMetadata, columns: Sequence[Column]) -> TableMetadata:
    """The table's metadata with other columns, the features they need, and no column mapping."""
    needed = new_metadata(columns, change_feed=metadata.change_feed)
    readers = (metadata.reader_features - {_MAPPING}) | needed.reader_features
    return TableMetadata(
        schema_json=needed.schema_json,
        partition_columns=(),
        configuration={
            key: value for key, value in metadata.configuration.items() if not key.startswith("delta.columnMapping.")
        },
        min_reader=3 if readers else 1,
        min_writer=7,
        features=(metadata.features - {_MAPPING}) | needed.features,
        reader_features=readers,
    )


def _commit(
    handle: Handle, files: FileList, metadata: TableMetadata, tag: CommitTag, moved: Iterable[Action]
) -> tuple[int, list[Action]]:
    with handle.log_at(files.version) as table:
        described = table.metadata()
    now = int(time.time() * 1000)
    actions: list[Action] = [
        {
            "commitInfo": {
                "timestamp": now,
                "operation": "REPLACE COLUMNS",
                "operationParameters": {},
                "engineInfo": "snowmelt",
                "userMetadata": tag.user_metadata(),
            }
        }
    ]
    before = files.metadata
    if (metadata.min_reader, metadata.features, metadata.reader_features) != (
        before.min_reader,
        before.features,
        before.reader_features,
    ):
        protocol: dict[str, Any] = {"minReaderVersion": metadata.min_reader, "minWriterVersion": 7}
        if metadata.min_reader >= 3:
            protocol["readerFeatures"] = sorted(metadata.reader_features)
        actions.append({"protocol": protocol | {"writerFeatures": sorted(metadata.features)}})
    actions.append(
        {
            "metaData": {
                "id": str(described.id),
                "name": described.name,
                "description": described.description,
                "format": {"provider": "parquet", "options": {}},
                "schemaString": metadata.schema_json,
                "partitionColumns": [],
                "configuration": dict(metadata.configuration),
                "createdTime": described.created_time,
            }
        }
    )
    actions += moved
    version = files.version + 1
    try:
        handle.log.store.put_commit(version, actions)
    except FileExistsError:
        raise CommitFailedError("the table was written meanwhile") from None
    return version, actions


def _rows(handle: Handle, files: FileList, shape: Reshape, *, origins: bool) -> Iterator[pa.Table]:
    """The present rows that the new shape needs, in pieces of about one file each."""
    present = files.metadata.arrow_schema
    wanted = set(shape.sources.values())
    kept = pa.schema([item for item in present if item.name in wanted])
    # A shape that keeps no column still has rows; one of the old columns counts them.
    schema = kept if len(kept) else pa.schema([present.field(0)])
    gathered: list[pa.Table] = []
    size = 0
    for part in _with_origins(files, schema, handle.location) if origins else _scanned(handle, files, schema):
        gathered.append(part)
        size += part.nbytes
        if size >= TARGET_FILE_BYTES:
            yield pa.concat_tables(gathered)
            gathered, size = [], 0
    if gathered:
        yield pa.concat_tables(gathered)


def _with_origins(files: FileList, schema: pa.Schema, location: str) -> Iterator[pa.Table]:
    for file in files.files:
        yield from (rows for _, rows in slices(file, schema, location, origins=True))


def _scanned(handle: Handle, files: FileList, schema: pa.Schema) -> Iterator[pa.Table]:
    for batch in pa.RecordBatchReader.from_stream(handle.at(files.version).scan(columns=schema.names)):
        if batch.num_rows:
            yield pa.Table.from_batches([in_schema(batch, schema)], schema=schema)


def _reshaped(data: pa.Table, shape: Reshape, target: pa.Schema) -> pa.Table:
    arrays: dict[str, pa.ChunkedArray] = {}
    for item in target:
        source = shape.sources.get(item.name)
        if source is not None:
            arrays[item.name] = converted(data.column(source), item.type)
        else:
            arrays[item.name] = pa.chunked_array([_filled(shape.fills.get(item.name), data.num_rows, item.type)])
    return pa.table(arrays)


def converted(column: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    if column.type == target:
        return column
    if pa.types.is_integer(column.type) and pa.types.is_decimal(target):
        # Arrow asks for 19 digits behind a 64-bit integer whatever its value; from the widest it looks at the value.
        column = column.cast(pa.decimal128(_WIDEST, 0))
    return pa.chunked_array([as_type(chunk, target) for chunk in column.chunks], target)


def _filled(value: Any, count: int, target: pa.DataType) -> pa.Array:
    if value is None:
        return pa.nulls(count, target)
    if target == VARIANT:
        metadata, encoded = encode(value)
        parts = [pa.array([content] * count, pa.binary()) for content in (metadata, encoded)]
        return pa.StructArray.from_arrays(parts, fields=list(VARIANT))
    return pa.repeat(pa.scalar(value, target), count)
