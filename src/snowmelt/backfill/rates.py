"""How fast backfills were, for saying how long one will take."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from snowmelt.playbooks.journal import Event

_ASSUMED_ROWS_PER_SECOND = 20_000.0
_ASSUMED_SECONDS_PER_CHUNK = 2.0


@dataclass(frozen=True, slots=True)
class BackfillRate:
    seconds_per_row: float = 1 / _ASSUMED_ROWS_PER_SECOND
    seconds_per_chunk: float = _ASSUMED_SECONDS_PER_CHUNK
    basis: str = "assumed: 20,000 rows and a chunk every 2 seconds"

    def seconds(self, rows: int, chunks: int) -> float:
        return rows * self.seconds_per_row + chunks * self.seconds_per_chunk


def measured(runs: Iterable[list[Event]], table: str) -> BackfillRate:
    """From chunks of the same table, else of any; an assumption when there are none."""
    chunks: dict[bool, list[tuple[int, float]]] = {True: [], False: []}
    for events in runs:
        same = events[0].get("table") == table
        for event in events:
            if event["event"] == "chunk_done" and event["rows"] is not None:
                chunks[same].append((int(event["rows"]), float(event["seconds"])))
    found, whose = (chunks[True], "this table") if chunks[True] else (chunks[False], "other tables")
    if not found:
        return BackfillRate()
    quickest = min(seconds for _, seconds in found)
    rows = sum(count for count, _ in found)
    beyond = sum(seconds - quickest for _, seconds in found)
    # Every chunk takes at least as long as the quickest one; the rest of its time is for its rows.
    per_row = beyond / rows if rows and beyond else BackfillRate().seconds_per_row
    return BackfillRate(per_row, quickest, f"measured on {len(found)} chunks of {whose}")
