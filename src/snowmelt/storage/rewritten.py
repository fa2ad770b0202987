"""Which file another one was written from, and what changed: columns of the one that are in memory serve the other.

A refresh by changes reads the version before the change. While that change is written nobody has read its files yet, so
there is nothing to hand on; but when they are read, those that they were written from have been.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from snowmelt.storage.packing import KeptColumn, RowNumbers

_MOST_BYTES = 128 * 1024 * 1024
_MOST_STEPS = 32
"""So many changes in a row are gone back over."""
NewValues = tuple[RowNumbers, pa.Array]
"""Rows in order, and what each of them has now."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """How a file came of another one: without some rows, with some other values, and otherwise the same, in order."""

    before: str
    names: frozenset[str]
    """The columns of which all is known."""
    gone: RowNumbers
    """Of the file before, as all row numbers here."""
    changed: Mapping[str, NewValues]

    @property
    def nbytes(self) -> int:
        values = sum(int(rows.nbytes) + int(new.nbytes) for rows, new in self.changed.values())
        return self.gone.nbytes + values + 500

    def column(self, name: str, before: KeptColumn) -> KeptColumn | None:
        """The column as it is now; None when too much of it changed."""
        column = before.with_values(*self.changed[name]) if name in self.changed else before
        return column.without(self.gone) if column is not None else None


class RewrittenFiles:
    """The files written last, up to so many bytes. Safe to use from many threads."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._known: OrderedDict[str, Rewritten] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, path: str, rewritten: Rewritten) -> None:
        with self._lock:
            self._known[path] = rewritten
            self._bytes += rewritten.nbytes
            while self._bytes > self._most_bytes:
                self._bytes -= self._known.popitem(last=False)[1].nbytes

    def column(self, path: str, name: str, find: Callable[[str, str], KeptColumn | None]) -> KeptColumn | None:
        """A file's column from that of the nearest file before it of which `find` has the column."""
        steps: list[Rewritten] = []
        column: KeptColumn | None = None
        while column is None:
            step = self._known.get(path)
            if step is None or name not in step.names or len(steps) == _MOST_STEPS:
                return None
            steps.append(step)
            path = step.before
            column = find(path, name)
        for step in reversed(steps):
            column = step.column(name, column) if column is not None else None
        return column
