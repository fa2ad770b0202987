"""Removing what no version from some version on needs: data files, files of the change feed, the start of the log.

Each step leaves a table that is whole. Files go while the entries that name them are still in the log, so that whoever
starts over after a crash finds the rest; entries go oldest first, so that what is left of a log has no gap, and only
those before a checkpoint that is on disk and holds the same files as the log. The caller says which version that is:
see `features.upkeep.needed`.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import structlog

from snowmelt.core.faults import reached
from snowmelt.storage.checkpoints import DRAFTS
from snowmelt.storage.flushing import flush
from snowmelt.storage.handles import Handle
from snowmelt.storage.layout import LOG_FOLDER
from snowmelt.storage.log import MADE_BY_US, Action, LocalLogStore, LogStore
from snowmelt.storage.snapshot import FileList

_log = structlog.get_logger(__name__)
_ENTRY = re.compile(r"(\d{20})\.json")
_OF_VERSION = re.compile(r"\.?(\d{20})\.")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.parquet")
_UNFINISHED = re.compile(r"\..*\.tmp")


@dataclass(frozen=True, slots=True)
class Removed:
    files: int = 0
    bytes: int = 0
    entries: int = 0
    """Entries of the log that were removed."""

    def __add__(self, other: Removed) -> Removed:
        return Removed(self.files + other.files, self.bytes + other.bytes, self.entries + other.entries)


def remove_unneeded(handle: Handle, floor: FileList, latest: FileList, *, strict: bool) -> Removed:
    """Removes the files that commits up to the floor's version have taken out of the table.

    `strict`: something may have put files back since; then every later commit is looked at.
    """
    log = handle.log
    needed = set(floor.by_path) | set(latest.by_path)
    if strict:
        for version in range(floor.version + 1, log.latest() + 1):
            needed |= _named(log.actions(version), ("add", "cdc", "remove"))
    gone: set[str] = set()
    for version in entries(handle):
        if version > floor.version:
            break
        gone |= _named(log.actions(version), ("add", "cdc", "remove")) - needed
    return _remove(handle, sorted(gone))


def _named(actions: Sequence[Action], kinds: Sequence[str]) -> set[str]:
    return {unquote(action[kind]["path"]) for action in actions for kind in kinds if kind in action}


def _remove(handle: Handle, paths: Sequence[str]) -> Removed:
    # Another tool may have named a file that is not ours to remove.
    own = [path for path in paths if "://" not in path and not path.startswith("/") and ".." not in Path(path).parts]
    sizes = handle.folder.remove(own)
    return Removed(len(sizes), sum(sizes))


def find_orphans(handle: Handle, floor: FileList, older_than: float) -> tuple[list[str], int]:
    """Parquet files, and drafts of log entries, that no commit names and that nobody has touched for so many seconds;
    and the version up to which that is known."""
    upto, before = handle.log.latest(), time.time() - older_than
    old = {found.path for found in handle.folder.data_files() if found.touched < before}
    old -= set(floor.by_path)
    if old:
        for version in entries(handle):
            old -= _named(handle.log.actions(version), ("add", "cdc", "remove"))
    return [*_drafts(handle, before), *sorted(old)], upto


def _drafts(handle: Handle, before: float) -> list[str]:
    """Of log entries. A store shows an object whole or not at all, and has none."""
    store = handle.log.store
    if not isinstance(store, LocalLogStore):
        return []
    return [
        f"{LOG_FOLDER}/{entry.name}"
        for entry in os.scandir(store.folder)
        if _UNFINISHED.fullmatch(entry.name) and _changed_before(Path(entry.path), before)
    ]


def remove_orphans(handle: Handle, paths: Sequence[str], upto: int, older_than: float) -> Removed:
    """Removes what `find_orphans` found. The caller holds the table: nobody is about to commit a file that is there."""
    named: set[str] = set()
    for version in range(upto + 1, handle.log.latest() + 1):
        named |= _named(handle.log.actions(version), ("add", "cdc", "remove"))
    removed = _remove(handle, [path for path in paths if path not in named])
    for folder in handle.folder.path.glob(f"{DRAFTS}*"):
        if _changed_before(folder, time.time() - older_than):
            shutil.rmtree(folder, ignore_errors=True)
    return removed


def _changed_before(path: Path, instant: float) -> bool:
    try:
        found = path.stat()
    except FileNotFoundError:
        return False
    return max(found.st_mtime, found.st_ctime) < instant


# -- the log ----------------------------------------------------------------------------------------------------------


def entries(handle: Handle) -> list[int]:
    """The versions whose entries are in the log, ascending."""
    return sorted(int(match[1]) for name in handle.log.store.names() if (match := _ENTRY.fullmatch(name)))


def checkpoints(handle: Handle) -> list[int]:
    """The versions that have a checkpoint in one file, ascending."""
    return sorted(int(match[1]) for name in handle.log.store.names() if (match := _CHECKPOINT.fullmatch(name)))


def clean_log(handle: Handle, floor: int, files_at: FileList) -> int:
    """Removes the entries and checkpoints before that of `files_at`; returns how many entries."""
    store, version = handle.log.store, files_at.version
    if version > floor or not _holds(store, f"{version:020d}.checkpoint.parquet", files_at):
        return 0
    # The first commit says who made a table. Once it is gone, a file beside the log does.
    if handle.log.made_by_us():
        store.mark(MADE_BY_US)
    if isinstance(store, LocalLogStore):
        for path in (store.folder / f"{version:020d}.checkpoint.parquet", store.folder):
            flush(path)
    names = [(int(match[1]), name) for name in store.names() if (match := _OF_VERSION.match(name))]
    gone = 0
    for _, name in sorted(pair for pair in names if pair[0] < version):
        reached("before-entry-removed")
        store.remove(name)
        gone += _ENTRY.fullmatch(name) is not None
    return gone


def _holds(store: LogStore, checkpoint: str, files: FileList) -> bool:
    """Whether the checkpoint is readable, and has exactly these files."""
    try:
        with pq.ParquetFile(pa.BufferReader(store.read(checkpoint))) as opened:
            adds = opened.read(columns=["add.path"]).column("add").to_pylist()
    except (OSError, ValueError, KeyError) as error:
        _log.warning("checkpoint_unreadable", checkpoint=checkpoint, error=str(error))
        return False
    return {unquote(add["path"]) for add in adds if add is not None and add["path"] is not None} == set(files.by_path)
