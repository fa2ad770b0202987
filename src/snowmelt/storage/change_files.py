"""The changes of commits, file by file, with the identity of every row.

The change feed of delta-rs reads by the table's schema and so can't tell where rows were born. Here the log says which
files hold the changes: a commit with files of the change feed, those; any other one, the data files it added and
removed. See `storage.origins` for what identifies a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from snowmelt.storage.append import conform
from snowmelt.storage.columns import readable_path
from snowmelt.storage.feed import CHANGE_TYPE, COMMIT_VERSION, feed_schema
from snowmelt.storage.log import Action, TransactionLog
from snowmelt.storage.origins import KEPT_TAG, ORIGINS, born_in, kept_origins, with_origins
from snowmelt.storage.parquet import worth_threads
from snowmelt.storage.schema import as_type
from snowmelt.storage.snapshot import absolute

SIGN = "__sign"
"""1 for a row that came, -1 for one that went."""
ORDER = "__order"
"""Rises with the versions; in one commit what goes is before what comes."""


@dataclass(frozen=True, slots=True)
class CommitFiles:
    """Where the changes of one commit are."""

    version: int
    added: tuple[str, ...] = ()
    added_bytes: int = 0
    removed: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    """Files of the change feed. When there are any, the others say nothing more."""
    moved: bool = False
    """Rows went to other files without being changed, by somebody who keeps no birthplaces."""

    @property
    def inserts_only(self) -> bool:
        return not self.removed and not self.images

    @property
    def changes_rows(self) -> bool:
        return bool(self.added or self.removed or self.images)


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """Rows of commits with `__sign`, `__order` and their birthplaces."""

    rows: pa.Table
    identified: bool = True
    """Whether rows that are the same have the same birthplace; otherwise somebody else rewrote files."""


def commit_files(version: int, actions: Iterable[Action], folder: str) -> CommitFiles:
    """What one commit changed. `folder` is the table's URI."""
    found = CommitFiles(version)
    for action in actions:
        if "cdc" in action:
            found = replace(found, images=(*found.images, absolute(folder, unquote(action["cdc"]["path"]))))
        elif "add" in action:
            if not action["add"].get("dataChange", True):
                kept = (action["add"].get("tags") or {}).get(KEPT_TAG) is not None
                found = replace(found, moved=found.moved or not kept)
                continue
            added = (*found.added, absolute(folder, unquote(action["add"]["path"])))
            found = replace(found, added=added, added_bytes=found.added_bytes + action["add"]["size"])
        elif "remove" in action and action["remove"].get("dataChange", True):
            found = replace(found, removed=(*found.removed, absolute(folder, unquote(action["remove"]["path"]))))
    return replace(found, added=(), removed=()) if found.images else found


def feed_of_files(
    commits: Sequence[CommitFiles], schema: pa.Schema, columns: Sequence[str]
) -> pa.RecordBatchReader:  # fmt: skip
    """The change feed of commits, for tables whose rows are exactly those of their files. See `feed.read_feed`."""
    target = feed_schema(pa.schema([schema.field(name) for name in columns]))

    def batches() -> Iterator[pa.RecordBatch]:
        for commit in commits:
            for kind, uris in ((None, commit.images), ("insert", commit.added), ("delete", commit.removed)):
                for uri in uris:
                    yield from _file_batches(uri, kind, commit.version, target)

    return pa.RecordBatchReader.from_batches(target, batches())


def _file_batches(uri: str, kind: str | None, version: int, target: pa.Schema) -> Iterator[pa.RecordBatch]:
    """`kind`: what happened to all rows of the file; None if the file says it of each."""
    with pq.ParquetFile(readable_path(uri)) as opened:
        present = set(opened.schema_arrow.names)
        wanted = [name for name in target.names if name in present]
        # A file that has none of the columns still has rows, which any other column counts.
        read = wanted or opened.schema_arrow.names[:1]
        for batch in opened.iter_batches(columns=read, use_threads=worth_threads(opened)):
            made = {CHANGE_TYPE: kind, COMMIT_VERSION: version}
            yield pa.RecordBatch.from_arrays([_values(batch, field, wanted, made) for field in target], schema=target)


def _values(batch: pa.RecordBatch, field: pa.Field, wanted: Sequence[str], made: Mapping[str, Any]) -> pa.Array:
    if made.get(field.name) is not None:
        return pa.repeat(pa.scalar(made[field.name], field.type), batch.num_rows)
    return (
        as_type(batch.column(field.name), field.type) if field.name in wanted else pa.nulls(batch.num_rows, field.type)
    )


def plain_commits(log: TransactionLog, uri: str, ranges: Sequence[tuple[int, int]]) -> list[CommitFiles] | None:
    """What the commits of version ranges, both ends included, changed; None when only delta-rs can tell."""
    found: list[CommitFiles] = []
    try:
        for version in (version for first, last in ranges for version in range(first, last + 1)):
            actions = log.actions(version)
            if not _is_plain(actions):
                return None
            found.append(commit_files(version, actions, uri))
    except FileNotFoundError:
        return None
    return found


def _is_plain(actions: Sequence[Action]) -> bool:
    """Whether a commit leaves the table's description as it is and means its files with all of their rows."""
    return not any(
        "metaData" in action
        or "protocol" in action
        or any((action.get(kind) or {}).get("deletionVector") for kind in ("add", "remove"))
        for action in actions
    )


def changed_rows(
    commits: Sequence[CommitFiles], schema: pa.Schema, location: str, *, inserts: bool = False
) -> ChangedRows:
    """The changes of the commits in the given schema; with `inserts` only rows that were inserted."""
    parts: list[pa.Table] = []
    identified = not any(commit.moved for commit in commits)
    for commit in commits:
        for part, known in _commit_rows(commit, schema, location, inserts=inserts):
            parts.append(part)
            identified = identified and known
    return ChangedRows(pa.concat_tables([_empty(schema), *parts]), identified)


def _commit_rows(
    commit: CommitFiles, schema: pa.Schema, location: str, *, inserts: bool
) -> Iterator[tuple[pa.Table, bool]]:
    for uri in commit.images:
        yield _images(uri, commit.version, schema, location, inserts=inserts)
    for uri in commit.added:
        yield _signed(_rows(uri, schema, location), 1, commit.version), True
    for uri in commit.removed if not inserts else ():
        yield _signed(_rows(uri, schema, location), -1, commit.version), True


def _rows(uri: str, schema: pa.Schema, location: str) -> pa.Table:
    with pq.ParquetFile(readable_path(uri)) as opened:
        rows = _in_schema(opened, schema, location)
        return with_origins(rows, _name(uri), kept_origins(opened))


def _in_schema(opened: pq.ParquetFile, schema: pa.Schema, location: str) -> pa.Table:
    present = set(opened.schema_arrow.names)
    wanted = [name for name in schema.names if name in present]
    if not wanted:
        # Written when the table had none of its present columns: only their number is left.
        empty = [pa.nulls(opened.metadata.num_rows, field.type) for field in schema]
        return pa.Table.from_arrays(empty, schema=schema)
    return conform(opened.read(wanted), schema, location)


def _images(
    uri: str, version: int, schema: pa.Schema, location: str, *, inserts: bool
) -> tuple[pa.Table, bool]:  # fmt: skip
    """The rows of a file of the change feed, and whether it knows where they were born."""
    with pq.ParquetFile(readable_path(uri)) as opened:
        rows = _in_schema(opened, schema, location)
        kinds = opened.read([CHANGE_TYPE]).column(CHANGE_TYPE).cast(pa.string())
        origins = kept_origins(opened)
    known = origins is not None
    rows = with_origins(rows, _name(uri), origins if origins is not None else _paired(uri, kinds))
    came = pc.is_in(kinds, value_set=pa.array(["insert", "update_postimage"]))
    sign = pc.if_else(came, pa.scalar(1, pa.int8()), pa.scalar(-1, pa.int8()))
    order = pc.add(pa.scalar(version * 2, pa.int64()), came.cast(pa.int64()))
    rows = rows.append_column(SIGN, sign).append_column(ORDER, order)
    return (rows.filter(pc.equal(kinds, "insert")) if inserts else rows), known


def _paired(uri: str, kinds: pa.ChunkedArray) -> pa.Table:
    """Birthplaces that say only which images belong together.

    All who write such files write the images of one row in the same order: the first row's old and new one come before
    the second row's, whatever stands in between.
    """
    count = len(kinds)
    origins = born_in(_name(uri), count)
    kinds = kinds.combine_chunks()
    old = pc.indices_nonzero(pc.equal(kinds, "update_preimage"))
    new = pc.indices_nonzero(pc.equal(kinds, "update_postimage"))
    if len(old) != len(new) or not len(old):
        return origins
    rows = origins.column(ORIGINS[1]).combine_chunks()
    mask = pc.equal(kinds, "update_postimage")
    rows = pc.replace_with_mask(rows, mask, old.cast(pa.int64()))
    return pa.table({ORIGINS[0]: origins.column(ORIGINS[0]), ORIGINS[1]: rows})


def _signed(rows: pa.Table, sign: int, version: int) -> pa.Table:
    count = rows.num_rows
    signs = pa.repeat(pa.scalar(sign, pa.int8()), count)
    order = pa.repeat(pa.scalar(version * 2 + (sign > 0), pa.int64()), count)
    return rows.append_column(SIGN, signs).append_column(ORDER, order)


def _empty(schema: pa.Schema) -> pa.Table:
    return _signed(with_origins(schema.empty_table(), ""), 1, 0)


def _name(uri: str) -> str:
    return uri.rsplit("/", 1)[-1]
