"""Carries out what the tick of tasks decides, for as long as the process owns the account.

One thread decides; workers run the bodies of tasks and send it what became of them. What it must know is in the
catalog: a decision is recorded before it is carried out, so that a process that dies leaves nothing undecided behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, Protocol, TypeVar

import structlog

from snowmelt.core.backoff import Backoff
from snowmelt.core.clock import Clock
from snowmelt.scheduler.loop import LONGEST_SLEEP, DecidingLoop
from snowmelt.scheduler.task_graph import Decision, Graphs, StartTask, TimeOut
from snowmelt.scheduler.task_tick import tick

_log = structlog.get_logger(__name__)

_FIRST_PAUSE = 1.0

Start = TypeVar("Start")
Ended = TypeVar("Ended")


class TaskCatalog(Protocol[Start, Ended]):
    """What the runner needs of an account. Workers call `execute`, side by side; one thread calls the others."""

    def load(self) -> Graphs: ...

    def apply(self, decisions: Sequence[Decision]) -> list[Start]:
        """Records all decisions at once, or none of them; what is to be executed now."""
        ...

    def begun_all_the_same(self) -> list[Start]:
        """What an `apply` recorded that failed all the same: its commit had succeeded, and nobody executes it."""
        ...

    def execute(self, start: Start) -> Ended:
        """Runs a task's body; what became of it. Never raises."""
        ...

    def record(self, ended: Ended) -> None: ...

    def cancel(self, run: str | None = None, task: str | None = None) -> None:
        """Stops one task because its time is over, or all of them."""
        ...

    def polls(self) -> timedelta | None:
        """How often to look although nobody woke the runner; None where that would find nothing."""
        ...


@dataclass(frozen=True, slots=True)
class _Message(Generic[Ended]):
    ended: Ended


class TaskRunner(DecidingLoop[_Message[Ended]], Generic[Start, Ended]):
    def __init__(self, catalog: TaskCatalog[Start, Ended], clock: Clock, max_parallel: int) -> None:
        super().__init__("snowmelt-tasks", "snowmelt-task", max_parallel)
        self._catalog = catalog
        self._clock = clock
        self._running = 0
        self._unrecorded: list[Ended] = []
        self._next_due: datetime | None = None
        self._backoff = Backoff(_FIRST_PAUSE, LONGEST_SLEEP)
        """Turns in a row in which the catalog failed."""

    def _at_work(self) -> int:
        return self._running

    def run_until_idle(self) -> None:
        """Without a thread: carry out what is due now and all that follows from it, in the caller's time."""
        while self._decide() or self._running:
            if self._running:
                self._take(self._received(self._sleep()))
        self._pool.shutdown()

    # -- the thread -----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._decide()
                self._take(self._received(self._sleep()))
                self._backoff.reset()
            except Exception:
                # The catalog could not be read or written: tried again, less and less often.
                _log.exception("tasks could not be scheduled")
                self._stopping.wait(self._backoff.seconds)
                self._backoff.lengthen()
        self._drain()

    def _decide(self) -> bool:
        """Ticks until there is nothing more to decide; whether there was something."""
        decided = False
        while not self._stopping.is_set():
            self._record()
            self._start(self._catalog.begun_all_the_same())
            plan = tick(self._catalog.load(), self._clock.now())
            self._next_due = plan.next_due
            decisions = self._possible(plan.decisions)
            if not decisions:
                break
            decided = True
            self._start(self._catalog.apply([item for item in decisions if not isinstance(item, TimeOut)]))
            for item in decisions:
                if isinstance(item, TimeOut):
                    self._catalog.cancel(item.run, item.task)
            if all(isinstance(item, TimeOut) for item in decisions):
                # They end when their workers have noticed.
                break
        return decided

    def _start(self, starts: Sequence[Start]) -> None:
        for start in starts:
            self._running += 1
            self._pool.submit(self._execute, start)

    def _possible(self, decisions: Sequence[Decision]) -> list[Decision]:
        """All but the tasks for which no worker is free: they are decided again when one is."""
        free = self._max_parallel - self._running
        found: list[Decision] = []
        for decision in decisions:
            if isinstance(decision, StartTask):
                free -= 1
                if free < 0:
                    continue
            found.append(decision)
        return found

    def _execute(self, start: Start) -> None:
        """On a worker."""
        self._inbox.put(_Message(self._catalog.execute(start)))

    def _sleep(self) -> float:
        waits = [LONGEST_SLEEP]
        if self._next_due is not None:
            waits.append(max((self._next_due - self._clock.now()).total_seconds(), 0.0))
        polls = self._catalog.polls()
        if polls is not None:
            waits.append(polls.total_seconds())
        return min(waits)

    def _take(self, messages: Sequence[_Message[Ended] | None]) -> None:
        for message in messages:
            if message is not None:
                self._running -= 1
                self._unrecorded.append(message.ended)
        self._record()

    def _record(self) -> None:
        """A task whose end can't be written counts as executing until it can."""
        while self._unrecorded:
            self._catalog.record(self._unrecorded[0])
            del self._unrecorded[0]

    def _drain(self) -> None:
        """The end: let running tasks finish, cancel what does not, record what became of them."""
        self._await_running(self._stop_timeout)
        if self._running:
            self._catalog.cancel()
            self._await_running(self._cancel_timeout)
        if self._running:
            _log.warning("tasks did not end", count=self._running)

    def _await_running(self, timeout: float) -> None:
        for messages in self._received_until_idle(timeout):
            try:
                self._take(messages)
            except Exception:
                _log.exception("the end of a task could not be recorded")
                return
