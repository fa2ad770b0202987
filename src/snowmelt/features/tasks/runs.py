"""Runs of graphs and of tasks, from beginning to end, as the state store keeps them."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName
from snowmelt.core.schedules import parse_schedule
from snowmelt.features.tasks import graph, standings
from snowmelt.features.tasks.context import NO_CONDITION, ConditionRun
from snowmelt.features.tasks.definitions import (
    GraphRun,
    RunsAsTask,
    RunState,
    RunTask,
    ScheduledFrom,
    TaskDefinition,
    TaskRun,
    TaskStanding,
)
from snowmelt.features.tasks.graph import GraphTask
from snowmelt.features.tasks.records import TaskRecords
from snowmelt.sql.statements.classify import classify
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.state.store import StateTransaction

SKIPPED_CODE = "040003"
SKIPPED_MESSAGE = "Conditional expression for task evaluated to false."
REPEATABLE_FOR = timedelta(days=14)
"""How long after a run it can be repeated by RETRY."""
INTERRUPTED = SnowmeltError("000605", "57014", "The server stopped during the run of the task.")


def next_time(definition: TaskDefinition, standing: TaskStanding, now: datetime) -> datetime | None:
    """When a root's schedule starts its next run."""
    if definition.schedule is None or not standing.started or standing.beginning is None:
        return None
    return parse_schedule(definition.schedule).next(max(now, standing.settled or now), standing.beginning)


def new_graph_run(
    state: StateTransaction, root: GraphTask, at: datetime, reason: ScheduledFrom, *, waiting: bool, config: str | None
) -> GraphRun:
    """The first attempt at a run of the graph as it is now."""
    version = standings.fix_version(state, root)
    run = GraphRun(
        id=str(uuid.uuid4()),
        group_id=str(uuid.uuid4()),
        root_id=root.task.id,
        root=root.task.name,
        version=version,
        state=RunState.SCHEDULED if waiting else RunState.EXECUTING,
        scheduled_from=reason,
        scheduled_time=at,
        original_time=at,
        config=config,
        is_alert=isinstance(root.task.definition, RunsAsTask),
        tasks=graph.as_run(graph.of_root(state, root)),
        started_at=None if waiting else state.now,
        next_time=next_time(root.definition, state[TaskRecords].standing(root.task.id), state.now),
    )
    state[TaskRecords].put_graph_run(run)
    return run


def retry(
    state: StateTransaction, run: GraphRun, tasks: tuple[RunTask, ...], kept: Collection[str], reason: ScheduledFrom
) -> GraphRun:
    """Another attempt at a run, which repeats what the earlier ones did not complete."""
    again = run.model_copy(
        update={
            "id": str(uuid.uuid4()),
            "attempt": run.attempt + 1,
            "state": RunState.SCHEDULED,
            "scheduled_from": reason,
            "scheduled_time": state.now,
            "tasks": tasks,
            "kept": tuple(sorted(kept)),
            "started_at": None,
            "completed_at": None,
            "first_error_task": None,
            "first_error_code": None,
            "first_error_message": None,
        }
    )
    state[TaskRecords].put_graph_run(again)
    return again


def completed(state: StateTransaction, run: GraphRun, tasks: tuple[RunTask, ...]) -> set[str]:
    """The tasks that need not run again: they succeeded, and so did all before them.

    A task that ran because one before it failed has to look again. The finalizer belongs to each attempt anew.
    """
    done = {
        *run.kept,
        *(item.task_id for item in state[TaskRecords].runs_of([run.id]) if item.state is RunState.SUCCEEDED),
    }
    by_name = {task.name: task for task in tasks}

    @cache
    def stands(name: str) -> bool:
        task = by_name.get(name)
        if task is None:
            return True
        passed_by = not task.started and task.id != run.root_id
        return (task.id in done or passed_by) and all(map(stands, task.definition.predecessors))

    return {task.id for task in tasks if task.id in done and task.definition.finalizes is None and stands(task.name)}


def begin_task(state: StateTransaction, run: GraphRun, task: RunTask) -> TaskRun:
    found = TaskRun(
        id=str(uuid.uuid4()),
        graph_run_id=run.id,
        group_id=run.group_id,
        task_id=task.id,
        root_id=run.root_id,
        name=ObjectName(run.root.database, run.root.schema, task.name),
        body=task.definition.body,
        condition=task.definition.condition,
        exists=task.definition.exists,
        state=RunState.EXECUTING,
        scheduled_time=run.scheduled_time if task.id == run.root_id else state.now,
        original_time=run.original_time,
        started_at=state.now,
        next_time=run.next_time if task.id == run.root_id else None,
        version=run.version,
        attempt=run.attempt,
        scheduled_from=run.scheduled_from,
        config=run.config,
        repeatable=is_repeatable(task.definition.body),
    )
    state[TaskRecords].put_run(found)
    return found


def is_repeatable(body: str) -> bool:
    """Whether the body is one statement whose rows become visible together with the record of its success."""
    try:
        return classify(parse_statement(body)).is_dml
    except SnowmeltError:
        return False


def end_task(
    state: StateTransaction,
    run_id: str,
    outcome: RunState,
    *,
    error: SnowmeltError | None = None,
    query_id: str | None = None,
    return_value: str | None = None,
    condition: ConditionRun = NO_CONDITION,
) -> None:
    """Records what became of a task's run, once. What the system is to blame for counts neither way."""
    run = state[TaskRecords].run(run_id)
    if run is None or run.state is not RunState.EXECUTING:
        return
    values: dict[str, Any] = {
        "state": outcome, "completed_at": state.now, "query_id": query_id,
        "condition_query_id": condition.query_id, "condition_held": condition.held,
    }  # fmt: skip
    if outcome is RunState.SKIPPED:
        values |= {"error_code": SKIPPED_CODE, "error_message": SKIPPED_MESSAGE}
    if error is not None:
        values |= {"error_code": error.code, "error_message": error.text}
    state[TaskRecords].put_run(run.model_copy(update={**values, "return_value": return_value}))
    standing = state[TaskRecords].standing(run.task_id)
    if outcome is RunState.SUCCEEDED and standing.failures:
        state[TaskRecords].change(run.task_id, failures=0)
    if outcome is not RunState.FAILED:
        return
    assert error is not None
    if error is not INTERRUPTED:
        state[TaskRecords].change(run.task_id, failures=standing.failures + 1)
    whole = state[TaskRecords].graph_run(run.graph_run_id)
    if whole is not None and whole.first_error_task is None:
        first = {
            "first_error_task": run.name.name,
            "first_error_code": error.code,
            "first_error_message": error.text,
        }
        state[TaskRecords].put_graph_run(whole.model_copy(update=first))


def interrupted(state: StateTransaction, run: TaskRun) -> None:
    """A task whose process ended. If it commits together with its record, it did not, and starts again."""
    if run.repeatable:
        state[TaskRecords].forget_run(run.id)
    else:
        end_task(state, run.id, RunState.FAILED, error=INTERRUPTED)


def end_graph(state: StateTransaction, run: GraphRun, outcome: RunState) -> None:
    ended = {"state": outcome, "completed_at": state.now, "tasks": ()}
    state[TaskRecords].put_graph_run(run.model_copy(update=ended))


def suspend_root(state: StateTransaction, root: GraphTask) -> None:
    """Because its tasks fail too often: the run that was one too many says so."""
    members = {node.task.id: node for node in graph.of_root(state, root)}
    standings.suspend(state, root.task.id, standings.BY_ERRORS)
    worst = max(members, key=lambda id: members[id].standing.failures)
    last = next((run for run in state[TaskRecords].last_runs(worst) if run.state is RunState.FAILED), None)
    if last is not None:
        state[TaskRecords].put_run(last.model_copy(update={"state": RunState.FAILED_AND_AUTO_SUSPENDED}))


def current_version(state: StateTransaction, root: GraphTask) -> int:
    """The version that a run of the graph would have now."""
    return standings.fix_version(state, root)


def require_failed(run: GraphRun | None, root: GraphTask, version: int) -> GraphRun:
    """The run that RETRY repeats. Raises when no run failed, or the graph was changed since."""
    if run is None:
        raise errors.task_refused("Cannot perform retry: no suitable run of graph with root task "
                                  f"{root.task.name} to retry.")  # fmt: skip
    if run.state not in (RunState.FAILED, RunState.CANCELLED):
        raise errors.task_refused(f"Cannot perform retry: the last run of {root.task.name} is {run.state}.")
    if run.version != version:
        raise errors.task_refused(
            f"Cannot perform retry: the graph with root task {root.task.name} was modified since that run."
        )
    return run
