"""Columns of data files, kept in memory while they are in use.

Data files never change, so that what was decoded once stays true. Searches by key come back to the same columns of the
same files: each refresh of each dynamic table over a source looks for its keys there.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_MOST_BYTES = max(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 8, 256 * 1024 * 1024)
"""An eighth of the machine's memory."""
_MOST_BYTES_EACH = 16 * 1024 * 1024
_WORTH_SORTED_ROWS = 1024
Place = tuple[str, int, str]
"""A file, a row group, a column."""


@dataclass(frozen=True, slots=True)
class KeptColumn:
    values: pa.ChunkedArray
    ascending: npt.NDArray[np.int64] | None
    """The same values, if they are integers in order: then a key is found without looking at all of them."""


class ColumnCache:
    """The most recently used columns, up to so many bytes. Safe to use from many threads."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[Place, KeptColumn] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, opened: pq.ParquetFile, file: str, group: int, names: Sequence[str]) -> dict[str, KeptColumn]:
        """Columns of one row group."""
        with self._lock:
            found = {name: self._kept[file, group, name] for name in names if (file, group, name) in self._kept}
            for name in found:
                self._kept.move_to_end((file, group, name))
        missing = [name for name in names if name not in found]
        if missing:
            rows = opened.read_row_group(group, missing)
            for name in missing:
                found[name] = _kept(rows.column(name))
                self._keep((file, group, name), found[name])
        return found

    def _keep(self, place: Place, column: KeptColumn) -> None:
        size = column.values.nbytes
        if size > _MOST_BYTES_EACH:
            return
        with self._lock:
            if place in self._kept:
                return
            self._kept[place] = column
            self._bytes += size
            while self._bytes > self._most_bytes:
                self._bytes -= self._kept.popitem(last=False)[1].values.nbytes


def _kept(values: pa.ChunkedArray) -> KeptColumn:
    if not pa.types.is_int64(values.type) or values.null_count or len(values) < _WORTH_SORTED_ROWS:
        return KeptColumn(values, None)
    numbers = values.combine_chunks().to_numpy()
    return KeptColumn(values, numbers if bool(np.all(numbers[1:] >= numbers[:-1])) else None)


def places_among(ascending: npt.NDArray[np.int64], wanted: pa.Array) -> npt.NDArray[np.int64]:
    """Where values in order are one of those wanted."""
    keys = np.unique(pc.drop_null(wanted).cast(pa.int64()).to_numpy(zero_copy_only=False))
    first, last = np.searchsorted(ascending, keys, "left"), np.searchsorted(ascending, keys, "right")
    counts = last - first
    starts = np.repeat(first - np.concatenate(([0], np.cumsum(counts)[:-1])), counts) if len(keys) else first
    return np.arange(int(counts.sum()), dtype=np.int64) + starts


COLUMNS = ColumnCache()
"""Of this process."""
