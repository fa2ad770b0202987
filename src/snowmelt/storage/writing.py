"""Commits to Delta tables that change rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from snowmelt.core.lazy import lazy_imports
from snowmelt.storage.append import AppendedPart, commit_append, conform, discard_added, removed_on_failure, write_files
from snowmelt.storage.checkpoints import Checkpoints
from snowmelt.storage.commits import (
    AppTransaction,
    CommitResult,
    CommitTag,
    MergeSpec,
)
from snowmelt.storage.compaction import write_together
from snowmelt.storage.errors import translated
from snowmelt.storage.handles import Handle
from snowmelt.storage.history import commit_result
from snowmelt.storage.layout import StorageRoot
from snowmelt.storage.log import Action
from snowmelt.storage.merging import quoted, run_merge
from snowmelt.storage.properties import HOOKS, commit_properties
from snowmelt.storage.reading import DeltaReader
from snowmelt.storage.rewrite import RowChanges, commit_changes, removals, rewritable
from snowmelt.storage.snapshot import DataFile

with lazy_imports():
    from snowmelt.storage import rewrite_many


class DeltaWriter(DeltaReader):
    """Writes tables. The caller sees to it that each has one writer at a time."""

    def __init__(self, root: StorageRoot) -> None:
        super().__init__(root)
        self._checkpoints = Checkpoints()

    def close(self) -> None:
        """Wait for checkpoints under way."""
        self._checkpoints.close()

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
            if metadata.plain_append:
                adds = write_files(data, self.root.path(location))
                with removed_on_failure(self.root.path(location), adds):
                    version, actions = commit_append(handle.log, adds, data.num_rows, tag, app_transactions)
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

    def write_part(self, location: str, data: pa.Table) -> AppendedPart | None:
        """Write rows as data files that no version names yet; None when the table takes none from outside.

        `append_parts` makes them visible, `drop_part` takes them away again.
        """
        handle = self._handles.get(location)
        metadata = self.files(location, handle.log.latest()).metadata
        if not metadata.plain_append:
            return None
        with translated(location):
            adds = write_files(conform(data, metadata.arrow_schema, location), self.root.path(location))
        return AppendedPart(tuple(adds), data.num_rows)

    def drop_part(self, location: str, part: AppendedPart) -> None:
        for path in part.paths:
            (self.root.path(location) / path).unlink(missing_ok=True)

    def append_parts(
        self,
        location: str,
        parts: Sequence[AppendedPart],
        tag: CommitTag,
        *,
        app_transactions: Sequence[AppTransaction] = (),
    ) -> CommitResult:
        """Add the rows of parts in one commit."""
        handle = self._handles.get(location)
        with handle.lock, translated(location):
            adds = [add for part in parts for add in part.adds]
            rows = sum(part.rows for part in parts)
            version, actions = commit_append(handle.log, adds, rows, tag, app_transactions)
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
        return self.root.is_readable(location) and rewritable(self.files(location, version))

    def rewrite(
        self, location: str, version: int, changes: RowChanges, tag: CommitTag, operation: str, *,
        origins: bool = False,
    ) -> CommitResult:  # fmt: skip
        """Change rows of the newest version by writing the files that hold them anew. See `rewritable`.

        `origins`: keep where each row was born, see `storage.origins`.
        """
        files = self.files(location, version)
        with translated(location):
            actions = rewrite_many.write_changes(self.root.path(location), files, changes, location, origins=origins)
        counts = {
            "inserted": changes.inserted_rows,
            "updated": changes.updated_rows,
            "deleted": changes.deleted_rows,
        }
        return self._commit_changes(location, version, actions, operation, counts, tag)

    def rewrite_many(
        self, location: str, version: int, changes: rewrite_many.ManyChanges, tag: CommitTag, operation: str,
        counts: Callable[[], Mapping[str, int]], *, origins: bool,
    ) -> CommitResult:  # fmt: skip
        """As `rewrite`, in bounded memory for any number of rows. `counts` is called once all changes were read."""
        files = self.files(location, version)
        with translated(location):
            actions = rewrite_many.write_many(self.root.path(location), files, changes, location, origins=origins)
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
        with handle.lock, translated(location), removed_on_failure(self.root.path(location), actions):
            committed, all_actions = commit_changes(handle.log.store, version, actions, operation, counts, tag)
        self._checkpoints.after_commit(handle, committed)
        return commit_result(committed, all_actions, counts)

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
