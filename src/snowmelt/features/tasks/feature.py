"""Tasks and their graphs."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.tasks import standings
from snowmelt.features.tasks.graph import task_kinds
from snowmelt.features.tasks.interrupted import end_tasks
from snowmelt.features.tasks.kind import KIND
from snowmelt.features.tasks.records import TaskRecords
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.stopping import StopTimes
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateTransaction

with lazy_imports():
    from snowmelt.features.tasks import service, sql_functions


_WAKING = frozenset({"DROP_TASK", "UNDROP_SCHEMA", "UNDROP_DATABASE"})
"""Statements after which a graph of tasks may be due, besides CREATE and ALTER of what runs as a task."""


def _begin(account: Account) -> None:
    end_tasks(account.state)
    account.services.offer(service, "Tasks", account)

    def wake() -> None:
        if account.services.is_made("Tasks"):
            account.services[service.Tasks].wake()

    waking = _WAKING | {f"{verb}_{kind}" for kind in task_kinds() for verb in ("CREATE", "ALTER")}
    account.lifecycle.owner_changed.subscribe(_suspend_for_new_owner)
    account.lifecycle.refused_by_checks.subscribe(_suspend_for_checks)
    account.events.wake_after(waking, wake)
    account.events.rows_committed.subscribe(lambda *_: wake())


def _suspend_for_new_owner(state: StateTransaction, kind: str, id: str) -> None:
    """Suspends a task whose owner changed: it would run with the rights of a role that did not ask for it."""
    if kind in task_kinds() and state[TaskRecords].standing(id).started:
        standings.suspend(state, id)


def _suspend_for_checks(state: StateTransaction, table: CatalogObject, task_id: str | None) -> None:
    if task_id is not None:
        standings.suspend(state, task_id, "SUSPENDED_DUE_TO_QUALITY_CHECK")


def _stop(account: Account, times: StopTimes) -> None:
    if account.services.is_made("Tasks"):
        account.services[service.Tasks].stop(times.grace, times.cancelling)


FEATURE = Feature(
    "tasks",
    functions=lambda: sql_functions.FUNCTIONS,
    kinds=(KIND,),
    begin=_begin,
    stop=_stop,
)
