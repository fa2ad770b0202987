"""What others ask of an account's own observation: that something happened, and how everything stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from snowmelt.core.names import ObjectName
from snowmelt.features.dynamic_tables.service import DynamicTables
from snowmelt.features.notifications.rules import AlertRules
from snowmelt.features.observing import gauges
from snowmelt.features.observing.monitor import Monitor
from snowmelt.features.observing.recording import FreshnessLog
from snowmelt.features.observing.watching import FreshnessWatch
from snowmelt.features.tasks.service import Tasks
from snowmelt.features.upkeep.service import Upkeep
from snowmelt.observe.alerting import Series
from snowmelt.observe.freshness import Freshness
from snowmelt.observe.levels import PoolLevel
from snowmelt.observe.meters import Meters
from snowmelt.observe.metrics import Sample
from snowmelt.scheduler.upkeep import kind
from snowmelt.state.dynamic_model import DynamicRefresh, RefreshState
from snowmelt.state.model import QueryRecord
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.features.upkeep.service import FinishedJob
    from snowmelt.runtime.account import Account


_NEVER_BEGAN = frozenset({RefreshState.SKIPPED, RefreshState.UPSTREAM_FAILED})
_QUEUED_PER_WORKER = 4
"""Refreshes may wait without limit. A queue that takes a worker so many turns is a full one."""


_LOOKS_PER_LIMIT = 2
_SHORTEST_WAIT, _LONGEST_WAIT = 0.5, 30.0


class Observing:
    def __init__(self, account: Account) -> None:
        self._account = account
        self._meters = Meters()
        self._watch = FreshnessWatch(account)
        self._log = FreshnessLog(account.state)
        self._monitor: Monitor | None = None
        self.server_load: Callable[[], Iterable[PoolLevel]] = tuple
        """What a server in this process has in use, if there is one."""
        # From now on: a server asks for this service as it starts, and a command that shows no counts never does.
        account.events.statement_recorded.subscribe(self.query_ended)
        account.events.refresh_ended.subscribe(self.refresh_ended)
        account.events.task_ended.subscribe(self.task_ended)
        account.services[Upkeep].finished.subscribe(self.upkeep_done)

    def start(self) -> None:
        """From now on, until the account is closed, freshness is checked and written down."""
        if self._monitor is None:
            self._monitor = Monitor(self.check)

    def stop(self) -> None:
        if self._monitor is not None:
            self._monitor.stop()
            self._monitor = None

    def check(self) -> float:
        """One look at everything; in how many seconds to look again: at least twice in the shortest limit."""
        with self._account.state.read() as state:
            standing = self.freshness(state)
        self._log.note(standing, self._account.clock.now())
        if self._account.services[AlertRules]:
            self._account.services[AlertRules].check(self._series())
        limits = [item.limit / _LOOKS_PER_LIMIT for item in standing if item.limit is not None]
        return max(min([_LONGEST_WAIT, *limits]), _SHORTEST_WAIT)

    # -- what happens ---------------------------------------------------------------------------------------------

    def query_ended(self, record: QueryRecord) -> None:
        self._meters.query(record.query_type, record.status, _seconds(record.start_time, record.end_time) or 0.0)
        if record.spark_seconds:
            self._meters.spark(record.warehouse or "", record.purpose, record.spark_seconds, record.bytes_scanned)

    def refresh_ended(self, row: DynamicRefresh) -> None:
        self._meters.refresh(
            row.name,
            row.state.value,
            row.action.value if row.action is not None else "NONE",
            None if row.state in _NEVER_BEGAN else _seconds(row.started_at, row.ended_at),
            inserted=row.statistics.get("numInsertedRows", 0),
            deleted=row.statistics.get("numDeletedRows", 0),
        )
        if row.state is RefreshState.SUCCEEDED:
            self._watch.refreshed(row)

    def task_ended(self, name: ObjectName, kind: str, state: str, started_at: datetime | None) -> None:
        self._meters.task(name, kind, state, _seconds(started_at, self._account.clock.now()) or 0.0)

    def upkeep_done(self, done: FinishedJob) -> None:
        self._meters.upkeep(kind(done.job), done.outcome, done.seconds, done.files, done.bytes)

    # -- how things stand -----------------------------------------------------------------------------------------

    def freshness(self, state: StateReader, *, every_table: bool = False) -> list[Freshness]:
        return self._watch.look(state, every_table=every_table)

    def load(self) -> Iterator[PoolLevel]:
        """How much of what is limited is in use."""
        settings = self._account.settings
        running, waiting = self._account.services[DynamicTables].load()
        yield PoolLevel("refreshes", running, settings.parallel_refreshes)
        yield PoolLevel("tasks", self._account.services[Tasks].running(), settings.parallel_tasks)
        yield PoolLevel("waiting_refreshes", waiting, settings.parallel_refreshes * _QUEUED_PER_WORKER)
        yield from self.server_load()

    def samples(self) -> list[Sample]:
        """What is read for each scrape. No Spark, a few look-ups."""
        with self._account.state.read() as state:
            found = list(gauges.samples(self._account, state, self.freshness(state)))
            found += gauges.availability(state, self._account.clock.now())
        return [*found, *gauges.pools(self.load())]

    def _series(self) -> Iterator[Series]:
        """Every value that GET /metrics has."""
        for sample in self.samples():
            yield Series(sample.metric.name, dict(zip(sample.metric.labels, sample.labels, strict=True)), sample.value)
        for name, labels, value in self._meters.samples():
            yield Series(name, labels, value)

    def metrics_text(self) -> bytes:
        """In Prometheus' text format."""
        return self._meters.text(self.samples)


def _seconds(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None else max((end - start).total_seconds(), 0.0)
