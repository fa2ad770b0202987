"""The purpose of a statement, as the query history has it."""

from __future__ import annotations

from typing import Protocol

from snowmelt.core.names import ObjectName
from snowmelt.runtime import correlation
from snowmelt.runtime.running_tasks import RunningTask
from snowmelt.runtime.statement import ActingStatement
from snowmelt.runtime.stream_windows import StreamWindow
from snowmelt.state.journal import QueryJournal


class HasJournal(Protocol):
    @property
    def journal(self) -> QueryJournal: ...


class MayRunTask(Protocol):
    @property
    def task(self) -> RunningTask | None: ...


class Serving(ActingStatement, Protocol):
    """A statement that may run for a refresh or a task."""

    @property
    def account(self) -> HasJournal: ...
    @property
    def session(self) -> MayRunTask: ...
    @property
    def streams(self) -> dict[str, StreamWindow]: ...
    @property
    def refreshes(self) -> ObjectName | None: ...
    @property
    def refreshed_id(self) -> str | None: ...


def newest_change(run: Serving) -> str | None:
    """The id of the newest change that the statement consumed."""
    read = {id: version for window in run.streams.values() for id, version in window.upto.items()}
    with run.state.read() as state:
        return correlation.of_versions(run.account.journal, state, read)


def served(run: Serving) -> dict[str, object]:
    """What the statement ran for, when not for a user."""
    task = run.session.task
    if run.refreshes is not None:
        return {"purpose": "REFRESH", "target": str(run.refreshes), "target_id": run.refreshed_id}
    if task is not None:
        return {"purpose": task.purpose, "target": str(task.name), "target_id": task.id}
    return {}
