"""What there is to know of all tables, for `scheduler.upkeep.plan`. Looks again only at what may have changed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from snowmelt.core.errors import SnowmeltError
from snowmelt.features.upkeep import needed
from snowmelt.features.upkeep.compacting import compactable
from snowmelt.scheduler.upkeep import Group, TableFacts
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition, TableVersion
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account


@dataclass(slots=True)
class Memory:
    """What was found and done since the process started."""

    seen: dict[str, TableFacts] = field(default_factory=dict)
    """By table id; of the version that was visible then."""

    def vacuumed(self, table_id: str, floor: int, at: datetime, *, orphans: bool) -> None:
        known = self.seen.get(table_id)
        if known is not None:
            self.seen[table_id] = replace(
                known, cleaned=floor, vacuumed_at=at, orphans_at=at if orphans else known.orphans_at
            )

    def look_again(self, table_id: str | None) -> None:
        """Something was done to the files of the table, or could not be yet."""
        known = self.seen.get(table_id or "")
        if known is not None:
            self.seen[known.table_id] = replace(known, version=-1)

    def failed(self, table_id: str | None, at: datetime) -> None:
        """Trying again at once would not help: its files are looked at when it changes, and the rest a while later."""
        known = self.seen.get(table_id or "")
        if known is not None:
            self.seen[known.table_id] = replace(known, groups=(), since_checkpoint=0, vacuumed_at=at, orphans_at=at)


def gather(account: Account, memory: Memory, now: datetime) -> list[TableFacts]:
    """The facts of every live table whose files are ours."""
    with account.state.read() as state:
        needs = needed.needs_of(account, state, now)
        tables = [
            table
            for table in state.catalog.objects([ObjectKind.TABLE], all_sessions=True)
            if _ours(account, table) and table.dropped_on is None
        ]
        visible = state.versions.snapshot([table.id for table in tables])
        found = [
            _facts(account, state, table, visible[table.id], needs, memory.seen.get(table.id))
            for table in tables
            if table.id in visible
        ]
    memory.seen = {facts.table_id: facts for facts in found}
    return found


def _ours(account: Account, table: CatalogObject) -> bool:
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    inside = "://" not in definition.location and not definition.location.startswith("/")
    return inside and account.store.root.is_readable(definition.location)


def _facts(
    account: Account, state: StateReader, table: CatalogObject, visible: TableVersion, needs: needed.Needs,
    known: TableFacts | None,
) -> TableFacts:  # fmt: skip
    facts = known or TableFacts(table.id, str(table.name), -1)
    floor = needed.floor_of(state, table, visible, needs)
    if facts.version == visible.version:
        return replace(facts, floor=floor)
    assert isinstance(table.definition, TableDefinition)
    location, care = table.definition.location, account.store.care
    try:
        groups = _groups(account, table, visible)
        since = care.since_checkpoint(location, visible.version)
    except (SnowmeltError, OSError):
        # The table is damaged, which its readers are told; it is looked at again when it changes.
        groups, since = (), 0
    return replace(
        facts, name=str(table.name), version=visible.version, groups=groups, since_checkpoint=since, floor=floor
    )


def _groups(account: Account, table: CatalogObject, visible: TableVersion) -> tuple[Group, ...]:
    if not compactable(account, table, visible):
        return ()
    assert isinstance(table.definition, TableDefinition)
    fewest = account.settings.upkeep.small_files
    found = account.store.care.neighbours(table.definition.location, visible.version, fewest)
    return tuple(Group(len(group), sum(file.size for file in group)) for group in found)
