"""Zero-copy clones: a new Delta table over the same data files.

On a local disk the files are hard links: every reader finds them at a plain relative path inside the clone,
and removing or vacuuming either table leaves the other whole. An object store has no links, and absolute
paths in the log break when the source goes, so there the store copies its objects, side by side and by itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.parquet as pq

from snowmelt.core.errors import unsupported
from snowmelt.storage.commits import CommitTag
from snowmelt.storage.first import put_first
from snowmelt.storage.handles import Handle
from snowmelt.storage.log import Action
from snowmelt.storage.snapshot import DataFile, FileList

_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.parquet")


def clone_table(source: Handle, files: FileList, target: Handle, tag: CommitTag) -> int:
    """Make the files of `source` the whole content of a new table at `target`, and return its version."""
    if not files.whole_files:
        raise unsupported(
            "CLONE of a table with deletion vectors or partitions",
            hint="CREATE TABLE … AS SELECT copies it.",
        )
    known = _statistics(source, files.version)
    target.folder.take([(file.uri, _name(file)) for file in files.files])
    return put_first(target, files.metadata, "CLONE", tag, [_add(file, known) for file in files.files])


def _name(file: DataFile) -> str:
    # A file that the source itself holds by an absolute path gets a name of its own inside the clone.
    return file.path if "://" not in file.path and not file.path.startswith("/") else Path(file.path).name


def _add(file: DataFile, known: Mapping[str, str]) -> Action:
    counted = {} if file.rows is None else {"numRecords": file.rows}
    return {
        "add": {
            "path": quote(_name(file), safe="/=:-_.~"),
            "partitionValues": {},
            "size": file.size,
            "modificationTime": file.written_at,
            "dataChange": True,
            "stats": known.get(file.path) or json.dumps(counted),
        }
    }


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
