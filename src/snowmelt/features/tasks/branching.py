"""What became of the tasks before: SYSTEM$PREDECESSORS_STATE and SYSTEM$TASK_COMPLETION_STATE."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.core.names import split_name
from snowmelt.features.tasks.context import TaskContext, task_context
from snowmelt.features.tasks.definitions import RunState
from snowmelt.features.tasks.records import TaskRecords
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_SUCCEEDED, _FAILED, _SKIPPED, _CANCELLED = "SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED"
_NOT_EXECUTED = "NOT_EXECUTED"
"""It has not begun in this run of the graph, or has not ended."""
_STATES = {
    RunState.SUCCEEDED: _SUCCEEDED,
    RunState.FAILED: _FAILED,
    RunState.FAILED_AND_AUTO_SUSPENDED: _FAILED,
    RunState.SKIPPED: _SKIPPED,
    RunState.CANCELLED: _CANCELLED,
}


def _only(*states: str) -> Callable[[Sequence[str]], bool]:
    return lambda found: set(found) <= set(states)


_CONDITIONS: Mapping[str, Callable[[Sequence[str]], bool]] = {
    "ALL_SUCCEEDED": _only(_SUCCEEDED),
    "ALL_FAILED": _only(_FAILED),
    "ALL_DONE": _only(_SUCCEEDED, _FAILED, _SKIPPED, _CANCELLED),
    "ALL_SKIPPED": _only(_SKIPPED),
    "AT_LEAST_ONE_FAILED": lambda found: _FAILED in found,
    "AT_LEAST_ONE_SUCCEEDED": lambda found: _SUCCEEDED in found,
    "NONE_FAILED": _only(_SUCCEEDED, _SKIPPED),
    "NONE_FAILED_MIN_ONE_SUCCEEDED": lambda found: set(found) <= {_SUCCEEDED, _SKIPPED} and _SUCCEEDED in found,
    "NONE_SKIPPED": _only(_SUCCEEDED, _FAILED),
}


def predecessors_state(run: Run, state: StateReader, arguments: Sequence[Any]) -> bool:
    name = "SYSTEM$PREDECESSORS_STATE"
    context = task_context(run, name)
    condition = _CONDITIONS.get(str(arguments[0]).upper())
    if condition is None:
        raise errors.invalid_value(str(arguments[0]), name)
    found = _states(state, context)
    return condition([found.get(task, _NOT_EXECUTED) for task in _asked(context, context.task.definition.predecessors)])


def completion_state(run: Run, state: StateReader, arguments: Sequence[Any]) -> str:
    context = task_context(run, "SYSTEM$TASK_COMPLETION_STATE")
    parts = split_name(str(arguments[0]))
    wanted = parts[-1] if parts is not None else str(arguments[0])
    if all(task.name != wanted for task in context.graph_run.tasks):
        raise errors.task_refused(f"Task {wanted} is not in the graph of {context.run.name}.")
    return _states(state, context).get(wanted, _NOT_EXECUTED)


def _asked(context: TaskContext, names: Sequence[str]) -> Iterator[str]:
    """The predecessors by name. In place of a suspended one, which is as if it were not there, those before it."""
    tasks = {task.name: task for task in context.graph_run.tasks}
    for name in names:
        task = tasks.get(name)
        if task is None:
            continue
        if task.started or task.id == context.graph_run.root_id:
            yield name
        else:
            yield from _asked(context, task.definition.predecessors)


def _states(state: StateReader, context: TaskContext) -> dict[str, str]:
    """How tasks ended in this attempt at the run, by name; what an earlier one completed was kept."""
    graph_run = context.graph_run
    found = {task.name: _SUCCEEDED for task in graph_run.tasks if task.id in graph_run.kept}
    for item in state[TaskRecords].runs_of([graph_run.id]):
        if item.state in _STATES:
            found[item.name.name] = _STATES[item.state]
    return found
