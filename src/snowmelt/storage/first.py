"""The commit that makes a table.

It is written here and not by delta-rs, which leaves the feature `invariants` out of the protocol of a table
with NOT NULL columns; Spark then refuses the table. It also lets a table appear together with its first rows.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Any

from snowmelt.core.types import SEMI_STRUCTURED, Kind
from snowmelt.state.model import Column
from snowmelt.storage.commits import CommitTag
from snowmelt.storage.handles import Handle
from snowmelt.storage.log import Action, LocalLogStore
from snowmelt.storage.properties import CONFIGURATION
from snowmelt.storage.schema import delta_schema
from snowmelt.storage.snapshot import TableMetadata


def new_metadata(columns: Sequence[Column], *, change_feed: bool) -> TableMetadata:
    """A table with the features its columns need and no others, so that both writers and any reader know
    it."""
    kinds = {column.type.kind for column in columns}
    for_readers = set()
    if Kind.TIMESTAMP_NTZ in kinds:
        for_readers.add("timestampNtz")
    if kinds & SEMI_STRUCTURED:
        for_readers.add("variantType")
    return TableMetadata(
        schema_json=delta_schema(columns).to_json(),
        partition_columns=(),
        configuration=CONFIGURATION | ({"delta.enableChangeDataFeed": "true"} if change_feed else {}),
        min_reader=3 if for_readers else 1,
        min_writer=7,
        features=frozenset(for_readers | {"invariants"} | ({"changeDataFeed"} if change_feed else set())),
        reader_features=frozenset(for_readers),
    )


def _first_actions(metadata: TableMetadata, operation: str, tag: CommitTag, adds: Sequence[Action]) -> list[Action]:
    now = int(time.time() * 1000)
    protocol: dict[str, Any] = {
        "minReaderVersion": metadata.min_reader,
        "minWriterVersion": metadata.min_writer,
    }
    if metadata.min_reader >= 3:
        protocol["readerFeatures"] = sorted(metadata.reader_features)
    if metadata.min_writer >= 7:
        protocol["writerFeatures"] = sorted(metadata.features)
    return [
        {
            "commitInfo": {
                "timestamp": now,
                "operation": operation,
                "operationParameters": {},
                "operationMetrics": {"num_added_files": len(adds)},
                "engineInfo": "snowmelt",
                "userMetadata": tag.user_metadata(),
            }
        },
        {"protocol": protocol},
        {
            "metaData": {
                "id": str(uuid.uuid4()),
                "format": {"provider": "parquet", "options": {}},
                "schemaString": metadata.schema_json,
                "partitionColumns": list(metadata.partition_columns),
                "configuration": dict(metadata.configuration),
                "createdTime": now,
            }
        },
        *adds,
    ]


def put_first(handle: Handle, metadata: TableMetadata, operation: str, tag: CommitTag, adds: Sequence[Action]) -> int:
    """Make the table and return its version, or raise FileExistsError."""
    if isinstance(handle.log.store, LocalLogStore):
        handle.log.store.folder.mkdir(parents=True, exist_ok=True)
    handle.log.store.put_commit(0, _first_actions(metadata, operation, tag, adds))
    return 0
