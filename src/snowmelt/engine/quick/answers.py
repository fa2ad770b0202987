"""Answers that are asked for again.

What DuckDB is asked names the files that it reads, and files never change; it has no part that tells the time or is
random. So the same text has the same rows for as long as somebody may ask it: who may, and whether these are the files
to read, is decided before each question. Few rows alone are kept, and none that nobody has asked for lately.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

import pyarrow as pa

from snowmelt.engine.quick.scopes import DuckQuery

_MOST_BYTES = 8 << 10
_MOST = 2_000
UNUSED_SECONDS = 120.0


@dataclass(slots=True)
class _Answer:
    rows: pa.Table
    used_at: float


class RecentAnswers:
    """Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[DuckQuery, _Answer] = OrderedDict()
        """Those asked for last are the last."""

    def get(self, query: DuckQuery) -> pa.Table | None:
        with self._lock:
            found = self._kept.get(query)
            if found is None:
                return None
            now = time.monotonic()
            if now - found.used_at > UNUSED_SECONDS:
                del self._kept[query]
                return None
            found.used_at = now
            self._kept.move_to_end(query)
            return found.rows

    def put(self, query: DuckQuery, rows: pa.Table) -> None:
        if rows.get_total_buffer_size() > _MOST_BYTES:
            return
        with self._lock:
            self._kept[query] = _Answer(rows, time.monotonic())
            self._kept.move_to_end(query)
            if len(self._kept) > _MOST:
                self._kept.popitem(last=False)

    def drop_unused(self, now: float) -> None:
        """Called every now and then: rows that nobody asks for do not stay in memory."""
        with self._lock:
            while self._kept:
                oldest = next(iter(self._kept))
                if now - self._kept[oldest].used_at <= UNUSED_SECONDS:
                    return
                del self._kept[oldest]

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
