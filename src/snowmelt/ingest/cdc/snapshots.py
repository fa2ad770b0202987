"""What a snapshot means for the rows that were there before it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from snowmelt.ingest.cdc.envelope import CapturedChange, Operation, SnapshotMark


def cut_behind(
    changes: Sequence[CapturedChange], ends: Callable[[CapturedChange], bool]
) -> Iterator[Sequence[CapturedChange]]:
    """The changes in parts, of which all but the last end with a change for which `ends` holds."""
    begin = 0
    for index, change in enumerate(changes, 1):
        if ends(change) or index == len(changes):
            yield changes[begin:index]
            begin = index


def emptied(first: CapturedChange, landed: Iterable[str]) -> list[CapturedChange]:
    """A snapshot that is taken once more begins with empty tables: what it does not find is gone."""
    return [
        replace(
            first,
            operation=Operation.TRUNCATE,
            table=table,
            key=None,
            before=None,
            after=None,
            snapshot=SnapshotMark.FIRST,
        )
        for table in landed
    ]
