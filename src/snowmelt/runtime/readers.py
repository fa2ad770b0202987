"""Who may be reading: every statement that has begun and not ended."""

from __future__ import annotations

import threading
import weakref
from datetime import datetime

from snowmelt.runtime.protocols import ReadingStatement


class Readers:
    """The statements of an account, from before their first look-up until they end or are forgotten."""

    def __init__(self) -> None:
        self._runs: weakref.WeakSet[ReadingStatement] = weakref.WeakSet()
        self._lock = threading.Lock()

    def enter(self, run: ReadingStatement) -> None:
        with self._lock:
            self._runs.add(run)

    def open(self) -> list[ReadingStatement]:
        with self._lock:
            runs = list(self._runs)
        return [run for run in runs if not run.ended.is_set()]

    def oldest(self, now: datetime) -> datetime:
        """When the oldest of them began; `now` when there is none."""
        return min([now, *(run.now for run in self.open())])
