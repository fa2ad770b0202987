"""How well tables are clustered: overlap and depth of their files, from the statistics in the log."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.core.names import quote, split_name
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.state.store import StateReader
from snowmelt.storage.clustering import Range, file_ranges

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_SMALL_BUCKETS = 16


@dataclass(frozen=True, slots=True)
class Clustering:
    keys: str
    """As the clustering key is printed: `LINEAR(A, B)`."""
    ranges: tuple[Range, ...]
    """Least and greatest value of the key, file by file. A file without statistics may hold anything."""
    unknown: int

    @property
    def count(self) -> int:
        return len(self.ranges) + self.unknown

    def overlaps(self) -> list[int]:
        """For each file with statistics, how many others have values in its range."""
        starts = sorted(low for low, _ in self.ranges)
        ends = sorted(high for _, high in self.ranges)
        return [bisect_right(starts, high) - bisect_left(ends, low) - 1 + self.unknown for low, high in self.ranges]

    def depths(self) -> list[int]:
        """For each file, the most files that share one value of its range, itself included."""
        starts = sorted(low for low, _ in self.ranges)
        ends = sorted(high for _, high in self.ranges)
        # Depth only rises where some file begins, so those are the values to look at.
        at_start = {low: bisect_right(starts, low) - bisect_left(ends, low) for low in set(starts)}
        values = sorted(at_start)
        found: list[int] = []
        for low, high in self.ranges:
            inside = values[bisect_left(values, low) : bisect_right(values, high)]
            found.append(max(at_start[value] for value in inside) + self.unknown)
        return found + [self.count] * self.unknown

    @property
    def average_depth(self) -> float:
        return _average(self.depths())

    def information(self) -> dict[str, Any]:
        """What SYSTEM$CLUSTERING_INFORMATION returns."""
        overlaps = [*self.overlaps(), *([self.count - 1] * self.unknown)]
        return {
            "cluster_by_keys": self.keys,
            "total_partition_count": self.count,
            "total_constant_partition_count": sum(1 for low, high in self.ranges if low == high),
            "average_overlaps": _average(overlaps),
            "average_depth": self.average_depth,
            "partition_depth_histogram": _histogram(self.depths()),
            "clustering_errors": [],
        }


def _average(numbers: Sequence[int]) -> float:
    return round(sum(numbers) / len(numbers), 4) if numbers else 0.0


def _histogram(depths: Sequence[int]) -> dict[str, int]:
    """Buckets 0 … 16, then 32, 64, … as far as there is anything."""
    bounds = list(range(_SMALL_BUCKETS + 1))
    while depths and bounds[-1] < max(depths):
        bounds.append(bounds[-1] * 2)
    counts = dict.fromkeys(bounds, 0)
    for depth in depths:
        counts[bounds[bisect_left(bounds, depth)]] += 1
    return {f"{bound:05d}": count for bound, count in counts.items()}


def measure(
    run: Run, state: StateReader, table: CatalogObject, definition: TableDefinition, given: str | None
) -> Clustering:
    """By the columns in `given`, such as `(A, B)`, or else by the table's own clustering key.

    Only the first column decides, and only columns have statistics: other expressions are refused by name.
    """
    keys = _keys(given) if given is not None else list(definition.cluster_by)
    if not keys:
        raise errors.compilation(
            "002262", "22000", f"Invalid clustering keys or table {quote(table.name.name)} is not clustered"
        )
    column = _column(definition, keys[0])
    visible = state.versions.visible(table.id)
    version = visible.version if visible is not None else 0
    found = file_ranges(run.account.store.root, definition.location, version, column)
    ranges = tuple(item for item in found if item is not None)
    return Clustering(f"LINEAR({', '.join(keys)})", ranges, len(found) - len(ranges))


def _keys(text: str) -> list[str]:
    inside = text.strip().removeprefix("(").removesuffix(")")
    return [key.strip() for key in inside.split(",") if key.strip()]


def _column(definition: TableDefinition, key: str) -> str:
    parts = split_name(key)
    name = parts[0] if parts is not None and len(parts) == 1 else None
    if name is None:
        raise errors.unsupported(f"clustering information by the expression {key}", hint="Name a column.")
    if all(column.name != name for column in definition.columns):
        raise errors.invalid_identifier(quote(name), 1, 0)
    return name
