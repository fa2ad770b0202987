"""What a refresh will take, one way or the other: measured times of this very table, scaled to the work at hand."""

from __future__ import annotations

from dataclasses import dataclass

_FIXED_MS = 400.0
"""Of an incremental refresh that was never measured: a few Spark jobs over little."""
_FIXED_FULL_MS = 2_000.0
"""Of a full refresh, what does not grow with the sources: at most so much."""
_SHARE_OF_FULL = 0.15
"""Of a full refresh that an incremental one costs at least, when it was never measured: reading what changes meet."""
_GROWTH = 4.0
"""How much dearer a changed row is than a row that is read in order."""
_ROW_MS = 0.002
"""Of a changed row at least: it is read from the change feed and brought to Spark, however simple the query is."""
_FEW_ROWS = 10_000
"""Changes that cost what any change costs, however small the tables are."""
_CLEARLY = 1.1
_WORTH_MS = 500.0
_SMOOTHING = 0.5
_FORGETTING = 0.95
"""Of what changes took, each full refresh believes so much: the first one was slow because all was new to Spark, or the
machine was busy, and nobody would ever find out."""
_MOST_SCALING = 20.0


@dataclass(frozen=True, slots=True)
class Work:
    """What a refresh is faced with."""

    changed_rows: int
    source_rows: int
    """Of all tables that the query reads."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What refreshes of the table took so far; None where there was none."""

    full_ms: float | None = None
    full_rows: int = 0
    """Rows of the sources then."""
    incremental_ms: float | None = None
    incremental_rows: int = 0
    """Changed rows then."""

    def with_full(self, milliseconds: float, source_rows: int) -> Measured:
        believed = None if self.incremental_ms is None else self.incremental_ms * _FORGETTING
        return Measured(_smoothed(self.full_ms, milliseconds), source_rows, believed, self.incremental_rows)

    def with_incremental(self, milliseconds: float, changed_rows: int) -> Measured:
        return Measured(self.full_ms, self.full_rows, _smoothed(self.incremental_ms, milliseconds), changed_rows)


@dataclass(frozen=True, slots=True)
class Estimate:
    full_ms: float
    incremental_ms: float

    @property
    def prefers_full(self) -> bool:
        """By more than what measuring can tell: a full refresh also rewrites the table for all who read its changes."""
        return self.incremental_ms > self.full_ms * _CLEARLY and self.incremental_ms - self.full_ms > _WORTH_MS


def estimate(work: Work, measured: Measured) -> Estimate | None:
    """None while nothing is known of a full refresh: then the changes are taken."""
    if measured.full_ms is None:
        return None
    constant = min(measured.full_ms, _FIXED_FULL_MS)
    full = constant + (measured.full_ms - constant) * _ratio(work.source_rows, measured.full_rows)
    share = max(work.changed_rows - _FEW_ROWS, 0) / max(work.source_rows, 1)
    reading = work.changed_rows * _ROW_MS
    unmeasured = _FIXED_MS + max(full * min(_SHARE_OF_FULL + _GROWTH * share, 2.0), reading)
    if measured.incremental_ms is None:
        return Estimate(full, unmeasured)
    # The fixed part does not grow with the change; a change that is tiny now says little about a large one.
    fixed = min(measured.incremental_ms, _FIXED_MS)
    changed, then = max(work.changed_rows, _FEW_ROWS), max(measured.incremental_rows, _FEW_ROWS)
    grown = fixed + (measured.incremental_ms - fixed) * _ratio(changed, then)
    larger = work.changed_rows > 4 * max(measured.incremental_rows, 1)
    return Estimate(full, max(grown, unmeasured) if larger else grown)


def _ratio(now: int, then: int) -> float:
    return min(max(now / max(then, 1), 1 / _MOST_SCALING), _MOST_SCALING)


def _smoothed(before: float | None, now: float) -> float:
    """What is faster than before is believed at once: it was possible. What is much slower too: that is no noise."""
    if before is None or not before <= now <= 2 * before:
        return now
    return _SMOOTHING * before + (1 - _SMOOTHING) * now
