"""Looks at what runs, a few times a second, without making Spark work for it.

The state store has everything but the result itself: where the connector is, and what refreshes and tasks did. SQL
would give the same (SHOW CONNECTORS, DYNAMIC_TABLE_REFRESH_HISTORY, TASK_HISTORY), but on two cores a watcher should
take nothing away from what it watches.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName
from snowmelt.demo import stopwatch
from snowmelt.demo.shop import WriteLoad
from snowmelt.demo.snapshot import CityRevenue, DemoSnapshot, Latency, TableStatus, TaskStatus
from snowmelt.demo.stopwatch import ProcessingStep, StopwatchMark
from snowmelt.features.connectors import definitions as connectors
from snowmelt.features.connectors.definitions import ConnectorState
from snowmelt.features.connectors.standings import ConnectorStandings
from snowmelt.features.dynamic_tables.lags import measure
from snowmelt.features.tasks import definitions as tasks
from snowmelt.features.tasks.definitions import ACTIVE, RunState, TaskRun
from snowmelt.features.tasks.records import TaskRecords
from snowmelt.runtime.account import Account
from snowmelt.state.dynamic_model import DynamicRefresh, RefreshAction, RefreshState
from snowmelt.state.model import ObjectKind, TableDefinition
from snowmelt.state.store import StateReader

DATABASE, SCHEMA = "SHOP", "PUBLIC"
STAGES = {
    "CUSTOMERS": "SCD 2",
    "ORDERS": "staging",
    "ORDER_LINES": "staging",
    "SALES": "enrichment",
    "REVENUE": "summary",
}
"""The dynamic tables of pipeline.sql, and what each is for."""
DIMENSION, LAST, LANDING, TASK, CONNECTOR = "CUSTOMERS", "REVENUE", "RAW_CHANGES", "PARSE_CUSTOMERS", "SHOP"
_RATES = 40
_FAILED = frozenset({RefreshState.FAILED, RefreshState.UPSTREAM_FAILED, RefreshState.CANCELLED})
_TASK_FAILED = frozenset({RunState.FAILED, RunState.FAILED_AND_AUTO_SUSPENDED, RunState.CANCELLED})


class Watcher:
    """What can be said about the demo's pipeline, for one that has read everything that the source had."""

    def __init__(self, account: Account, load: WriteLoad, duration: timedelta) -> None:
        self._account = account
        self._load = load
        self.duration = duration
        self._opened = datetime.now(UTC)
        with account.state.read() as state:
            self._connector = _id(state, CONNECTOR, connectors.CONNECTOR)
            self._task = _id(state, TASK, tasks.TASK)
            self._tables = {name: _id(state, name, ObjectKind.TABLE) for name in STAGES}
            self._target = _target_lag(state, self._tables[LAST])
            self._read = state[ConnectorStandings].require(self._connector).changes
        self._sightings: list[StopwatchMark] = []
        self.phase = "the shop is open"

    def open(self) -> None:
        """The shop opens: what is measured begins now."""
        self._opened = datetime.now(UTC)

    @property
    def read(self) -> int:
        """Rows that the source had before the shop opened."""
        return self._read

    def look(self) -> int:
        """How many of the source's changes have landed; called often, because latencies are as exact as this is."""
        with self._account.state.read() as state:
            landed = state[ConnectorStandings].require(self._connector).changes - self._read
        if landed and (not self._sightings or landed > self._sightings[-1].count):
            self._sightings.append(StopwatchMark(landed, datetime.now(UTC)))
        return landed

    def data_timestamps(self) -> dict[str, datetime | None]:
        with self._account.state.read() as state:
            return {name: state.dynamic.require(id).data_timestamp for name, id in self._tables.items()}

    def task_runs_now(self) -> bool:
        with self._account.state.read() as state:
            return any(run.state in ACTIVE for run in state[TaskRecords].last_runs(self._task))

    def failures(self) -> tuple[str, ...]:
        """Everything that went wrong since the shop opened."""
        now = datetime.now(UTC)
        with self._account.state.read() as state:
            standing = state[ConnectorStandings].require(self._connector)
            refreshes = state.dynamic.refreshes(self._opened, now, list(self._tables.values()))
            runs = state[TaskRecords].runs(self._opened, now, [self._task])
        return self._failures(standing, refreshes, runs)

    def snapshot(self, revenue: Sequence[CityRevenue] = ()) -> DemoSnapshot:
        now = datetime.now(UTC)
        with self._account.state.read() as state:
            standing = state[ConnectorStandings].require(self._connector)
            # A little earlier, because in its first seconds a table still has what the refresh before made.
            refreshes = state.dynamic.refreshes(self._opened - timedelta(minutes=1), now, list(self._tables.values()))
            runs = state[TaskRecords].runs(self._opened, now, [self._task])
        by_table = {id: [item for item in reversed(refreshes) if item.table_id == id] for id in self._tables.values()}
        return DemoSnapshot(
            phase=self.phase,
            elapsed=now - self._opened,
            duration=self.duration,
            connector="PAUSED" if standing.paused else standing.phase.value,
            read=self._read,
            committed=self._load.changes,
            landed=standing.changes - self._read,
            rates=self._rates(now),
            tables=tuple(self._table(name, by_table[id], now) for name, id in self._tables.items()),
            task=_task(runs),
            latencies=self._latencies(by_table, runs),
            revenue=tuple(revenue),
            errors=self._failures(standing, refreshes, runs),
        )

    def _table(self, name: str, refreshes: Sequence[DynamicRefresh], now: datetime) -> TableStatus:
        """`refreshes` from the oldest to the newest."""
        done = [item for item in refreshes if item.state is RefreshState.SUCCEEDED]
        ended = [item for item in refreshes if item.state is RefreshState.SUCCEEDED or item.state in _FAILED]
        signs = [_sign(item) for item in ended]
        worked = [
            item for item in done if item.action is not RefreshAction.NO_DATA and item.started_at and item.ended_at
        ]
        measured = [item for item in done if item.data_timestamp >= self._opened]
        lags = measure(measured, int(self._target.total_seconds()), now)
        last = worked[-1] if worked else None
        return TableStatus(
            name=name,
            stage=STAGES[name],
            lag=now - done[-1].data_timestamp if done else None,
            target=self._target,
            within=lags.within_ratio if lags is not None else None,
            actions=tuple(signs[-_RATES:]),
            counts=dict(Counter(signs)),
            took=last.ended_at - last.started_at if last is not None and last.ended_at and last.started_at else None,
        )

    def _rates(self, now: datetime) -> tuple[float, ...]:
        """Changes that landed in each of the last seconds but the one that is not over."""
        seconds = int((now - self._opened).total_seconds())
        landed = Counter[int]()
        for before, after in pairwise([StopwatchMark(0, self._opened), *self._sightings]):
            landed[int((after.at - self._opened).total_seconds())] += after.count - before.count
        return tuple(float(landed[second]) for second in range(max(0, seconds - _RATES), seconds))

    def _latencies(self, by_table: dict[str, list[DynamicRefresh]], runs: Sequence[TaskRun]) -> tuple[Latency, ...]:
        landed = stopwatch.landed(self._load.marks[:], self._sightings)
        parsed = stopwatch.onward(landed, _task_steps(runs))
        journeys = {
            LANDING: landed,
            DIMENSION: stopwatch.onward(parsed, _refresh_steps(by_table[self._tables[DIMENSION]])),
            LAST: stopwatch.onward(landed, _refresh_steps(by_table[self._tables[LAST]])),
        }
        return tuple(Latency(name, stopwatch.percentiles(found)) for name, found in journeys.items())

    def _failures(
        self, standing: ConnectorState, refreshes: Sequence[DynamicRefresh], runs: Sequence[TaskRun]
    ) -> tuple[str, ...]:
        found = [f"load: {self._load.failure}"] if self._load.failure is not None else []
        found += [f"connector: {standing.error}"] if standing.error else []
        found += [f"connector: {standing.dead_letters} dead letters"] if standing.dead_letters else []
        found += [f"{item.name.name}: {item.state} {item.state_message}" for item in refreshes if item.state in _FAILED]
        found += [f"{run.name.name}: {run.state} {run.error_message}" for run in runs if run.state in _TASK_FAILED]
        return tuple(found)


class RevenueReader:
    """The result itself, read by SQL every few seconds beside everything else."""

    def __init__(self, account: Account, every: float = 3.0) -> None:
        self._session = account.session(database=DATABASE, schema=SCHEMA)
        self._every = every
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="snowmelt-demo-revenue", daemon=True)
        self.rows: tuple[CityRevenue, ...] = ()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._session.cancel()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(self._every):
            try:
                found = self._session.execute("SELECT city, revenue FROM revenue ORDER BY revenue DESC LIMIT 5").rows()
                self.rows = tuple(CityRevenue(str(city), revenue) for city, revenue in found)
            except SnowmeltError:
                # What is wrong with the table is told by its refreshes; this one is for show.
                continue


def _sign(refresh: DynamicRefresh) -> str:
    """What it did: NO_DATA, INCREMENTAL or FULL, which a re-initialisation is too; or that it failed."""
    if refresh.state is not RefreshState.SUCCEEDED:
        return refresh.state.value
    known = (RefreshAction.NO_DATA, RefreshAction.INCREMENTAL)
    return (refresh.action if refresh.action in known else RefreshAction.FULL).value


def _task(runs: Sequence[TaskRun]) -> TaskStatus:
    ended = [run for run in runs if run.started_at is not None and run.completed_at is not None]
    last = max(ended, key=lambda run: run.scheduled_time, default=None)
    return TaskStatus(
        name=TASK,
        runs=len(ended),
        running=any(run.state is RunState.EXECUTING for run in runs),
        took=last.completed_at - last.started_at if last and last.completed_at and last.started_at else None,
    )


def _refresh_steps(refreshes: Sequence[DynamicRefresh]) -> list[ProcessingStep]:
    return [
        ProcessingStep(item.data_timestamp, item.ended_at)
        for item in refreshes
        if item.state is RefreshState.SUCCEEDED and item.ended_at is not None
    ]


def _task_steps(runs: Sequence[TaskRun]) -> list[ProcessingStep]:
    found = [
        ProcessingStep(run.started_at, run.completed_at)
        for run in runs
        if run.state is RunState.SUCCEEDED and run.started_at is not None and run.completed_at is not None
    ]
    return sorted(found, key=lambda step: step.since)


def _target_lag(state: StateReader, table_id: str) -> timedelta:
    """The target lag of the last table, which the tables above it follow."""
    table = state.catalog.by_id(table_id)
    assert table is not None and isinstance(table.definition, TableDefinition) and table.definition.dynamic is not None
    return timedelta(seconds=table.definition.dynamic.target_lag or 0)


def _id(state: StateReader, name: str, kind: ObjectKind) -> str:
    found = state.catalog.find(ObjectName(DATABASE, SCHEMA, name), [kind])
    assert found is not None, f"pipeline.sql makes {name}"
    return found.id
