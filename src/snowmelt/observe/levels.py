"""How full something of limited size is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

WARNING_PERCENT = 80
CRITICAL_PERCENT = 95


class OperatingLevel(IntEnum):
    OK = 0
    WARNING = 1
    CRITICAL = 2


@dataclass(frozen=True, slots=True)
class PoolLevel:
    """Workers, entries of a queue, sessions: `size` of them, `used` now."""

    name: str
    used: int
    size: int

    @property
    def level(self) -> OperatingLevel:
        percent = 100 * self.used / self.size if self.size else (100 if self.used else 0)
        if percent >= CRITICAL_PERCENT:
            return OperatingLevel.CRITICAL
        return OperatingLevel.WARNING if percent >= WARNING_PERCENT else OperatingLevel.OK
