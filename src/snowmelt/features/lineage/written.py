"""What statements wrote, table by table, until their events are told."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from snowmelt.govern.lineage.openlineage import WrittenDataset
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.storage.commits import CommitResult
from snowmelt.storage.table import DeltaStore

_REMEMBERED = 10_000
"""Statements. What nobody ever tells of, such as those of a session that is cut off, is forgotten at last."""


@dataclass(slots=True)
class _Part:
    """What one statement wrote to one table."""

    table: CatalogObject
    rows: int
    before: int
    """The version that it found; -1 for a table that it made."""
    after: int


class WrittenTables:
    """Safe to use from several threads."""

    def __init__(self, store: DeltaStore) -> None:
        self._store = store
        self._parts: OrderedDict[str, dict[str, _Part]] = OrderedDict()
        self._lock = threading.Lock()

    def wrote(self, query_id: str, table: CatalogObject, before: int, result: CommitResult) -> None:
        """A commit to a table by a statement."""
        rows = result.rows_inserted + result.rows_updated
        with self._lock:
            parts = self._parts.setdefault(query_id, {})
            known = parts.get(table.id)
            if known is None:
                parts[table.id] = _Part(table, rows, before, result.version)
            else:
                known.rows, known.after = known.rows + rows, result.version
            while len(self._parts) > _REMEMBERED:
                self._parts.popitem(last=False)

    def took_back(self, query_id: str, table_id: str) -> None:
        """All that it wrote to the table is about to be written in another way."""
        with self._lock:
            part = self._parts.get(query_id, {}).get(table_id)
            if part is not None:
                part.rows, part.before = 0, part.after

    def taken(self, query_id: str) -> list[tuple[CatalogObject, WrittenDataset]]:
        """Takes what a statement wrote, in the order of writing. A second call gives nothing."""
        with self._lock:
            parts = self._parts.pop(query_id, {})
        return [(part.table, self._written(part)) for part in parts.values()]

    def _written(self, part: _Part) -> WrittenDataset:
        definition = part.table.definition
        assert isinstance(definition, TableDefinition)
        after = self._store.files(definition.location, part.after).by_path
        before = self._store.files(definition.location, part.before).by_path if part.before >= 0 else {}
        added = [file.size for path, file in after.items() if path not in before]
        return WrittenDataset(part.rows, sum(added), len(added))
