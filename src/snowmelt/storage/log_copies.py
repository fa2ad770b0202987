"""Copies of a part of a table's log, on this machine's disk: for checkpoints, and to ask what the log alone says."""

from __future__ import annotations

import os
import re
from pathlib import Path

from snowmelt.storage.log import LocalLogStore, LogStore, ObjectLogStore, commit_name, pointed_checkpoint

_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.parquet")


def copy_log(store: LogStore, copy: Path, version: int) -> None:
    """Copies the part of the log that describes the table at that version, by hard links where there are any."""
    copy.mkdir(parents=True)
    start = _newest_upto(store, version)
    names = [f"{start:020d}.checkpoint.parquet"] if start >= 0 else []
    names += [commit_name(each) for each in range(max(start, 0), version + 1)]
    if isinstance(store, LocalLogStore):
        for name in names:
            os.link(store.folder / name, copy / name)
    elif isinstance(store, ObjectLogStore):
        for name, content in store.read_all(names):
            (copy / name).write_bytes(content)


def _newest_upto(store: LogStore, version: int) -> int:
    """The newest checkpoint in one file that is no newer than that version; -1 when there is none."""
    pointed = pointed_checkpoint(store)
    if 0 <= pointed <= version and store.exists(f"{pointed:020d}.checkpoint.parquet"):
        return pointed
    made = [int(match[1]) for name in store.names() if (match := _CHECKPOINT.fullmatch(name))]
    return max((each for each in made if each <= version), default=-1)
