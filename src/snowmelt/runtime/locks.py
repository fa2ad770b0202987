"""Which transaction may write which table.

One writer a table at a time: its commits stand in line in the Delta log, so what one transaction wrote can be undone
without touching another's. Who waits longest comes next. Waiting is bounded, and a wait that could never end is refused
at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from snowmelt.core import slots
from snowmelt.runtime import errors as statement_errors


class TableLocks:
    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._holders: dict[str, str] = {}
        """Table id to transaction id."""
        self._queues: dict[str, list[str]] = {}
        """Table id to the ids of the transactions that wait for it, the one that came first in front."""
        self._waiting: dict[str, str] = {}
        """Transaction id to the table it waits for."""

    def acquire(
        self,
        table_id: str,
        table_name: str,
        transaction_id: str,
        timeout: float,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Takes the table for the transaction; again is fine. Raises on timeout or deadlock.

        While waiting it calls `check`, again after each `wake`: what that raises ends the wait.
        """
        deadline = time.monotonic() + timeout
        with self._condition:
            if self._holders.get(table_id) == transaction_id:
                return
            self._enter(table_id, transaction_id)
            try:
                while self._ahead(table_id) != transaction_id:
                    # Also before the first wait: whoever asked to stop may have done so, and woken nobody, already.
                    check()
                    if self._would_deadlock(table_id, transaction_id):
                        raise statement_errors.deadlock(table_name)
                    remaining = deadline - time.monotonic()
                    if remaining <= 0:
                        raise statement_errors.lock_timeout(table_name, timeout)
                    self._wait(remaining)
                    check()
                self._holders[table_id] = transaction_id
            finally:
                self._leave(table_id, transaction_id)

    def _wait(self, seconds: float) -> None:
        """Others may use the statement's place meanwhile. To get it back it must not hold what those may need."""
        with slots.waiting():
            self._condition.wait(seconds)
            self._condition.release()
        self._condition.acquire()

    def try_acquire(self, table_id: str, transaction_id: str) -> bool:
        """Takes the table if nobody has it or waits for it."""
        with self._condition:
            if self._ahead(table_id) is None:
                self._holders[table_id] = transaction_id
            return self._holders.get(table_id) == transaction_id

    def holder(self, table_id: str) -> str | None:
        with self._condition:
            return self._holders.get(table_id)

    def release_all(self, transaction_id: str) -> None:
        with self._condition:
            for table_id in [table for table, holder in self._holders.items() if holder == transaction_id]:
                del self._holders[table_id]
            self._condition.notify_all()

    def wake(self) -> None:
        """Lets everybody who waits look around."""
        with self._condition:
            self._condition.notify_all()

    def held(self) -> list[tuple[str, str]]:
        """(table id, transaction id) of every lock, for SHOW LOCKS."""
        with self._condition:
            return list(self._holders.items())

    def waiting(self) -> list[tuple[str, str]]:
        """(table id, transaction id) of every wait, for SHOW LOCKS."""
        with self._condition:
            return [(table_id, transaction_id) for transaction_id, table_id in self._waiting.items()]

    def _enter(self, table_id: str, transaction_id: str) -> None:
        self._queues.setdefault(table_id, []).append(transaction_id)
        self._waiting[transaction_id] = table_id

    def _leave(self, table_id: str, transaction_id: str) -> None:
        queue = self._queues[table_id]
        queue.remove(transaction_id)
        if not queue:
            del self._queues[table_id]
        del self._waiting[transaction_id]
        # Whoever gave up may have been the one in front.
        self._condition.notify_all()

    def _ahead(self, table_id: str) -> str | None:
        """The transaction whose turn it is: the one that has the table, or else the one that waits longest."""
        queue = self._queues.get(table_id)
        return self._holders.get(table_id) or (queue[0] if queue else None)

    def _would_deadlock(self, table_id: str, transaction_id: str) -> bool:
        """Whether the transactions that wait for each other form a circle with this one."""
        seen: set[str] = set()
        current = self._ahead(table_id)
        while current is not None and current not in seen:
            if current == transaction_id:
                return True
            seen.add(current)
            table = self._waiting.get(current)
            current = self._ahead(table) if table is not None else None
        return False
