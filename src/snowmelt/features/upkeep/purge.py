"""Forgetting for good what was dropped longer ago than its retention: catalog rows, data folders and all that hangs on
them.

Runs when an account is first opened on a day, and whenever maintenance asks for it. What could still be undropped
stays. A clone has files of its own (links to the same data), so removing one table never takes another's rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import structlog

from snowmelt.core import errors
from snowmelt.features.loading import stage_folders
from snowmelt.runtime import retention
from snowmelt.runtime.kinds import all_kinds
from snowmelt.state.model import (
    CatalogObject,
    Database,
    ParameterLevel,
    Schema,
    StageDefinition,
    TableDefinition,
)
from snowmelt.state.store import StateReader, StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account

_log = structlog.get_logger(__name__)
_OWNER = "purge"


@dataclass(frozen=True, slots=True)
class Purged:
    objects: tuple[str, ...]
    schemas: int = 0
    databases: int = 0


def purge(account: Account, now: datetime | None = None) -> Purged:
    """Removes everything whose time is over. What somebody is writing at this moment waits for the next time."""
    at = now or account.clock.now()
    with account.state.read() as state:
        due = _due(state, at)
    removed: list[CatalogObject] = []
    for item in due:
        try:
            account.locks.acquire(item.id, str(item.name), _OWNER, timeout=0)
        except errors.SnowmeltError:
            continue
        try:
            if _forget(account, item.id):
                removed.append(item)
        finally:
            account.locks.release_all(_OWNER)
    remove_data(account, removed)
    schemas, databases = _purge_containers(account, at)
    if removed or schemas or databases:
        _log.info("purged", objects=len(removed), schemas=schemas, databases=databases)
    return Purged(tuple(str(item.name) for item in removed), schemas, databases)


def purge_dropped(account: Account, id: str) -> bool:
    """Forgets one dropped object before its time; False when it is no longer dropped, or somebody has it."""
    with account.state.read() as state:
        item = state.catalog.by_id(id)
    if item is None or item.dropped_on is None or not account.locks.try_acquire(id, _OWNER):
        return False
    try:
        forgotten = _forget(account, id)
    finally:
        account.locks.release_all(_OWNER)
    if forgotten:
        remove_data(account, [item])
    return forgotten


def _due(state: StateReader, at: datetime) -> list[CatalogObject]:
    """Dropped objects that can't be brought back any more.

    What went with its schema or database follows that one's retention: it can only come back with it. All of them were
    dropped at one instant, which no other statement has.
    """
    containers: list[Schema | Database] = [
        *state.catalog.schemas(include_dropped=True),
        *state.catalog.databases(include_dropped=True),
    ]
    days_of: dict[datetime, int] = {}
    for container in containers:
        if container.dropped_on is not None:
            days_of[container.dropped_on] = max(container.retention_days, days_of.get(container.dropped_on, 0))
    found: list[CatalogObject] = []
    for item in state.catalog.objects(include_dropped=True, all_sessions=True):
        if item.dropped_on is None:
            continue
        own = item.definition.retention_days if isinstance(item.definition, TableDefinition) else 1
        if at >= retention.expires(item.dropped_on, days_of.get(item.dropped_on, own)):
            found.append(item)
    return found


def _forget(account: Account, id: str) -> bool:
    with account.state.begin() as state:
        current = state.catalog.by_id(id)
        if current is None or current.dropped_on is None:
            return False  # somebody undropped it
        forget_rows(state, current)
        account.lifecycle.purged(state, current)
        state.catalog.purge(id)
    return True


def forget_rows(state: StateTransaction, item: CatalogObject) -> None:
    """Everything the state store keeps about an object besides the object."""
    state.counters.drop(item.id)
    state.parameters.unset(ParameterLevel.TABLE, item.id)
    state.access.forget_object(item.id)
    state.contracts.delete_for(item.id)
    state.observations.delete_for(item.id)
    own = all_kinds().by_name.get(item.kind)
    if own is not None and own.forget is not None:
        own.forget(state, item)
    if isinstance(item.definition, TableDefinition):
        state.versions.delete_for(item.id)
        state.shapes.delete_for(item.id)
        state.loads.delete_for(item.id)
        state.channels.delete_for(item.id)
        state.quality.delete_for(item.id)
        state.dynamic.delete_for(item.id)


def remove_data(account: Account, items: Iterable[CatalogObject]) -> None:
    """Deletes the folders of tables and internal stages that the catalog has forgotten."""
    for item in items:
        definition = item.definition
        if isinstance(definition, TableDefinition):
            account.store.remove(definition.location)
            stage_folders.remove_files(account, stage_folders.table_stage(item.id))
        elif isinstance(definition, StageDefinition) and definition.location is not None:
            stage_folders.remove_files(account, definition.location)


def _purge_containers(account: Account, at: datetime) -> tuple[int, int]:
    """Dropped schemas and databases that are empty by now. An object inside that still has time keeps its container."""
    schemas = databases = 0
    with account.state.begin() as state:
        for schema in state.catalog.schemas(include_dropped=True):
            if schema.dropped_on is None or at < retention.expires(schema.dropped_on, schema.retention_days):
                continue
            if not state.catalog.has_objects(schema.id):
                state.parameters.unset(ParameterLevel.SCHEMA, schema.id)
                state.access.forget_object(schema.id)
                state.catalog.purge_schema(schema.id)
                schemas += 1
        for database in state.catalog.databases(include_dropped=True):
            if database.dropped_on is None or at < retention.expires(database.dropped_on, database.retention_days):
                continue
            if not state.catalog.schemas_of(database.id):
                state.parameters.unset(ParameterLevel.DATABASE, database.id)
                state.access.forget_object(database.id)
                state.catalog.purge_database(database.id)
                databases += 1
    return schemas, databases
