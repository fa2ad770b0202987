"""Suspending and resuming, by hand and because of errors; and the history of definitions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from snowmelt.features.dynamic_tables.graph import RefreshGraph, load
from snowmelt.scheduler.topology import FAILURES_TO_SUSPEND
from snowmelt.state.dynamic_model import Dependency, DynamicGraphEntry, DynamicState
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.state.store import StateTransaction

BY_USER = "USER_SUSPENDED"
BY_ERRORS = "SUSPENDED_DUE_TO_ERRORS"
CLONED = "CLONED_AUTO_SUSPENDED"
BY_QUALITY = "SUSPENDED_DUE_TO_QUALITY_CHECK"
_MESSAGES = {
    BY_USER: "The dynamic table was suspended by a user.",
    BY_ERRORS: f"The dynamic table was suspended due to {FAILURES_TO_SUSPEND} consecutive refresh errors.",
    BY_QUALITY: "The dynamic table was suspended because a refresh failed a quality check.",
    CLONED: "The dynamic table was suspended because it is a clone.",
}


def suspended(state: StateTransaction, reason: str) -> dict[str, Any]:
    """What a dynamic table's state has once it is suspended for that reason."""
    message = _MESSAGES[reason.removeprefix("UPSTREAM_")]
    if reason.startswith("UPSTREAM_"):
        message = f"An input of the dynamic table is suspended. {message.replace('The dynamic table', 'It')}"
    return {"suspended": True, "reason_code": reason, "reason_message": message, "suspended_on": state.now}


def suspend(state: StateTransaction, table: CatalogObject, reason: str = BY_USER) -> None:
    """Suspends the table and everything that reads it."""
    graph = load(state)
    _change(state, table.id, suspended(state, reason), "SUSPEND")
    for node in graph.downstream_of(table.id):
        if not node.state.suspended:
            _change(state, node.table.id, suspended(state, f"UPSTREAM_{reason}"), "SUSPEND")


def resume(state: StateTransaction, table: CatalogObject) -> None:
    """Resumes the table, and what reads it unless it was suspended for itself."""
    graph = load(state)
    _resume(state, table.id)
    resumed = {table.id}
    for node in graph.downstream_of(table.id):
        because_of_input = node.state.suspended and (node.state.reason_code or "").startswith("UPSTREAM_")
        if because_of_input and not _held(graph, node.upstream, resumed):
            _resume(state, node.table.id)
            resumed.add(node.table.id)


def _held(graph: RefreshGraph, upstream: Iterable[str], resumed: set[str]) -> bool:
    """Whether another input is suspended still."""
    return any(graph.nodes[id].state.suspended and id not in resumed for id in upstream)


def _resume(state: StateTransaction, table_id: str) -> None:
    values = {"suspended": False, "reason_code": None, "reason_message": None, "resumed_on": state.now, "failures": 0}
    _change(state, table_id, values, "RESUME")


def _change(state: StateTransaction, table_id: str, values: dict[str, Any], trigger: str) -> None:
    state.dynamic.change(table_id, **values)
    note_definition(state, table_id, (trigger,))


def note_failure(state: StateTransaction, table: CatalogObject) -> None:
    """A scheduled refresh failed: too many in a row suspend the table."""
    dynamic = state.dynamic.require(table.id)
    failures = dynamic.failures + 1
    state.dynamic.change(table.id, failures=failures)
    if failures >= FAILURES_TO_SUSPEND and not dynamic.suspended:
        suspend(state, table, BY_ERRORS)


def note_definition(state: StateTransaction, table_id: str, triggers: tuple[str, ...]) -> None:
    """A row of graph history for the table as it is now; the row before it ends."""
    table = state.catalog.by_id(table_id)
    assert table is not None
    begin_entry(state, table, state.dynamic.require(table_id), triggers)


def begin_entry(
    state: StateTransaction, table: CatalogObject, dynamic: DynamicState, triggers: tuple[str, ...]
) -> DynamicState:
    """Does what `note_definition` does, for a table whose state the caller has. Returns the state as it was stored."""
    assert isinstance(table.definition, TableDefinition) and table.definition.dynamic is not None
    declared = table.definition.dynamic
    state.dynamic.begin_graph(
        DynamicGraphEntry(
            table_id=table.id,
            valid_from=state.now,
            name=table.name,
            inputs=direct_inputs(dynamic.dependencies),
            target_lag=declared.target_lag,
            scheduled=declared.scheduled,
            query=declared.query,
            suspended=dynamic.suspended,
            reason_code=dynamic.reason_code,
            reason_message=dynamic.reason_message,
            suspended_on=dynamic.suspended_on,
            resumed_on=dynamic.resumed_on,
            alter_trigger=triggers or ("NONE",),
        )
    )
    dynamic = dynamic.model_copy(update={"graph_since": state.now})
    state.dynamic.put(dynamic)
    return dynamic


def direct_inputs(dependencies: Iterable[Dependency]) -> tuple[dict[str, Any], ...]:
    """What the query itself names."""
    direct = [item for item in dependencies if item.direct and item.kind != "FUNCTION"]
    return tuple(
        {"name": str(item.name), "kind": item.kind, "insideRefreshBoundary": item.bounded}
        for item in sorted(direct, key=lambda item: item.name)
    )
