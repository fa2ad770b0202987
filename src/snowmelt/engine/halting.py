"""Ending what a cancelled statement still does in Spark, harder the longer it takes.

Spark interrupts the tasks of a cancelled job, and they look at that between two batches of rows that they read. A join
without equal keys, a sort in memory or a regular expression does not look for minutes. So their threads are stopped
after a second: what they do ends with an error wherever it is, which only their own statement sees. A query that is
still being planned is stopped like that too. Java 20 and later have no way to stop a thread; there, and if a thread
does not end within `cancel_seconds` of being stopped, Spark's process is replaced.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog

from snowmelt.engine.application import APPLICATION
from snowmelt.engine.cancelled import CancelledTags
from snowmelt.engine.session import active_stages, threads_of_tasks
from snowmelt.engine.sessions import EngineSessions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = structlog.get_logger(__name__)
_HALT_SECONDS = 1.0
_LOOK_SECONDS = 0.1
_TRIES = 5
"""On a busy machine it takes its time until a thread that was stopped gets to know."""
_KNOWN_TAGS = 2_000
_COMMANDS = "py4j.commands."
"""Where a thread of py4j is while it does what Python asked for."""
_AT_A_TASK = "org.apache.spark.scheduler.Task.run("
"""Inside this, what ends the thread's work becomes the task's failure."""


@dataclass(slots=True)
class _Tries:
    """How often threads of a statement were stopped, and since when."""

    since: float
    number: int = 0


class Halting:
    """Stops the threads of statements that were cancelled."""

    def __init__(self, cancel_seconds: float, cancelled: CancelledTags) -> None:
        self._cancelled = cancelled
        self._cancel_seconds = cancel_seconds
        self._halt_seconds = min(_HALT_SECONDS, cancel_seconds / 2)
        self._tries: OrderedDict[str, _Tries] = OrderedDict()
        self._driving: dict[str, Any] = {}
        """By tag, Java's threads that do what a statement asked for."""
        self._lock = threading.Lock()

    @contextmanager
    def driving(self, session: SparkSession, tag: str) -> Iterator[None]:
        """Marks what this thread asks of Java inside as the statement's, so that it may be stopped."""
        assert session._jvm is not None
        with self._lock:
            self._driving[tag] = session._jvm.java.lang.Thread.currentThread()
        try:
            yield
        finally:
            with self._lock:
                self._driving.pop(tag, None)

    def is_busy(self, sessions: EngineSessions, tag: str) -> bool:
        session = sessions.session
        return bool(active_stages(session, tag)) or self._busy_driver(session, tag) is not None

    def press(self, sessions: EngineSessions, tag: str) -> bool:
        """Asks what runs under the tag to end; whether it has. To be called again and again until then."""
        session = sessions.session
        session.sparkContext.cancelJobsWithTag(tag)
        stages = active_stages(session, tag)
        waited = self._cancelled.seconds(tag)
        if not sessions.local:
            # `spark.task.reaper` sees to them.
            return not stages or waited > self._cancel_seconds
        if waited < self._halt_seconds:
            return not stages
        driver = self._busy_driver(session, tag)
        if not stages and driver is None and tag not in self._driving:
            return True
        # A caller without a driver waits for an answer, which does not come if its thread was stopped on the way back.
        tries = self._tried(tag)
        tries.number += 1
        if tries.number > _TRIES and time.monotonic() - tries.since > self._cancel_seconds:
            APPLICATION.condemn(sessions.life, "a cancelled statement did not stop")
            return True
        if stages:
            _halt_tasks(session, stages)
        elif driver is not None:
            _stop(driver)
        return False

    def _tried(self, tag: str) -> _Tries:
        with self._lock:
            found = self._tries.setdefault(tag, _Tries(time.monotonic()))
            while len(self._tries) > _KNOWN_TAGS:
                self._tries.popitem(last=False)
            return found

    def await_end(self, sessions: EngineSessions, tag: str) -> None:
        """Until nothing of the statement runs any more, or Spark was given up to end it."""
        pause = threading.Event()
        while not self.press(sessions, tag):
            pause.wait(_LOOK_SECONDS)

    def _busy_driver(self, session: SparkSession, tag: str) -> Any:
        """The thread, if it is at work rather than waiting for what Python asks next."""
        with self._lock:
            found = self._driving.get(tag)
        if found is None:
            return None
        return found if _is_in(session._jvm, found, _COMMANDS) else None


def _halt_tasks(session: SparkSession, stages: set[int]) -> None:
    for thread, stage, _ in threads_of_tasks(session):
        # A thread keeps the name of its last task while it waits for the next: one that is stopped there would take
        # that task with it, and whoever waits for it would wait for ever.
        if stage in stages and _is_in(session._jvm, thread, _AT_A_TASK):
            _stop(thread)


def _is_in(jvm: Any, thread: Any, code: str) -> bool:
    # As one text, by way of an exception: asking frame by frame takes so long that the thread is elsewhere at the end.
    picture = jvm.java.lang.Throwable()
    picture.setStackTrace(thread.getStackTrace())
    return code in str(jvm.org.apache.spark.util.Utils.exceptionString(picture))


def _stop(thread: Any) -> None:
    try:
        thread.stop()
    except Exception as error:
        # Java 20 and later.
        _log.debug("thread_not_stopped", error=type(error).__name__)
