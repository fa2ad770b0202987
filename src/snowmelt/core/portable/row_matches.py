"""Finding the matches of a row pattern in a partition: the search of MATCH_RECOGNIZE.

A pattern is a program of small steps (`sql/row_patterns.py` compiles it). Whether a row may be a symbol is known
beforehand, so a step that failed at a row fails there always: each is tried once, and the search takes no more than
steps times rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

_WITHOUT_CONDITION = -1
_Found = list[tuple[int, int]]
"""Of each row of a match its symbol, and 1 if the row is left out of the result."""


def match_rows(rows: str, specification: str) -> str:
    """The matches in a partition, as a JSON array of the rows in them; or, behind a `!`, what is wrong with one.

    `rows` has for each row in order a mark and a digit for each condition, 1 where the row meets it.
    """
    pattern = json.loads(specification)
    try:
        return json.dumps(list(_rows(_Partition(rows, pattern), pattern)))
    except _SkipError as error:
        return f"!{error}"


class _SkipError(Exception):
    pass


def _rows(partition: _Partition, pattern: dict[str, Any]) -> Iterator[dict[str, Any]]:
    start, number, written = 0, 0, 0
    while start < partition.count:
        found = partition.match(start)
        if found is None or not (found or pattern["empty"]):
            number += found is not None
            start += 1
            continue
        number += 1
        if pattern["unmatched"]:
            yield from ({"i": row} for row in range(written, start))
        if not found:
            yield {"i": start, "m": number}
        for position, (symbol, hidden) in enumerate(found):
            row = {"i": start + position, "m": number, "s": position + 1, "c": pattern["symbols"][symbol]}
            yield {**row, "x": True} if hidden else row
        written = max(written, start + max(len(found), 1))
        start = _next_start(start, found, pattern)
    if pattern["unmatched"]:
        yield from ({"i": row} for row in range(written, partition.count))


def _next_start(start: int, found: _Found, pattern: dict[str, Any]) -> int:
    where, symbol = pattern["skip"]
    if where == "NEXT" or not found:
        return start + 1
    if where == "PAST":
        return start + len(found)
    offsets = [offset for offset, (matched, _) in enumerate(found) if matched == symbol]
    name = pattern["symbols"][symbol]
    if not offsets:
        raise _SkipError(f"AFTER MATCH SKIP TO {where} {name}: no row of the match is {name}")
    offset = offsets[0] if where == "FIRST" else offsets[-1]
    if not offset:
        raise _SkipError(f"AFTER MATCH SKIP TO {where} {name}: the match begins there, and would be found again")
    return start + offset


class _Partition:
    def __init__(self, rows: str, pattern: dict[str, Any]) -> None:
        self.width: int = pattern["width"]
        self.count = len(rows) // self.width
        self._rows = rows
        self._steps: Sequence[Sequence[Any]] = pattern["steps"]
        self._tried = bytearray(len(self._steps) * (self.count + 1))
        """Marks steps at rows: from there no match is found."""

    def match(self, start: int) -> _Found | None:
        """The preferred match that begins at a row; None if there is none."""
        visited: list[int] = []
        found = self._search(start, visited)
        if found is not None:
            # What led to the match may do so again.
            for state in visited:
                self._tried[state] = 0
        return found

    def _search(self, start: int, visited: list[int]) -> _Found | None:
        waiting, found = [(0, start)], _Found()
        while waiting:
            step, row = waiting.pop()
            del found[row - start :]
            while not self._tried[state := step * (self.count + 1) + row]:
                self._tried[state] = 1
                visited.append(state)
                kind, *rest = self._steps[step]
                step += 1
                if kind == "row":
                    condition, symbol, hidden = rest
                    if row == self.count or not self._meets(row, condition):
                        break
                    found.append((symbol, hidden))
                    row += 1
                elif kind == "either":
                    step, other = rest
                    waiting.append((other, row))
                elif kind == "go":
                    (step,) = rest
                elif kind == "match":
                    return found
                elif row != (0 if kind == "first" else self.count):
                    break
        return None

    def _meets(self, row: int, condition: int) -> bool:
        return condition == _WITHOUT_CONDITION or self._rows[row * self.width + 1 + condition] == "1"
