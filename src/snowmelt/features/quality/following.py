"""What was quarantined goes with the table that it is to go back into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from snowmelt.core.names import ObjectName
from snowmelt.features.quality import quarantine
from snowmelt.features.relations.alter_tables import alter_columns
from snowmelt.runtime import references
from snowmelt.sql.statements.base import Action
from snowmelt.state.model import SELECTABLE, CatalogObject
from snowmelt.state.store import StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def columns_altered(run: Run, table: CatalogObject, actions: Sequence[Action]) -> None:
    """In the same transaction: what waits in quarantine goes back into the columns it came from."""
    with run.state.read() as state:
        kept = quarantine.found_for(state, table)
    if kept is not None and (following := quarantine.following(kept, actions)):
        alter_columns(run, kept, following)


def renamed(state: StateTransaction, table: CatalogObject, new: ObjectName) -> None:
    kept, name = quarantine.found_for(state, table), quarantine.name_of(new)
    if kept is not None and state.whole_catalog.find(name, SELECTABLE) is None:
        state.catalog.rename(kept.id, name)
        references.follow_rename(state, kept, name)


def swapped(state: StateTransaction, *tables: CatalogObject) -> None:
    kept = [quarantine.found_for(state, table) for table in tables]
    one, other = kept
    if one is not None and other is not None:
        state.catalog.swap(one.id, other.id)
        return
    for moved, successor in zip(kept, reversed(tables), strict=True):
        name = quarantine.name_of(successor.name)
        if moved is not None and state.whole_catalog.find(name, SELECTABLE) is None:
            state.catalog.rename(moved.id, name)
