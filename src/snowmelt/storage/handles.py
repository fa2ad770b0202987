"""The open tables: one record per table with its lock, its log and delta-rs' loaded state."""

from __future__ import annotations

import contextlib
import shutil
import threading
import uuid
from collections import OrderedDict
from collections.abc import Iterator

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from snowmelt.storage.folders import LocalFolder
from snowmelt.storage.layout import LOG_FOLDER, StorageRoot
from snowmelt.storage.log import LocalLogStore, ObjectLogStore, TransactionLog, pointed_checkpoint
from snowmelt.storage.log_copies import copy_log
from snowmelt.storage.mending import check_entries, mend_checkpoints

LOG_DRAFTS = "_log-"
_RELOAD_AFTER = 64
"""delta-rs replays every commit since the checkpoint it was loaded from on each update (0.07 ms each), and
never moves on to a newer checkpoint. So it is loaded anew once that costs more than the loading (about 6
ms)."""


class Handle:
    """One table. Hold `lock` around everything that uses `loaded`; delta-rs' object is not safe to share."""

    def __init__(self, root: StorageRoot, location: str) -> None:
        self.lock = threading.RLock()
        self.location = location
        self.uri = root.uri_of(location)
        self.local = root.is_local_table(location)
        """Whether it lies on a disk, where what was written may not be there after a power cut."""
        self.folder = root.folder(location)
        store = LocalLogStore(self.folder.path) if isinstance(self.folder, LocalFolder) else ObjectLogStore(self.folder)
        self.log = TransactionLog(store, self.uri)
        self._options = root.options
        self._table: DeltaTable | None = None
        self._loaded_version = -1

    def loaded(self) -> DeltaTable:
        """delta-rs' table at the newest version."""
        latest = self.log.latest()
        if self._table is not None and self._table.version() == latest:
            return self._table
        if self._table is None or latest < self._table.version() or latest > self._loaded_version + _RELOAD_AFTER:
            self._table = self.at(None)
            self._loaded_version = self._table.version()
        else:
            self._check_entries(latest, self._table.version())
            self._table.update_incremental()
        return self._table

    def at(self, version: int | None) -> DeltaTable:
        """A separate delta-rs table at one version, free to use without the lock."""
        self._check_entries(self.log.latest() if version is None else version)
        try:
            return DeltaTable(self.uri, version=version, storage_options=self._options or None)
        except DeltaError:
            if not self.mend():
                self._say_what_is_torn(self.log.latest() if version is None else version)
                raise
        return self.at(version)

    @contextlib.contextmanager
    def log_at(self, version: int) -> Iterator[DeltaTable]:
        """The same, to ask what the log alone says. One in an object store is copied first: delta-rs would read entry
        after entry, and keep Python's lock meanwhile."""
        if not isinstance(self.log.store, ObjectLogStore):
            yield self.at(version)
            return
        draft = self.folder.path / f"{LOG_DRAFTS}{uuid.uuid4().hex}"
        try:
            copy_log(self.log.store, draft / LOG_FOLDER, version)
            yield DeltaTable(str(draft), version=version)
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def _say_what_is_torn(self, version: int) -> None:
        """Raises for an entry of the log that can't be read, back to a checkpoint or to the log's beginning."""
        with contextlib.suppress(FileNotFoundError):
            for each in range(version, max(pointed_checkpoint(self.log.store), -1), -1):
                self.log.actions(each)

    def _check_entries(self, version: int, after: int = -1) -> None:
        if isinstance(self.log.store, LocalLogStore):
            check_entries(self.log.store, self.uri, version, after)

    def mend(self) -> bool:
        """Sets aside what a power cut left of checkpoints; whether there was something."""
        store = self.log.store
        return isinstance(store, LocalLogStore) and mend_checkpoints(store, self.uri)

    def unload(self) -> None:
        """Drop delta-rs' state, whatever a failed operation left it in."""
        self._table = None

    @property
    def is_loaded(self) -> bool:
        return self._table is not None

    def rest(self) -> None:
        """Drop delta-rs' state for its memory, unless somebody uses it."""
        if self._table is not None and self.lock.acquire(blocking=False):
            try:
                self.unload()
            finally:
                self.lock.release()


class Handles:
    """The handles of the tables used most recently.

    Of more tables than delta-rs' state is kept of: a handle alone takes little memory, and making one anew asks the
    file system where the log stands.
    """

    def __init__(self, root: StorageRoot, limit: int = 8192, loaded: int = 512) -> None:
        self._root = root
        self._limit = limit
        self._most_loaded = loaded
        self._open: OrderedDict[str, Handle] = OrderedDict()
        self._lately: OrderedDict[str, None] = OrderedDict()
        """The tables whose delta-rs' state is kept, if it is loaded."""
        self._lock = threading.Lock()

    def get(self, location: str) -> Handle:
        with self._lock:
            handle = self._open.get(location)
            if handle is None:
                handle = self._open[location] = Handle(self._root, location)
                if len(self._open) > self._limit:
                    self._open.popitem(last=False)
            else:
                self._open.move_to_end(location)
            self._lately[location] = None
            self._lately.move_to_end(location)
            resting = self._open.get(self._lately.popitem(last=False)[0]) if self._is_full else None
        if resting is not None:
            resting.rest()
        return handle

    @property
    def _is_full(self) -> bool:
        return len(self._lately) > self._most_loaded

    def forget(self, location: str) -> None:
        with self._lock:
            self._open.pop(location, None)
            self._lately.pop(location, None)
