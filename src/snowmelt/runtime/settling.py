"""Bringing a table's Delta log and its visible version together again.

Beyond the visible version there can be commits of three origins: of a transaction of ours that never became visible
(undone now, or left by a crash, or by Spark finishing a write after its owner died), and of other tools. Ours are taken
back, those of others become visible. See `docs/design/transactions.md`.
"""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from snowmelt.core.faults import reached
from snowmelt.observe.drift import Drift
from snowmelt.runtime import drifts
from snowmelt.runtime import errors as statement_errors
from snowmelt.state.model import FOREIGN, FOREIGN_MOVED, CatalogObject, TableDefinition, TableVersion
from snowmelt.state.store import StateStore
from snowmelt.storage.commits import CommitTag
from snowmelt.storage.table import DeltaStore, Undone

_UNDO = CommitTag("undo")
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Settled:
    visible: TableVersion
    undone: bool = False
    """Something of ours was taken back."""
    adopted: bool = False
    """Something that others wrote became visible."""


def settle(state_store: StateStore, store: DeltaStore, table: CatalogObject, visible: TableVersion) -> Settled:
    """Makes the newest Delta version the visible one, without what we wrote and never made visible.

    No transaction may be writing the table. Killed half-way, the next call does it all again.
    """
    assert isinstance(table.definition, TableDefinition)
    location = table.definition.location
    if not store.has_version(location, visible.version + 1):
        if not store.has_version(location, visible.version):
            # Writing now would make another version of that number, and so become visible at once.
            raise statement_errors.table_damaged(str(table.name), location, visible.version)
        return Settled(visible)
    undone = store.undo(location, visible.version, _UNDO)
    latest = store.latest_version(location) if undone is None else undone.version
    adopted = undone is None or bool(undone.kept)
    if undone is not None:
        report_lost(table, undone)
    store.sync(location, latest, after=visible.version)
    rows, size = (store.row_count(location, latest), store.size(location, latest)) if adopted else (None, None)
    drift = drifts.of_log(store, table.definition, visible.version, latest) if adopted else Drift()
    operation = _foreign(store, location, visible.version, latest) if adopted else "UNDO"
    reached("before-settled")
    with state_store.begin() as state:
        drifts.note(state, table, "another writer of the table", drift)
        if undone is not None:
            state.versions.mark_undone(table.id, undone.first, undone.restored)
        settled = TableVersion(
            table_id=table.id,
            version=latest,
            committed_at=state.now,
            transaction_id="" if adopted else "undo",
            query_id=None,
            operation=operation,
            rows=visible.rows if rows is None else rows,
            bytes=visible.bytes if size is None else size,
            foreign=adopted,
        )
        state.versions.flip(settled)
    reached("after-settled")
    return Settled(settled, undone=undone is not None, adopted=adopted)


def _foreign(store: DeltaStore, location: str, after: int, upto: int) -> str:
    """How the version is called that others made. One whose commits change no row is no update of the table."""
    moved = not any(commit.data_change and commit.tag is None for commit in store.commits(location, after, upto))
    return FOREIGN_MOVED if moved else FOREIGN


def report_lost(table: CatalogObject, undone: Undone) -> None:
    """Another tool changed rows that our transaction had not committed. Its commit went with them: say so."""
    if undone.lost:
        _log.warning("foreign_commits_undone", table=str(table.name), versions=list(undone.lost))
