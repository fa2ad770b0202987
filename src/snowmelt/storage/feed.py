"""The change feed of chosen version ranges as one stream of Arrow batches."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from snowmelt.storage.folders import TableFolder
from snowmelt.storage.log import Action
from snowmelt.storage.merging import quoted
from snowmelt.storage.schema import as_type

CHANGE_TYPE = "_change_type"
COMMIT_VERSION = "_commit_version"


def feed_schema(table_schema: pa.Schema) -> pa.Schema:
    return table_schema.append(pa.field(CHANGE_TYPE, pa.string(), False)).append(
        pa.field(COMMIT_VERSION, pa.int64(), False)
    )


def read_feed(table: DeltaTable, schema: pa.Schema, ranges: Sequence[tuple[int, int]]) -> pa.RecordBatchReader:
    """Changes of every version in the ranges, both ends included, in the schema of the loaded version."""
    target = feed_schema(schema)

    def batches() -> Iterator[pa.RecordBatch]:
        for first, last in ranges:
            reader = pa.RecordBatchReader.from_stream(
                table.load_cdf(
                    starting_version=first,
                    ending_version=last,
                    columns=[quoted(name) for name in target.names],
                )
            )
            for batch in reader:
                yield in_schema(batch, target)

    return pa.RecordBatchReader.from_batches(target, batches())


def rows_changed(actions: Sequence[Action], folder: TableFolder) -> int:
    """How many rows the feed has of one commit, as far as that is known without reading them."""
    images = [unquote(action["cdc"]["path"]) for action in actions if "cdc" in action]
    if images:
        return sum(pq.read_metadata(folder.present(path)).num_rows for path in images)
    files = [action.get("add") or action.get("remove") or {} for action in actions]
    return sum(_counted(file) for file in files if file.get("dataChange"))


def _counted(file: Mapping[str, Any]) -> int:
    return int(json.loads(file.get("stats") or "{}").get("numRecords", 0))


def in_schema(batch: pa.RecordBatch, target: pa.Schema) -> pa.RecordBatch:
    """The batch with the columns and types of `target`."""
    columns = [as_type(batch.column(field.name), field.type) for field in target]
    return pa.RecordBatch.from_arrays(columns, schema=target)
