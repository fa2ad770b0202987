"""Carries out what the tick decides, for as long as the process owns the account.

One thread decides and keeps all state, so that nothing here needs a lock; workers refresh and send it what became of
it. It sleeps until something is due, a refresh ends, or somebody wakes it.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from queue import Empty, SimpleQueue

import structlog

from snowmelt.core.clock import Clock
from snowmelt.scheduler.graph import Graph, Member, Round, Skip, TickPlan
from snowmelt.scheduler.ports import Catalog, FailedRefresh, Refresher, RefreshRequest, RefreshState
from snowmelt.scheduler.progress import Progress, state_of_readers
from snowmelt.scheduler.retries import Retries
from snowmelt.scheduler.tick import tick

_log = structlog.get_logger(__name__)

_LONGEST_SLEEP = 60.0
"""Seconds after which the runner looks at the clock again: it may have been set, or the machine may have slept."""

_NEVER = datetime.max.replace(tzinfo=UTC)
_RETRIES = Retries()


@dataclass(frozen=True, slots=True)
class _Begun:
    round: Round
    """With its final data timestamp."""
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class _Finished:
    progress: Progress
    request: RefreshRequest
    state: RefreshState
    error: BaseException | None
    started_at: datetime
    ended_at: datetime

    @property
    def overran(self) -> bool:
        return self.ended_at - self.request.ready_at > self.request.expected_duration


class Runner:
    """Refreshes what is due until it is stopped. All it must remember across a restart is in the catalog."""

    def __init__(
        self,
        catalog: Catalog,
        refresher: Refresher,
        clock: Clock,
        max_parallel: int,
        *,
        retries: Retries = _RETRIES,
    ) -> None:
        self._catalog = catalog
        self._refresher = refresher
        self._clock = clock
        self._max_parallel = max_parallel
        self._retries = retries
        self._inbox: SimpleQueue[_Begun | _Finished | None] = SimpleQueue()
        """What happened; None is a wake-up."""
        self._stopping = threading.Event()
        self._stop_timeout = 0.0
        self._cancel_timeout = 0.0
        self._thread: threading.Thread | None = None
        self._pool = ThreadPoolExecutor(max_parallel, thread_name_prefix="snowmelt-refresh")
        self._sequence = count()
        self._live: dict[str, datetime] = {}
        """The data timestamp of every table whose refresh has begun, waits for its turn, or is not recorded yet."""
        self._ready: list[tuple[datetime, int, Progress, RefreshRequest]] = []
        """A heap: the refresh whose lag runs out first is first."""
        self._running: set[str] = set()
        self._unrecorded: list[FailedRefresh] = []
        self._waiting_for: frozenset[str] = frozenset()
        self._next_tick: datetime = datetime.min.replace(tzinfo=UTC)
        self._replan = False
        """Refreshes ended otherwise than the last tick expected."""
        self._troubles = 0
        """Turns in a row in which the catalog failed."""

    def start(self) -> None:
        """Begin. May be called once."""
        self._thread = threading.Thread(target=self._run, name="snowmelt-scheduler", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Something changed that may make a table due, or free: look now. Cheap, from any thread."""
        self._inbox.put(None)

    def load(self) -> tuple[int, int]:
        """How many refreshes run, and how many wait for a worker."""
        return len(self._running), len(self._ready)

    def stop(self, timeout: float, *, cancel_timeout: float = 10.0) -> bool:
        """Start nothing more, give running refreshes `timeout` seconds to finish, then cancel them.

        Whether none is left running. What had not begun is simply due when a runner starts again.
        """
        self._stop_timeout = timeout
        self._cancel_timeout = cancel_timeout
        self._stopping.set()
        self.wake()
        if self._thread is not None:
            self._thread.join()
        self._pool.shutdown(wait=not self._running)
        return not self._running

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._turn()
            except Exception:
                # A mistake of ours, as calls of others are guarded. Refreshing goes on with what the catalog says.
                _log.exception("the scheduler met an error")
                self._troubles += 1
        self._drain()

    def _turn(self) -> None:
        woken, well = False, True
        for message in self._received(self._sleep()):
            match message:
                case _Begun():
                    well &= self._start_round(message)
                case _Finished():
                    woken |= self._finished(message)
                case None:
                    woken = True
        if self._stopping.is_set():
            return
        well &= self._record_unrecorded()
        replan = self._replan and not self._live
        if woken or replan or self._troubles or self._clock.now() >= self._next_tick:
            well &= self._tick()
        self._dispatch()
        self._troubles = 0 if well else self._troubles + 1

    def _sleep(self) -> float:
        """Seconds until something is due or, while the catalog fails, to be tried again: longer and longer."""
        until_due = max((self._next_tick - self._clock.now()).total_seconds(), 0.0)
        again = 0.5 * 2.0 ** min(self._troubles, 10) if self._troubles else _LONGEST_SLEEP
        return min(until_due, again, _LONGEST_SLEEP)

    def _received(self, timeout: float) -> list[_Begun | _Finished | None]:
        """All that happened, waiting for the first for at most `timeout` seconds."""
        messages: list[_Begun | _Finished | None] = []
        try:
            messages.append(self._inbox.get(timeout=timeout))
            while True:
                messages.append(self._inbox.get_nowait())
        except Empty:
            return messages

    def _tick(self) -> bool:
        """Decide and begin; whether the catalog did its part."""
        try:
            graph = self._catalog.load()
        except Exception:
            _log.exception("the dynamic tables could not be loaded")
            self._next_tick = _NEVER
            return False
        self._forget_dropped(graph)
        graph = self._with_live(graph)
        plan = tick(graph, self._clock.now())
        self._next_tick = plan.next_due or _NEVER
        self._waiting_for = plan.waiting_for
        self._replan = False
        for round_ in plan.rounds:
            self._begin(round_)
        return self._record_plan(plan)

    def _with_live(self, graph: Graph) -> Graph:
        """The catalog knows neither the refreshes that wait for their turn nor those that end at this moment."""
        live = self._live
        if not live:
            return graph
        return Graph(tuple(replace(t, refreshing=live[t.id]) if t.id in live else t for t in graph.tables))

    def _forget_dropped(self, graph: Graph) -> None:
        """What became of a table that is gone is of no interest, and might never be recorded."""
        if self._unrecorded:
            known = {table.id for table in graph.tables}
            self._unrecorded = [outcome for outcome in self._unrecorded if outcome.table in known]

    def _record_plan(self, plan: TickPlan) -> bool:
        """What can't be recorded is decided again by the next tick."""
        try:
            for suspension in plan.suspensions:
                self._catalog.suspend(suspension)
                _log.warning("dynamic table suspended", table=suspension.name, failures=suspension.failures)
            if plan.skips:
                self._catalog.record([_skipped(skip) for skip in plan.skips])
        except Exception:
            _log.exception("decisions could not be recorded")
            return False
        return True

    def _begin(self, round_: Round) -> None:
        self._live.update(dict.fromkeys(round_.tables, round_.data_timestamp))
        self._pool.submit(self._prepare, round_)

    def _prepare(self, round_: Round) -> None:
        """On a worker: get the round its data timestamp."""
        try:
            stamp = self._retries.retrying(self._stopping)(self._refresher.begin, round_)
            self._inbox.put(_Begun(replace(round_, data_timestamp=stamp)))
        except BaseException as error:
            self._inbox.put(_Begun(round_, error))

    def _start_round(self, message: _Begun) -> bool:
        """Start the first tables of a round; whether it could begin. If not, they are simply still due."""
        round_ = message.round
        if message.error is not None:
            _log.error("refreshes could not begin", tables=round_.tables, exc_info=message.error)
            for table in round_.tables:
                self._live.pop(table, None)
            return False
        progress = Progress(round_)
        self._live.update(dict.fromkeys(round_.tables, round_.data_timestamp))
        self._make_ready(progress, progress.first())
        return True

    def _make_ready(self, progress: Progress, members: Iterable[Member]) -> None:
        now = self._clock.now()
        for member in members:
            request = RefreshRequest(
                member.table, progress.data_timestamp, now, member.completion_target, member.expected_duration
            )
            heapq.heappush(self._ready, (member.completion_target or _NEVER, next(self._sequence), progress, request))

    def _dispatch(self) -> None:
        while self._ready and len(self._running) < self._max_parallel:
            _, _, progress, request = heapq.heappop(self._ready)
            self._running.add(request.table)
            self._pool.submit(self._refresh, progress, request)

    def _finished(self, message: _Finished) -> bool:
        """Go on with the round; whether a table that is due waited for this."""
        table, progress = message.request.table, message.progress
        self._running.discard(table)
        if message.state is RefreshState.SUCCEEDED:
            self._live.pop(table, None)
            self._make_ready(progress, progress.succeeded(table))
        else:
            self._unrecorded += _outcomes(message, progress.not_succeeded(table))
        # The plan took it to succeed in the time expected. A thousand that do not must not make a thousand ticks.
        self._replan |= message.state is not RefreshState.SUCCEEDED or message.overran
        return table in self._waiting_for

    def _record_unrecorded(self) -> bool:
        """Record what did not succeed. A table whose row can't be written stays busy: tried again at once, it would
        fail in a loop that nobody counts."""
        if not self._unrecorded:
            return True
        kept: list[FailedRefresh] = []
        try:
            self._catalog.record(self._unrecorded)
        except Exception:
            # One row that can't be written must not hold the others back.
            kept = [outcome for outcome in self._unrecorded if not self._record(outcome)]
        for outcome in self._unrecorded:
            self._live.pop(outcome.table, None)
        self._live.update({outcome.table: outcome.data_timestamp for outcome in kept})
        self._unrecorded = kept
        return not kept

    def _record(self, outcome: FailedRefresh) -> bool:
        try:
            self._catalog.record([outcome])
        except Exception:
            _log.exception("the outcome of a refresh could not be recorded", table=outcome.table, state=outcome.state)
            return False
        return True

    def _refresh(self, progress: Progress, request: RefreshRequest) -> None:
        """On a worker: refresh, with retries, and say what came of it. The message is sent whatever happens."""
        started_at = self._clock.now()
        state, error = RefreshState.FAILED, None
        try:
            state = self._retries.retrying(self._stopping)(self._refresher.refresh, request)
        except BaseException as raised:
            error = raised
            if self._stopping.is_set():
                state = RefreshState.CANCELLED
        self._inbox.put(_Finished(progress, request, state, error, started_at, self._clock.now()))

    def _drain(self) -> None:
        """The end: let running refreshes finish, cancel what does not, record what did not succeed."""
        self._ready.clear()
        self._await_running(self._stop_timeout)
        for table in sorted(self._running):
            try:
                self._refresher.cancel(table)
            except Exception:
                _log.exception("a refresh could not be cancelled", table=table)
        self._await_running(self._cancel_timeout)
        if self._running:
            _log.warning("refreshes did not end", tables=sorted(self._running))

    def _await_running(self, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while self._running and (left := deadline - time.monotonic()) > 0:
            for message in self._received(left):
                if isinstance(message, _Finished):
                    self._finished(message)
        self._ready.clear()
        self._record_unrecorded()


def _outcomes(message: _Finished, lost: Iterable[str]) -> list[FailedRefresh]:
    """The row of a refresh that did not succeed, and those of the tables of its round that needed it."""
    request = message.request
    own = FailedRefresh(
        table=request.table,
        data_timestamp=request.data_timestamp,
        state=message.state,
        error=message.error,
        ready_at=request.ready_at,
        started_at=message.started_at,
        ended_at=message.ended_at,
    )
    readers = state_of_readers(message.state)
    if readers is RefreshState.CANCELLED:
        # They had not begun: they are due again at the next start, and there is nothing to tell.
        return [own]
    return [own, *(FailedRefresh(table, request.data_timestamp, readers, message.error) for table in lost)]


def _skipped(skip: Skip) -> FailedRefresh:
    return FailedRefresh(skip.table, skip.data_timestamp, RefreshState.SKIPPED)
