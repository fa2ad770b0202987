"""The state of a cloned dynamic table: at the data timestamp of its version, and suspended."""

from __future__ import annotations

import uuid

from snowmelt.features.dynamic_tables import scheduling
from snowmelt.state.dynamic_model import DynamicRefresh, RefreshAction, RefreshTrigger
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.state.store import StateTransaction


def add(
    state: StateTransaction, source: CatalogObject, source_version: int, table: CatalogObject, version: int
) -> None:
    """`version` of the clone has the rows of `source_version`."""
    if not isinstance(table.definition, TableDefinition) or table.definition.dynamic is None:
        return
    dynamic = state.dynamic.require(source.id)
    made_by = state.dynamic.refresh_of_version(source.id, source_version)
    copied = dynamic.model_copy(
        update={
            "table_id": table.id,
            "data_timestamp": made_by.data_timestamp if made_by is not None else None,
            "frontier": made_by.frontier if made_by is not None else {},
            "version": version if made_by is not None else None,
            "failures": 0,
            **scheduling.suspended(state, scheduling.CLONED),
        }
    )
    copied = scheduling.begin_entry(state, table, copied, ("CREATE_DYNAMIC_TABLE",))
    if made_by is not None:
        state.dynamic.record_refresh(_history(state, made_by, table, version))


def _history(state: StateTransaction, made_by: DynamicRefresh, table: CatalogObject, version: int) -> DynamicRefresh:
    return made_by.model_copy(
        update={
            "id": str(uuid.uuid4()),
            "table_id": table.id,
            "name": table.name,
            "version": version,
            "trigger": RefreshTrigger.CREATION,
            "action": RefreshAction.NO_DATA,
            "statistics": {},
            "query_id": None,
            "started_at": state.now,
            "ended_at": state.now,
            "graph_valid_from": state.now,
            "changed_inputs": (),
            "details": {},
        }
    )
