"""Whether Spark still computes, which a process that answers may have ceased to do.

A thread that is stopped between two tasks takes the next one with it: Spark counts that task as running for ever, and
whoever waits for it waits as long. Java has no way to stop a thread only while it is at a certain place, so
`engine/halting.py` can't rule it out; it is noticed here instead.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from snowmelt.engine import jvm
from snowmelt.engine.session import is_local, threads_of_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOST_SECONDS = 5.0
"""A task that is handed to a thread has none for a moment, on a busy machine for a longer one."""


class Pulse:
    """What is wrong with a Spark session, asked again and again by one thread."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._without_thread: dict[int, float] = {}
        """By task, since when no thread is at it."""

    def problem(self) -> str | None:
        """Raises when nobody answers."""
        if jvm.is_stopped(self._session):
            return "Spark has stopped"
        # The tasks of a cluster are its executors' business, which Spark watches itself.
        return "Spark lost a task" if is_local(self._session) and self._has_lost_a_task() else None

    def _has_lost_a_task(self) -> bool:
        running = _running_tasks(self._session)
        at_work = _tasks_at_work(self._session) if running else set()
        now = time.monotonic()
        self._without_thread = {task: self._without_thread.get(task, now) for task in running - at_work}
        return any(now - since > _LOST_SECONDS for since in self._without_thread.values())


def _running_tasks(session: SparkSession) -> set[int]:
    """The tasks that Spark waits for."""
    return set(session.sparkContext._jsc.sc().taskScheduler().taskIdToTaskSetManager().keySet().toArray())


def _tasks_at_work(session: SparkSession) -> set[int]:
    """The tasks whose threads are there: a thread bears the name of its task."""
    return {task for _, _, task in threads_of_tasks(session)}
