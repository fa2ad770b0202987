"""The state of a cloned dynamic table: at the data timestamp of its version, and suspended."""

from __future__ import annotations

import uuid

from snowmelt.features.dynamic_tables import scheduling
from snowmelt.state.dynamic_model import DynamicRefresh, RefreshAction, RefreshTrigger
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.state.store import StateReader, StateTransaction

_REDEFINED = "The query was changed since the time that was cloned."


def add(
    state: StateTransaction, source: CatalogObject, source_version: int, table: CatalogObject, version: int
) -> None:
    """`version` of the clone has the rows of `source_version`."""
    if not isinstance(table.definition, TableDefinition) or table.definition.dynamic is None:
        return
    dynamic = state.dynamic.require(source.id)
    made_by = state.dynamic.refresh_of_version(source.id, source_version)
    earlier = made_by if made_by is not None and made_by.version != dynamic.version else None
    redefined = earlier is not None and (dynamic.rows_of is not None or _had_another_query(state, source, earlier))
    copied = dynamic.model_copy(
        update={
            **({"rows_of": None, "reinit_reason": _REDEFINED} if redefined else {}),
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


def _had_another_query(state: StateReader, source: CatalogObject, made_by: DynamicRefresh) -> bool:
    """Whether the table was defined by another query when it was refreshed to that."""
    assert isinstance(source.definition, TableDefinition) and source.definition.dynamic is not None
    entries = [
        entry
        for entry in state.dynamic.graph(made_by.data_timestamp, made_by.data_timestamp)
        if entry.table_id == source.id
    ]
    return any(entry.query != source.definition.dynamic.query for entry in entries)


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
