"""INFORMATION_SCHEMA's table functions over tasks."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, split_name
from snowmelt.features.tasks import graph, listing, runs
from snowmelt.features.tasks.definitions import TASK, GraphRun, RunState, ScheduledFrom, TaskDefinition, TaskRun
from snowmelt.features.tasks.records import TaskRecords
from snowmelt.runtime.metadata.columns import EPOCH, Row, columns
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run
    from snowmelt.runtime.table_functions import Arguments

DAYS = 7
"""How far back TASK_HISTORY looks."""
AHEAD = timedelta(days=8)
_RECENTLY = timedelta(minutes=60)
HISTORY_COLUMNS = columns(
    "QUERY_ID, NAME, DATABASE_NAME, SCHEMA_NAME, QUERY_TEXT, CONDITION_TEXT, STATE, ERROR_CODE:n, ERROR_MESSAGE, "
    "SCHEDULED_TIME:ts, QUERY_START_TIME:ts, NEXT_SCHEDULED_TIME:ts, COMPLETED_TIME:ts, ROOT_TASK_ID, GRAPH_VERSION:n, "
    "RUN_ID:n, RETURN_VALUE, SCHEDULED_FROM, ATTEMPT_NUMBER:n, CONFIG, QUERY_HASH, QUERY_HASH_VERSION:n, "
    "QUERY_PARAMETERIZED_HASH, QUERY_PARAMETERIZED_HASH_VERSION:n, GRAPH_RUN_GROUP_ID, BACKFILL_INFO:object, "
    "SPCS_JOB_ID:n"
)
DEPENDENT_COLUMNS = columns(
    "CREATED_ON:ts, NAME, DATABASE_NAME, SCHEMA_NAME, OWNER, COMMENT, WAREHOUSE, SCHEDULE, PREDECESSORS, STATE, "
    "DEFINITION, CONDITION"
)
_GRAPH_COLUMNS = (
    "ROOT_TASK_NAME, DATABASE_NAME, SCHEMA_NAME, STATE, SCHEDULED_FROM, FIRST_ERROR_TASK_NAME, FIRST_ERROR_CODE:n, "
    "FIRST_ERROR_MESSAGE, SCHEDULED_TIME:ts, QUERY_START_TIME:ts, NEXT_SCHEDULED_TIME:ts, {completed}ROOT_TASK_ID, "
    "GRAPH_VERSION:n, RUN_ID:n, ATTEMPT_NUMBER:n, CONFIG, GRAPH_RUN_GROUP_ID, BACKFILL_INFO:object"
)
CURRENT_COLUMNS = columns(_GRAPH_COLUMNS.format(completed=""))
COMPLETE_COLUMNS = columns(_GRAPH_COLUMNS.format(completed="COMPLETED_TIME:ts, "))
HISTORY_ARGUMENTS = (
    "SCHEDULED_TIME_RANGE_START", "SCHEDULED_TIME_RANGE_END", "RESULT_LIMIT", "TASK_NAME", "ERROR_ONLY",
    "ROOT_TASK_ID", "DATABASE_NAME", "SCHEMA_NAME",
)  # fmt: skip
DEPENDENT_ARGUMENTS = ("TASK_NAME", "RECURSIVE")
CURRENT_ARGUMENTS = ("RESULT_LIMIT", "ROOT_TASK_NAME")
COMPLETE_ARGUMENTS = ("RESULT_LIMIT", "ROOT_TASK_NAME", "ERROR_ONLY")
_ERRORS = frozenset({RunState.FAILED, RunState.FAILED_AND_AUTO_SUSPENDED, RunState.CANCELLED})


# -- TASK_HISTORY -----------------------------------------------------------------------------------------------------


def task_history(run: Run, state: StateReader, arguments: Arguments) -> list[Row]:
    """Runs of tasks and the next ones, the latest first."""
    start = within(run, arguments.instant("SCHEDULED_TIME_RANGE_START")) or run.now - timedelta(days=DAYS)
    end = within(run, arguments.instant("SCHEDULED_TIME_RANGE_END"))
    if arguments.value("SCHEMA_NAME") is not None and arguments.value("DATABASE_NAME") is None:
        raise errors.compilation("001020", "22023", "SCHEMA_NAME needs DATABASE_NAME.")
    past = state[TaskRecords].runs(start, end or run.now + timedelta(minutes=1))
    found = [_task_run(item) for item in past if item.exists is None]
    latest = end or run.now + AHEAD
    found += [row for row in _coming(state, run.now) if start <= row["SCHEDULED_TIME"] <= latest]
    found.sort(key=lambda row: row["SCHEDULED_TIME"], reverse=True)
    wanted = {
        "NAME": arguments.identifier("TASK_NAME"),
        "DATABASE_NAME": arguments.identifier("DATABASE_NAME"),
        "SCHEMA_NAME": arguments.identifier("SCHEMA_NAME"),
        "ROOT_TASK_ID": arguments.text("ROOT_TASK_ID"),
    }
    rows: list[Row] = [row for row in found if all(value in (None, row[name]) for name, value in wanted.items())]
    if arguments.value("ERROR_ONLY"):
        rows = [row for row in rows if row["STATE"] in _ERRORS]
    return rows[: arguments.limit(100)]


def _task_run(item: TaskRun) -> dict[str, Any]:
    return {
        "QUERY_ID": item.query_id,
        **_names(item.name),
        "QUERY_TEXT": item.body,
        "CONDITION_TEXT": item.condition,
        "STATE": item.state.value,
        "ERROR_CODE": number(item.error_code),
        "ERROR_MESSAGE": item.error_message,
        "SCHEDULED_TIME": item.scheduled_time,
        # A task that was skipped used nothing: no query began.
        "QUERY_START_TIME": None if item.state is RunState.SKIPPED else item.started_at,
        "NEXT_SCHEDULED_TIME": item.next_time,
        "COMPLETED_TIME": item.completed_at,
        "ROOT_TASK_ID": item.root_id,
        "GRAPH_VERSION": item.version,
        "RUN_ID": _milliseconds(item.original_time),
        "RETURN_VALUE": item.return_value,
        "SCHEDULED_FROM": item.scheduled_from.value,
        "ATTEMPT_NUMBER": item.attempt,
        "CONFIG": item.config,
        "GRAPH_RUN_GROUP_ID": item.group_id,
    }


def _coming(state: StateReader, now: datetime) -> list[dict[str, Any]]:
    """The root tasks that wait for their run, and the next one of each schedule."""
    rows: list[dict[str, Any]] = []
    for waiting in state[TaskRecords].active_graph_runs():
        if waiting.state is RunState.SCHEDULED and not waiting.is_alert:
            task = waiting.tasks[0]
            rows.append({**_scheduled(waiting.root, waiting.root_id, task.definition), **_attempt(waiting)})
    for item in state.catalog.objects([TASK]):
        assert isinstance(item.definition, TaskDefinition)
        standing = state[TaskRecords].standing(item.id)
        at = runs.next_time(item.definition, standing, now) if item.definition.is_root else None
        if at is not None and at <= now + AHEAD:
            rows.append(
                {
                    **_scheduled(item.name, item.id, item.definition),
                    "SCHEDULED_TIME": at,
                    "GRAPH_VERSION": standing.version,
                    "RUN_ID": _milliseconds(at),
                    "SCHEDULED_FROM": ScheduledFrom.SCHEDULE.value,
                    "ATTEMPT_NUMBER": 1,
                    "CONFIG": item.definition.config,
                }
            )
    return rows


def _scheduled(name: ObjectName, id: str, definition: TaskDefinition) -> dict[str, Any]:
    return {
        **_names(name),
        "QUERY_TEXT": definition.body,
        "CONDITION_TEXT": definition.condition,
        "STATE": RunState.SCHEDULED.value,
        "ROOT_TASK_ID": id,
    }


def _attempt(run: GraphRun) -> dict[str, Any]:
    return {
        "SCHEDULED_TIME": run.scheduled_time,
        "GRAPH_VERSION": run.version,
        "RUN_ID": _milliseconds(run.original_time),
        "SCHEDULED_FROM": run.scheduled_from.value,
        "ATTEMPT_NUMBER": run.attempt,
        "CONFIG": run.config,
        "GRAPH_RUN_GROUP_ID": run.group_id,
    }


# -- graphs -----------------------------------------------------------------------------------------------------------


def task_dependents(run: Run, state: StateReader, arguments: Arguments) -> list[Row]:
    """The task itself, then what comes after it; with RECURSIVE => FALSE only directly."""
    found = _named(run, state, arguments.text("TASK_NAME") or "")
    tasks = graph.load(state, found.name.parent)
    recursive = arguments.value("RECURSIVE")
    if recursive is None or recursive:
        nodes = tasks.graph(found.name.name)
    else:
        last = graph.finalizer(tasks.definitions, found.name.name)
        below = [*graph.children(tasks.definitions, found.name.name), *([last] if last is not None else [])]
        nodes = [tasks.nodes[name] for name in (found.name.name, *below)]
    return [listing.dependent(state, node.task) for node in nodes]


def current_task_graphs(run: Run, state: StateReader, arguments: Arguments) -> list[Row]:
    """Runs that execute, and the next of each schedule, the latest first."""
    rows = [_graph_run(item) for item in state[TaskRecords].active_graph_runs() if not item.is_alert]
    rows += [
        {**row, "ROOT_TASK_NAME": row["NAME"]}
        for row in _coming(state, run.now)
        if row["SCHEDULED_FROM"] == ScheduledFrom.SCHEDULE.value
    ]
    return _chosen(rows, arguments)


def complete_task_graphs(run: Run, state: StateReader, arguments: Arguments) -> list[Row]:
    """Runs that ended within the last hour. One whose root was skipped is none."""
    ended = [
        _graph_run(item)
        for item in state[TaskRecords].graph_runs()
        if item.completed_at is not None
        and not item.is_alert
        and item.completed_at >= run.now - _RECENTLY
        and item.state is not RunState.SKIPPED
        and (not arguments.value("ERROR_ONLY") or item.state in _ERRORS)
    ]
    return _chosen(ended, arguments)


def _chosen(rows: list[dict[str, Any]], arguments: Arguments) -> list[Row]:
    name = arguments.identifier("ROOT_TASK_NAME")
    chosen = [row for row in rows if name in (None, row["ROOT_TASK_NAME"])]
    chosen.sort(key=lambda row: (row["SCHEDULED_TIME"], row.get("ATTEMPT_NUMBER", 1)), reverse=True)
    return list(chosen[: arguments.limit(1000)])


def _graph_run(item: GraphRun) -> dict[str, Any]:
    return {
        "ROOT_TASK_NAME": item.root.name,
        "DATABASE_NAME": item.root.database,
        "SCHEMA_NAME": item.root.schema,
        "STATE": item.state.value,
        "FIRST_ERROR_TASK_NAME": item.first_error_task,
        "FIRST_ERROR_CODE": number(item.first_error_code),
        "FIRST_ERROR_MESSAGE": item.first_error_message,
        "QUERY_START_TIME": item.started_at,
        "NEXT_SCHEDULED_TIME": item.next_time,
        "COMPLETED_TIME": item.completed_at,
        "ROOT_TASK_ID": item.root_id,
        **_attempt(item),
    }


# -- parts ------------------------------------------------------------------------------------------------------------


def _names(name: ObjectName) -> dict[str, Any]:
    return {"NAME": name.name, "DATABASE_NAME": name.database, "SCHEMA_NAME": name.schema}


def _named(run: Run, state: StateReader, text: str) -> CatalogObject:
    parts = split_name(text)
    if parts is None or len(parts) > 3:
        raise errors.invalid_value(text, "TASK_NAME")
    full = run.object_name(parts, "INFORMATION_SCHEMA")
    found = state.catalog.find(full, [TASK])
    if found is None:
        raise errors.not_found("Task", str(full))
    return found


def number(code: str | None) -> int | None:
    return int(code) if code is not None and code.isdigit() else None


def _milliseconds(instant: datetime) -> int:
    return round((instant - EPOCH).total_seconds() * 1000)


def within(run: Run, instant: datetime | None) -> datetime | None:
    if instant is not None and instant < run.now - timedelta(days=DAYS):
        raise errors.SnowmeltError("001018", "22023", f"Cannot retrieve data from more than {DAYS} days ago")
    return instant
