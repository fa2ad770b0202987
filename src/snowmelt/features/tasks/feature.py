"""Tasks and their graphs."""

from __future__ import annotations

from snowmelt.core import types
from snowmelt.features.tasks import branching, standings
from snowmelt.features.tasks import functions as task_functions
from snowmelt.features.tasks import system as tasks
from snowmelt.features.tasks.graph import task_kinds
from snowmelt.features.tasks.interrupted import end_tasks
from snowmelt.features.tasks.kind import KIND
from snowmelt.features.tasks.records import TaskRecords
from snowmelt.features.tasks.service import Tasks
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.stopping import StopTimes
from snowmelt.runtime.system_functions import SystemFunction
from snowmelt.runtime.table_functions import TableFunction
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateTransaction

_WAKING = frozenset({"DROP_TASK", "UNDROP_SCHEMA", "UNDROP_DATABASE"})
"""Statements after which a graph of tasks may be due, besides CREATE and ALTER of what runs as a task."""


def _begin(account: Account) -> None:
    end_tasks(account.state)
    tasks = account.services.add(Tasks(account))
    waking = _WAKING | {f"{verb}_{kind}" for kind in task_kinds() for verb in ("CREATE", "ALTER")}
    account.lifecycle.owner_changed.subscribe(_suspend_for_new_owner)
    account.lifecycle.refused_by_checks.subscribe(_suspend_for_checks)
    account.events.wake_after(waking, tasks.wake)
    account.events.rows_committed.subscribe(tasks.wake)


def _suspend_for_new_owner(state: StateTransaction, kind: str, id: str) -> None:
    """It would run with the rights of another role than the one that wanted it to run."""
    if kind in task_kinds() and state[TaskRecords].standing(id).started:
        standings.suspend(state, id)


def _suspend_for_checks(state: StateTransaction, table: CatalogObject, task_id: str | None) -> None:
    if task_id is not None:
        standings.suspend(state, task_id, "SUSPENDED_DUE_TO_QUALITY_CHECK")


def _stop(account: Account, times: StopTimes) -> None:
    account.services[Tasks].stop(times.grace, times.cancelling)


FEATURE = Feature(
    "tasks",
    kinds=(KIND,),
    system_functions={
        "SYSTEM$CURRENT_USER_TASK_NAME": SystemFunction(0, 0, types.VARCHAR, tasks.current_task_name),
        "SYSTEM$GET_PREDECESSOR_RETURN_VALUE": SystemFunction(0, 1, types.VARCHAR, tasks.predecessor_return_value),
        "SYSTEM$GET_TASK_GRAPH_CONFIG": SystemFunction(0, 1, types.VARCHAR, tasks.graph_config),
        "SYSTEM$SET_RETURN_VALUE": SystemFunction(1, 1, types.VARCHAR, tasks.set_return_value),
        "SYSTEM$PREDECESSORS_STATE": SystemFunction(1, 1, types.BOOLEAN, branching.predecessors_state),
        "SYSTEM$TASK_COMPLETION_STATE": SystemFunction(1, 1, types.VARCHAR, branching.completion_state),
        "SYSTEM$TASK_DEPENDENTS_ENABLE": SystemFunction(1, 1, types.VARCHAR, tasks.dependents_enable),
        "SYSTEM$TASK_RUNTIME_INFO": SystemFunction(1, 1, types.VARCHAR, tasks.runtime_info),
        "SYSTEM$USER_TASK_CANCEL_ONGOING_EXECUTIONS": SystemFunction(1, 1, types.VARCHAR, tasks.cancel_executions),
    },
    table_functions=(
        TableFunction(
            "TASK_HISTORY",
            task_functions.HISTORY_ARGUMENTS,
            task_functions.HISTORY_COLUMNS,
            task_functions.task_history,
            about="NAME",
        ),
        TableFunction(
            "TASK_DEPENDENTS",
            task_functions.DEPENDENT_ARGUMENTS,
            task_functions.DEPENDENT_COLUMNS,
            task_functions.task_dependents,
            required=1,
        ),
        TableFunction(
            "CURRENT_TASK_GRAPHS",
            task_functions.CURRENT_ARGUMENTS,
            task_functions.CURRENT_COLUMNS,
            task_functions.current_task_graphs,
            about="ROOT_TASK_NAME",
        ),
        TableFunction(
            "COMPLETE_TASK_GRAPHS",
            task_functions.COMPLETE_ARGUMENTS,
            task_functions.COMPLETE_COLUMNS,
            task_functions.complete_task_graphs,
            about="ROOT_TASK_NAME",
        ),
    ),
    begin=_begin,
    stop=_stop,
)
