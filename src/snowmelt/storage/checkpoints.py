"""Checkpoints, made on a thread of their own so that no statement waits for one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import structlog

from snowmelt.storage.handles import Handle
from snowmelt.storage.layout import LOG_FOLDER
from snowmelt.storage.properties import CHECKPOINT_INTERVAL

_log = structlog.get_logger(__name__)


class Checkpoints:
    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="snowmelt-checkpoint")

    def after_commit(self, handle: Handle, version: int) -> None:
        """Make a checkpoint of `version` soon, if it is one that gets one."""
        if version % CHECKPOINT_INTERVAL == 0:
            self._worker.submit(make_checkpoint, handle, version)

    def close(self) -> None:
        """Wait for those under way."""
        self._worker.shutdown(wait=True)


def make_checkpoint(handle: Handle, version: int) -> None:
    try:
        handle.at(version).create_checkpoint()
        if handle.local:
            # Spark keeps a checksum beside the pointer it wrote, and would refuse the one delta-rs just
            # replaced.
            (Path(handle.uri) / LOG_FOLDER / "._last_checkpoint.crc").unlink(missing_ok=True)
    except Exception:
        # A checkpoint is only ever an optimisation; the table may also be gone by now.
        _log.warning("checkpoint failed", location=handle.location, version=version, exc_info=True)
