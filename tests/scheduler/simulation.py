"""A world in which time is a number: tables that take random times to refresh, driven by the real tick.

It ticks when the runner would, and checks at every step what must never happen.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from snowmelt.scheduler.graph import DynamicTable, LagGraph, Member, Round, SchedulingState, TickPlan
from snowmelt.scheduler.progress import RoundProgress
from snowmelt.scheduler.tick import tick

START = datetime(2026, 1, 1, 0, 0, 7, 123456, tzinfo=UTC)
MEASURED = 5


@dataclass
class Simulation:
    tables: dict[str, DynamicTable]
    longest: dict[str, timedelta]
    seed: int = 0
    parallel: int = 1000
    fails: Callable[[str, int], bool] = lambda table, attempt: False
    now: datetime = START
    ticks: int = 0
    lags: dict[str, list[timedelta]] = field(default_factory=dict)
    """How old each table's data got before each refresh was complete."""
    history: list[tuple[str, datetime, str]] = field(default_factory=list)
    worked: dict[str, list[datetime]] = field(default_factory=dict)
    """When refreshes that found commits were complete."""

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._ends: list[tuple[datetime, str]] = []
        self._ready: list[tuple[datetime, datetime, str]] = []
        """A heap: the refresh whose lag runs out first is first. Then since when it is ready."""
        self._rounds: dict[str, RoundProgress] = {}
        self._at: dict[str, set[datetime]] = {
            id_: {t.data_timestamp} if t.data_timestamp else set() for id_, t in self.tables.items()
        }
        self._attempts: dict[str, int] = dict.fromkeys(self.tables, 0)
        self._running: set[str] = set()
        self._rows: set[tuple[str, datetime]] = set()
        self._plan = TickPlan(next_due=self.now)
        self._replan = False
        self._commits: list[tuple[datetime, str]] = []

    def commit(self, base: str) -> None:
        """Rows are committed to a base table; the runner would look whether that makes something due."""
        self._commits.append((self.now, base))
        opening = self._plan.openings.get(base)
        if opening is not None:
            due = max(opening, self.now)
            self._plan = replace(self._plan, next_due=min(due, self._plan.next_due or due))

    def run(self, seconds: float) -> None:
        end = self.now + timedelta(seconds=seconds)
        while True:
            instants = [t for t in (self._plan.next_due, self._ends[0][0] if self._ends else None) if t]
            if not instants or min(instants) > end:
                break
            self.now = max(self.now, min(instants))
            self._step()
        self.now = end

    def change(self, id_: str, **changes: object) -> None:
        self.tables[id_] = replace(self.tables[id_], **changes)  # type: ignore[arg-type]

    def wake(self) -> None:
        """Something outside changed a table."""
        self._plan = replace(self._plan, next_due=self.now)

    def succeeded(self, table: str) -> list[datetime]:
        return [at for id_, at, state in self.history if id_ == table and state == "SUCCEEDED"]

    def states(self, table: str) -> list[str]:
        return [state for id_, _, state in self.history if id_ == table]

    def _step(self) -> None:
        woken = False
        while self._ends and self._ends[0][0] <= self.now:
            woken |= self._end(heapq.heappop(self._ends)[1])
        idle = not self._running and not self._ready
        due = self._plan.next_due is not None and self._plan.next_due <= self.now
        if woken or due or (idle and self._replan):
            self._tick()
        while self._ready and len(self._running) < self.parallel:
            _, since, id_ = heapq.heappop(self._ready)
            if not self._renews(since, id_):
                self._start(since, id_)

    def _tick(self) -> None:
        self.ticks += 1
        self._replan = False
        plan = self._plan = tick(
            LagGraph(tuple(self.tables.values()), {base: at for at, base in self._commits}), self.now
        )
        assert plan.next_due is None or plan.next_due > self.now, "the runner would spin"
        for suspension in plan.suspensions:
            self.change(suspension.table, state=SchedulingState.SUSPENDED)
        for skip in plan.skips:
            self._record(skip.table, skip.data_timestamp, "SKIPPED")
        for round_ in plan.rounds:
            self._begin(round_)

    def _begin(self, round_: Round) -> None:
        assert round_.members
        progress = RoundProgress(round_)
        for member in round_.members:
            table = self.tables[member.table]
            assert table.refreshing is None, "twice at once"
            assert table.data_timestamp is None or table.data_timestamp < round_.data_timestamp <= self.now
            assert table.state is SchedulingState.ACTIVE
            self._rounds[member.table] = progress
            self.change(member.table, refreshing=round_.data_timestamp, working=member.working)
        self._make_ready(progress.first())

    def _make_ready(self, members: Sequence[Member]) -> None:
        for member in members:
            target = member.completion_target or datetime.max.replace(tzinfo=UTC)
            heapq.heappush(self._ready, (target, self.now, member.table))

    def _renews(self, since: datetime, id_: str) -> bool:
        """What waited for long is begun anew at a later data timestamp, as the runner does it."""
        progress = self._rounds[id_]
        patience = progress.patience(id_)
        if patience is None or self.now - since <= patience or not progress.waits(id_):
            return False
        rest = progress.split(self.now)
        if rest is None:
            return False
        for table in rest.tables:
            self.change(table, refreshing=None)
        self._ready = [entry for entry in self._ready if entry[2] not in rest.tables]
        heapq.heapify(self._ready)
        self._begin(rest)
        return id_ in rest.tables

    def _start(self, since: datetime, id_: str) -> None:
        table = self.tables[id_]
        self._rounds[id_].begin(id_)
        assert id_ not in self._running
        for read in table.upstream:
            if self.tables[read].state is not SchedulingState.DISABLED:
                assert table.refreshing in self._at[read], "an input does not stand at the data timestamp"
        self._running.add(id_)
        took = self.longest[id_] * self._random.uniform(0.8, 1.0)
        heapq.heappush(self._ends, (self.now + took, id_))
        self.change(id_, durations=(*table.durations, self.now - since + took)[-MEASURED:])

    def _end(self, id_: str) -> bool:
        table, progress = self.tables[id_], self._rounds[id_]
        stamp = progress.data_timestamp
        self._running.discard(id_)
        self._attempts[id_] += 1
        self.change(id_, refreshing=None)
        if self.fails(id_, self._attempts[id_]):
            self._replan = True
            self.change(id_, failures=table.failures + 1)
            self._record(id_, stamp, "FAILED")
            for lost in progress.not_succeeded(id_):
                self.change(lost, refreshing=None)
                self._record(lost, stamp, "UPSTREAM_FAILED")
        else:
            if table.data_timestamp is not None:
                self.lags.setdefault(id_, []).append(self.now - table.data_timestamp)
            self._at[id_].add(stamp)
            bases, stood_at = self._bases(id_), table.data_timestamp or START
            if any(stood_at < at <= stamp for at, base in self._commits if base in bases):
                self.worked.setdefault(id_, []).append(self.now)
                self.change(id_, worked=stamp)
            self.change(id_, data_timestamp=stamp, failures=0)
            self._record(id_, stamp, "SUCCEEDED")
            self._make_ready(progress.succeeded(id_))
        return id_ in self._plan.waiting_for

    def _bases(self, id_: str) -> set[str]:
        table = self.tables[id_]
        return set(table.sources).union(*(self._bases(read) for read in table.upstream))

    def _record(self, id_: str, stamp: datetime, state: str) -> None:
        assert (id_, stamp) not in self._rows, "two rows for one data timestamp"
        self._rows.add((id_, stamp))
        self.history.append((id_, stamp, state))
        self.change(id_, attempted=max(stamp, self.tables[id_].attempted or stamp))
