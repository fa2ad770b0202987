"""Functions of SNOWFLAKE.ALERT and SNOWFLAKE.NOTIFICATION: what an alert knows of itself, and messages as values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.features.tasks.context import TaskContext, task_context
from snowmelt.features.tasks.definitions import RunState
from snowmelt.features.tasks.records import TaskRecords
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

Arguments = Sequence[Any]
_EVALUATED = (RunState.SUCCEEDED, RunState.SKIPPED)


def _alert(run: Run, function: str) -> TaskContext:
    context = task_context(run, function)
    if context.run.exists is None:
        raise errors.not_in_task(function)
    return context


def scheduled_time(run: Run, _: StateReader, __: Arguments) -> datetime:
    return _alert(run, "SNOWFLAKE.ALERT.SCHEDULED_TIME").run.scheduled_time


def last_successful_time(run: Run, state: StateReader, _: Arguments) -> datetime:
    """When the condition was last evaluated before this run; before the first time, when the alert was made."""
    context = _alert(run, "SNOWFLAKE.ALERT.LAST_SUCCESSFUL_SCHEDULED_TIME")
    for before in state[TaskRecords].last_runs(context.run.task_id, limit=100):
        if before.id != context.run.id and before.state in _EVALUATED:
            return before.scheduled_time
    alert = state.catalog.by_id(context.run.task_id)
    return alert.created_on if alert is not None else context.run.scheduled_time


def condition_query(run: Run, _: StateReader, __: Arguments) -> str | None:
    """GET_CONDITION_QUERY_UUID(): RESULT_SCAN of this id gives the action the rows that made it run."""
    return _alert(run, "SNOWFLAKE.ALERT.GET_CONDITION_QUERY_UUID").condition.query_id


def text_plain(_: Run, __: StateReader, arguments: Arguments) -> str:
    return json.dumps({"text/plain": str(arguments[0])})


def text_html(_: Run, __: StateReader, arguments: Arguments) -> str:
    return json.dumps({"text/html": str(arguments[0])})


def application_json(_: Run, __: StateReader, arguments: Arguments) -> str:
    return json.dumps({"application/json": str(arguments[0])})


def integration(_: Run, __: StateReader, arguments: Arguments) -> str:
    return json.dumps({str(arguments[0]): {}})


def email_integration(_: Run, __: StateReader, arguments: Arguments) -> str:
    """EMAIL_INTEGRATION_CONFIG('<integration>', '<subject>', ARRAY_CONSTRUCT('<address>', …))."""
    to = arguments[2] if len(arguments) > 2 else []
    listed = json.loads(to) if isinstance(to, str) else list(to or [])
    return json.dumps({str(arguments[0]): {"subject": str(arguments[1]), "toAddress": listed}})
