"""Checkpoints, made on a thread of their own so that no statement waits for one."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import structlog
from deltalake import DeltaTable

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.faults import reached
from snowmelt.storage.flushing import flush
from snowmelt.storage.handles import Handle
from snowmelt.storage.layout import LOG_FOLDER
from snowmelt.storage.log import LocalLogStore, ObjectLogStore, pointed_checkpoint
from snowmelt.storage.log_copies import copy_log
from snowmelt.storage.properties import CHECKPOINT_INTERVAL

_log = structlog.get_logger(__name__)
DRAFTS = "_checkpoint-"
"""In a table's folder, the beginning of the names of folders in which checkpoints are made."""


class Checkpoints:
    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="snowmelt-checkpoint")

    def after_commit(self, handle: Handle, version: int) -> None:
        """Make a checkpoint of `version` soon, if it is one that gets one."""
        if version % CHECKPOINT_INTERVAL == 0:
            # No pool takes work when the program ends, and the next commit that is due makes another one.
            with contextlib.suppress(RuntimeError):
                self._worker.submit(make_checkpoint, handle, version)

    def close(self) -> None:
        """Wait for those under way."""
        self._worker.shutdown(wait=True)


def make_checkpoint(handle: Handle, version: int) -> None:
    try:
        _make(handle, version)
    except Exception:
        # A checkpoint is only ever an optimisation; the table may also be gone by now.
        _log.warning("checkpoint failed", location=handle.location, version=version, exc_info=True)
        # Or the one before it is torn: then the next one would fail as well.
        with contextlib.suppress(SnowmeltError, OSError):
            handle.mend()


def _make(handle: Handle, version: int) -> None:
    """Makes the checkpoint beside the table, and gives it its place in the log when it is complete.

    Tables keep removed files for a hundred years as far as other tools can see, so that none of them vacuums. A
    checkpoint would name each of them for as long: one that is made every hundred commits would grow without end. So
    they are left out. Nobody here reads them from it, and who vacuums from outside goes by the age of files.
    """
    name, store = f"{version:020d}.checkpoint.parquet", handle.log.store
    if store.exists(name):
        return
    draft = handle.folder.path / f"{DRAFTS}{uuid.uuid4().hex}"
    try:
        copy = draft / LOG_FOLDER
        copy_log(store, copy, version)
        DeltaTable(str(draft), version=version).create_checkpoint()
        rows = _leave_out_removed(copy / name)
        pointer = copy / "_last_checkpoint"
        content = json.loads(pointer.read_bytes()) | {"size": rows, "sizeInBytes": (copy / name).stat().st_size}
        pointer.write_text(json.dumps(content))
        reached("checkpoint-drafted")
        if isinstance(store, LocalLogStore):
            _link_into_log(store, copy / name, pointer, version)
        elif isinstance(store, ObjectLogStore):
            _put_into_log(store, copy / name, pointer, version)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _put_into_log(store: ObjectLogStore, checkpoint: Path, pointer: Path, version: int) -> None:
    store.upload(checkpoint.name, checkpoint)
    reached("checkpoint-linked")
    if pointed_checkpoint(store) < version:
        store.put(pointer.name, pointer.read_bytes())
        store.remove("._last_checkpoint.crc")


def _link_into_log(store: LocalLogStore, checkpoint: Path, pointer: Path, version: int) -> None:
    log = store.folder
    for path in (checkpoint, pointer):
        flush(path)
    with contextlib.suppress(FileExistsError):
        os.link(checkpoint, log / checkpoint.name)
    reached("checkpoint-linked")
    if pointed_checkpoint(store) < version:
        pointer.replace(log / pointer.name)
        # Spark keeps a checksum beside the pointer it wrote, and would refuse the one just put in its place.
        (log / "._last_checkpoint.crc").unlink(missing_ok=True)


def _leave_out_removed(path: Path) -> int:
    """Returns how many actions are left."""
    with pq.ParquetFile(path) as opened:
        rows = opened.read()
    kept = rows.filter(pc.is_null(rows.column("remove")))
    if kept.num_rows < rows.num_rows:
        pq.write_table(kept, path)
    return int(kept.num_rows)
