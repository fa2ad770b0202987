"""After a crash: undo what was not committed, keep what others wrote, forget what has no owner."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from snowmelt.core import errors
from snowmelt.core.faults import reached
from snowmelt.runtime.settling import settle
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition
from snowmelt.state.store import StateStore
from snowmelt.storage.table import DeltaStore

_log = structlog.get_logger(__name__)
_INTERRUPTED = "000605"


@dataclass(frozen=True, slots=True)
class Recovered:
    undone: tuple[str, ...] = ()
    adopted: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """Folders of tables that never came to exist."""
    broken: tuple[str, ...] = ()
    """Tables whose files are not as the state store says. Reading them fails; everything else works."""


def recover(state_store: StateStore, store: DeltaStore) -> Recovered:
    """Brings every table to its visible version. Runs before anything else touches the directory.

    Each step is complete in itself, so that a crash in the middle leaves work for the next call and no damage.
    """
    tables, new = _tables(state_store)
    if new and next(iter(store.root.locations()), None) is not None:
        # Every table would look like one without an owner.
        raise errors.configuration(
            f"The state store is new, but there are tables in {store.root.uri} already.",
            hint="Name the state store that these tables belong to, or another folder for tables.",
        )
    with state_store.read() as state:
        visible = state.versions.snapshot([table.id for table in tables])
    undone: list[str] = []
    adopted: list[str] = []
    broken: list[str] = []
    for table in tables:
        version = visible.get(table.id)
        if version is None:
            continue
        try:
            _discard_torn(store, table, version.version)
            settled = settle(state_store, store, table, version)
        except errors.SnowmeltError as error:
            _log.error("table_not_recovered", table=str(table.name), error=str(error))
            broken.append(str(table.name))
            continue
        if settled.undone:
            undone.append(str(table.name))
        if settled.adopted:
            adopted.append(str(table.name))
    store.root.remove_staging()
    removed = _remove_orphans(
        store, {t.definition.location for t in tables if isinstance(t.definition, TableDefinition)}
    )
    if undone or adopted or removed:
        _log.info("recovered", undone=undone, adopted=adopted, removed=removed)
    return Recovered(tuple(undone), tuple(adopted), tuple(removed), tuple(broken))


def _tables(state_store: StateStore) -> tuple[list[CatalogObject], bool]:
    """Every table, dropped ones too, and whether the state store was never used. No session outlives its process, and
    no statement does."""
    with state_store.begin() as state:
        state.queries.abandon_running(_INTERRUPTED, "The process ended while the statement ran.")
        objects = state.catalog.objects(include_dropped=True, all_sessions=True)
        for session_id in {item.session_id for item in objects if item.session_id is not None}:
            state.catalog.drop_session(session_id)
        new = not state.catalog.databases(include_dropped=True)
    kept = [item for item in objects if item.session_id is None and item.kind is ObjectKind.TABLE]
    return [item for item in kept if isinstance(item.definition, TableDefinition)], new


def _discard_torn(store: DeltaStore, table: CatalogObject, visible: int) -> None:
    """After a power cut the newest entries of a log can be names without content. Nobody relied on them."""
    assert isinstance(table.definition, TableDefinition)
    torn = store.discard_torn(table.definition.location, visible)
    if torn:
        _log.warning("torn_commits_discarded", table=str(table.name), versions=torn)


def _remove_orphans(store: DeltaStore, known: set[str]) -> list[str]:
    """Removes tables that we began to make and never published. What others put there is left alone."""
    removed = []
    for location in store.unfinished_locations(known):
        reached("before-orphan-removed")
        store.remove(location)
        removed.append(location)
    return removed
