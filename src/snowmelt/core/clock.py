"""Time as a service, so that nothing in tests waits for it."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The current instant, in UTC, with microseconds."""
        ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class SteadyClock:
    """Never goes back. When the clock below is set back, time goes on from where it was, as fast as ever: what is due
    in a minute is due in a minute, and not when the clock below is there again."""

    def __init__(self, below: Clock) -> None:
        self._below = below
        self._lock = threading.Lock()
        self._last = below.now()
        self._counted = time.monotonic()

    def now(self) -> datetime:
        with self._lock:
            counted = time.monotonic()
            passed = timedelta(seconds=counted - self._counted)
            shown = self._below.now()
            self._last = shown if shown >= self._last else self._last + passed
            self._counted = counted
            return self._last

    def of_machine(self) -> datetime:
        """As the clock below tells it, which may have been set back: for times that other machines have written."""
        return self._below.now()

    def not_before(self, instant: datetime) -> None:
        """Time goes on from there if the clock below is not as far yet."""
        with self._lock:
            self._last = max(self._last, instant)


class ManualClock:
    """A clock that moves only when told to."""

    def __init__(self, start: datetime) -> None:
        self._now = start

    def now(self) -> datetime:
        return self._now

    def advance(self, step: timedelta) -> None:
        self._now += step
