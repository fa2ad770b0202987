"""Putting the small files of frequent commits together, in the background.

The rows are written to their new file before the table is taken; under its lock only the log entry is made, so that
channels hardly wait. See `storage.compaction` for why nobody else notices.
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING

import structlog

from snowmelt.core.errors import SnowmeltError, WriteConflictError
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.storage.snapshot import DataFile

if TYPE_CHECKING:
    from snowmelt.service.account import Account

EVERY_COMMITS = 32
"""So many commits of channels between two looks at a table."""
SMALL_FILE = 8 << 20
FEWEST_FILES = 16
MOST_BYTES = 64 << 20
"""On disk, put together at a time."""
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
                compact(self._account, table_id)
            except SnowmeltError as error:
                # Somebody else wrote, or the disk is full: the files stay as they are until the next look.
                _log.info("compaction_postponed", table=table_id, error=str(error))
            except Exception:
                _log.exception("compaction failed unexpectedly", table=table_id)


def compact(account: Account, table_id: str, fewest: int = FEWEST_FILES) -> int:
    """Puts the small files of a table together; returns how many there were, 0 when they are fewer than `fewest`."""
    with account.state.read() as state:
        table, visible = state.catalog.by_id(table_id), state.versions.visible(table_id)
    if table is None or visible is None or table.dropped_on is not None:
        return 0
    assert isinstance(table.definition, TableDefinition)
    location, store = table.definition.location, account.store
    if table.definition.spark_only or not store.rewritable(location, visible.version):
        return 0
    chosen = _chosen(store.files(location, visible.version).files)
    if len(chosen) < fewest:
        return 0
    actions = store.write_together(location, visible.version, chosen)
    transaction = account.transactions.begin(explicit=False)
    try:
        pending = account.transactions.open_for_write(transaction, table, _LOCK_SECONDS)
        present = store.files(location, pending.version).by_path
        if any(file.path not in present for file in chosen):
            raise WriteConflictError(str(table.name))
        result = store.put_together(location, pending.version, actions, transaction.tag(None))
    except BaseException:
        store.discard(location, actions)
        account.transactions.rollback(transaction)
        raise
    account.transactions.wrote(pending, result, "OPTIMIZE", None)
    account.transactions.commit(transaction)
    _log.info("compacted", table=str(table.name), files=len(chosen))
    return len(chosen)


def _chosen(files: tuple[DataFile, ...]) -> list[DataFile]:
    """Small files, the smallest first, as many as are put together at a time."""
    found: list[DataFile] = []
    total = 0
    for file in sorted((file for file in files if file.size < SMALL_FILE), key=lambda file: file.size):
        total += file.size
        if total > MOST_BYTES:
            break
        found.append(file)
    return found
