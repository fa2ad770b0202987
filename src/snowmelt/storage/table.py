"""The Delta tables of one storage root: making and removing them, their columns, and taking commits back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import pyarrow as pa

from snowmelt.core.faults import reached
from snowmelt.state.model import Column
from snowmelt.storage.append import conform, write_files
from snowmelt.storage.care import TableCare
from snowmelt.storage.clone import clone_table
from snowmelt.storage.commits import (
    AppTransaction,
    CommitInfo,
    CommitResult,
    CommitTag,
    MergeBranch,
    MergeSpec,
)
from snowmelt.storage.durable import Unflushed
from snowmelt.storage.errors import retried_on_conflict, translated
from snowmelt.storage.evolution import Reshape, can_evolve, set_columns, write_anew
from snowmelt.storage.first import new_metadata, put_first
from snowmelt.storage.history import commit_result
from snowmelt.storage.layout import StorageRoot
from snowmelt.storage.log import Action, LocalLogStore, commit_name
from snowmelt.storage.properties import HOOKS, commit_properties
from snowmelt.storage.snapshot import DataFile, FileList
from snowmelt.storage.undo import Undone, undo_own
from snowmelt.storage.writing import DeltaWriter

__all__ = [
    "AppTransaction", "CommitInfo", "CommitResult", "CommitTag", "DataFile", "DeltaStore", "FileList",
    "MergeBranch", "MergeSpec", "Reshape", "Undone",
]  # fmt: skip


class DeltaStore(DeltaWriter):
    """Safe to use from several threads. The caller sees to it that each table has one writer at a time."""

    def __init__(self, root: StorageRoot) -> None:
        super().__init__(root)
        self.care = TableCare(self._handles, self.files)

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
        """Create the table and return its version: 0, with the rows of `data` in it."""
        handle = self._handles.get(location)
        metadata = new_metadata(columns, change_feed=change_feed)
        with handle.lock, translated(location):
            adds: list[Action] = []
            folder = self.root.path(location)
            folder.mkdir(parents=True, exist_ok=True)
            reached("folder-made")
            if data is not None:
                adds = write_files(conform(data, metadata.arrow_schema, location), folder)
            return put_first(handle, metadata, "CREATE TABLE", tag, adds)

    def clone(self, source_location: str, version: int, target_location: str, tag: CommitTag) -> int:
        """A new table with the rows of `version` of another, sharing its data files; returns its version."""
        source, target = self._handles.get(source_location), self._handles.get(target_location)
        with translated(source_location):
            return clone_table(source, self.files(source_location, version), target, tag)

    def remove(self, location: str) -> None:
        self.forget(location)
        self.root.remove(location)

    # Columns

    def can_evolve(self, location: str) -> bool:
        """Whether `set_columns` and `reshape` work on the table; otherwise only Spark can change its columns."""
        handle = self._handles.get(location)
        return can_evolve(self.files(location, handle.log.latest()).metadata)

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

    # Taking back

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
        """Takes back our commits after version `after`; None if there are none. Commits of others stay, see `Undone`.

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
        self.sync_together([(location, version - 1 if after is None else after, version)])

    def sync_together(self, commits: Sequence[tuple[str, int, int]], beside: Sequence[Path] = ()) -> None:
        """As `sync`, of several tables at once: their locations, each with two versions, the first of which is on disk
        already. `beside`: files of theirs that no log names.
        """
        unflushed = Unflushed(beside)
        for location, after, version in commits:
            if version > after and (handle := self._handles.get(location)).local:
                with translated(location):
                    for one in range(after + 1, version + 1):
                        unflushed.add_commit(Path(handle.uri), one, handle.log.actions(one), Path(self.root.uri))
        named = [location for location, _, _ in commits] or [str(file.parent) for file in beside]
        with translated(", ".join(named)):
            unflushed.flush()
