"""CREATE TASK, ALTER TASK and EXECUTE TASK."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.features.tasks import changing, graph, runs
from snowmelt.features.tasks.configs import merged
from snowmelt.features.tasks.definitions import ACTIVE, TASK, RunState, ScheduledFrom
from snowmelt.features.tasks.graph import GraphTask
from snowmelt.features.tasks.records import TaskRecords
from snowmelt.features.tasks.service import Tasks
from snowmelt.features.tasks.statements import AlterTask, CreateTask, ExecuteTask
from snowmelt.runtime import schema_objects
from snowmelt.runtime.results import DONE, Result, status
from snowmelt.state.store import StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def create_task(run: Run, statement: CreateTask) -> Result:
    return status(changing.create(run, statement), "CREATE_TASK")


def alter_task(run: Run, statement: AlterTask) -> Result:
    changing.alter(run, statement.name, statement.action, if_exists=statement.if_exists)
    return status(DONE, "ALTER_TASK")


def execute_task(run: Run, statement: ExecuteTask) -> Result:
    with run.state.begin() as state:
        task = schema_objects.require(run, state, TASK, statement.name)
        tasks = graph.load(state, task.name.parent)
        node = tasks.nodes[task.name.name]
        if not node.definition.is_root:
            raise errors.task_refused(
                f"Execute task cannot be called on non-root task {task.name}. Call EXECUTE TASK on the root task of "
                "its graph instead."
            )
        if statement.retry_last or statement.retry_group is not None:
            _retry(state, node, statement)
        else:
            _forget_waiting(state, task.id)
            runs.new_graph_run(
                state,
                node,
                state.now,
                ScheduledFrom.EXECUTE_TASK,
                waiting=True,
                config=merged(node.definition.config, statement.config),
            )
    run.account.services[Tasks].run_due()
    return status(f"Task {quote(task.name.name)} is scheduled to run immediately.", "EXECUTE_TASK")


def _forget_waiting(state: StateTransaction, root_id: str) -> None:
    """A run that was asked for and has not begun is replaced, not joined, by another."""
    for run in state[TaskRecords].active_graph_runs():
        asked_for = run.scheduled_from is ScheduledFrom.EXECUTE_TASK and run.state is RunState.SCHEDULED
        if run.root_id == root_id and asked_for:
            state[TaskRecords].forget_graph_run(run.id)


def _retry(state: StateTransaction, root: GraphTask, statement: ExecuteTask) -> None:
    found = state[TaskRecords].graph_runs(root.task.id)
    if statement.retry_group is not None:
        found = [run for run in found if run.group_id == statement.retry_group]
        if not found:
            raise errors.task_refused(
                f"Cannot perform retry: Graph run group with ID {statement.retry_group} not found."
            )
    finished = [run for run in found if run.state not in ACTIVE and run.state is not RunState.SKIPPED]
    finished = [run for run in finished if run.scheduled_time > state.now - runs.REPEATABLE_FOR]
    last = max(finished, key=lambda run: (run.scheduled_time, run.attempt), default=None)
    version = runs.current_version(state, root)
    failed = runs.require_failed(last, root, version)
    tasks = graph.as_run(graph.load(state, root.task.name.parent).graph(root.task.name.name))
    runs.retry(state, failed, tasks, runs.completed(state, failed, tasks), ScheduledFrom.MANUAL_RETRY)
