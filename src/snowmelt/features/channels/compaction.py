"""Putting the small files of frequent commits together, in the background.

A channel commits up to several times a second: its table is looked at by its commits, not by the clock that upkeep goes
by, and in processes that serve nobody, too.
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING

import structlog

from snowmelt.core.errors import SnowmeltError
from snowmelt.features.upkeep.compacting import compact
from snowmelt.state.model import CatalogObject

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account

EVERY_COMMITS = 32
"""How many commits of channels pass before a table is looked at again."""
_FEWEST_FILES = 16
_LOCK_SECONDS = 5.0
_log = structlog.get_logger(__name__)


class Compactor:
    """One thread for an account, which starts when there is something to do."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._commits: dict[str, int] = {}
        """By table id, since the last look."""
        self._waiting: queue.Queue[str | None] = queue.Queue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = False

    def committed(self, table: CatalogObject) -> None:
        """A channel's commit added a file. Cheap."""
        with self._lock:
            count = self._commits.get(table.id, 0) + 1
            self._commits[table.id] = count % EVERY_COMMITS
            if count < EVERY_COMMITS or self._stopping:
                return
            self._waiting.put(table.id)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="channel-compaction", daemon=True)
                self._thread.start()

    def stop(self, timeout: float) -> None:
        with self._lock:
            self._stopping = True
            thread = self._thread
        self._waiting.put(None)
        if thread is not None:
            thread.join(timeout)

    def _run(self) -> None:
        while not self._stopping and (table_id := self._waiting.get()) is not None:
            try:
                compact(self._account, table_id, _FEWEST_FILES, wait=_LOCK_SECONDS)
            except SnowmeltError as error:
                # Somebody else wrote, or the disk is full: the files stay as they are until the next look.
                _log.info("compaction_postponed", table=table_id, error=str(error))
            except Exception:
                _log.exception("compaction failed unexpectedly", table=table_id)
