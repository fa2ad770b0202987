"""A catalog in memory and a refresher that does what a test tells it to. Waiting is for conditions, never for time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from snowmelt.core.clock import Clock, ManualClock
from snowmelt.scheduler.graph import DynamicTable, LagGraph, Round, SchedulingState, Suspension
from snowmelt.scheduler.ports import FailedRefresh, RefreshEnd, RefreshRequest
from snowmelt.scheduler.retries import Retries
from snowmelt.scheduler.runner import RefreshRunner
from tests.support.waiting import DEADLINE

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
AT_ONCE = Retries(attempts=3, first_wait=0.0, longest_wait=0.0)

Behaviour = Callable[[RefreshRequest], RefreshEnd | None]


class FakeCatalog:
    def __init__(self, *tables: DynamicTable) -> None:
        self.changed = threading.Condition()
        self.tables = {table.id: table for table in tables}
        self.outcomes: list[FailedRefresh] = []
        self.succeeded: list[RefreshRequest] = []
        self.loads = 0
        self.broken: dict[str, int] = {}
        """How many more calls of a method fail."""

    def load(self) -> LagGraph:
        with self.changed:
            self.loads += 1
            self.changed.notify_all()
            self._break("load")
            return LagGraph(tuple(self.tables.values()))

    def record(self, outcomes: Sequence[FailedRefresh]) -> None:
        with self.changed:
            self._break("record")
            for outcome in outcomes:
                table = self.tables[outcome.table]
                failures = table.failures + (outcome.state is RefreshEnd.FAILED)
                attempted = max(outcome.data_timestamp, table.attempted or outcome.data_timestamp)
                self.tables[table.id] = replace(table, failures=failures, attempted=attempted)
            self.outcomes += outcomes
            self.changed.notify_all()

    def suspend(self, suspension: Suspension) -> None:
        with self.changed:
            self._break("suspend")
            self.change(suspension.table, state=SchedulingState.SUSPENDED)

    def success(self, request: RefreshRequest) -> None:
        with self.changed:
            self.succeeded.append(request)
            stamp = request.data_timestamp
            self.change(request.table, data_timestamp=stamp, attempted=stamp, failures=0)

    def change(self, table: str, **changes: object) -> None:
        with self.changed:
            self.tables[table] = replace(self.tables[table], **changes)  # type: ignore[arg-type]
            self.changed.notify_all()

    def await_that(self, condition: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(condition, DEADLINE), "it did not happen in time"

    def await_states(self, *expected: tuple[str, RefreshEnd]) -> None:
        self.await_that(lambda: set(expected) <= {(o.table, o.state) for o in self.outcomes})

    def await_successes(self, table: str, number: int = 1) -> None:
        self.await_that(lambda: sum(request.table == table for request in self.succeeded) >= number)

    def _break(self, method: str) -> None:
        if self.broken.get(method, 0) > 0:
            self.broken[method] -= 1
            raise OSError(f"{method} is broken")


class FakeRefresher:
    """Succeeds at once, unless told otherwise. Checks that no table is refreshed twice at once."""

    def __init__(self, catalog: FakeCatalog) -> None:
        self.behaviour: dict[str, Behaviour] = {}
        self.started: list[str] = []
        self.running: set[str] = set()
        self.most_at_once = 0
        self.cancelled: list[str] = []
        self.twice_at_once = False
        self.refuse_to_begin = 0
        self.later = timedelta()
        self._catalog = catalog

    def begin(self, round_: Round) -> datetime:
        if self.refuse_to_begin > 0:
            self.refuse_to_begin -= 1
            raise OSError("can't begin")
        return round_.data_timestamp + self.later

    def refresh(self, request: RefreshRequest) -> RefreshEnd:
        with self._catalog.changed:
            self.twice_at_once |= request.table in self.running
            self.running.add(request.table)
            self.most_at_once = max(self.most_at_once, len(self.running))
            self.started.append(request.table)
            self._catalog.changed.notify_all()
        try:
            behaviour = self.behaviour.get(request.table)
            state = behaviour(request) if behaviour else None
            if state is None:
                self._catalog.success(request)
            return state or RefreshEnd.SUCCEEDED
        finally:
            with self._catalog.changed:
                self.running.discard(request.table)
                self._catalog.changed.notify_all()

    def cancel(self, table: str) -> None:
        with self._catalog.changed:
            self.cancelled.append(table)
            self._catalog.changed.notify_all()

    def await_started(self, table: str, number: int = 1) -> None:
        self._catalog.await_that(lambda: self.started.count(table) >= number)


class Gate:
    """A refresh that waits until the test lets it go on."""

    def __init__(self) -> None:
        self._open = threading.Event()

    def __call__(self, request: RefreshRequest) -> None:
        assert self._open.wait(DEADLINE)

    def open(self) -> None:
        self._open.set()


@contextmanager
def running(
    catalog: FakeCatalog, refresher: FakeRefresher, clock: Clock | None = None, *, max_parallel: int = 4
) -> Iterator[RefreshRunner]:
    runner = RefreshRunner(catalog, refresher, clock or ManualClock(NOON), max_parallel, retries=AT_ONCE)
    runner.start()
    try:
        yield runner
    finally:
        assert runner.stop(DEADLINE)
        assert not refresher.twice_at_once
