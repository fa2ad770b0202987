"""Looks at everything again and again, for as long as the process serves the account."""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog

_log = structlog.get_logger(__name__)
_AFTER_TROUBLE = 30.0


class Monitor:
    """A thread that checks, and sleeps for as long as the check says."""

    def __init__(self, check: Callable[[], float]) -> None:
        self._check = check
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="snowmelt-monitor", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        wait = 0.0
        while not self._stopping.wait(wait):
            try:
                wait = self._check()
            except Exception:
                # The state store could not be read or written: freshness is looked at again, nothing else suffers.
                _log.exception("freshness and drift could not be checked")
                wait = _AFTER_TROUBLE
