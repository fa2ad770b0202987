"""What a statement in a task's body knows of the task and of the run of its graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.state.store import StateTransaction
from snowmelt.state.task_model import GraphRun, RunTask, TaskRun

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


@dataclass(frozen=True, slots=True)
class ConditionRun:
    """What became of the statement that decides whether an alert acts."""

    query_id: str | None = None
    held: bool | None = None


NO_CONDITION = ConditionRun()


@dataclass(slots=True)
class TaskContext:
    graph_run: GraphRun
    task: RunTask
    run: TaskRun
    return_value: str | None = None
    """What SYSTEM$SET_RETURN_VALUE said."""
    condition: ConditionRun = NO_CONDITION
    """Of an alert: what became of the statement that decides."""
    at_commit: Callable[[StateTransaction], None] | None = None
    """Set where the body is one statement: what must become true at the same moment as its rows."""


def task_context(run: Run, function: str) -> TaskContext:
    """Raises where no task is running: the function says something about one."""
    if run.session.task is None:
        raise errors.not_in_task(function)
    return run.session.task
