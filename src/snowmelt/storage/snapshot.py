"""What a table consists of at one version: its data files, schema and protocol.

A snapshot is immutable. The next version's is derived from it by applying one commit's actions, so that
following a table costs one small file per commit however long its log is.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable, Schema

from snowmelt.storage.log import Action

WRITABLE_FEATURES = frozenset({"changeDataFeed", "timestampNtz", "variantType", "appendOnly", "invariants"})
_RULES_IN_SCHEMA = ("delta.generationExpression", "delta.invariants", "delta.identity", "delta.columnMapping")


@dataclass(frozen=True, slots=True)
class DataFile:
    uri: str
    """Absolute, not percent-encoded: Spark and Hadoop take such text literally."""
    path: str
    """The file's path as in the log, decoded: relative to the table's folder unless another tool made it absolute."""
    size: int
    rows: int | None
    deletion_vector: bool = False
    written_at: int = 0
    """Milliseconds since 1970, as the log has it. A file that holds the rows of others has the first one's."""


@dataclass(frozen=True)
class TableMetadata:
    schema_json: str
    partition_columns: tuple[str, ...]
    configuration: Mapping[str, str]
    min_reader: int
    min_writer: int
    features: frozenset[str]
    """The table features that readers and writers need. What readers need, writers need too."""
    reader_features: frozenset[str]

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        return pa.schema(Schema.from_json(self.schema_json).to_arrow())

    @property
    def change_feed(self) -> bool:
        return self.configuration.get("delta.enableChangeDataFeed", "false").lower() == "true"

    @property
    def column_mapping(self) -> bool:
        return self.configuration.get("delta.columnMapping.mode", "none").lower() != "none"

    @property
    def plain_features(self) -> bool:
        """Whether the table uses no feature that we, or delta-rs, could not write."""
        return self.features <= WRITABLE_FEATURES

    @property
    def plain_append(self) -> bool:
        """Whether a row may be appended by adding a file, with no rule of the table left unchecked."""
        return (
            not self.partition_columns
            and not self.column_mapping
            and (self.min_writer < 7 or self.plain_features)
            and not any(key.startswith("delta.constraints.") for key in self.configuration)
            and not any(rule in self.schema_json for rule in _RULES_IN_SCHEMA)
        )


@dataclass(frozen=True)
class FileList:
    """The active data files of a table at a version."""

    version: int
    by_path: Mapping[str, DataFile]
    metadata: TableMetadata
    total_bytes: int
    known_rows: int
    uncounted: int
    """Files whose writer left no row count."""

    @property
    def total_rows(self) -> int | None:
        """The number of rows; None if that of some file is unknown."""
        return None if self.uncounted else self.known_rows

    @cached_property
    def files(self) -> tuple[DataFile, ...]:
        return tuple(self.by_path.values())

    @cached_property
    def uris(self) -> tuple[str, ...]:
        return tuple(file.uri for file in self.files)

    @property
    def plain(self) -> bool:
        """Whether the rows of the table are exactly the rows of its files.

        When not (deletion vectors, partition columns, renamed columns), a reader must go through Delta.
        """
        return self.whole_files and not self.metadata.column_mapping

    @property
    def whole_files(self) -> bool:
        """Whether every row of every file counts, and a file says all about its rows but their columns' names."""
        return not self.metadata.partition_columns and not (
            "deletionVectors" in self.metadata.features and self._any_deletion_vector
        )

    @cached_property
    def _any_deletion_vector(self) -> bool:
        return any(file.deletion_vector for file in self.files)

    def apply(self, version: int, actions: Sequence[Action], folder: str) -> FileList:
        """The file list after one more commit."""
        # Totals are carried forward, so that a one-row append costs one copy of the mapping and nothing per
        # file.
        by_path = dict(self.by_path)
        size, rows, uncounted = self.total_bytes, self.known_rows, self.uncounted

        def discard(path: str) -> None:
            nonlocal size, rows, uncounted
            gone = by_path.pop(path, None)
            if gone is not None:
                size -= gone.size
                rows -= gone.rows or 0
                uncounted -= gone.rows is None

        for action in actions:
            if "remove" in action:
                discard(unquote(action["remove"]["path"]))
        # Removals first: a new deletion vector removes and adds the same path in one commit.
        for action in actions:
            if "add" in action:
                file = _data_file(action["add"], folder)
                discard(file.path)
                by_path[file.path] = file
                size += file.size
                rows += file.rows or 0
                uncounted += file.rows is None
        by_path = _in_order(self.by_path, by_path, actions)
        return FileList(version, by_path, updated_metadata(self.metadata, actions), size, rows, uncounted)


def _in_order(
    before: Mapping[str, DataFile], after: dict[str, DataFile], actions: Sequence[Action]
) -> dict[str, DataFile]:
    """The files in their order: those that only took in rows of others stand where the first of these stood."""
    moved = [unquote(action["add"]["path"]) for action in actions if _moves(action.get("add"))]
    gone = {unquote(action["remove"]["path"]) for action in actions if _moves(action.get("remove"))}
    if not moved or not gone:
        return after
    ordered: dict[str, DataFile] = {}
    waiting = [path for path in moved if path in after]
    for path in before:
        if path in gone:
            ordered.update((new, after[new]) for new in waiting)
            waiting = []
        elif path in after:
            ordered[path] = after[path]
    return {**ordered, **after}


def _moves(action: Mapping[str, Any] | None) -> bool:
    return action is not None and not action.get("dataChange", True)


def load_file_list(table: DeltaTable, folder: str) -> FileList:
    """The file list of the version that `table` has loaded, from delta-rs' own reading of the log."""
    protocol, metadata = table.protocol(), table.metadata()
    features = frozenset(protocol.writer_features or ()) | frozenset(protocol.reader_features or ())
    # `pa.table` would import pandas, only to ask whether this is one of its frames.
    adds = pa.RecordBatchReader.from_stream(table.get_add_actions()).read_all()
    paths = [unquote(path) for path in adds.column("path").to_pylist()]
    with_vector = set()
    if "deletionVectors" in features:
        vectors = pa.RecordBatchReader.from_stream(table.deletion_vectors()).read_all()
        with_vector = {str(uri).rsplit("/", 1)[-1] for uri in vectors.column(0).to_pylist()}
    described_files = zip(
        paths,
        adds.column("size_bytes").to_pylist(),
        adds.column("num_records").to_pylist(),
        adds.column("modification_time").to_pylist(),
        strict=True,
    )
    found = [
        DataFile(absolute(folder, path), path, size, rows, path.rsplit("/", 1)[-1] in with_vector, at)
        for path, size, rows, at in described_files
    ]
    # delta-rs lists the newest commit first.
    found.reverse()
    files = tuple(sorted(found, key=lambda file: file.written_at))
    described = TableMetadata(
        schema_json=table.schema().to_json(),
        partition_columns=tuple(metadata.partition_columns),
        configuration=dict(metadata.configuration),
        min_reader=protocol.min_reader_version,
        min_writer=protocol.min_writer_version,
        features=features,
        reader_features=frozenset(protocol.reader_features or ()),
    )
    return FileList(
        version=table.version(),
        by_path={file.path: file for file in files},
        metadata=described,
        total_bytes=sum(file.size for file in files),
        known_rows=sum(file.rows or 0 for file in files),
        uncounted=sum(file.rows is None for file in files),
    )


def updated_metadata(metadata: TableMetadata, actions: Sequence[Action]) -> TableMetadata:
    for action in actions:
        if "metaData" in action:
            described = action["metaData"]
            metadata = replace(
                metadata,
                schema_json=described["schemaString"],
                partition_columns=tuple(described.get("partitionColumns") or ()),
                configuration=dict(described.get("configuration") or {}),
            )
        elif "protocol" in action:
            protocol = action["protocol"]
            metadata = replace(
                metadata,
                min_reader=protocol["minReaderVersion"],
                min_writer=protocol["minWriterVersion"],
                features=frozenset(protocol.get("writerFeatures") or ())
                | frozenset(protocol.get("readerFeatures") or ()),
                reader_features=frozenset(protocol.get("readerFeatures") or ()),
            )
    return metadata


class FileListCache:
    """Recently used file lists of all tables, bounded by their number and by the number of files they name.

    So many that a thousand tables which change in turn find the list of the version before.
    """

    def __init__(self, *, max_lists: int = 8192, max_files: int = 2_000_000) -> None:
        self._max_lists = max_lists
        self._max_files = max_files
        self._lists: OrderedDict[tuple[str, int], FileList] = OrderedDict()
        self._versions: dict[str, set[int]] = {}
        """The versions whose lists are cached, by table."""
        self._files = 0
        self._lock = threading.Lock()

    def get(self, location: str, version: int) -> FileList | None:
        with self._lock:
            found = self._lists.get((location, version))
            if found is not None:
                self._lists.move_to_end((location, version))
            return found

    def nearest_before(self, location: str, version: int) -> FileList | None:
        """The newest cached list of the table that is older than `version`."""
        with self._lock:
            versions = [kept for kept in self._versions.get(location, ()) if kept < version]
            return self._lists[location, max(versions)] if versions else None

    def put(self, location: str, files: FileList) -> None:
        with self._lock:
            if (location, files.version) in self._lists:
                return
            self._lists[location, files.version] = files
            self._versions.setdefault(location, set()).add(files.version)
            self._files += len(files.by_path)
            while len(self._lists) > 1 and (len(self._lists) > self._max_lists or self._files > self._max_files):
                self._drop(*next(iter(self._lists)))

    def forget(self, location: str) -> None:
        with self._lock:
            for version in list(self._versions.get(location, ())):
                self._drop(location, version)

    def _drop(self, location: str, version: int) -> None:
        self._files -= len(self._lists.pop((location, version)).by_path)
        self._versions[location].discard(version)
        if not self._versions[location]:
            del self._versions[location]


def _data_file(add: Mapping[str, Any], folder: str) -> DataFile:
    path = unquote(add["path"])
    stats = add.get("stats")
    rows = json.loads(stats).get("numRecords") if stats else None
    vector = bool(add.get("deletionVector"))
    return DataFile(absolute(folder, path), path, add["size"], rows, vector, int(add.get("modificationTime") or 0))


def absolute(folder: str, path: str) -> str:
    """`folder` is the table's URI; a path with a scheme or a leading slash (a shallow clone's) stands for
    itself."""
    if "://" in path:
        return path
    if path.startswith("file:/"):
        return "file://" + path.removeprefix("file:")
    joined = path if path.startswith("/") else f"{folder}/{path}"
    return joined if "://" in joined else f"file://{joined}"
