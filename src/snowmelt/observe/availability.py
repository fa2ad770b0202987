"""How much of a month a data product was within its promise, and how much its tier asks for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from snowmelt.govern.data_catalog.model import AVAILABILITY

TARGETS = {tier: round(float(text.removesuffix(" %")) / 100, 6) for tier, text in AVAILABILITY.items()}


@dataclass(frozen=True, slots=True)
class Span:
    since: datetime
    until: datetime | None
    available: bool


@dataclass(frozen=True, slots=True)
class Availability:
    measured: float
    """Seconds of the month in which it was known."""
    lost: float
    tier: int | None = None

    @property
    def ratio(self) -> float | None:
        return 1 - self.lost / self.measured if self.measured else None

    @property
    def target(self) -> float | None:
        return TARGETS.get(self.tier or 0)


def month_of(instant: datetime) -> tuple[datetime, datetime]:
    """The beginning of the month, in UTC, and that of the next."""
    at = instant.astimezone(UTC)
    start = datetime(at.year, at.month, 1, tzinfo=UTC)
    return start, datetime(at.year + at.month // 12, at.month % 12 + 1, 1, tzinfo=UTC)


def allowed(start: datetime, end: datetime, tier: int | None) -> float | None:
    """Seconds that a tier allows to be lost between two instants."""
    target = TARGETS.get(tier or 0)
    return None if target is None else (1 - target) * (end - start).total_seconds()


def measure(spans: Iterable[Span], start: datetime, end: datetime, tier: int | None) -> Availability:
    measured = lost = 0.0
    for span in spans:
        seconds = (min(span.until or end, end) - max(span.since, start)).total_seconds()
        if seconds > 0:
            measured += seconds
            lost += 0.0 if span.available else seconds
    return Availability(measured, lost, tier)
