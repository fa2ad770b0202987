"""Grouping rows in memory."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

_WORTH_THREADS = 100_000
"""Fewer rows are grouped in less time than other threads need to wake up."""


def grouped(rows: pa.Table, keys: Sequence[str]) -> pa.TableGroupBy:
    """The rows by key; NULLs are equal. With few rows the groups come in the order of their first rows."""
    return rows.group_by(list(keys), use_threads=rows.num_rows > _WORTH_THREADS)
