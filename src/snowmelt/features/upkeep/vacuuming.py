"""Removing what a table no longer needs: first the versions, then their files, then their log entries.

The versions go first, in the state store, so that nobody can ask for them any more. Their files go once every statement
has ended that was under way then: it may have looked a version up just before.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

from snowmelt.core.faults import reached
from snowmelt.features.upkeep import needed
from snowmelt.runtime.incremental import operator_states
from snowmelt.runtime.protocols import ReadingStatement
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.state.store import StateReader
from snowmelt.storage.vacuum import Removed

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account
    from snowmelt.runtime.run import Run

BATCH = 1000
"""Versions forgotten in one transaction of the state store, which others wait for."""
_OWNER = "upkeep"


@dataclass(slots=True)
class _Waiting:
    """For statements that were under way when versions were forgotten."""

    runs: Sequence[weakref.ref[ReadingStatement]]

    @property
    def over(self) -> bool:
        return all((run := found()) is None or run.ended.is_set() for found in self.runs)


@dataclass(frozen=True, slots=True)
class Vacuumed:
    versions: int = 0
    removed: Removed = field(default_factory=Removed)
    finished: bool = True
    """False when files have to wait for statements that are under way."""
    floor: int = -1


class Vacuum:
    """Deletes files that no version needs. Remembers which tables have files that a reader still uses."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._waiting: dict[str, _Waiting] = {}
        self.asked_by: Run | None = None
        """The statement that asked for it, which reads no table and is not waited for."""

    def table(self, table_id: str, now: datetime, *, orphans: bool) -> Vacuumed:
        """Removes what one table does not need any more."""
        account = self._account
        with account.state.read() as state:
            needs = needed.needs_of(account, state, now)
            table, visible = state.catalog.by_id(table_id), state.versions.visible(table_id)
            if table is None or visible is None or table.dropped_on is not None:
                return Vacuumed()
            floor = needed.floor_of(state, table, visible, needs)
            strict = state.versions.foreign_since(table_id, floor) or state.versions.undone_since(table_id, floor)
        versions = self._forget(table_id, floor)
        if not self._clear(table_id, versions):
            return Vacuumed(versions, finished=False, floor=floor)
        return Vacuumed(versions, self._remove(table, floor, strict=strict, orphans=orphans), floor=floor)

    def everything_before(self, table_id: str, clean: int, now: datetime, asked_by: Run) -> Vacuumed | str:
        """Forgets what a table was before a version, whatever its retention, and removes all files that nobody names.

        The caller holds the table. Returns who still needs an older version, if somebody does.
        """
        account = self._account
        with account.state.read() as state:
            table, visible = state.catalog.by_id(table_id), state.versions.visible(table_id)
            if table is None or visible is None or table.dropped_on is not None:
                return Vacuumed()
            assert isinstance(table.definition, TableDefinition)
            needs = needed.needs_of(account, state, now)
            floor = needed.oldest_needed(visible.version, visible.version, _held(needs, table_id))
            if floor < clean or _read_before(account, state, table_id, clean):
                return ", ".join(needed.holders(account, state, table_id, clean)) or "an open transaction"
            strict = state.versions.foreign_since(table_id, floor) or state.versions.undone_since(table_id, floor)
        location, care = table.definition.location, account.store.care
        care.make_checkpoint(location, floor)
        versions = self._forget(table_id, floor)
        if not self._clear(table_id, versions, asked_by):
            return Vacuumed(versions, finished=False, floor=floor)
        removed = self._remove(table, floor, strict=strict, orphans=False)
        paths, upto = care.find_orphans(location, floor, 0)
        removed += care.remove_orphans(location, paths, upto, 0)
        return Vacuumed(versions, removed + self._states(table, 0), floor=floor)

    def _forget(self, table_id: str, floor: int) -> int:
        """Until none is left, in small transactions."""
        total = 0
        while True:
            with self._account.state.begin() as state:
                gone = state.versions.forget_before(table_id, floor, BATCH)
                if gone < BATCH:
                    state.shapes.forget_before(table_id, floor)
            reached("versions-forgotten")
            total += gone
            if gone < BATCH:
                return total

    def _clear(self, table_id: str, forgotten: int, asked_by: Run | None = None) -> bool:
        """Whether all statements have ended that may know of a version that was forgotten."""
        waiting = self._waiting.get(table_id)
        if forgotten:
            # Asked after the versions were forgotten: whoever comes later does not find them.
            before = list(waiting.runs) if waiting is not None else []
            others = (run for run in self._account.readers.open() if run not in (self.asked_by, asked_by))
            under_way = [weakref.ref(run) for run in others]
            waiting = self._waiting[table_id] = _Waiting([*before, *under_way])
        if waiting is not None and not waiting.over:
            return False
        self._waiting.pop(table_id, None)
        return True

    def _remove(self, table: CatalogObject, floor: int, *, strict: bool, orphans: bool) -> Removed:
        assert isinstance(table.definition, TableDefinition)
        location, care = table.definition.location, self._account.store.care
        removed = care.remove_unneeded(location, floor, strict=strict)
        reached("files-removed")
        removed += Removed(entries=care.clean_log(location, floor))
        reached("log-cleaned")
        return removed + self._orphans(table, floor) if orphans else removed

    def _orphans(self, table: CatalogObject, floor: int) -> Removed:
        """Files that nobody names. Waits for nobody who writes the table: the next look is soon enough."""
        assert isinstance(table.definition, TableDefinition)
        account, location = self._account, table.definition.location
        age = account.settings.upkeep.orphan_hours * 3600
        paths, upto = account.store.care.find_orphans(location, floor, age)
        if not account.locks.try_acquire(table.id, _OWNER):
            return Removed()
        try:
            removed = account.store.care.remove_orphans(location, paths, upto, age)
            return removed + self._states(table, age)
        finally:
            account.locks.release_all(_OWNER)

    def _states(self, table: CatalogObject, age: float) -> Removed:
        """States of aggregates that no refresh names: left by one that did not finish, or by another query."""
        assert isinstance(table.definition, TableDefinition)
        folder = self._account.store.root.beside(table.definition.location) / operator_states.FOLDER
        if table.definition.dynamic is None or not folder.is_dir():
            return Removed()
        with self._account.state.read() as state:
            dynamic = state.dynamic.get(table.id)
        recorded = dynamic.operator_states.values() if dynamic is not None else ()
        kept = {file.split("/", 1)[0] for item in recorded for file in item.files}
        before = time() - age
        gone = [entry for entry in folder.iterdir() if entry.name not in kept and _untouched(entry, before)]
        operator_states.remove(gone)
        return Removed(files=len(gone))


def _untouched(entry: Path, before: float) -> bool:
    return entry.stat().st_mtime < before


def _held(needs: needed.Needs, table_id: str) -> tuple[int, ...]:
    held = needs.versions.get(table_id)
    return () if held is None else (held,)


def _read_before(account: Account, state: StateReader, table_id: str, version: int) -> bool:
    """Whether an open transaction sees the table as it was before that version."""
    for session in account.sessions():
        transaction = session.transaction
        if transaction is not None and transaction.snapshot_at is not None:
            seen = state.versions.as_of(table_id, transaction.snapshot_at)
            if seen is not None and seen.version < version:
                return True
    return False
