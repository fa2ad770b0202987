"""What others ask of an account's connectors: that they run, that one is looked at again, that all stop."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from snowmelt.features.connectors.definitions import CONNECTOR
from snowmelt.features.connectors.worker import Worker

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account


class Connectors:
    def __init__(self, account: Account) -> None:
        self._account = account
        self._workers: dict[str, Worker] = {}
        self._lock = threading.Lock()
        self._running = False

    def start(self) -> None:
        """From now on, until the account is closed, connectors that are not paused capture."""
        self._running = True
        self.wake()

    def wake(self) -> None:
        """A statement created, altered or dropped a connector."""
        if not self._running:
            return
        with self._account.state.read() as state:
            live = {item.id for item in state.catalog.objects([CONNECTOR])}
        with self._lock:
            known = dict(self._workers)
            for gone in known.keys() - live:
                self._workers.pop(gone)
            for new in live - known.keys():
                self._workers[new] = Worker(self._account, new)
                self._workers[new].start()
        for worker in known.values():
            worker.wake()

    def restart(self, connector_id: str) -> None:
        """The connector was altered: what runs, runs by its old definition."""
        with self._lock:
            worker = self._workers.get(connector_id)
        if worker is not None:
            worker.restart()

    def engine_pid(self, connector_id: str) -> int | None:
        """The process that reads the source's log for a connector, while it does."""
        with self._lock:
            worker = self._workers.get(connector_id)
        return worker.engine_pid if worker is not None else None

    def stop(self, timeout: float) -> None:
        """Stops all workers. What landed is safe; the rest comes again."""
        with self._lock:
            self._running = False
            workers = list(self._workers.values())
            self._workers.clear()
        stoppers = [threading.Thread(target=worker.stop) for worker in workers]
        for stopper in stoppers:
            stopper.start()
        until = time.monotonic() + timeout
        for stopper in stoppers:
            stopper.join(max(0.1, until - time.monotonic()))
        for worker in workers:
            worker.join(max(0.1, until - time.monotonic()))
