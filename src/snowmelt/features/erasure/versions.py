"""Versions that forgetting itself made: streams pass over them, and everything before them goes."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from snowmelt.features.upkeep.service import Upkeep
from snowmelt.features.upkeep.vacuuming import Vacuumed
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account
    from snowmelt.runtime.run import Run

_OWNER = "erasure"
_PATIENCE = 60.0
"""Seconds for statements that may still read what goes."""


class OwnVersions:
    def __init__(self, state: StateReader, statements: Iterable[str]) -> None:
        self._state = state
        self._own = {
            (version.table_id, version.version) for id in statements for version in state.versions.of_query(id)
        }
        self._known: dict[tuple[str, int], bool] = {}

    def only_own(self, table_id: str, after: int, upto: int) -> bool:
        """Whether nothing but forgetting, and moves of rows between files, changed a table in (after, upto]."""
        if self._state.versions.forgotten(table_id, after):
            return False
        found = [each for each in self._state.versions.history(table_id) if after < each.version <= upto]
        return all(not each.has_new_rows or self._is_own(table_id, each.version) for each in found)

    def _is_own(self, table_id: str, version: int) -> bool:
        """Made by a statement of ours, or by a refresh that nothing else gave a reason to."""
        point = (table_id, version)
        if point not in self._known:
            self._known[point] = point in self._own
            self._known[point] = self._known[point] or self._is_own_refresh(table_id, version)
        return self._known[point]

    def _is_own_refresh(self, table_id: str, version: int) -> bool:
        refresh = self._state.dynamic.refresh_of_version(table_id, version)
        before = None
        for earlier in reversed(self._state.versions.history(table_id)):
            if earlier.version < version and before is None:
                before = self._state.dynamic.refresh_of_version(table_id, earlier.version)
        if refresh is None or before is None or refresh.frontier.keys() != before.frontier.keys():
            return False
        return all(self.only_own(id, before.frontier[id], upto) for id, upto in refresh.frontier.items())


def pass_over(account: Account, statements: Iterable[str]) -> None:
    """Moves streams behind what forgetting changed, where they have nothing else to give: who consumes a stream must
    not get the rows once more that are to be forgotten. Where they have, they stay, and are named by what they hold."""
    with account.state.begin() as state:
        own = OwnVersions(state, statements)
        for standing in state.streams.all():
            moved = dict(standing.offsets)
            for table_id, offset in standing.offsets.items():
                visible = state.versions.visible(table_id)
                if visible is not None and visible.version > offset and own.only_own(table_id, offset, visible.version):
                    moved[table_id] = visible.version
            if moved != standing.offsets and not standing.initial:
                state.streams.put(standing.model_copy(update={"offsets": moved}))


def clear_history(run: Run, table: CatalogObject) -> str | None:
    """Removes what a table was before now; what is in the way, if something is."""
    account = run.account
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    if definition.location.startswith("/") or "://" in definition.location:
        return "its files belong to other tools: remove their old versions there"
    if not account.store.root.is_local_table(definition.location):
        return "its files are in an object store: remove the old versions there"
    with account.state.read() as state:
        visible = state.versions.visible(table.id)
    if visible is None:
        return None
    upkeep = account.services[Upkeep]
    deadline = time.monotonic() + _PATIENCE
    while True:
        account.locks.acquire(table.id, str(table.name), _OWNER, run.lock_timeout, run.check_cancelled)
        try:
            done = upkeep.forget_before(table.id, visible.version, run)
        finally:
            account.locks.release_all(_OWNER)
        if not isinstance(done, Vacuumed):
            return f"{done} needs an older version: consume or refresh it"
        if done.finished:
            return None
        if time.monotonic() > deadline:
            return "statements under way may still read the old versions"
        run.check_cancelled()
        time.sleep(0.05)
