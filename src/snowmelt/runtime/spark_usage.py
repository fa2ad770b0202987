"""How long a statement held its warehouse, and the credits that makes."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(slots=True)
class SparkUsage:
    """What one statement used of Spark. Statements that it runs itself have records of their own."""

    seconds: float = 0.0
    credits: float = 0.0
    _inside: float = 0.0
    """Seconds of statements inside this one, while it held the warehouse as well."""
    _since: float | None = None
    _rate: int = 0
    """Credits an hour."""

    def began(self, rate: int) -> None:
        self._since, self._rate = time.monotonic(), rate

    def ended(self, outer: SparkUsage | None) -> None:
        if self._since is None:
            return
        held = time.monotonic() - self._since
        self._since = None
        own = max(held - self._inside, 0.0)
        self._inside = 0.0
        self.seconds += own
        self.credits += own / 3600 * self._rate
        if outer is not None and outer._since is not None:
            outer._inside += held
