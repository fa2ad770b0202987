"""Which queries may keep Spark busy for hours with few rows read: joins without equal keys, and very long ranges.

A task that multiplies rows ends late and can be interrupted only now and then. If such tasks took all of Spark's slots,
no other statement would run. So these queries run in a lane of their own, whose stages have fewer tasks than there are
slots, and few of them at once.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from snowmelt.engine.session import LIGHT, plan_with_sizes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CANDIDATE = re.compile(r"\bJOIN\b|\bEXISTS\b|\bFROM\b[^(),]{0,2000},|\brange\s{0,9}\(", re.IGNORECASE)
"""Texts of queries that are worth a look at their plan, which takes Spark some milliseconds. So is NOT … IN."""
_NOT = re.compile(r"\bNOT\b", re.IGNORECASE)
_IN = re.compile(r"\bIN\b", re.IGNORECASE)
_NODE = re.compile(r"\b(Join \w+|Range )(.*?), Statistics\(sizeInBytes=([0-9.E+]+) ([KMGTPE]i)?B")
_EQUAL_KEYS = re.compile(r"#\d+L?\)*\s<?=>?\s.*#\d+")
_UNITS = {None: 0, "Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_JOINED_BYTES = 64 << 30
"""The product of two inputs' sizes: some 10^9 pairs of rows."""
_LEFT_BYTES = 1 << 20
"""The limit for semi and anti joins, for which Spark counts the left side alone."""
_RANGE_BYTES = 16 << 30
_LOOK_SECONDS = 0.1


def is_endless(text: str, frame: DataFrame) -> bool:
    """Whether the plan multiplies so many rows that it may take very long."""
    if _CANDIDATE.search(text) is None and not _is_not_in(text):
        return False
    logical = plan_with_sizes(frame).partition("== Physical Plan ==")[0]
    return any(_multiplies(kind, condition, _bytes(*size)) for kind, condition, *size in _NODE.findall(logical))


def _is_not_in(text: str) -> bool:
    first = _NOT.search(text)
    return first is not None and _IN.search(text, first.end()) is not None


def _multiplies(kind: str, condition: str, size: int) -> bool:
    if kind == "Range ":
        return size >= _RANGE_BYTES
    if any(" OR " not in part and _EQUAL_KEYS.search(part) for part in condition.split(" AND ")):
        return False
    semi = kind.removeprefix("Join ") in ("LeftSemi", "LeftAnti", "ExistenceJoin")
    return size >= (_LEFT_BYTES if semi else _JOINED_BYTES)


def _bytes(number: str, unit: str) -> int:
    return int(float(number) * 2 ** _UNITS[unit or None])


@dataclass(frozen=True, slots=True)
class Narrow:
    """How many such queries run at once, and how many tasks each may have."""

    queries: int
    tasks: int

    @classmethod
    def of(cls, session: SparkSession) -> Narrow:
        left = max(session.sparkContext.defaultParallelism - 1, 1)
        queries = (left + 1) // 2
        return cls(queries, left // queries)

    @property
    def settings(self) -> dict[str, str]:
        tasks = str(self.tasks)
        return {
            **{key: value for key, value in LIGHT.items() if "codegen" not in key},
            "spark.sql.shuffle.partitions": tasks,
            "spark.sql.leafNodeDefaultParallelism": tasks,
            "spark.sql.files.minPartitionNum": tasks,
            "spark.sql.files.maxPartitionBytes": str(2**62),
            # Between two batches a task looks whether it was cancelled.
            "spark.sql.parquet.columnarReaderBatchSize": "64",
        }


class Turns:
    """Lets only a few such queries run at a time."""

    def __init__(self, most: int) -> None:
        self._free = threading.Semaphore(most)

    @contextmanager
    def taken(self, check: Callable[[], None]) -> Iterator[None]:
        """Waits for a turn. `check` may raise to end the waiting."""
        while not self._free.acquire(timeout=_LOOK_SECONDS):
            check()
        try:
            yield
        finally:
            self._free.release()
