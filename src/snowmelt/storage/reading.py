"""What is in the Delta tables of one storage root: versions, files, rows, changes."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from snowmelt.storage.change_files import (
    ChangedRows,
    CommitFiles,
    changed_rows,
    commit_files,
    feed_of_files,
    plain_commits,
)
from snowmelt.storage.commits import (
    CommitInfo,
)
from snowmelt.storage.errors import translated
from snowmelt.storage.feed import in_schema, read_feed, rows_changed
from snowmelt.storage.handles import Handles
from snowmelt.storage.history import commit_info
from snowmelt.storage.layout import StorageRoot
from snowmelt.storage.snapshot import FileList, FileListCache, load_file_list

_INCREMENTAL_LIMIT = 200
"""Commits worth reading one by one; beyond, a checkpoint is quicker."""
_MOST_COUNTED = 500
"""Versions whose changes are counted one by one."""


class DeltaReader:
    """Reads tables. What it found of a version it keeps: versions never change."""

    def __init__(self, root: StorageRoot) -> None:
        self.root = root
        self._handles = Handles(root)
        self._lists = FileListCache()

    def forget(self, location: str) -> None:
        """Keep nothing in memory about a table; for one that was removed or replaced by other means."""
        self._handles.forget(location)
        self._lists.forget(location)

    # Versions and files

    def latest_version(self, location: str) -> int:
        return self._handles.get(location).log.latest()

    def has_version(self, location: str, version: int) -> bool:
        return self._handles.get(location).log.has(version)

    def files(self, location: str, version: int) -> FileList:
        """The active data files at a version. Immutable, and cached."""
        found = self._lists.get(location, version)
        if found is None:
            found = self._derive(location, version) or self._load(location, version)
            self._lists.put(location, found)
        return found

    def _derive(self, location: str, version: int) -> FileList | None:
        base = self._lists.nearest_before(location, version)
        if base is None or version - base.version > _INCREMENTAL_LIMIT:
            return None
        handle = self._handles.get(location)
        for following in range(base.version + 1, version + 1):
            try:
                base = base.apply(following, handle.log.actions(following), handle.uri)
            except FileNotFoundError:
                return None
        return base

    def _load(self, location: str, version: int) -> FileList:
        handle = self._handles.get(location)
        with translated(location), handle.log_at(version) as table:
            return load_file_list(table, handle.uri)

    def row_count(self, location: str, version: int) -> int:
        files = self.files(location, version)
        if files.total_rows is not None:
            return files.total_rows
        with translated(location):
            return self._handles.get(location).at(version).count()

    def size(self, location: str, version: int) -> int:
        """Bytes of the active data files."""
        return self.files(location, version).total_bytes

    def commits(self, location: str, after: int, upto: int) -> list[CommitInfo]:
        """What the commits `after` < version <= `upto` did, oldest first."""
        log = self._handles.get(location).log
        return [commit_info(version, log.actions(version)) for version in range(after + 1, upto + 1)]

    def app_version(self, location: str, app_id: str, version: int | None = None) -> int | None:
        """The newest `txn` version of an application at a table version; None when there is none."""
        handle = self._handles.get(location)
        with handle.lock, translated(location):
            current = handle.loaded()
            table = current if version in (None, current.version()) else handle.at(version)
            found = table.transaction_version(app_id)
        return None if found is None or found < 0 else found

    # Reading

    def read(self, location: str, version: int, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows at a version, for small reads; large ones are the engine's."""
        schema = self.files(location, version).metadata.arrow_schema
        names = list(columns) if columns is not None else schema.names
        wanted = pa.schema([schema.field(name) for name in names])
        handle = self._handles.get(location)
        with translated(location):
            reader = pa.RecordBatchReader.from_stream(handle.at(version).scan(columns=names))
            return pa.Table.from_batches([in_schema(batch, wanted) for batch in reader], schema=wanted)

    def sample(self, location: str, version: int, columns: Sequence[str], rows: int) -> pa.Table:
        """Some rows, at most so many: those that are read first."""
        schema = self.files(location, version).metadata.arrow_schema
        wanted = pa.schema([schema.field(name) for name in columns])
        found: list[pa.RecordBatch] = []
        with translated(location):
            stream = self._handles.get(location).at(version).scan(columns=list(columns))
            for batch in pa.RecordBatchReader.from_stream(stream):
                found.append(in_schema(batch, wanted))
                if sum(each.num_rows for each in found) >= rows:
                    break
        return pa.Table.from_batches(found, schema=wanted).slice(0, rows)

    def changes(
        self, location: str, ranges: Sequence[tuple[int, int]], columns: Sequence[str] | None = None
    ) -> pa.RecordBatchReader:
        """The change feed of version ranges, both ends included: the table's columns as of the last version, or those
        of them that are named, `_change_type` and `_commit_version`. Rows come in no particular order."""
        handle = self._handles.get(location)
        version = max((last for _, last in ranges), default=None)
        with translated(location):
            commits = plain_commits(handle.log, handle.uri, ranges)
            if version is not None and commits is not None and self.files(location, version).plain:
                schema = self.files(location, version).metadata.arrow_schema
                return feed_of_files(commits, schema, schema.names if columns is None else columns)
            table = handle.at(version)
            schema = self.files(location, table.version()).metadata.arrow_schema
            return read_feed(table, schema, ranges)

    def commit_files(self, location: str, ranges: Sequence[tuple[int, int]]) -> list[CommitFiles]:
        """Which files hold the changes of version ranges, both ends included; commits that change no row are left out.

        Raises FileNotFoundError when the log of such a version was cleaned away.
        """
        handle = self._handles.get(location)
        versions = (version for first, last in ranges for version in range(first, last + 1))
        found = (commit_files(version, handle.log.actions(version), handle.uri) for version in versions)
        return [commit for commit in found if commit.changes_rows or commit.moved]

    def changed_rows(
        self, location: str, version: int, commits: Sequence[CommitFiles], *, inserts: bool = False
    ) -> ChangedRows:
        """The changes of commits in the columns of a version, with the identity of rows."""
        schema = self.files(location, version).metadata.arrow_schema
        with translated(location):
            return changed_rows(commits, schema, location, inserts=inserts)

    def rows_changed(self, location: str, ranges: Sequence[tuple[int, int]]) -> int | None:
        """About how many rows `changes` would give, without reading them; None when that would take long."""
        versions = [version for first, last in ranges for version in range(first, last + 1)]
        if len(versions) > _MOST_COUNTED:
            return None
        handle = self._handles.get(location)
        with translated(location):
            return sum(rows_changed(handle.log.actions(version), handle.folder) for version in versions)
