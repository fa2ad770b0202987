"""The Delta tables of one storage root: versions, files, writes, changes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from snowmelt.core.faults import reached
from snowmelt.state.model import Column
from snowmelt.storage.append import Part, commit_append, conform, discard_added, removed_on_failure, write_files
from snowmelt.storage.care import TableCare
from snowmelt.storage.change_files import ChangedRows, CommitFiles, changed_rows, commit_files
from snowmelt.storage.checkpoints import Checkpoints
from snowmelt.storage.clone import clone_table
from snowmelt.storage.commits import (
    AppTransaction,
    CommitInfo,
    CommitResult,
    CommitTag,
    MergeClause,
    MergeSpec,
)
from snowmelt.storage.compaction import write_together
from snowmelt.storage.durable import sync_commit
from snowmelt.storage.errors import retried_on_conflict, translated
from snowmelt.storage.evolution import Reshape, can_evolve, set_columns, write_anew
from snowmelt.storage.feed import in_schema, read_feed, rows_changed
from snowmelt.storage.first import new_metadata, put_first
from snowmelt.storage.handles import Handle, Handles
from snowmelt.storage.history import commit_info, commit_result
from snowmelt.storage.layout import StorageRoot
from snowmelt.storage.log import Action, LocalLogStore, commit_name
from snowmelt.storage.merging import quoted, run_merge
from snowmelt.storage.properties import HOOKS, commit_properties
from snowmelt.storage.rewrite import RowChanges, commit_changes, removals, rewritable
from snowmelt.storage.rewrite_many import ManyChanges, write_changes, write_many
from snowmelt.storage.snapshot import DataFile, FileList, FileListCache, load_file_list
from snowmelt.storage.undo import Undone, undo_own

__all__ = [
    "AppTransaction", "CommitInfo", "CommitResult", "CommitTag", "DataFile", "DeltaStore", "FileList",
    "MergeClause", "MergeSpec", "Reshape", "Undone",
]  # fmt: skip

_INCREMENTAL_LIMIT = 200
"""Commits worth reading one by one; beyond, a checkpoint is quicker."""
_MOST_COUNTED = 500
"""Versions whose changes are counted one by one."""


class DeltaStore:
    """Safe to use from several threads. The caller sees to it that each table has one writer at a time."""

    def __init__(self, root: StorageRoot) -> None:
        self.root = root
        self._handles = Handles(root)
        self._lists = FileListCache()
        self._checkpoints = Checkpoints()
        self.care = TableCare(self._handles, self.files)

    def close(self) -> None:
        """Wait for checkpoints under way."""
        self._checkpoints.close()

    # Tables

    def create(
        self,
        location: str,
        columns: Sequence[Column],
        *,
        change_feed: bool,
        tag: CommitTag,
        data: pa.Table | None = None,
    ) -> int:
        """Create the table and return its version: 0, with the rows of `data` in it.

        In an object store it takes up to three commits: the table, a feature of its protocol, the rows.
        """
        handle = self._handles.get(location)
        metadata = new_metadata(columns, change_feed=change_feed)
        with handle.lock, translated(location):
            adds: list[Action] = []
            if handle.local:
                folder = self.root.path(location)
                folder.mkdir(parents=True, exist_ok=True)
                reached("folder-made")
                if data is not None:
                    adds = write_files(conform(data, metadata.arrow_schema, location), folder)
            version = put_first(self.root, handle, metadata, "CREATE TABLE", tag, adds)
            if handle.local or data is None:
                return version
            return self.append(location, data, tag).version

    def clone(self, source_location: str, version: int, target_location: str, tag: CommitTag) -> int:
        """A new table with the rows of `version` of another, sharing its data files; returns its version."""
        source, target = self._handles.get(source_location), self._handles.get(target_location)
        with translated(source_location):
            return clone_table(self.root, source, self.files(source_location, version), target, tag)

    def forget(self, location: str) -> None:
        """Keep nothing in memory about a table; for one that was removed or replaced by other means."""
        self._handles.forget(location)
        self._lists.forget(location)

    def remove(self, location: str) -> None:
        self.forget(location)
        self.root.remove(location)

    # Columns

    def can_evolve(self, location: str) -> bool:
        """Whether `set_columns` and `reshape` work on the table; otherwise only Spark can change its columns."""
        handle = self._handles.get(location)
        return can_evolve(handle, self.files(location, handle.log.latest()).metadata)

    def set_columns(self, location: str, columns: Sequence[Column], tag: CommitTag) -> CommitResult:
        """Change comments, drop NOT NULL, or add columns, which are NULL in the rows that are there.

        Setting NOT NULL is allowed too: the caller knows that no row breaks it.
        """
        handle = self._handles.get(location)
        with handle.lock, translated(location):
            files = self.files(location, handle.log.latest())
            version, actions = set_columns(handle, files, columns, tag)
            self._checkpoints.after_commit(handle, version)
            return commit_result(version, actions, {})

    def reshape(self, location: str, shape: Reshape, tag: CommitTag, *, origins: bool = False) -> CommitResult:
        """Give the table other columns by writing its rows anew, in one thread. `origins`: as in `rewrite`."""
        handle = self._handles.get(location)
        with handle.lock, translated(location):
            files = self.files(location, handle.log.latest())
            version, actions = write_anew(self.root, handle, files, shape, tag, origins=origins)
            handle.unload()
            self._checkpoints.after_commit(handle, version)
            return commit_result(version, actions, {})

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
        with translated(location):
            return load_file_list(handle.at(version), handle.uri)

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

    def changes(self, location: str, ranges: Sequence[tuple[int, int]]) -> pa.RecordBatchReader:
        """The change feed of version ranges, both ends included: the table's columns as of the last version,
        `_change_type` and `_commit_version`. Rows come in no particular order."""
        handle = self._handles.get(location)
        version = max((last for _, last in ranges), default=None)
        with translated(location):
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
        """The changes of commits in the columns of a version, with the identity of rows. The table must be local."""
        schema = self.files(location, version).metadata.arrow_schema
        with translated(location):
            return changed_rows(commits, schema, location, inserts=inserts)

    def rows_changed(self, location: str, ranges: Sequence[tuple[int, int]]) -> int | None:
        """About how many rows `changes` would give, without reading them; None when that would take long."""
        versions = [version for first, last in ranges for version in range(first, last + 1)]
        if not self.root.is_local_table(location) or len(versions) > _MOST_COUNTED:
            return None
        log, folder = self._handles.get(location).log, self.root.path(location)
        with translated(location):
            return sum(rows_changed(log.actions(version), folder) for version in versions)

    # Writing

    def append(
        self,
        location: str,
        data: pa.Table,
        tag: CommitTag,
        *,
        app_transactions: Sequence[AppTransaction] = (),
    ) -> CommitResult:
        """Add rows. Columns that `data` lacks become NULL."""
        handle = self._handles.get(location)
        with handle.lock, translated(location):
            version = handle.log.latest()
            metadata = self.files(location, version).metadata
            data = conform(data, metadata.arrow_schema, location)
            if isinstance(handle.log.store, LocalLogStore) and metadata.plain_append:
                adds = write_files(data, self.root.path(location))
                with removed_on_failure(self.root.path(location), adds):
                    version, actions = commit_append(
                        handle.log, handle.log.store, adds, data.num_rows, tag, app_transactions
                    )
                self._checkpoints.after_commit(handle, version)
                return commit_result(version, actions, {"inserted": data.num_rows})
            table = handle.loaded()
            write_deltalake(
                table,
                data,
                mode="append",
                commit_properties=commit_properties(tag, app_transactions),
                post_commithook_properties=HOOKS,
            )
            return self._committed(handle, version, {"inserted": data.num_rows})

    def write_part(self, location: str, data: pa.Table) -> Part | None:
        """Write rows as data files that no version names yet; None when the table takes none from outside.

        `append_parts` makes them visible, `drop_part` takes them away again.
        """
        handle = self._handles.get(location)
        metadata = self.files(location, handle.log.latest()).metadata
        if not isinstance(handle.log.store, LocalLogStore) or not metadata.plain_append:
            return None
        with translated(location):
            adds = write_files(conform(data, metadata.arrow_schema, location), self.root.path(location))
        return Part(tuple(adds), data.num_rows)

    def drop_part(self, location: str, part: Part) -> None:
        for path in part.paths:
            (self.root.path(location) / path).unlink(missing_ok=True)

    def append_parts(
        self,
        location: str,
        parts: Sequence[Part],
        tag: CommitTag,
        *,
        app_transactions: Sequence[AppTransaction] = (),
    ) -> CommitResult:
        """Add the rows of parts in one commit."""
        handle = self._handles.get(location)
        with handle.lock, translated(location):
            assert isinstance(handle.log.store, LocalLogStore)
            adds = [add for part in parts for add in part.adds]
            rows = sum(part.rows for part in parts)
            version, actions = commit_append(handle.log, handle.log.store, adds, rows, tag, app_transactions)
            self._checkpoints.after_commit(handle, version)
            return commit_result(version, actions, {"inserted": rows})

    def overwrite(self, location: str, data: pa.Table, tag: CommitTag) -> CommitResult:
        """Replace all rows; the schema stays."""
        handle = self._handles.get(location)
        before = self.latest_version(location)
        replaced = self.row_count(location, before)
        data = conform(data, self.files(location, before).metadata.arrow_schema, location)

        def run(table: DeltaTable) -> Mapping[str, Any]:
            write_deltalake(
                table,
                data,
                mode="overwrite",
                commit_properties=commit_properties(tag),
                post_commithook_properties=HOOKS,
            )
            return {}

        return self._run(handle, run, lambda _: {"inserted": data.num_rows, "deleted": replaced})

    def delete(self, location: str, predicate: str | None, tag: CommitTag) -> CommitResult:
        """Delete the rows for which the DataFusion predicate is true; all of them without one."""
        return self._run(
            self._handles.get(location),
            lambda table: table.delete(
                predicate, commit_properties=commit_properties(tag), post_commithook_properties=HOOKS
            ),
            lambda metrics: {"deleted": int(metrics.get("num_deleted_rows") or 0)},
        )

    def update(self, location: str, updates: Mapping[str, str], predicate: str | None, tag: CommitTag) -> CommitResult:
        """Set columns to DataFusion expressions over the old row."""
        named = {quoted(column): expression for column, expression in updates.items()}
        return self._run(
            self._handles.get(location),
            lambda table: table.update(
                updates=named,
                predicate=predicate,
                commit_properties=commit_properties(tag),
                post_commithook_properties=HOOKS,
            ),
            lambda metrics: {"updated": int(metrics.get("num_updated_rows") or 0)},
        )

    def merge(self, location: str, source: pa.Table, spec: MergeSpec, tag: CommitTag) -> CommitResult:
        """Raises `nondeterministic_merge` when several source rows would update one target row."""
        return self._run(
            self._handles.get(location),
            lambda table: run_merge(table, source, spec, commit_properties(tag), HOOKS),
            lambda metrics: {
                "inserted": int(metrics["num_target_rows_inserted"]),
                "updated": int(metrics["num_target_rows_updated"]),
                "deleted": int(metrics["num_target_rows_deleted"]),
            },
        )

    def rewritable(self, location: str, version: int) -> bool:
        """Whether `rewrite` and `clear` can change this table."""
        return self._handles.get(location).local and rewritable(self.files(location, version))

    def rewrite(
        self, location: str, version: int, changes: RowChanges, tag: CommitTag, operation: str, *,
        origins: bool = False,
    ) -> CommitResult:  # fmt: skip
        """Change rows of the newest version by writing the files that hold them anew. See `rewritable`.

        `origins`: keep where each row was born, see `storage.origins`.
        """
        files = self.files(location, version)
        with translated(location):
            actions = write_changes(self.root.path(location), files, changes, location, origins=origins)
        counts = {
            "inserted": changes.inserted_rows,
            "updated": changes.updated_rows,
            "deleted": changes.deleted_rows,
        }
        return self._commit_changes(location, version, actions, operation, counts, tag)

    def rewrite_many(
        self, location: str, version: int, changes: ManyChanges, tag: CommitTag, operation: str,
        counts: Callable[[], Mapping[str, int]], *, origins: bool,
    ) -> CommitResult:  # fmt: skip
        """As `rewrite`, in bounded memory for any number of rows. `counts` is asked when all changes were read."""
        files = self.files(location, version)
        with translated(location):
            actions = write_many(self.root.path(location), files, changes, location, origins=origins)
        return self._commit_changes(location, version, actions, operation, counts(), tag)

    def write_together(self, location: str, version: int, chosen: Sequence[DataFile]) -> list[Action]:
        """Write the rows of files of a version into fewer ones, which no version names yet. See `rewritable`."""
        with translated(location):
            return write_together(self.root.path(location), self.files(location, version), chosen, location)

    def put_together(self, location: str, version: int, actions: Sequence[Action], tag: CommitTag) -> CommitResult:
        """Let files of `write_together` take the place of those that they hold the rows of. On failure they go."""
        return self._commit_changes(location, version, actions, "OPTIMIZE", {}, tag)

    def discard(self, location: str, actions: Sequence[Action]) -> None:
        """Remove files that were written and that no version will name."""
        discard_added(self.root.path(location), actions)

    def clear(self, location: str, version: int, tag: CommitTag, operation: str) -> CommitResult:
        """Delete all rows of the newest version by forgetting its files. See `rewritable`."""
        actions = removals(self.files(location, version).files)
        counts = {"deleted": self.row_count(location, version)}
        return self._commit_changes(location, version, actions, operation, counts, tag)

    def _commit_changes(
        self,
        location: str,
        version: int,
        actions: Sequence[Action],
        operation: str,
        counts: Mapping[str, int],
        tag: CommitTag,
    ) -> CommitResult:
        handle = self._handles.get(location)
        assert isinstance(handle.log.store, LocalLogStore)
        with handle.lock, translated(location), removed_on_failure(self.root.path(location), actions):
            committed, all_actions = commit_changes(handle.log.store, version, actions, operation, counts, tag)
        self._checkpoints.after_commit(handle, committed)
        return commit_result(committed, all_actions, counts)

    def restore(self, location: str, version: int, tag: CommitTag) -> int:
        """Undo everything after `version` with one more commit, and return its version.

        Data files stay; nothing is rewritten. `txn` versions go back as well, or else a batch whose commit
        was undone would be taken for one that is in the table.
        """
        handle = self._handles.get(location)
        with handle.lock:
            latest = handle.log.latest()
            if version == latest:
                return latest
            undone = {one.app_id for info in self.commits(location, version, latest) for one in info.app_transactions}
            former = [AppTransaction(app, self._former(location, app, version)) for app in sorted(undone)]
            result = self._run(
                handle,
                lambda table: table.restore(
                    version,
                    ignore_missing_files=True,
                    protocol_downgrade_allowed=True,
                    commit_properties=commit_properties(tag, former),
                    post_commithook_properties=HOOKS,
                ),
                lambda _: {},
            )
            return result.version

    def undo(self, location: str, after: int, tag: CommitTag) -> Undone | None:
        """Take back all commits of ours beyond `after`; None when there was none. Others' commits stay, see `Undone`.

        Killed half-way it can simply be called again: what it commits is tagged, too.
        """
        handle = self._handles.get(location)

        def attempt() -> Undone | None:
            commits = self.commits(location, after, handle.log.latest())
            return undo_own(
                handle,
                commits,
                lambda version: self.files(location, version),
                lambda version: self.restore(location, version, tag),
                tag,
            )

        with handle.lock:
            return retried_on_conflict(attempt, location)

    def discard_torn(self, location: str, after: int) -> list[int]:
        """Take commits beyond `after` out of the log from the first one that is no valid text on; returns them.

        Only a power cut leaves such: the names of files reached the disk, and their content did not.
        """
        handle = self._handles.get(location)
        if not isinstance(handle.log.store, LocalLogStore) or not handle.log.has(after + 1):
            return []
        with handle.lock, translated(location):
            latest = handle.log.latest()
            torn = next((v for v in range(after + 1, latest + 1) if handle.log.is_torn(v)), latest + 1)
            for version in range(latest, torn - 1, -1):
                handle.log.store.set_aside(commit_name(version))
            self.forget(location)
        return list(range(torn, latest + 1))

    def unfinished_locations(self, known: Collection[str]) -> list[str]:
        """Folders that we began to make a table in and that are not among the known ones."""
        return [
            location
            for location in self.root.folders()
            if location not in known and self._handles.get(location).log.made_by_us()
        ]

    def _former(self, location: str, app_id: str, version: int) -> int:
        found = self.app_version(location, app_id, version)
        # Delta can't take a txn action back; a negative version stands for "none", see `app_version`.
        return -1 if found is None else found

    def sync(self, location: str, version: int, *, after: int | None = None) -> None:
        """Flush a commit to disk, or all beyond `after` up to it. An object store's writes are durable already."""
        handle = self._handles.get(location)
        if not handle.local:
            return
        with translated(location):
            for one in range(version if after is None else after + 1, version + 1):
                sync_commit(Path(handle.uri), one, handle.log.actions(one), Path(self.root.uri))

    # Carrying out

    def _run(
        self,
        handle: Handle,
        operation: Callable[[DeltaTable], Mapping[str, Any]],
        rows: Callable[[Mapping[str, Any]], dict[str, int]],
    ) -> CommitResult:
        with handle.lock, translated(handle.location):
            table = handle.loaded()
            before = table.version()
            try:
                metrics = operation(table)
            except BaseException:
                handle.unload()
                raise
            return self._committed(handle, before, rows(metrics))

    def _committed(self, handle: Handle, before: int, rows: Mapping[str, int]) -> CommitResult:
        version = handle.loaded().version()
        if version == before:
            return CommitResult(version, committed=False)
        self._checkpoints.after_commit(handle, version)
        return commit_result(version, handle.log.actions(version), rows)
