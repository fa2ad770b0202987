"""Points at which tests kill the process, to see that nothing is lost and nothing is half done.

Every step of a commit that another step follows has one, so that a test can stop between any two.
"""

from __future__ import annotations

import os
import signal
import threading

_VARIABLE = "SNOWMELT_TEST_KILL_AT"
"""`name` or `name:n`: die at the n-th time the point is reached."""

_lock = threading.Lock()
_counts: dict[str, int] = {}


def reached(point: str) -> None:
    """Does nothing unless the environment asks for the process's death here."""
    wanted = os.environ.get(_VARIABLE)
    if wanted is None:
        return
    name, _, nth = wanted.partition(":")
    if name != point:
        return
    with _lock:
        _counts[point] = _counts.get(point, 0) + 1
        if _counts[point] >= int(nth or 1):
            os.kill(os.getpid(), signal.SIGKILL)
