"""What a statement in a task's body knows of the task and of the run of its graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from snowmelt.core import errors
from snowmelt.core.names import ObjectName
from snowmelt.features.tasks.definitions import GraphRun, RunTask, TaskRun
from snowmelt.state.store import StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run
    from snowmelt.runtime.session import Session


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

    @property
    def purpose(self) -> Literal["TASK", "ALERT"]:
        return "TASK" if self.run.exists is None else "ALERT"

    @property
    def name(self) -> ObjectName:
        return self.run.name

    @property
    def id(self) -> str:
        return self.task.id


def task_context(run: Run, function: str) -> TaskContext:
    """Raises where no task is running: the function says something about one."""
    if run.session.task is None:
        raise errors.not_in_task(function)
    return context_of(run.session)


def context_of(session: Session) -> TaskContext:
    """The context of a session that runs the body of a task."""
    assert isinstance(session.task, TaskContext)
    return session.task
