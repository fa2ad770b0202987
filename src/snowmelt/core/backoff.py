"""How long to wait before something that failed is tried again, where a loop of its own decides what to try.

A call that is simply repeated uses tenacity.
"""

from __future__ import annotations


def pause_after(failures: int, first: float, longest: float) -> float:
    """The pause after so many failures, the first one included: twice as long with each, up to the longest."""
    # Far beyond any longest pause, and no number that a float can't hold.
    return min(first * 2.0 ** min(failures - 1, 64), longest) if failures > 0 else 0.0


class Backoff:
    """Each pause is twice as long as the one before, up to the longest."""

    def __init__(self, first: float, longest: float) -> None:
        self._first, self._longest = first, longest
        self.seconds = first

    def lengthen(self) -> None:
        """After an attempt that failed."""
        self.seconds = min(2 * self.seconds, self._longest)

    def reset(self) -> None:
        """After one that succeeded."""
        self.seconds = self._first
