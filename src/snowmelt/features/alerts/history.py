"""INFORMATION_SCHEMA.ALERT_HISTORY()."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from snowmelt.core.names import ObjectName
from snowmelt.features.alerts.definitions import ALERT, definition_of
from snowmelt.features.tasks import runs
from snowmelt.features.tasks.definitions import RunState, ScheduledFrom, TaskDefinition, TaskRun
from snowmelt.features.tasks.functions import AHEAD, number, within
from snowmelt.features.tasks.records import TaskRecords
from snowmelt.runtime.metadata.columns import Row, columns
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run
    from snowmelt.runtime.table_functions import Arguments

HISTORY_ARGUMENTS = ("SCHEDULED_TIME_RANGE_START", "SCHEDULED_TIME_RANGE_END", "RESULT_LIMIT", "ALERT_NAME")
HISTORY_COLUMNS = columns(
    "NAME, DATABASE_NAME, SCHEMA_NAME, CONDITION, CONDITION_QUERY_ID, ACTION, ACTION_QUERY_ID, STATE, "
    "SQL_ERROR_CODE:n, SQL_ERROR_MESSAGE, SCHEDULED_TIME:ts, COMPLETED_TIME:ts, SCHEDULED_FROM, RUNBOOK, "
    "WAS_AUTO_SUSPENDED:bool, CONFIG"
)


def alert_history(run: Run, state: StateReader, arguments: Arguments) -> list[Row]:
    """What alerts did, and what they will do next, the latest first."""
    start = within(run, arguments.instant("SCHEDULED_TIME_RANGE_START")) or run.now - timedelta(days=1)
    end = within(run, arguments.instant("SCHEDULED_TIME_RANGE_END"))
    found = [
        _past(state, item)
        for item in state[TaskRecords].runs(start, end or run.now + timedelta(minutes=1))
        if item.exists is not None
    ]
    latest = end or run.now + AHEAD
    found += [row for row in _coming(state, run.now) if start <= row["SCHEDULED_TIME"] <= latest]
    found.sort(key=lambda row: row["SCHEDULED_TIME"], reverse=True)
    wanted = arguments.identifier("ALERT_NAME")
    rows: list[Row] = [row for row in found if wanted in (None, row["NAME"])]
    return rows[: arguments.limit(100)]


def _past(state: StateReader, item: TaskRun) -> dict[str, Any]:
    alert = state.catalog.by_id(item.task_id)
    failed = item.state in (RunState.FAILED, RunState.FAILED_AND_AUTO_SUSPENDED)
    return {
        **_names(item.name),
        "CONDITION": item.exists,
        "CONDITION_QUERY_ID": item.condition_query_id,
        "ACTION": item.body,
        "ACTION_QUERY_ID": item.query_id,
        "STATE": _state(item),
        "SQL_ERROR_CODE": number(item.error_code) if failed else None,
        "SQL_ERROR_MESSAGE": item.error_message if failed else None,
        "SCHEDULED_TIME": item.scheduled_time,
        "COMPLETED_TIME": item.completed_at,
        "SCHEDULED_FROM": item.scheduled_from.value,
        "RUNBOOK": definition_of(alert).runbook if alert is not None else None,
        "WAS_AUTO_SUSPENDED": item.state is RunState.FAILED_AND_AUTO_SUSPENDED,
        "CONFIG": item.config,
    }


def _state(item: TaskRun) -> str:
    match item.state:
        case RunState.SUCCEEDED:
            return "TRIGGERED"
        case RunState.SKIPPED:
            return "CONDITION_FALSE"
        case RunState.FAILED | RunState.FAILED_AND_AUTO_SUSPENDED:
            return (
                "ACTION_FAILED" if item.condition_query_id is not None and item.condition_held else "CONDITION_FAILED"
            )
    return item.state.value


def _coming(state: StateReader, now: datetime) -> list[dict[str, Any]]:
    rows = [
        _scheduled(waiting.root, waiting.tasks[0].definition, waiting.scheduled_time, waiting.scheduled_from)
        for waiting in state[TaskRecords].active_graph_runs()
        if waiting.is_alert and waiting.state is RunState.SCHEDULED
    ]
    for item in state.catalog.objects([ALERT]):
        task = definition_of(item).task
        at = runs.next_time(task, state[TaskRecords].standing(item.id), now)
        if at is not None and at <= now + AHEAD:
            rows.append(_scheduled(item.name, task, at, ScheduledFrom.SCHEDULE))
    return rows


def _scheduled(name: ObjectName, task: TaskDefinition, at: datetime, reason: ScheduledFrom) -> dict[str, Any]:
    return {
        **_names(name),
        "CONDITION": task.exists,
        "ACTION": task.body,
        "STATE": RunState.SCHEDULED.value,
        "SCHEDULED_TIME": at,
        "SCHEDULED_FROM": reason.value,
        "WAS_AUTO_SUSPENDED": False,
        "CONFIG": task.config,
    }


def _names(name: ObjectName) -> dict[str, Any]:
    return {"NAME": name.name, "DATABASE_NAME": name.database, "SCHEMA_NAME": name.schema}
