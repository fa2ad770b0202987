"""How many rows come to tables, by minute: what channels, connectors, COPY and statements bring.

Refreshes are no arrivals: their rows are made here. Counted since the server started, for an hour back, in memory.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from snowmelt.runtime.account import Account
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.storage.commits import CommitResult

MINUTES = 60


@dataclass(slots=True)
class _Written:
    """What a transaction wrote to a table, which nobody sees yet."""

    version: int
    rows: int


def minute_of(at: datetime) -> int:
    return int(at.timestamp()) // 60


class Arrivals:
    """Safe to use from any thread."""

    def __init__(self, account: Account) -> None:
        self._lock = threading.Lock()
        self._written: dict[str, _Written] = {}
        self._counted: dict[int, dict[str, int]] = {}
        """By minute, the rows of each table by its id."""
        events = account.events
        events.table_written.subscribe(self._note)
        events.table_reverted.subscribe(self._take_back)
        events.rows_committed.subscribe(self._count)

    def _note(self, _: str | None, table: CatalogObject, before: int, result: CommitResult) -> None:
        if not isinstance(table.definition, TableDefinition) or table.definition.dynamic is not None:
            return
        rows = result.rows_inserted + result.rows_updated + result.rows_deleted
        with self._lock:
            earlier = self._written.get(table.id)
            # One transaction at a time writes a table. What does not follow on was rolled back.
            follows = earlier is not None and earlier.version == before
            known = earlier.rows if earlier is not None and follows else 0
            self._written[table.id] = _Written(result.version, known + rows)

    def _take_back(self, _: str | None, table: CatalogObject) -> None:
        with self._lock:
            self._written.pop(table.id, None)

    def _count(self, tables: frozenset[str], at: datetime) -> None:
        minute = minute_of(at)
        with self._lock:
            for old in [one for one in self._counted if one <= minute - MINUTES]:
                del self._counted[old]
            for id in tables:
                written = self._written.pop(id, None)
                if written is not None and written.rows:
                    counted = self._counted.setdefault(minute, {})
                    counted[id] = counted.get(id, 0) + written.rows

    def by_minute(self, tables: Collection[str], now: datetime) -> tuple[list[int], dict[str, int]]:
        """Rows of the last `MINUTES`, the oldest first, and by table: of the tables with these ids, and no others."""
        first = minute_of(now) - MINUTES + 1
        rows, by_table = [0] * MINUTES, dict[str, int]()
        with self._lock:
            for minute, counted in self._counted.items():
                if not 0 <= minute - first < MINUTES:
                    continue
                for id, count in counted.items():
                    if id in tables:
                        rows[minute - first] += count
                        by_table[id] = by_table.get(id, 0) + count
        return rows, by_table
