"""Which transaction may write which table.

One writer a table at a time: its commits stand in line in the Delta log, so what one transaction wrote can be undone
without touching another's. Waiting is bounded, and a wait that could never end is refused at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from snowmelt.core import errors


class TableLocks:
    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._holders: dict[str, str] = {}
        """Table id to transaction id."""
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

        While waiting it calls `check` after each `wake`: what that raises ends the wait.
        """
        deadline = time.monotonic() + timeout
        with self._condition:
            while True:
                holder = self._holders.get(table_id)
                if holder is None or holder == transaction_id:
                    self._holders[table_id] = transaction_id
                    return
                if self._would_deadlock(transaction_id, holder):
                    raise errors.deadlock(table_name)
                self._waiting[transaction_id] = table_id
                try:
                    remaining = deadline - time.monotonic()
                    if remaining <= 0:
                        raise errors.lock_timeout(table_name, timeout)
                    self._condition.wait(remaining)
                    check()
                finally:
                    self._waiting.pop(transaction_id, None)

    def try_acquire(self, table_id: str, transaction_id: str) -> bool:
        """Takes the table if nobody else has it."""
        with self._condition:
            return self._holders.setdefault(table_id, transaction_id) == transaction_id

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

    def _would_deadlock(self, transaction_id: str, holder: str) -> bool:
        """Whether following who waits for whom from the holder leads back here."""
        current: str | None = holder
        seen: set[str] = set()
        while current is not None and current not in seen:
            if current == transaction_id:
                return True
            seen.add(current)
            table = self._waiting.get(current)
            current = self._holders.get(table) if table is not None else None
        return False
