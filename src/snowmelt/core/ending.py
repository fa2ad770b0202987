"""What is done when the program ends, in this order; Python's `atexit` goes by who asked last."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from enum import IntEnum, auto


class Ending(IntEnum):
    CLOSE_ACCOUNTS = auto()
    END_JAVA = auto()


_ACTIONS: dict[Ending, Callable[[], None]] = {}


def at_end(when: Ending, action: Callable[[], None]) -> None:
    """Takes the place of an earlier action."""
    _ACTIONS[when] = action


@atexit.register
def _end() -> None:
    for when in sorted(_ACTIONS):
        _ACTIONS.pop(when)()
