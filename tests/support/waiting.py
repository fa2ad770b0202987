"""Waiting for what another process or thread is about to do, never by sleeping for a guessed time."""

from __future__ import annotations

import time
from collections.abc import Callable

DEADLINE = 600.0
"""Seconds that a busy machine may take for anything. A test that is right never waits for its end."""


def wait_until(holds: Callable[[], object], what: Callable[[], object] | str, deadline: float = DEADLINE) -> None:
    """Looks again and again; fails with what it saw when time is over."""
    until = time.monotonic() + deadline
    while not holds():
        assert time.monotonic() < until, what if isinstance(what, str) else what()
        time.sleep(0.05)
