"""Changing rows in place of whole tables: the touched files are written anew, the others stay.

A statement that changes a few rows knows them by file and position. Rewriting just those files from here, with one
entry in the log, takes a fraction of what a MERGE of Spark or delta-rs does, which both look for the rows once more.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake.exceptions import CommitFailedError

from snowmelt.storage.append import conform
from snowmelt.storage.columns import readable_path
from snowmelt.storage.commits import CommitTag
from snowmelt.storage.feed import CHANGE_TYPE
from snowmelt.storage.folders import CHANGE_FOLDER
from snowmelt.storage.log import Action, LogStore
from snowmelt.storage.origins import born_in, kept_origins, one_dictionary, with_origins
from snowmelt.storage.packing import RowNumbers
from snowmelt.storage.parquet import write_parquet
from snowmelt.storage.snapshot import DataFile, FileList

FILE = "__file"
ROW = "__row"
_SMALL_FILE = 4 * 1024 * 1024
"""Touched files below this size are put together into one. Files of `PART_BYTES` are larger than that as a rule."""
_SMALL_GROUP = 64 * 1024 * 1024
PART_BYTES = 32 * 1024 * 1024
"""Bytes of memory that go into one new file. They are small, so that the next change rewrites less."""
_MOST_PIECES = 4096
"""Up to so many changes of a file keep every row in its place; with more, the new rows go to the end."""
THREADS = 4


@dataclass(frozen=True, slots=True)
class RowChanges:
    """What happens to the rows of one version of a table. No row is named twice.

    Rows are named by `__file`, the last part of the file's path, and `__row`, their position in it from 0.
    """

    deleted: pa.Table | None = None
    """`__file` and `__row`."""
    updated: Sequence[pa.Table] = ()
    """`__file`, `__row`, and the columns that get new values; the others keep theirs."""
    inserted: pa.Table | None = None

    @property
    def deleted_rows(self) -> int:
        return 0 if self.deleted is None else int(self.deleted.num_rows)

    @property
    def updated_rows(self) -> int:
        return sum(int(part.num_rows) for part in self.updated)

    @property
    def inserted_rows(self) -> int:
        return 0 if self.inserted is None else int(self.inserted.num_rows)

    def files(self) -> set[str]:
        """The names of the files that hold changed rows."""
        parts = [*self.updated, *([self.deleted] if self.deleted is not None else [])]
        return {name for part in parts for name in pc.unique(part.column(FILE)).to_pylist()}


@dataclass(slots=True)
class RowEdit:
    """The changes of one file, each part sorted by row."""

    deleted: pa.Table | None = None
    updated: list[pa.Table] = field(default_factory=list)

    def between(self, first: int, end: int) -> RowEdit:
        """The changes of the rows from `first` on, before `end`."""
        updated = [rows for part in self.updated if (rows := _between(part, first, end)).num_rows]
        deleted = _between(self.deleted, first, end) if self.deleted is not None else None
        return RowEdit(deleted if deleted is not None and deleted.num_rows else None, updated)

    @property
    def is_empty(self) -> bool:
        return self.deleted is None and not self.updated

    @property
    def in_order(self) -> bool:
        """Whether rows that stay follow each other as they did."""
        return not self.updated or self._count <= _MOST_PIECES

    @property
    def changed(self) -> set[str]:
        """The columns that get other values."""
        return {name for part in self.updated for name in part.column_names}

    @property
    def gone(self) -> RowNumbers:
        found: RowNumbers = self.deleted.column(ROW).to_numpy() if self.deleted is not None else np.empty(0, np.int64)
        return found

    @property
    def _count(self) -> int:
        return len(self.gone) + sum(int(part.num_rows) for part in self.updated)


def _between(rows: pa.Table, first: int, end: int) -> pa.Table:
    start, stop = np.searchsorted(rows.column(ROW).to_numpy(), [first, end])
    return rows.slice(start, stop - start)


@dataclass(frozen=True, slots=True)
class _Edited:
    rows: pa.Table
    """What the file holds now."""
    images: list[pa.Table]
    """Rows for the change feed, with their kind of change."""


def rewritable(files: FileList) -> bool:
    """Whether rows can be changed this way: nothing about the table asks for more than files of plain rows."""
    names = {file_name(file.path) for file in files.files}
    return files.plain and files.metadata.plain_append and len(names) == len(files.files)


def insert_image(rows: pa.Table, path: Path, *, origins: bool) -> pa.Table:
    if origins:
        rows = with_origins(rows, path.name, born_in(path.name, rows.num_rows))
    return _marked(rows, "insert")


def removals(files: Iterable[DataFile]) -> list[Action]:
    """What takes the files out of the table."""
    now = int(time.time() * 1000)
    return [_removal(file, now) for file in files]


def _removal(file: DataFile, now: int) -> Action:
    return {
        "remove": {
            "path": quote(file.path, safe="/:@!$&'()*+,;=~"),
            "deletionTimestamp": now,
            "dataChange": True,
            "extendedFileMetadata": True,
            "partitionValues": {},
            "size": file.size,
        }
    }


def commit_changes(
    store: LogStore,
    version: int,
    actions: Sequence[Action],
    operation: str,
    metrics: Mapping[str, int],
    tag: CommitTag,
) -> tuple[int, list[Action]]:
    """Commit on top of `version`. Unlike an append it can't go behind somebody else's commit: rows may have moved."""
    info: dict[str, Any] = {
        "timestamp": int(time.time() * 1000),
        "operation": operation,
        "operationParameters": {},
        "operationMetrics": {name: str(count) for name, count in metrics.items()},
        "readVersion": version,
        "isBlindAppend": False,
        "engineInfo": "snowmelt",
        "userMetadata": tag.user_metadata(),
    }
    all_actions: list[Action] = [{"commitInfo": info}, *actions]
    try:
        store.put_commit(version + 1, all_actions)
    except FileExistsError:
        raise CommitFailedError(f"version {version + 1} is there already") from None
    return version + 1, all_actions


def by_file(changes: RowChanges) -> dict[str, RowEdit]:
    edits: dict[str, RowEdit] = {}
    for part in changes.updated:
        for name, rows in _split(part):
            edits.setdefault(name, RowEdit()).updated.append(rows)
    if changes.deleted is not None:
        for name, rows in _split(changes.deleted):
            edits.setdefault(name, RowEdit()).deleted = rows
    return edits


def _split(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    ordered = rows.sort_by([(FILE, "ascending"), (ROW, "ascending")])
    if not ordered.num_rows:
        return
    runs = pc.run_end_encode(ordered.column(FILE).combine_chunks())
    start = 0
    for name, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        yield name, ordered.slice(start, end - start).drop_columns([FILE])
        start = end


def grouped(files: Sequence[DataFile]) -> list[list[DataFile]]:
    """Which touched files become one: the small ones together, each large one alone."""
    groups: list[list[DataFile]] = []
    pending: list[DataFile] = []
    for file in sorted(files, key=lambda file: -file.size):
        if file.size >= _SMALL_FILE:
            groups.append([file])
            continue
        if sum(one.size for one in pending) + file.size > _SMALL_GROUP:
            groups.append(pending)
            pending = []
        pending.append(file)
    return [*groups, pending] if pending else groups


def read_rows(file: DataFile, schema: pa.Schema, location: str, *, origins: bool = False) -> pa.Table:
    """The rows of a file in the table's columns; with `origins` also where each was born."""
    with pq.ParquetFile(readable_path(file.uri)) as opened:
        # Spark leaves columns of its own in files of a table with a change feed.
        present = set(opened.schema_arrow.names)
        rows = conform(opened.read([name for name in schema.names if name in present]), schema, location)
        return with_origins(rows, file_name(file.path), kept_origins(opened)) if origins else rows


def edited_rows(rows: pa.Table, edit: RowEdit, *, feed: bool) -> _Edited:
    images: list[pa.Table] = []
    replaced: list[pa.Table] = []
    for part in edit.updated:
        before = rows.take(part.column(ROW))
        after = _replace_columns(before, part)
        replaced.append(after.append_column(ROW, part.column(ROW)))
        if feed:
            images += [_marked(before, "update_preimage"), _marked(after, "update_postimage")]
    gone = edit.deleted.column(ROW) if edit.deleted is not None else pa.chunked_array([], pa.int64())
    if len(gone) and feed:
        images.append(_marked(rows.take(gone), "delete"))
    new = pa.concat_tables(replaced).sort_by(ROW) if replaced else None
    numbers = new.column(ROW) if new is not None else pa.chunked_array([], pa.int64())
    new = new.drop_columns([ROW]) if new is not None else None
    if len(gone) + len(numbers) <= _MOST_PIECES:
        return _Edited(_spliced(rows, new, numbers.to_pylist(), gone.to_pylist()), images)
    kept = rows.filter(_except(rows.num_rows, [gone, numbers]))
    return _Edited(pa.concat_tables([kept, *([new] if new is not None else [])]), images)


def _replace_columns(rows: pa.Table, part: pa.Table) -> pa.Table:
    given = part.drop_columns([ROW])
    wanted = pa.schema([rows.schema.field(name) for name in given.column_names])
    given = conform(given, wanted, "")
    for name in given.column_names:
        rows = rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), given.column(name))
    return rows


def _spliced(rows: pa.Table, new: pa.Table | None, numbers: Sequence[int], gone: Sequence[int]) -> pa.Table:
    """The rows with some replaced and some left out, as slices of what is there: nothing is copied."""
    changes = sorted([*((row, index) for index, row in enumerate(numbers)), *((row, -1) for row in gone)])
    pieces: list[pa.Table] = []
    start = 0
    for row, index in changes:
        if row > start:
            pieces.append(rows.slice(start, row - start))
        if index >= 0:
            assert new is not None
            pieces.append(new.slice(index, 1))
        start = row + 1
    pieces.append(rows.slice(start))
    return pa.concat_tables(pieces)


def _except(count: int, numbers: Sequence[pa.ChunkedArray]) -> pa.Array:
    kept = np.ones(count, dtype=bool)
    for part in numbers:
        kept[part.to_numpy()] = False
    return pa.array(kept)


def _marked(rows: pa.Table, change: str) -> pa.Table:
    kinds = pa.repeat(pa.scalar(change, pa.string()), rows.num_rows)
    return rows.append_column(pa.field(CHANGE_TYPE, pa.string()), kinds)


def write_feed(rows: pa.Table, path: Path) -> Action:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_parquet(one_dictionary(rows), path)
    return {
        "cdc": {
            "path": f"{CHANGE_FOLDER}/{path.name}",
            "partitionValues": {},
            "size": path.stat().st_size,
            "dataChange": False,
        }
    }


def file_name(path: str) -> str:
    return path.rsplit("/", 1)[-1]
