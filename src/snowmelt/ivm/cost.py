"""What a refresh will take, one way or the other: measured times of this very table, scaled to the work at hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

_OWN_MS = 40.0
"""How long a refresh takes beside its queries: reading changes, writing, committing."""
_QUERIES = 4
"""Of an incremental refresh that was never measured."""
_FULL_QUERIES = 20
"""A full refresh can cost as much as so many small queries without growing with its sources."""
_SHARE_OF_FULL = 0.15
"""The least share of a full refresh that an incremental one costs, if it was never measured."""
_GROWTH = 4.0
"""A changed row costs so many times as much as a row that is read in order."""
_ROW_BYTES = 100
"""Of a changed row, which is read from the change feed and given to the engine."""
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
_MB = 1_000_000.0


class ComputeEngine(StrEnum):
    """What computes queries."""

    QUICK = "quick"
    """The quick lane, in this process."""
    SPARK = "spark"


ENGINE_NAMES = {ComputeEngine.QUICK: "quick lane", ComputeEngine.SPARK: "Spark"}


@dataclass(frozen=True, slots=True)
class EngineRate:
    """What a query takes by one engine on this machine."""

    query_ms: float
    """Over few rows."""
    mb_ms: float
    """For each MB that it reads."""
    queries: int = 0
    """How many were measured lately; with none the rate is assumed."""
    start_ms: float = 0.0
    """Until the engine is there; 0 once it is."""

    def milliseconds(self, size: int) -> float:
        return self.start_ms + self.query_ms + self.mb_ms * size / _MB


@dataclass(frozen=True, slots=True)
class EngineRates:
    """What queries take here by each of the engines."""

    quick: EngineRate = EngineRate(query_ms=5.0, mb_ms=4.0)
    spark: EngineRate = EngineRate(query_ms=90.0, mb_ms=20.0)

    def of(self, engine: ComputeEngine) -> EngineRate:
        return self.quick if engine is ComputeEngine.QUICK else self.spark

    def fixed_ms(self, engine: ComputeEngine) -> float:
        """An incremental refresh of few rows that was never measured."""
        return _OWN_MS + _QUERIES * self.of(engine).query_ms

    def moved(self, milliseconds: float, then: ComputeEngine, now: ComputeEngine, size: int) -> float:
        """What one engine took, if the other does it: work over so many bytes. A start comes on top."""
        factor = 1.0
        if then is not now:
            factor = replace(self.of(now), start_ms=0.0).milliseconds(size) / max(
                replace(self.of(then), start_ms=0.0).milliseconds(size), 0.1
            )
        return milliseconds * factor + self.of(now).start_ms


ASSUMED_RATES = EngineRates()
"""Of two cores, before anything was measured."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a refresh is faced with, and who would compute it either way."""

    changed_rows: int
    source_rows: int
    """The number of rows in all tables that the query reads."""
    source_bytes: int = 0
    full_engine: ComputeEngine = ComputeEngine.SPARK
    incremental_engine: ComputeEngine = ComputeEngine.SPARK


@dataclass(frozen=True, slots=True)
class Measured:
    """What refreshes of the table took so far; None if there was none yet."""

    full_ms: float | None = None
    full_rows: int = 0
    """Rows of the sources at that time."""
    incremental_ms: float | None = None
    incremental_rows: int = 0
    """Changed rows at that time."""
    full_engine: ComputeEngine = ComputeEngine.SPARK
    incremental_engine: ComputeEngine = ComputeEngine.SPARK

    def with_full(
        self, milliseconds: float, source_rows: int, engine: ComputeEngine = ComputeEngine.SPARK
    ) -> Measured:  # fmt: skip
        believed = None if self.incremental_ms is None else self.incremental_ms * _FORGETTING
        before = self.full_ms if engine is self.full_engine else None
        return replace(
            self, full_ms=_smoothed(before, milliseconds), full_rows=source_rows, full_engine=engine,
            incremental_ms=believed,
        )  # fmt: skip

    def with_incremental(
        self, milliseconds: float, changed_rows: int, engine: ComputeEngine = ComputeEngine.SPARK, *,
        compiled: bool = False,
    ) -> Measured:  # fmt: skip
        """`compiled`: it had to make its plan, which those that follow have. Of a small change that is most of it.

        A small one that suddenly takes long met a busy machine: it is believed when the next one does too.
        """
        before = self.incremental_ms if engine is self.incremental_engine else None
        if changed_rows <= _FEW_ROWS:
            known = ASSUMED_RATES.fixed_ms(engine) if before is None else before
            milliseconds = min(milliseconds, known if compiled else _SUDDENLY * known)
        return replace(
            self, incremental_ms=_smoothed(before, milliseconds), incremental_rows=changed_rows,
            incremental_engine=engine,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RefreshEstimate:
    full_ms: float
    incremental_ms: float

    @property
    def prefers_full(self) -> bool:
        """Only by a clear margin: a full refresh also rewrites the table for all who read its changes."""
        return self.incremental_ms > self.full_ms * _CLEARLY and self.incremental_ms - self.full_ms > _WORTH_MS


def estimate(work: Work, measured: Measured, rates: EngineRates = ASSUMED_RATES) -> RefreshEstimate | None:
    """The expected times; None if no full refresh was measured yet: then the refresh is incremental."""
    if measured.full_ms is None:
        return None
    constant = min(measured.full_ms, _FULL_QUERIES * rates.of(measured.full_engine).query_ms)
    grown = constant + (measured.full_ms - constant) * _ratio(work.source_rows, measured.full_rows)
    full = rates.moved(grown, measured.full_engine, work.full_engine, work.source_bytes)
    unmeasured = _unmeasured(work, rates.moved(grown, measured.full_engine, work.incremental_engine, work.source_bytes),
                             rates)  # fmt: skip
    if measured.incremental_ms is None:
        return RefreshEstimate(full, unmeasured)
    # The fixed part does not grow with the change; a change that is tiny now says little about a large one.
    fixed = min(measured.incremental_ms, rates.fixed_ms(measured.incremental_engine))
    changed, then = max(work.changed_rows, _FEW_ROWS), max(measured.incremental_rows, _FEW_ROWS)
    by_changes = rates.moved(
        fixed + (measured.incremental_ms - fixed) * _ratio(changed, then),
        measured.incremental_engine, work.incremental_engine, changed * _ROW_BYTES,
    )  # fmt: skip
    larger = work.changed_rows > 4 * max(measured.incremental_rows, 1)
    return RefreshEstimate(full, max(by_changes, unmeasured) if larger else by_changes)


def _unmeasured(work: Work, full_ms: float, rates: EngineRates) -> float:
    """An incremental refresh, from what a full one would take by the same engine."""
    share = max(work.changed_rows - _FEW_ROWS, 0) / max(work.source_rows, 1)
    reading = work.changed_rows * _ROW_BYTES / _MB * rates.of(work.incremental_engine).mb_ms
    of_full = full_ms * min(_SHARE_OF_FULL + _GROWTH * share, 2.0)
    return rates.fixed_ms(work.incremental_engine) + max(of_full, reading)


def _ratio(now: int, then: int) -> float:
    return min(max(now / max(then, 1), 1 / _MOST_SCALING), _MOST_SCALING)


def _smoothed(before: float | None, now: float) -> float:
    """A faster time counts at once, since it was possible. So does a much slower one, which is no noise."""
    if before is None or not before <= now <= 2 * before:
        return now
    return _SMOOTHING * before + (1 - _SMOOTHING) * now
