"""What a refresh will take, one way or the other: measured times of this very table, scaled to the work at hand."""

from __future__ import annotations

from dataclasses import dataclass

_FIXED_MS = 400.0
"""The fixed cost of an incremental refresh that was never measured: a few small Spark jobs."""
_FIXED_FULL_MS = 2_000.0
"""The most that a full refresh can cost without growing with its sources."""
_SHARE_OF_FULL = 0.15
"""The least share of a full refresh that an incremental one costs, if it was never measured."""
_GROWTH = 4.0
"""A changed row costs so many times as much as a row that is read in order."""
_ROW_MS = 0.002
"""The least that a changed row costs: it is read from the change feed and brought to Spark."""
_FEW_ROWS = 10_000
"""Up to so many changed rows, the number makes no difference, however small the tables are."""
_CLEARLY = 1.1
_WORTH_MS = 500.0
_SMOOTHING = 0.5
_FORGETTING = 0.95
"""Each full refresh lowers the measured time of incremental ones by this factor. Otherwise a first one that was slow,
with Spark just started or the machine busy, would never be tried again."""
_SUDDENLY = 3.0
_MOST_SCALING = 20.0


@dataclass(frozen=True, slots=True)
class Work:
    """What a refresh is faced with."""

    changed_rows: int
    source_rows: int
    """The number of rows in all tables that the query reads."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What refreshes of the table took so far; None if there was none yet."""

    full_ms: float | None = None
    full_rows: int = 0
    """Rows of the sources at that time."""
    incremental_ms: float | None = None
    incremental_rows: int = 0
    """Changed rows at that time."""

    def with_full(self, milliseconds: float, source_rows: int) -> Measured:
        believed = None if self.incremental_ms is None else self.incremental_ms * _FORGETTING
        return Measured(_smoothed(self.full_ms, milliseconds), source_rows, believed, self.incremental_rows)

    def with_incremental(self, milliseconds: float, changed_rows: int, *, compiled: bool = False) -> Measured:
        """`compiled`: it had to make its plan, which those that follow have. Of a small change that is most of it.

        A small one that suddenly takes long met a busy machine: it is believed when the next one does too.
        """
        if changed_rows <= _FEW_ROWS:
            known = _FIXED_MS if self.incremental_ms is None else self.incremental_ms
            milliseconds = min(milliseconds, known if compiled else _SUDDENLY * known)
        return Measured(self.full_ms, self.full_rows, _smoothed(self.incremental_ms, milliseconds), changed_rows)


@dataclass(frozen=True, slots=True)
class RefreshEstimate:
    full_ms: float
    incremental_ms: float

    @property
    def prefers_full(self) -> bool:
        """Only by a clear margin: a full refresh also rewrites the table for all who read its changes."""
        return self.incremental_ms > self.full_ms * _CLEARLY and self.incremental_ms - self.full_ms > _WORTH_MS


def estimate(work: Work, measured: Measured) -> RefreshEstimate | None:
    """None if no full refresh was measured yet: then the refresh is incremental."""
    if measured.full_ms is None:
        return None
    constant = min(measured.full_ms, _FIXED_FULL_MS)
    full = constant + (measured.full_ms - constant) * _ratio(work.source_rows, measured.full_rows)
    share = max(work.changed_rows - _FEW_ROWS, 0) / max(work.source_rows, 1)
    reading = work.changed_rows * _ROW_MS
    unmeasured = _FIXED_MS + max(full * min(_SHARE_OF_FULL + _GROWTH * share, 2.0), reading)
    if measured.incremental_ms is None:
        return RefreshEstimate(full, unmeasured)
    # The fixed part does not grow with the change; a change that is tiny now says little about a large one.
    fixed = min(measured.incremental_ms, _FIXED_MS)
    changed, then = max(work.changed_rows, _FEW_ROWS), max(measured.incremental_rows, _FEW_ROWS)
    grown = fixed + (measured.incremental_ms - fixed) * _ratio(changed, then)
    larger = work.changed_rows > 4 * max(measured.incremental_rows, 1)
    return RefreshEstimate(full, max(grown, unmeasured) if larger else grown)


def _ratio(now: int, then: int) -> float:
    return min(max(now / max(then, 1), 1 / _MOST_SCALING), _MOST_SCALING)


def _smoothed(before: float | None, now: float) -> float:
    """A faster time counts at once, since it was possible. So does a much slower one, which is no noise."""
    if before is None or not before <= now <= 2 * before:
        return now
    return _SMOOTHING * before + (1 - _SMOOTHING) * now
