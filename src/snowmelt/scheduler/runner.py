"""Carries out what the tick decides, for as long as the process owns the account.

One thread decides and keeps all state, so that nothing here needs a lock; workers refresh and send it what became of
it. It sleeps until something is due, a refresh ends, or somebody wakes it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sized
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from time import monotonic

import structlog

from snowmelt.core.backoff import pause_after
from snowmelt.core.clock import Clock
from snowmelt.scheduler.graph import LagGraph, Member, Round, Skip, TickPlan
from snowmelt.scheduler.loop import LONGEST_SLEEP, DecidingLoop
from snowmelt.scheduler.ports import FailedRefresh, RefreshEnd, Refresher, RefreshRequest, SchedulerCatalog
from snowmelt.scheduler.progress import RoundProgress, state_of_readers
from snowmelt.scheduler.retries import Retries
from snowmelt.scheduler.tick import tick

_log = structlog.get_logger(__name__)

_NEVER = datetime.max.replace(tzinfo=UTC)
_RETRIES = Retries()


_PAUSE_PER_TICK = 4
"""A tick is followed by a pause of so many times what it took: deciding takes at most a fifth of the thread's time."""


@dataclass(frozen=True, slots=True)
class _Committed:
    tables: frozenset[str]
    at: datetime


@dataclass(frozen=True, slots=True)
class _Begun:
    round: Round
    """With its final data timestamp."""
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class _Finished:
    progress: RoundProgress
    request: RefreshRequest
    state: RefreshEnd
    error: BaseException | None
    started_at: datetime
    ended_at: datetime

    @property
    def overran(self) -> bool:
        return self.ended_at - self.request.ready_at > self.request.expected_duration


class RefreshRunner(DecidingLoop[_Committed | _Begun | _Finished]):
    """Refreshes what is due until it is stopped. All it must remember across a restart is in the catalog."""

    def __init__(
        self,
        catalog: SchedulerCatalog,
        refresher: Refresher,
        clock: Clock,
        max_parallel: int,
        *,
        retries: Retries = _RETRIES,
    ) -> None:
        super().__init__("snowmelt-scheduler", "snowmelt-refresh", max_parallel)
        self._catalog = catalog
        self._refresher = refresher
        self._clock = clock
        self._retries = retries
        self._sequence = count()
        self._live: dict[str, datetime] = {}
        """The data timestamp of every table whose refresh has begun, waits for its turn, or is not recorded yet."""
        self._ready: list[tuple[datetime, int, RoundProgress, RefreshRequest]] = []
        """A heap: the refresh whose lag runs out first is first."""
        self._running: set[str] = set()
        self._working: set[str] = set()
        """Tables whose refresh under way is expected to find something."""
        self._commits: dict[str, datetime] = {}
        """The newest commit to each table, of which the runner was told. After a restart the ticks do without."""
        self._openings: Mapping[str, datetime] = {}
        self._unrecorded: list[FailedRefresh] = []
        self._waiting_for: frozenset[str] = frozenset()
        self._next_tick: datetime = datetime.min.replace(tzinfo=UTC)
        self._rests_until = 0.0
        """By the monotonic clock. However often something wakes the runner, it does not decide before."""
        self._woken = False
        self._replan = False
        """Refreshes ended otherwise than the last tick expected."""
        self._troubles = 0
        """Turns in a row in which the catalog failed."""

    def note_commit(self, tables: frozenset[str], at: datetime) -> None:
        """Rows of these tables became visible. Cheap, from any thread."""
        self._inbox.put(_Committed(tables, at))

    def load(self) -> tuple[int, int]:
        """How many refreshes run, and how many wait for a worker."""
        return len(self._running), len(self._ready)

    def _at_work(self) -> Sized:
        return self._running

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
        well = True
        for message in self._received(self._sleep()):
            match message:
                case _Committed():
                    self._look_at_commit(message)
                case _Begun():
                    well &= self._start_round(message)
                case _Finished():
                    self._woken |= self._finished(message)
                case None:
                    self._woken = True
        if self._stopping.is_set():
            return
        well &= self._record_unrecorded()
        replan = self._replan and not self._live
        if replan or self._troubles or self._until_tick() <= 0.0:
            well &= self._tick()
        self._dispatch()
        self._troubles = 0 if well else self._troubles + 1

    def _sleep(self) -> float:
        """Seconds until something is due or, while the catalog fails, to be tried again: longer and longer."""
        until_due = max(self._until_tick(), 0.0)
        again = pause_after(self._troubles, 1.0, LONGEST_SLEEP) or LONGEST_SLEEP
        return min(until_due, again)

    def _until_tick(self) -> float:
        until_due = 0.0 if self._woken else (self._next_tick - self._clock.now()).total_seconds()
        return max(until_due, self._rests_until - monotonic())

    def _look_at_commit(self, message: _Committed) -> None:
        """A commit that makes a table due, now or later, brings the next tick forward."""
        for table in message.tables:
            self._commits[table] = message.at
            opening = self._openings.get(table)
            if opening is not None:
                self._next_tick = min(self._next_tick, max(opening, message.at))

    def _tick(self) -> bool:
        """Decide and begin; whether the catalog did its part."""
        began = monotonic()
        self._woken = False
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
        self._openings = plan.openings
        self._commits = {table: at for table, at in self._commits.items() if table in plan.openings}
        self._waiting_for = plan.waiting_for
        self._replan = False
        for round_ in plan.rounds:
            self._begin(round_)
        well = self._record_plan(plan)
        ended = monotonic()
        self._rests_until = ended + _PAUSE_PER_TICK * (ended - began)
        return well

    def _with_live(self, graph: LagGraph) -> LagGraph:
        """The catalog knows neither the refreshes that wait for their turn nor those that end at this moment."""
        live, working = self._live, self._working
        return LagGraph(
            tuple(
                replace(t, refreshing=live[t.id], working=t.id in working) if t.id in live else t for t in graph.tables
            ),
            dict(self._commits),
        )

    def _forget_dropped(self, graph: LagGraph) -> None:
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
        self._working.difference_update(round_.tables)
        self._working.update(member.table for member in round_.members if member.working)
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
        progress = RoundProgress(round_)
        self._live.update(dict.fromkeys(round_.tables, round_.data_timestamp))
        self._make_ready(progress, progress.first())
        return True

    def _make_ready(self, progress: RoundProgress, members: Iterable[Member]) -> None:
        now = self._clock.now()
        for member in members:
            request = RefreshRequest(
                member.table, progress.data_timestamp, now, member.completion_target, member.expected_duration
            )
            heapq.heappush(self._ready, (member.completion_target or _NEVER, next(self._sequence), progress, request))

    def _dispatch(self) -> None:
        while self._ready and len(self._running) < self._max_parallel:
            _, _, progress, request = heapq.heappop(self._ready)
            if self._is_renewed(progress, request):
                continue
            progress.begin(request.table)
            self._running.add(request.table)
            self._pool.submit(self._refresh, progress, request)

    def _is_renewed(self, progress: RoundProgress, request: RefreshRequest) -> bool:
        """Gives those that waited for a worker for too long a newer data timestamp: whether this table is one of them.

        Otherwise the last of many tables would show data that was old already when its refresh began.
        """
        now = self._clock.now()
        patience = progress.patience(request.table)
        if patience is None or now - request.ready_at <= patience or not progress.waits(request.table):
            return False
        rest = progress.split(now)
        if rest is None:
            return False
        self._ready = [entry for entry in self._ready if entry[3].table in entry[2].unfinished]
        heapq.heapify(self._ready)
        self._begin(rest)
        return request.table not in progress.unfinished

    def _finished(self, message: _Finished) -> bool:
        """Go on with the round; whether a table that is due waited for this."""
        table, progress = message.request.table, message.progress
        self._running.discard(table)
        if message.state is RefreshEnd.SUCCEEDED:
            self._live.pop(table, None)
            self._make_ready(progress, progress.succeeded(table))
        else:
            self._unrecorded += _outcomes(message, progress.not_succeeded(table))
        # The plan took it to succeed in the time expected. A thousand that do not must not make a thousand ticks.
        self._replan |= message.state is not RefreshEnd.SUCCEEDED or message.overran
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

    def _refresh(self, progress: RoundProgress, request: RefreshRequest) -> None:
        """On a worker: refresh, with retries, and say what came of it. The message is sent whatever happens."""
        started_at = self._clock.now()
        state, error = RefreshEnd.FAILED, None
        try:
            state = self._retries.retrying(self._stopping)(self._refresher.refresh, request)
        except BaseException as raised:
            error = raised
            if self._stopping.is_set():
                state = RefreshEnd.CANCELLED
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
        for messages in self._received_until_idle(timeout):
            for message in messages:
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
    if readers is RefreshEnd.CANCELLED:
        # They had not begun: they are due again at the next start, and there is nothing to tell.
        return [own]
    return [own, *(FailedRefresh(table, request.data_timestamp, readers, message.error) for table in lost)]


def _skipped(skip: Skip) -> FailedRefresh:
    return FailedRefresh(skip.table, skip.data_timestamp, RefreshEnd.SKIPPED)
