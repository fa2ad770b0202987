"""Zero-copy clones: a new Delta table over the same data files.

On a local disk the files are hard links: every reader finds them at a plain relative path inside the clone,
and removing or vacuuming either table leaves the other whole. An object store has no links, and absolute
paths in the log break when the source goes, so there the rows are copied; delta-rs' client for the store
can't copy a file.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake

from snowmelt.core.errors import unsupported
from snowmelt.storage.commits import CommitTag
from snowmelt.storage.first import put_first
from snowmelt.storage.handles import Handle
from snowmelt.storage.layout import StorageRoot
from snowmelt.storage.log import Action
from snowmelt.storage.properties import HOOKS, commit_properties
from snowmelt.storage.snapshot import DataFile, FileList

_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.parquet")
_NOT_LINKABLE = frozenset({errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS})


def clone_table(root: StorageRoot, source: Handle, files: FileList, target: Handle, tag: CommitTag) -> int:
    """Make the files of `source` the whole content of a new table at `target`, and return its version."""
    if not files.whole_files:
        raise unsupported(
            "CLONE of a table with deletion vectors or partitions",
            hint="CREATE TABLE … AS SELECT copies it.",
        )
    if not target.local:
        return _copy(root, source, files, target, tag)
    known = _statistics(source, files.version)
    adds = [_add(root, file, target, known) for file in files.files]
    return put_first(root, target, files.metadata, "CLONE", tag, adds)


def _copy(root: StorageRoot, source: Handle, files: FileList, target: Handle, tag: CommitTag) -> int:
    put_first(root, target, files.metadata, "CLONE", tag, [])
    copied = target.at(None)
    write_deltalake(
        copied,
        source.at(files.version).scan(),
        mode="append",
        commit_properties=commit_properties(tag),
        post_commithook_properties=HOOKS,
    )
    return copied.version()


def _add(root: StorageRoot, file: DataFile, target: Handle, known: Mapping[str, str]) -> Action:
    # A file that the source itself holds by an absolute path gets a name of its own inside the clone.
    path = file.path if "://" not in file.path and not file.path.startswith("/") else Path(file.path).name
    _link(Path(file.uri.removeprefix("file://")), root.path(target.location) / path)
    counted = {} if file.rows is None else {"numRecords": file.rows}
    return {
        "add": {
            "path": quote(path, safe="/=:-_.~"),
            "partitionValues": {},
            "size": file.size,
            "modificationTime": file.written_at,
            "dataChange": True,
            "stats": known.get(file.path) or json.dumps(counted),
        }
    }


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _NOT_LINKABLE:
            raise
        shutil.copy2(source, target)


def _statistics(source: Handle, version: int) -> dict[str, str]:
    """The files' statistics as the log has them. Best effort: without, a reader skips fewer files."""
    names = [match for name in source.log.store.names() if (match := _CHECKPOINT.fullmatch(name))]
    start = max((int(match[1]) for match in names if int(match[1]) <= version), default=-1)
    found: dict[str, str] = {}
    if start >= 0:
        checkpoint = pa.BufferReader(source.log.store.read(f"{start:020d}.checkpoint.parquet"))
        for add in pq.read_table(checkpoint, columns=["add"]).column("add").to_pylist():
            if add is not None and add.get("stats"):
                found[unquote(add["path"])] = add["stats"]
    for following in range(start + 1, version + 1):
        try:
            actions = source.log.actions(following)
        except FileNotFoundError:
            continue
        for action in actions:
            if "add" in action and action["add"].get("stats"):
                found[unquote(action["add"]["path"])] = action["add"]["stats"]
    return found
