"""What the demo shows at one moment: plain values, so that a view can be tested without a running demo."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from snowmelt.demo.stopwatch import Percentiles


@dataclass(frozen=True, slots=True)
class TableStatus:
    """A dynamic table: how old its data is, and what its refreshes did."""

    name: str
    stage: str
    lag: timedelta | None
    """None before its first refresh."""
    target: timedelta
    within: float | None
    """The share of the time in which the lag was within the target; None before anything was measured."""
    actions: tuple[str, ...]
    """Of the last refreshes, the newest at the end."""
    counts: dict[str, int]
    """How many refreshes there were, by what they did."""
    took: timedelta | None
    """By the last refresh that had something to do."""


@dataclass(frozen=True, slots=True)
class TaskStatus:
    name: str
    runs: int
    running: bool
    took: timedelta | None


@dataclass(frozen=True, slots=True)
class Latency:
    """From the source's commit until a change can be seen in a table."""

    table: str
    percentiles: Percentiles | None


@dataclass(frozen=True, slots=True)
class CityRevenue:
    city: str
    revenue: Decimal


@dataclass(frozen=True, slots=True)
class DemoSnapshot:
    phase: str
    elapsed: timedelta
    duration: timedelta
    """How long the shop is open."""
    connector: str
    """The connector's state."""
    read: int
    """Rows that were there before."""
    committed: int
    """Changes that the source has committed since."""
    landed: int
    """Changes of these that can be seen here."""
    rates: tuple[float, ...]
    """Changes a second that landed, one value for each of the last seconds."""
    tables: tuple[TableStatus, ...]
    task: TaskStatus | None
    latencies: tuple[Latency, ...]
    revenue: tuple[CityRevenue, ...]
    errors: tuple[str, ...]

    @property
    def rate(self) -> float:
        """Over the last seconds, smoothed."""
        recent = self.rates[-5:]
        return sum(recent) / len(recent) if recent else 0.0
