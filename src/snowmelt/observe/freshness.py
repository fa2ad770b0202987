"""Whether a table or a data product is as fresh as it was promised to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from statistics import median

from snowmelt.core.names import ObjectName

EARLY_WARNING = 1.5
"""How many expected intervals may pass without an update before somebody should look."""
_LEAST_GAPS = 3
_WITHIN_A_BURST = 0.1
"""A pause shorter than this part of the longest one is within a burst."""


class FreshnessStatus(StrEnum):
    FRESH = "FRESH"
    WARNING = "WARNING"
    """Within the limit, but the last update is longer ago than usual."""
    BREACHED = "BREACHED"
    UNKNOWN = "UNKNOWN"
    """Nothing was ever promised, or nothing ever written."""


class WatchedKind(StrEnum):
    DYNAMIC_TABLE = "DYNAMIC TABLE"
    TABLE = "TABLE"
    VIEW = "VIEW"
    DATA_PRODUCT = "DATA PRODUCT"


@dataclass(frozen=True, slots=True)
class Freshness:
    """Where one table or product stands at one instant."""

    id: str
    kind: WatchedKind
    name: ObjectName
    at: datetime
    data_timestamp: datetime | None
    """The data is complete up to this instant."""
    updated_at: datetime | None
    """When it last became newer, even if no row differed."""
    limit: float | None = None
    """Seconds that the data may be behind: a target lag, or the promise of a product."""
    interval: float | None = None
    """Seconds that usually pass between updates."""
    suspended: bool = False
    tier: int | None = None
    promised_at: datetime | None = None
    """Since when the limit holds, at the latest. Time before it is nobody's loss."""
    missing: bool = False
    """Something that it consists of is not there: nobody can read it."""

    @property
    def behind(self) -> float | None:
        return _seconds(self.data_timestamp, self.at)

    @property
    def since_update(self) -> float | None:
        return _seconds(self.updated_at, self.at)

    @property
    def status(self) -> FreshnessStatus:
        behind, since = self.behind, self.since_update
        if self.missing:
            return FreshnessStatus.BREACHED
        if behind is None or since is None:
            return FreshnessStatus.UNKNOWN
        if self.limit is not None and behind > self.limit:
            return FreshnessStatus.BREACHED
        if self.interval is not None and since > EARLY_WARNING * self.interval:
            return FreshnessStatus.WARNING
        return FreshnessStatus.FRESH if self.limit is not None or self.interval is not None else FreshnessStatus.UNKNOWN


def _seconds(since: datetime | None, until: datetime) -> float | None:
    return None if since is None else max((until - since).total_seconds(), 0.0)


def usual_interval(updates: Sequence[datetime], *, regular: bool) -> float | None:
    """Seconds between updates, from the instants of the last ones, ascending; None when there were too few.

    What a scheduler updates is `regular`, and the median says when the next is due. Somebody's loads come in bursts:
    only a pause longer than all recent ones is unusual, and a burst is one update.
    """
    gaps = [(after - before).total_seconds() for before, after in pairwise(updates)]
    if regular:
        return median(gaps) if len(gaps) >= _LEAST_GAPS else None
    pauses = [gap for gap in gaps if gap >= max(gaps) * _WITHIN_A_BURST]
    return max(pauses) if len(pauses) >= _LEAST_GAPS else None
