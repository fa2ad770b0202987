"""After a crash: undo what was not committed, keep what others wrote, forget what has no owner."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from snowmelt.service.transactions import restore_visible
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition, TableVersion
from snowmelt.state.store import StateStore
from snowmelt.storage.table import DeltaStore

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Recovered:
    undone: tuple[str, ...]
    adopted: tuple[str, ...]
    removed: tuple[str, ...]
    """Folders of tables that never came to exist."""


def recover(state_store: StateStore, store: DeltaStore) -> Recovered:
    """Brings every table to its visible version. Runs before anything else touches the directory."""
    with state_store.begin() as state:
        for session_id in {item.session_id for item in state.catalog.objects(include_dropped=True) if item.session_id}:
            state.catalog.drop_session(session_id)
    with state_store.read() as state:
        tables = [
            item
            for item in state.catalog.objects(kinds=[ObjectKind.TABLE], include_dropped=True)
            if isinstance(item.definition, TableDefinition)
        ]
        visible = state.versions.snapshot([table.id for table in tables])
    undone: list[str] = []
    adopted: list[str] = []
    for table in tables:
        version = visible.get(table.id)
        assert isinstance(table.definition, TableDefinition)
        if version is None or not store.has_version(table.definition.location, version.version + 1):
            continue
        if _recover_table(state_store, store, table, table.definition, version):
            undone.append(str(table.name))
        else:
            adopted.append(str(table.name))
    removed = _remove_orphans(
        store, {t.definition.location for t in tables if isinstance(t.definition, TableDefinition)}
    )
    if undone or removed:
        _log.info("recovered", undone=undone, adopted=adopted, removed=removed)
    return Recovered(tuple(undone), tuple(adopted), tuple(removed))


def _recover_table(
    state_store: StateStore,
    store: DeltaStore,
    table: CatalogObject,
    definition: TableDefinition,
    visible: TableVersion,
) -> bool:
    """True when something was undone.

    Commits stand in line: one writer at a time. Foreign commits before the first tagged one are kept; from the first
    tagged one on everything goes, because it was built on what never became visible.
    """
    latest = store.latest_version(definition.location)
    commits = store.commits(definition.location, visible.version, latest)
    first_tagged = next((commit.version for commit in commits if commit.tag is not None), None)
    keep = latest if first_tagged is None else first_tagged - 1
    if keep > visible.version:
        files = store.files(definition.location, keep)
        with state_store.begin() as state:
            visible = TableVersion(
                table_id=table.id, version=keep, committed_at=state.now, transaction_id="", query_id=None,
                operation="FOREIGN", rows=store.row_count(definition.location, keep), bytes=files.total_bytes,
                foreign=True,
            )  # fmt: skip
            state.versions.flip(visible)
    if first_tagged is None:
        return False
    restore_visible(state_store, store, table, definition, visible, latest)
    return True


def _remove_orphans(store: DeltaStore, known: set[str]) -> list[str]:
    orphans = [location for location in store.root.locations() if location not in known]
    for location in orphans:
        store.remove(location)
    return orphans
