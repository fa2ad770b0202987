"""Running one task: its condition, then its body, in a session of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import structlog

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.faults import reached
from snowmelt.features.scripting import errors as script_errors
from snowmelt.features.tasks import conditions, declaring, runs
from snowmelt.features.tasks import errors as task_errors
from snowmelt.features.tasks.context import NO_CONDITION, ConditionRun, TaskContext, context_of
from snowmelt.features.tasks.definitions import GraphRun, RunState, RunTask, TaskRun
from snowmelt.runtime.run import Run
from snowmelt.sql.tokens import SqlText
from snowmelt.state.store import StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account
    from snowmelt.runtime.session import Session

_log = structlog.get_logger(__name__)
_USER = "SYSTEM"


@dataclass(frozen=True, slots=True)
class Start:
    graph_run: GraphRun
    task: RunTask
    run: TaskRun


@dataclass(frozen=True, slots=True)
class Ended:
    run: TaskRun
    state: RunState
    error: SnowmeltError | None = None
    query_id: str | None = None
    return_value: str | None = None
    condition: ConditionRun = NO_CONDITION


@dataclass(slots=True)
class _Live:
    start: Start
    session: Session
    stopped_by: SnowmeltError | None = None
    """Why it was told to stop."""


@dataclass(slots=True)
class Executions:
    """The tasks that run now in this process."""

    account: Account
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _live: dict[str, _Live] = field(default_factory=dict)

    def execute(self, start: Start) -> Ended:
        """Never raises: whatever happens is what became of the task."""
        ended = self._execute(start)
        kind = "ALERT" if start.run.exists is not None else "TASK"
        self.account.events.task_ended(start.run.name, kind, ended.state.value, start.run.started_at)
        return ended

    def _execute(self, start: Start) -> Ended:
        try:
            session = session_of(self.account, start)
        except SnowmeltError as error:
            return Ended(start.run, RunState.FAILED, error)
        live = _Live(start, session)
        with self._lock:
            self._live[start.run.id] = live
        try:
            return _execute(start, session)
        except SnowmeltError as error:
            return _failed(live, error)
        except Exception as error:
            _log.exception("a task failed unexpectedly", task=str(start.run.name))
            return _failed(live, errors.internal(f"{type(error).__name__} in this task. The log has the details."))
        finally:
            with self._lock:
                del self._live[start.run.id]
            session.close()

    def count(self) -> int:
        return len(self._chosen(lambda _: True))

    def time_out(self, graph_run: str, task: str) -> None:
        for live in self._chosen(lambda item: (item.graph_run.id, item.task.id) == (graph_run, task)):
            limit = live.start.task.definition.timeout_ms
            _stop(live, task_errors.task_timed_out(declaring.DEFAULT_TIMEOUT_MS if limit is None else limit))

    def cancel(self, task_id: str) -> int:
        """Stops all runs of a task, because a user asked for it; how many."""
        found = self._chosen(lambda item: item.task.id == task_id)
        for live in found:
            _stop(live, errors.cancelled())
        return len(found)

    def interrupt(self) -> None:
        """Stops everything: the process ends."""
        for live in self._chosen(lambda _: True):
            _stop(live, runs.INTERRUPTED)

    def _chosen(self, wanted: Callable[[Start], bool]) -> list[_Live]:
        with self._lock:
            return [live for live in self._live.values() if wanted(live.start)]


def _stop(live: _Live, reason: SnowmeltError) -> None:
    if live.stopped_by is None:
        live.stopped_by = reason
    live.session.cancel()


def _failed(live: _Live, error: SnowmeltError) -> Ended:
    context = context_of(live.session)
    query_id = live.session.query_ids[-1] if live.session.query_ids else None
    if context.run.exists is not None and not context.condition.held:
        # The condition is what failed: the body did not begin.
        context.condition, query_id = ConditionRun(query_id), None
    reason = live.stopped_by
    cancelled = reason is not None and reason.code == errors.cancelled().code
    state = RunState.CANCELLED if cancelled else RunState.FAILED
    return Ended(live.start.run, state, reason or error, query_id, condition=context.condition)


def session_of(account: Account, start: Start) -> Session:
    """A session of the system with the rights of the task's owner, in its schema and warehouse."""
    name, definition = start.run.name, start.task.definition
    session = account.session(
        user=_USER, role=start.task.owner, database=name.database, schema=name.schema, warehouse=definition.warehouse
    )
    session.parameters.update(definition.parameters)
    session.task = TaskContext(start.graph_run, start.task, start.run)
    return session


def _execute(start: Start, session: Session) -> Ended:
    context = context_of(session)
    reached("task-began")
    if start.run.condition is not None and not conditions.holds(
        Run(session, SqlText(start.run.condition)), start.run.condition
    ):
        return Ended(start.run, RunState.SKIPPED)
    if start.run.exists is not None:
        found = session.execute(start.run.exists)
        context.condition = ConditionRun(session.query_ids[-1], held=found.row_count > 0)
        if not context.condition.held:
            return Ended(start.run, RunState.SKIPPED, condition=context.condition)
    if start.run.repeatable:
        context.at_commit = lambda state: _record_success(state, session)
    session.execute(start.run.body)
    reached("task-executed")
    query_id = session.query_ids[-1]
    if session.transaction is not None:
        # As in Snowflake, what a body left open is not committed for it.
        raise script_errors.incomplete_transaction()
    return Ended(
        start.run, RunState.SUCCEEDED, query_id=query_id, return_value=context.return_value, condition=context.condition
    )


def _record_success(state: StateTransaction, session: Session) -> None:
    """In the transaction that makes the body's rows visible."""
    context, running = context_of(session), session.running
    runs.end_task(
        state,
        context.run.id,
        RunState.SUCCEEDED,
        query_id=None if running is None else running.query_id,
        return_value=context.return_value,
        condition=context.condition,
    )
