"""How long queries take in each engine on this machine: the median of those that it computed lately."""

from __future__ import annotations

import threading
from collections import deque
from statistics import median

from snowmelt.ivm.cost import ASSUMED_RATES, ComputeEngine, EngineRate, EngineRates

_SMALL_BYTES = 256 * 1024
"""What a query over no more than this takes does not depend on how much it reads."""
_LARGE_BYTES = 4 * 1024 * 1024
_KEPT = 32
_ENOUGH = 3
"""So many tell a rate: the first ones prepare what those that follow have."""
_STARTING_MS = 6_000.0
"""Of Spark, until its first query."""


class ObservedRates:
    """Learns from every query that an engine computed, busy machine and all. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._small = {engine: deque[float](maxlen=_KEPT) for engine in ComputeEngine}
        """Milliseconds of queries that read little."""
        self._large = {engine: deque[tuple[int, float]](maxlen=_KEPT) for engine in ComputeEngine}
        """Bytes and milliseconds of queries that read much."""

    def note(self, engine: ComputeEngine, size: int, milliseconds: float) -> None:
        """A query that read so many bytes."""
        with self._lock:
            if size <= _SMALL_BYTES:
                self._small[engine].append(milliseconds)
            elif size >= _LARGE_BYTES:
                self._large[engine].append((size, milliseconds))

    def is_known(self, engine: ComputeEngine) -> bool:
        with self._lock:
            return len(self._small[engine]) >= _ENOUGH

    def rates(self, *, spark_is_up: bool) -> EngineRates:
        """Of both engines. One that was not measured is assumed to be as much faster or slower than on the machine of
        the assumptions as the other one is."""
        with self._lock:
            quick, spark = (self._measured(engine) for engine in (ComputeEngine.QUICK, ComputeEngine.SPARK))
        starting = 0.0 if spark_is_up else _STARTING_MS
        return EngineRates(
            quick or _like(spark, ComputeEngine.SPARK, ComputeEngine.QUICK),
            _with_start(spark or _like(quick, ComputeEngine.QUICK, ComputeEngine.SPARK), starting),
        )

    def _measured(self, engine: ComputeEngine) -> EngineRate | None:
        small, large = self._small[engine], self._large[engine]
        if len(small) < _ENOUGH:
            return None
        query_ms = median(small)
        per_mb = [max(ms - query_ms, 0.0) / (size / 1e6) for size, ms in large]
        assumed = ASSUMED_RATES.of(engine)
        mb_ms = median(per_mb) if per_mb else assumed.mb_ms * query_ms / assumed.query_ms
        return EngineRate(query_ms, mb_ms, len(small) + len(large))


def _like(known: EngineRate | None, other: ComputeEngine, engine: ComputeEngine) -> EngineRate:
    assumed = ASSUMED_RATES.of(engine)
    if known is None:
        return assumed
    factor = known.query_ms / ASSUMED_RATES.of(other).query_ms
    return EngineRate(assumed.query_ms * factor, assumed.mb_ms * factor)


def _with_start(rate: EngineRate, start_ms: float) -> EngineRate:
    return EngineRate(rate.query_ms, rate.mb_ms, rate.queries, start_ms)
