"""Segments of one or more files that are converted together: a thousand small files must not cost a thousand jobs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from snowmelt.features.loading.records import Position, Segment

TARGET_BYTES = 16 << 20
"""Bytes of file content in one batch."""


@dataclass(slots=True)
class SegmentBatch:
    """Rows of segments, numbered through from 0."""

    segments: list[tuple[int, Segment]] = field(default_factory=list)
    """The file, by its index in the statement's list, and its segment."""
    bytes: int = 0
    _starts: list[int] = field(default_factory=list)
    _rows: int = 0

    def add(self, file: int, segment: Segment) -> None:
        self.segments.append((file, segment))
        self._starts.append(self._rows)
        self._rows += segment.data.num_rows
        self.bytes += segment.bytes

    @property
    def rows(self) -> int:
        return self._rows

    @property
    def full(self) -> bool:
        return self.bytes >= TARGET_BYTES

    def table(self) -> pa.Table:
        """All rows, with the columns of the segments; a column that one segment lacks is NULL there."""
        return pa.concat_tables([segment.data for _, segment in self.segments], promote_options="default")

    def file_of(self, row: int) -> int:
        return self.segments[self._segment_of(row)][0]

    def number_of(self, row: int) -> int:
        """The record's number in its file."""
        index = self._segment_of(row)
        return self.segments[index][1].rows[row - self._starts[index]]

    def files(self) -> list[int]:
        """The file of each segment's rows, in order, without repetition."""
        return list(dict.fromkeys(file for file, _ in self.segments))

    def spans(self, file: int) -> list[tuple[int, int]]:
        """The rows of a file, as ranges."""
        return [
            (start, start + segment.data.num_rows)
            for start, (owner, segment) in zip(self._starts, self.segments, strict=True)
            if owner == file
        ]

    def positions(self, wanted: Sequence[tuple[int, int | None]]) -> list[Position]:
        """Where fields of rows stand; `wanted` are pairs of a row and a field, ascending."""
        found: list[Position] = []
        index = 0
        while index < len(wanted):
            number = self._segment_of(wanted[index][0])
            start, segment = self._starts[number], self.segments[number][1]
            end = start + segment.data.num_rows
            inside = [pair for pair in wanted[index:] if pair[0] < end]
            local = [(row - start, column) for row, column in inside]
            if segment.text is not None:
                found += segment.text.positions(local)
            else:
                # A format without lines: the record's number stands for the line.
                found += [Position(segment.rows[row], None, None, segment.rows[row], None) for row, _ in local]
            index += len(inside)
        return found

    def _segment_of(self, row: int) -> int:
        return bisect_right(self._starts, row) - 1
