"""What is still needed of a table: the one place that says so.

A table's history is a line of versions, and what is needed of it is everything from one version, the floor, on: the
files of the floor, all that was added since, the files of the change feed and the log entries after it. The floor is
the oldest of

- the version that was visible at the beginning of Time Travel: DATA_RETENTION_TIME_IN_DAYS before now, and before the
  start of the oldest statement and the oldest open transaction;
- where each stream stands, until it is stale, and where a transaction read it that has not ended;
- what each dynamic table was computed from, for as long as a stream would hold it, and the version of its own that
  belongs to it.

Clones have files of their own. Dropped tables keep everything until they are purged. Nothing beyond the visible version
ever goes: it belongs to a transaction that is open, or to another tool.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from snowmelt.features.streams.offsets import stale_after
from snowmelt.runtime import retention
from snowmelt.state.dynamic_model import DynamicState
from snowmelt.state.model import CatalogObject, TableDefinition, TableVersion
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account


@dataclass(frozen=True, slots=True)
class Needs:
    """What is needed besides Time Travel, of all tables."""

    since: datetime
    """No statement and no transaction that goes on began before this."""
    versions: Mapping[str, int]
    """By table id, the oldest version that somebody will ask for by its number."""
    grace: timedelta = timedelta(0)
    """Versions that were visible this short a time ago are kept, whatever the retention."""


def oldest_needed(kept: int, visible: int, asked_for: Iterable[int]) -> int:
    """The floor. `kept`: the oldest version of Time Travel; `asked_for`: versions that others hold by number."""
    return min([kept, visible, *asked_for])


def floor_of(state: StateReader, table: CatalogObject, visible: TableVersion, needs: Needs) -> int:
    """The oldest version of a table that is needed."""
    assert isinstance(table.definition, TableDefinition)
    back = max(timedelta(days=table.definition.retention_days), needs.grace)
    first = state.versions.as_of(table.id, needs.since - back)
    oldest = state.versions.oldest(table.id)
    kept = first.version if first is not None else oldest if oldest is not None else visible.version
    held = needs.versions.get(table.id)
    return oldest_needed(kept, visible.version, () if held is None else (held,))


def needs_of(account: Account, state: StateReader, now: datetime) -> Needs:
    """Asks everybody. Readers are asked first: who comes later sees what is visible now, or later."""
    since, held = _readers(account, now)
    for standing in state.streams.all():
        if now < stale_after(account.parameters, state, standing):
            _hold(held, standing.offsets)
    for table_id, dynamic in state.dynamic.all().items():
        if now < _carried_on_until(account, state, table_id, dynamic, now):
            _hold(held, dynamic.frontier)
        if dynamic.version is not None:
            _hold(held, {table_id: dynamic.version})
    return Needs(since, held, timedelta(seconds=account.settings.upkeep.grace_seconds))


def holders(account: Account, state: StateReader, table_id: str, before: int) -> list[str]:
    """The streams and dynamic tables that stand at an older version of a table than that."""
    found: list[str] = []
    for standing in state.streams.all():
        item = state.catalog.by_id(standing.stream_id)
        if item is not None and item.dropped_on is None and standing.offsets.get(table_id, before) < before:
            found.append(f"stream {item.name}")
    for id, dynamic in state.dynamic.all().items():
        item = state.catalog.by_id(id)
        own = dynamic.version if id == table_id and dynamic.version is not None else before
        if item is not None and item.dropped_on is None and min(own, dynamic.frontier.get(table_id, before)) < before:
            found.append(f"dynamic table {item.name}")
    return found


def _carried_on_until(
    account: Account, state: StateReader, table_id: str, dynamic: DynamicState, now: datetime
) -> datetime:  # fmt: skip
    """Until when a dynamic table finds the changes since its last refresh: as long as a stream would.

    One that is refreshed by itself is given its target lag on top. Later it begins from nothing: see `pins.forgotten`.
    """
    table = state.catalog.by_id(table_id)
    declared = table.definition.dynamic if table is not None and isinstance(table.definition, TableDefinition) else None
    lag = declared.target_lag if declared is not None and declared.scheduled and not dynamic.suspended else None
    kept = retention.extended(state, dynamic.frontier, account.parameters)
    return (dynamic.data_timestamp or now) + kept + timedelta(seconds=lag or 0)


def _readers(account: Account, now: datetime) -> tuple[datetime, dict[str, int]]:
    held: dict[str, int] = {}
    instants = [now]
    for run in account.readers.open():
        instants.append(run.now)
        for window in list(run.streams.values()):
            _hold(held, window.state.offsets)
    for session in account.sessions():
        transaction = session.transaction
        if transaction is None:
            continue
        if transaction.snapshot_at is not None:
            instants.append(transaction.snapshot_at)
        for window in list(transaction.windows.values()):
            _hold(held, window.state.offsets)
        for pending in list(transaction.pending.values()):
            _hold(held, {pending.table.id: pending.base.version})
    return min(instants), held


def _hold(held: dict[str, int], versions: Mapping[str, int]) -> None:
    for table_id, version in versions.items():
        held[table_id] = min(version, held.get(table_id, version))
