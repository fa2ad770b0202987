"""Taking our own commits back without taking back what other tools committed in between.

The log is one line of commits: ours carry a tag, those of other tools do not. RESTORE goes back to one point of that
line and so undoes both kinds. The commits of others behind that point are then made once more, action by action,
which is right as long as they do not build on ours: adding files never does, removing a file does when the file is
one of ours. A commit that does was made from rows that never were visible to anybody, and goes with them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from deltalake.exceptions import CommitFailedError

from snowmelt.core.faults import reached
from snowmelt.storage.commits import CommitInfo, CommitTag
from snowmelt.storage.handles import Handle
from snowmelt.storage.log import Action
from snowmelt.storage.rewrite import removals
from snowmelt.storage.snapshot import WRITABLE_FEATURES, FileList

_REPEATABLE = WRITABLE_FEATURES | {"deletionVectors"}
"""Features of a table under which another tool's commit can be made once more as it was."""
_REPEATED = ("add", "remove", "cdc", "txn", "metaData", "protocol")


@dataclass(frozen=True, slots=True)
class Undone:
    """What became of the commits behind a version."""

    version: int
    """The newest version now."""
    first: int
    restored: int
    """The versions from `first` to `restored` cancel out. Those before and behind are others' commits, which count."""
    kept: tuple[int, ...]
    """Others' commits whose changes are in the table."""
    lost: tuple[int, ...]
    """Others' commits that changed rows and were built on ours, so that they went with them."""


@dataclass(frozen=True, slots=True)
class _Commit:
    version: int
    actions: Sequence[Action]

    @property
    def removed(self) -> set[str]:
        return {unquote(action["remove"]["path"]) for action in self.actions if "remove" in action}

    @property
    def added(self) -> set[str]:
        return {unquote(action["add"]["path"]) for action in self.actions if "add" in action}

    @property
    def entry(self) -> Mapping[str, Any]:
        return next((action["commitInfo"] for action in self.actions if "commitInfo" in action), {})

    @property
    def replaces_all(self) -> bool:
        """Whether it says so: an overwrite without condition, or the deletion of every row."""
        parameters = self.entry.get("operationParameters") or {}
        overwrites = str(parameters.get("mode", "")).lower() == "overwrite" and not parameters.get("predicate")
        return overwrites or not self.added


def undo_own(
    handle: Handle,
    commits: Sequence[CommitInfo],
    files_at: Callable[[int], FileList],
    restore: Callable[[int], int],
    tag: CommitTag,
) -> Undone | None:
    """Undo the tagged ones of `commits`, which are all there are behind some version; None when none is.

    Raises CommitFailedError when another tool commits at the same time: then call it again with all commits.
    """
    own = [commit.version for commit in commits if commit.tag is not None]
    if not own:
        return None
    first, latest = own[0], commits[-1].version
    others = [commit for commit in commits if commit.version > first and commit.tag is None]
    read = {commit.version: _Commit(commit.version, handle.log.actions(commit.version)) for commit in others}
    kept = _independent(files_at, first, list(read.values()))
    reached("before-restore")
    restored = restore(first - 1)
    if restored != latest + 1:
        raise CommitFailedError("another tool wrote the table while a transaction was undone")
    version = restored
    for commit, total in kept:
        reached("between-restore-and-replay")
        actions = _repeated(commit, files_at(version) if total else None)
        version = _replay(handle, version, commit, actions, tag)
    reached("after-restore")
    stayed = {commit.version for commit, _ in kept}
    return Undone(
        version=version,
        first=first,
        restored=restored,
        kept=(*(c.version for c in commits if c.version < first), *sorted(stayed)),
        lost=tuple(c.version for c in others if c.version not in stayed and c.data_change),
    )


def _independent(
    files_at: Callable[[int], FileList], first: int, others: Sequence[_Commit]
) -> list[tuple[_Commit, bool]]:
    """The commits that can be made once more on top of version `first - 1`, in order; True with those that replace
    all rows, whatever these are."""
    before = files_at(first - 1)
    if not before.metadata.features <= _REPEATABLE:
        return []
    present, shape = set(before.by_path), _shape(before)
    kept: list[tuple[_Commit, bool]] = []
    for commit in others:
        based_on = files_at(commit.version - 1)
        total = commit.replaces_all and commit.removed >= set(based_on.by_path)
        # Files written for columns that the table does not have any more can't stay.
        if _shape(based_on) != shape or not (total or commit.removed <= present):
            continue
        present = commit.added if total else (present - commit.removed) | commit.added
        shape = _shape(files_at(commit.version))
        kept.append((commit, total))
    return kept


def _shape(files: FileList) -> tuple[object, ...]:
    """What a writer must know of a table. Its schema as text differs between tools that mean the same."""
    metadata = files.metadata
    return (
        metadata.arrow_schema,
        metadata.partition_columns,
        dict(metadata.configuration),
        metadata.features,
        metadata.min_reader,
        metadata.min_writer,
    )


def _repeated(commit: _Commit, replaced: FileList | None) -> list[Action]:
    """The commit's actions. `replaced`: the files to remove in place of those that were there at the time."""
    actions = [
        {kind: action[kind]}
        for action in commit.actions
        for kind in _REPEATED
        if kind in action and not (kind == "remove" and replaced is not None)
    ]
    if replaced is None:
        return actions
    return [*removals(replaced.files), *actions]


def _replay(handle: Handle, version: int, commit: _Commit, actions: Sequence[Action], tag: CommitTag) -> int:
    entry = {
        "timestamp": int(time.time() * 1000),
        "operation": commit.entry.get("operation", "UNKNOWN"),
        "operationParameters": commit.entry.get("operationParameters") or {},
        "operationMetrics": commit.entry.get("operationMetrics") or {},
        "engineInfo": "snowmelt",
        "userMetadata": tag.user_metadata(),
    }
    try:
        handle.log.store.put_commit(version + 1, [{"commitInfo": entry}, *actions])
    except FileExistsError:
        raise CommitFailedError("another tool wrote the table while a transaction was undone") from None
    return version + 1
