"""What a dynamic table costs a day, what it would cost otherwise, and what to change. From measurements alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_SECONDS_PER_DAY = 86_400
_WORTH = 0.2
"""Share of the cost that a change must save before it is worth a word."""
_OFTEN = 4
"""Refreshes a day below which the lag is no matter of cost."""
_LARGE = 1024**3
_READ_TIMES = 20
"""How many times its own changes a refresh may read before the layout of its sources is to blame."""


@dataclass(frozen=True, slots=True)
class TableCost:
    """What was measured of one table over some days."""

    name: str
    days: float
    mode: str
    """FULL, INCREMENTAL or ADAPTIVE, as it resolved."""
    mode_reason: str | None
    target_lag: int | None
    """Seconds; None for DOWNSTREAM."""
    readers: int
    """Dynamic tables that read it."""
    clustered: bool
    refreshes: int
    """Refreshes that had something to do."""
    idle_refreshes: int
    """Refreshes that found nothing changed. They used no Spark."""
    failed: int
    spark_seconds: float
    credits: float
    bytes_scanned: int
    rows_changed: int
    table_rows: int
    table_bytes: int
    full_seconds: float | None
    """What one full refresh takes; None when none was measured."""
    refresh_seconds: float
    """What one refresh took on average, from its beginning to its end."""

    @property
    def runs_per_day(self) -> float:
        return self.refreshes / self.days

    @property
    def credits_per_day(self) -> float:
        return self.credits / self.days

    @property
    def credits_per_second(self) -> float:
        return self.credits / self.spark_seconds if self.spark_seconds else 0.0

    @property
    def full_credits_per_day(self) -> float | None:
        """Had every refresh that found changes computed all rows."""
        if self.full_seconds is None or not self.credits_per_second:
            return None
        return self.full_seconds * self.runs_per_day * self.credits_per_second

    def advice(self) -> list[str]:
        return list(_advice(self))


def _advice(cost: TableCost) -> Iterator[str]:
    if cost.failed and cost.failed >= cost.refreshes:
        yield f"{cost.failed} refreshes failed: fix the query first, each attempt is paid for."
    if not cost.refreshes:
        return
    yield from _about_mode(cost)
    yield from _about_lag(cost)
    yield from _about_layout(cost)


def _about_mode(cost: TableCost) -> Iterator[str]:
    changed = cost.rows_changed / cost.refreshes
    if cost.mode == "FULL" and cost.table_rows and changed < cost.table_rows * _WORTH:
        why = f" ({cost.mode_reason})" if cost.mode_reason else ""
        yield (
            f"Mode: every refresh computes {cost.table_rows:,} rows, and about {changed:,.0f} change. A query that can "
            f"be refreshed incrementally would pay for the changes alone{why}."
        )
    full = cost.full_seconds
    if cost.mode != "FULL" and full is not None and cost.refresh_seconds > full * (1 + _WORTH):
        yield (
            f"Mode: a refresh by changes takes {cost.refresh_seconds:.1f} s, a full one {full:.1f} s. "
            "SET REFRESH_MODE = FULL, or ADAPTIVE, which chooses each time."
        )


def _about_lag(cost: TableCost) -> Iterator[str]:
    if cost.target_lag is None or cost.runs_per_day < _OFTEN or not cost.credits:
        return
    if cost.readers:
        yield (
            f"Lag: {cost.readers} dynamic tables read it, and it has a lag of its own. SET TARGET_LAG = DOWNSTREAM, so "
            "that it is refreshed only when they need it."
        )
    between = _SECONDS_PER_DAY / cost.runs_per_day
    if cost.target_lag <= between * 2 and cost.rows_changed / cost.refreshes < max(cost.table_rows, 1) * _WORTH:
        saved = cost.credits_per_day / 2
        yield (
            f"Lag: {cost.runs_per_day:,.0f} refreshes a day for few rows each. TARGET_LAG = '{cost.target_lag * 2} "
            f"seconds' would save about {saved:.4f} credits a day."
        )


def _about_layout(cost: TableCost) -> Iterator[str]:
    per_refresh = cost.bytes_scanned / cost.refreshes
    row_bytes = cost.table_bytes / cost.table_rows if cost.table_rows else 0
    changed = cost.rows_changed / cost.refreshes * row_bytes
    wasteful = per_refresh > _LARGE and per_refresh > _READ_TIMES * max(changed, 1)
    if cost.mode != "FULL" and wasteful and not cost.clustered:
        yield (
            f"Clustering: a refresh looks at {per_refresh / _LARGE:.1f} GiB for "
            f"{cost.rows_changed / cost.refreshes:,.0f} changed rows. CLUSTER BY the columns that the query joins or "
            "groups by, on its sources, lets it skip files."
        )
