"""SYSTEM$ functions of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.core.names import split_name
from snowmelt.features.tasks import graph, standings
from snowmelt.features.tasks.configs import value_at
from snowmelt.features.tasks.context import TaskContext, task_context
from snowmelt.features.tasks.definitions import TASK, GraphRun, RunState
from snowmelt.features.tasks.records import TaskRecords
from snowmelt.features.tasks.service import Tasks
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

Arguments = Sequence[Any]
_LONGEST_VALUE = 10_240
"""Bytes of a return value."""


def _find(run: Run, state: StateReader, text: Any) -> CatalogObject:
    parts = split_name(str(text))
    if parts is None or len(parts) > 3:
        raise errors.invalid_value(str(text), "task_name")
    full = run.object_name(parts)
    found = state.catalog.find(full, [TASK])
    if found is None:
        raise errors.not_found("Task", str(full))
    return found


def dependents_enable(run: Run, state: StateReader, arguments: Arguments) -> str:
    """Resumes a task and everything after it, the root last."""
    found = _find(run, state, arguments[0])
    with run.state.begin() as writer:
        tasks = graph.load(writer, found.name.parent)
        for node in reversed(tasks.graph(found.name.name)):
            standings.resume(writer, tasks, node)
        standings.fix_version(writer, tasks.root_of(found.name.name))
    run.account.services[Tasks].wake()
    return "true"


def set_return_value(run: Run, _: StateReader, arguments: Arguments) -> str:
    context = task_context(run, "SYSTEM$SET_RETURN_VALUE")
    value = None if arguments[0] is None else str(arguments[0])
    if value is not None and len(value.encode()) > _LONGEST_VALUE:
        raise errors.task_refused(f"The return value of a task can have at most {_LONGEST_VALUE} bytes.")
    context.return_value = value
    return "true"


def predecessor_return_value(run: Run, state: StateReader, arguments: Arguments) -> str | None:
    name = "SYSTEM$GET_PREDECESSOR_RETURN_VALUE"
    context = task_context(run, name)
    known = context.task.definition.predecessors
    if arguments:
        parts = split_name(str(arguments[0]))
        wanted = parts[-1] if parts is not None else str(arguments[0])
        if wanted not in _before(context):
            raise errors.task_refused(f"Task {wanted} is not a predecessor of {context.run.name}.")
    elif len(known) == 1:
        wanted = known[0]
    else:
        raise errors.task_refused(
            f"{name} needs the name of a predecessor: the task has {len(known)}.", "Name one of them in quotes."
        )
    attempts = [item.id for item in state[TaskRecords].graph_runs(group_id=context.graph_run.group_id)]
    runs = [item for item in state[TaskRecords].runs_of(attempts) if item.name.name == wanted]
    done = [item for item in runs if item.state is RunState.SUCCEEDED]
    return done[-1].return_value if done else None


def _before(context: TaskContext) -> set[str]:
    """The names of a task's predecessors, of theirs, and so on."""
    tasks = {task.name: task for task in context.graph_run.tasks}
    found: set[str] = set()
    waiting = list(context.task.definition.predecessors)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += tasks[name].definition.predecessors if name in tasks else ()
    return found


def current_task_name(run: Run, _: StateReader, arguments: Arguments) -> str:
    return str(task_context(run, "SYSTEM$CURRENT_USER_TASK_NAME").run.name)


def graph_config(run: Run, _: StateReader, arguments: Arguments) -> str | None:
    config = task_context(run, "SYSTEM$GET_TASK_GRAPH_CONFIG").graph_run.config
    if config is None or not arguments or arguments[0] is None:
        return config
    return value_at(config, str(arguments[0]))


def runtime_info(run: Run, state: StateReader, arguments: Arguments) -> str | None:
    context = task_context(run, "SYSTEM$TASK_RUNTIME_INFO")
    current = context.graph_run
    match str(arguments[0]).upper():
        case "CURRENT_ROOT_TASK_NAME":
            return str(current.root)
        case "CURRENT_ROOT_TASK_UUID":
            return current.root_id
        case "CURRENT_TASK_NAME":
            return str(context.run.name)
        case "CURRENT_TASK_GRAPH_RUN_GROUP_ID":
            return current.group_id
        case "CURRENT_TASK_GRAPH_ORIGINAL_SCHEDULED_TIMESTAMP":
            return _timestamp(current)
        case "LAST_SUCCESSFUL_TASK_GRAPH_RUN_GROUP_ID":
            last = _last_success(state, current)
            return None if last is None else last.group_id
        case "LAST_SUCCESSFUL_TASK_GRAPH_ORIGINAL_SCHEDULED_TIMESTAMP":
            last = _last_success(state, current)
            return None if last is None else _timestamp(last)
    raise errors.invalid_value(str(arguments[0]), "SYSTEM$TASK_RUNTIME_INFO")


def _last_success(state: StateReader, current: GraphRun) -> GraphRun | None:
    done = [item for item in state[TaskRecords].graph_runs(current.root_id) if item.state is RunState.SUCCEEDED]
    return next((item for item in done if item.group_id != current.group_id), None)


def _timestamp(run: GraphRun) -> str:
    return run.original_time.isoformat(sep=" ", timespec="milliseconds")


def cancel_executions(run: Run, state: StateReader, arguments: Arguments) -> str:
    found = _find(run, state, arguments[0])
    count = run.account.services[Tasks].cancel(found.id)
    return f"{count} ongoing execution(s) of task {found.name} cancelled."
