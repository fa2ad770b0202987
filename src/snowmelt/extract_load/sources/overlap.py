"""Rows near the place of a change column that came already, so that those committed late among them are told apart."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Sequence
from typing import Any

from snowmelt.extract_load.records import Rows
from snowmelt.extract_load.sources.base import read_json_place

_MOST = 20_000
"""Rows that a place remembers. Where more are near it, the time that is looked back becomes shorter."""


class Recent:
    """The last seconds before a place: which rows of them came."""

    def __init__(self, seconds: int, columns: Sequence[str], place: str | None) -> None:
        data: dict[str, Any] = read_json_place(place, "at").get("recent") or {} if place is not None else {}
        self.seconds, self._columns = seconds, tuple(columns)
        self._seen: dict[str, set[str]] = {change: set(marks) for change, marks in data.get("seen", {}).items()}
        self._from: str | None = data.get("from")
        """Up to here, rows are not remembered any more."""

    def begin(self, at: Sequence[Any] | None) -> str | None:
        """Behind which value of the change column rows are looked at again; None when there is nothing to look at."""
        if at is None or not self.seconds or not isinstance(at[0], str) or not self._seen:
            return None
        return max(_earlier(at[0], self.seconds), self._from or "")

    def late(self, rows: Rows) -> list[int]:
        """The indexes of the rows that did not come before."""
        return [
            index for index, (change, mark) in enumerate(self._marks(rows)) if mark not in self._seen.get(change, ())
        ]

    def with_rows(self, rows: Rows, place: str) -> str:
        """The place behind rows that come now, with those near it."""
        data = json.loads(place)
        if not self.seconds:
            return place
        for change, mark in self._marks(rows):
            self._seen.setdefault(change, set()).add(mark)
        self._forget()
        seen = {change: sorted(marks) for change, marks in sorted(self._seen.items())}
        return json.dumps({**data, "recent": {"from": self._from, "seen": seen}})

    def _forget(self) -> None:
        newest = max(self._seen, default=None)
        if newest is None:
            return
        begin = _earlier(newest, self.seconds)
        old = [change for change in self._seen if change <= begin]
        for change in old:
            del self._seen[change]
        count = sum(map(len, self._seen.values()))
        for change in sorted(self._seen):
            if count <= _MOST:
                break
            count -= len(self._seen.pop(change))
            self._from = change

    def _marks(self, rows: Rows) -> list[tuple[str, str]]:
        values = [rows.values(name) for name in self._columns]
        return [(str(row[0]), _mark(row)) for row in zip(*values, strict=True)]


def _mark(values: Sequence[Any]) -> str:
    return hashlib.blake2b(json.dumps(values, default=str).encode(), digest_size=6).hexdigest()


def _earlier(value: str, seconds: int) -> str:
    """In the form of the value, so that texts compare as times do."""
    return (dt.datetime.fromisoformat(value) - dt.timedelta(seconds=seconds)).isoformat()
