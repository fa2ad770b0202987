"""How far behind a dynamic table was, from its refreshes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from snowmelt.state.dynamic_model import DynamicRefresh


@dataclass(frozen=True, slots=True)
class Lags:
    mean: float
    maximum: float
    above_target: float | None
    """Seconds in which the lag was longer than the target; None without a target."""
    within_ratio: float | None


def measure(refreshes: Sequence[DynamicRefresh], target: int | None, now: datetime) -> Lags | None:
    """Over the time since the first of these refreshes ended; None when none did. They are in order, and succeeded.

    From the end of one refresh to the end of the next the lag grows with the clock, so that its course is a saw: every
    tooth begins at what the refresh took, and ends where the next one cuts it off.
    """
    ends = [(item.ended_at, item.data_timestamp) for item in refreshes if item.ended_at is not None]
    if not ends:
        return None
    area = total = above = maximum = 0.0
    for index, (ended, timestamp) in enumerate(ends):
        until = ends[index + 1][0] if index + 1 < len(ends) else max(now, ended)
        first, last = (ended - timestamp).total_seconds(), (until - timestamp).total_seconds()
        last = max(last, first)
        area += (last * last - first * first) / 2
        total += last - first
        maximum = max(maximum, last)
        if target is not None:
            above += max(last - max(first, target), 0.0)
    mean = area / total if total else maximum
    if target is None:
        return Lags(mean, maximum, None, None)
    return Lags(mean, maximum, above, 1 - above / total if total else float(maximum <= target))
