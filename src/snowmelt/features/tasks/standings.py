"""Resuming and suspending tasks, and fixing the version of their graph."""

from __future__ import annotations

from snowmelt.features.tasks import graph
from snowmelt.features.tasks.graph import GraphTask, TasksOfSchema
from snowmelt.features.tasks.records import TaskRecords
from snowmelt.state.store import StateTransaction

BY_USER = "USER_SUSPENDED"
BY_ERRORS = "SUSPENDED_DUE_TO_ERRORS"
BECAME_ROOT = "CHILD_BECAME_ROOT"
FINALIZER_BECAME_ROOT = "FINALIZER_BECAME_ROOT"


def resume(state: StateTransaction, tasks: TasksOfSchema, node: GraphTask) -> None:
    """A root begins its schedule anew; its graph has a version from now on."""
    if node.standing.started:
        return
    values: dict[str, object] = {"started": True, "committed_on": state.now, "failures": 0}
    if node.definition.is_root:
        values |= {"beginning": state.now, "settled": state.now, "triggered_at": None}
        for member in tasks.graph(node.task.name.name):
            if member.standing.failures:
                state[TaskRecords].change(member.task.id, failures=0)
    state[TaskRecords].change(node.task.id, **values)
    if node.definition.is_root:
        fix_version(state, node)


def suspend(state: StateTransaction, task_id: str, reason: str = BY_USER) -> None:
    state[TaskRecords].change(task_id, started=False, suspended_on=state.now, suspended_reason=reason)


def fix_version(state: StateTransaction, root: GraphTask) -> int:
    """The version of the graph as it is now: another one than the last, if anything changed."""
    found = graph.fingerprint(graph.of_root(state, root))
    standing = state[TaskRecords].standing(root.task.id)
    if standing.fingerprint == found:
        return standing.version
    return state[TaskRecords].change(root.task.id, version=standing.version + 1, fingerprint=found).version
