"""Mends logs after a power cut: a checkpoint without its content, or a pointer to a checkpoint that does not exist.

A checkpoint repeats what the log entries before it say. One that can't be read is set aside as long as those are there,
and the table is whole again. Without them nobody knows the table's rows: that is an error, never a guess.
"""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet as pq
import structlog

from snowmelt.core import errors
from snowmelt.storage.log import LocalLogStore, TransactionLog, commit_name, pointed_checkpoint

_log = structlog.get_logger(__name__)
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.parquet")


def mend_checkpoints(store: LocalLogStore, uri: str) -> bool:
    """Sets aside checkpoints that can't be read; whether anything was done. Raises when the log needs one of them."""
    made = sorted(int(match[1]) for name in store.names() if (match := _CHECKPOINT.fullmatch(name)))
    torn = [version for version in made if not _readable(store.folder / _name(version))]
    whole = [version for version in made if version not in torn]
    for version in torn:
        start = max((each for each in whole if each < version), default=0)
        missing = next((each for each in range(start, version + 1) if not store.exists(commit_name(each))), None)
        if missing is not None:
            raise errors.log_damaged(uri, f"the checkpoint of version {version} can't be read")
    for version in torn:
        _log.warning("checkpoint_set_aside", table=uri, version=version)
        store.set_aside(_name(version))
    pointed = pointed_checkpoint(store)
    there = [name for name in store.names() if not name.endswith(".torn")]
    if pointed >= 0 and not any(name.startswith(f"{pointed:020d}.checkpoint") for name in there):
        (store.folder / "_last_checkpoint").unlink(missing_ok=True)
        return True
    return bool(torn)


def check_entries(store: LocalLogStore, uri: str, version: int, after: int) -> None:
    """Raises when an entry of the log that is read for that version is not whole.

    Those are looked at that come after another version, or after the nearest checkpoint.

    delta-rs takes an empty one for a commit that does nothing, and one that ends with a line for all of it. (An object
    store shows a file whole or not at all.)
    """
    log = TransactionLog(store, uri)
    while version > after and not store.exists(_name(version)):
        try:
            log.actions(version)
        except FileNotFoundError:
            # Cleaned away before a checkpoint of another kind; or missing, which delta-rs says.
            return
        version -= 1


def _name(version: int) -> str:
    return f"{version:020d}.checkpoint.parquet"


def _readable(path: Path) -> bool:
    try:
        with pq.ParquetFile(path) as opened:
            opened.read(columns=["add.path"])
    except (OSError, ValueError, KeyError):
        return False
    return True
