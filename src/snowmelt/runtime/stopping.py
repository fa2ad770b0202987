"""Ending what runs in the background, within the time that `stop_seconds` gives for all of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import structlog

_log = structlog.get_logger(__name__)
_GRACE, _CANCELLING, _SESSIONS = 0.35, 0.25, 0.1
"""Parts of the time: for what runs to end by itself, for what was cancelled to end, for sessions to roll back."""


@dataclass(frozen=True, slots=True)
class StopTimes:
    """How the seconds are spent. What is left is for Spark, and for the last records."""

    seconds: float
    began: float = field(default_factory=time.monotonic)

    @property
    def grace(self) -> float:
        return self.seconds * _GRACE

    @property
    def cancelling(self) -> float:
        return self.seconds * _CANCELLING

    def for_sessions(self) -> float:
        """Seconds left for sessions to end."""
        over = self.began + self.seconds * (_GRACE + _CANCELLING + _SESSIONS) - time.monotonic()
        return max(over, self.seconds * _SESSIONS)


def stop_all(steps: Iterable[Callable[[], object]], patience: float) -> None:
    """Runs the steps side by side, so that one that waits keeps none of the others at work."""
    threads = [threading.Thread(target=_quietly, args=(step,), daemon=True) for step in steps]
    for thread in threads:
        thread.start()
    until = time.monotonic() + patience
    for thread in threads:
        thread.join(max(until - time.monotonic(), 0.1))


def _quietly(step: Callable[[], object]) -> None:
    try:
        step()
    except Exception:
        _log.exception("something did not stop in order")
