"""Tasks as SHOW, DESCRIBE and GET_DDL print them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from snowmelt.core.names import ObjectName, quote
from snowmelt.features.tasks import graph
from snowmelt.features.tasks.definitions import TASK, OverlapPolicy, TaskDefinition
from snowmelt.features.tasks.graph import Definitions
from snowmelt.features.tasks.records import TaskRecords
from snowmelt.runtime.metadata.catalog import objects
from snowmelt.runtime.metadata.columns import Row, columns, word
from snowmelt.runtime.metadata.scopes import schema_scope
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

COLUMNS = columns(
    "created_on:ts, name, id, database_name, schema_name, owner, comment, warehouse, schedule, predecessors, state, "
    "definition, condition, allow_overlapping_execution, error_integration, last_committed_on:ts, "
    "last_suspended_on:ts, owner_role_type, config, task_relations, last_suspended_reason, success_integration, "
    "scheduling_mode, target_completion_interval, execute_as_user, overlap_policy, created_by_user"
)
TERSE = columns("created_on:ts, name, kind, database_name, schema_name, schedule")
_NONE = "null"
"""How some columns spell that there is nothing."""


def tasks(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    scope = schema_scope(run, state, statement)
    found = objects(run, state, [TASK], scope.database, scope.schema)
    for item in found:
        assert isinstance(item.definition, TaskDefinition)
        if not statement.root_only or item.definition.is_root:
            yield task(state, item, _neighbours(found, item))


def described(state: StateReader, item: CatalogObject) -> Row:
    found = state.catalog.objects([TASK], item.name.database, item.name.schema)
    return task(state, item, _neighbours(found, item))


def _neighbours(found: list[CatalogObject], item: CatalogObject) -> Definitions:
    return {
        other.name.name: other.definition
        for other in found
        if other.name.parent == item.name.parent and isinstance(other.definition, TaskDefinition)
    }


def task(state: StateReader, item: CatalogObject, neighbours: Definitions) -> Row:
    definition = item.definition
    assert isinstance(definition, TaskDefinition)
    standing = state[TaskRecords].standing(item.id)
    root = definition.is_root
    overlapping = word(definition.overlap is not OverlapPolicy.NO_OVERLAP)
    return {
        "created_on": item.created_on,
        "name": item.name.name,
        "id": item.id,
        "kind": "TASK",
        "database_name": item.name.database,
        "schema_name": item.name.schema,
        "owner": item.owner,
        "comment": item.comment or "",
        "warehouse": definition.warehouse,
        "schedule": definition.schedule,
        "predecessors": json.dumps([_full(item, name) for name in definition.predecessors]),
        "state": "started" if standing.started else "suspended",
        "definition": definition.body,
        "condition": definition.condition,
        "allow_overlapping_execution": overlapping if root else _NONE,
        "error_integration": _NONE,
        "last_committed_on": standing.committed_on,
        "last_suspended_on": standing.suspended_on,
        "owner_role_type": "ROLE",
        "config": definition.config,
        "task_relations": json.dumps(_relations(item, definition, neighbours), separators=(",", ":")),
        "last_suspended_reason": standing.suspended_reason,
        "success_integration": _NONE,
        "scheduling_mode": "FIXED" if definition.completion_interval is None else "FLEXIBLE",
        "target_completion_interval": definition.completion_interval,
        "overlap_policy": definition.overlap.value if root else None,
    }


def _relations(item: CatalogObject, definition: TaskDefinition, neighbours: Definitions) -> dict[str, Any]:
    found: dict[str, Any] = {"Predecessors": [_full(item, name) for name in definition.predecessors]}
    if definition.finalizes is not None:
        return {"FinalizedRootTask": _full(item, definition.finalizes), **found}
    last = graph.finalizer(neighbours, item.name.name)
    if last is not None:
        found["FinalizerTask"] = _full(item, last)
    return found


def _full(item: CatalogObject, name: str) -> str:
    return str(ObjectName(item.name.database, item.name.schema, name))


def dependent(state: StateReader, item: CatalogObject) -> Row:
    """A row of TASK_DEPENDENTS."""
    row = described(state, item)
    return {key.upper(): value for key, value in row.items()} | {"OWNER": quote(item.owner)}
