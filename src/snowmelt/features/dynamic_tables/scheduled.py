"""What the scheduler needs of an account: where its dynamic tables stand, and refreshes (`scheduler/ports.py`)."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName
from snowmelt.features.dynamic_tables import graph, scheduling
from snowmelt.features.dynamic_tables.graph import RefreshNode
from snowmelt.features.dynamic_tables.group import adopt_sources, stood_at
from snowmelt.features.dynamic_tables.recording import Again, RefreshOutcome
from snowmelt.features.dynamic_tables.refresh import refresh_table
from snowmelt.runtime.run import Run
from snowmelt.scheduler import graph as scheduler
from snowmelt.scheduler.ports import FailedRefresh, RefreshRequest
from snowmelt.scheduler.ports import RefreshEnd as Ended
from snowmelt.scheduler.runner import RefreshRunner
from snowmelt.sql.tokens import SqlText
from snowmelt.state.dynamic_model import DynamicRefresh, DynamicState, RefreshAction, RefreshState, RefreshTrigger
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.state.store import StateReader, StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account

_REMEMBERED = timedelta(days=1)
_MEASURED = 5
_CODES = {Ended.UPSTREAM_FAILED: "UPSTREAM_FAILURE", Ended.SKIPPED: "NOT_EFFECTIVE_TICK_TO_REFRESH"}
_MESSAGES = {
    Ended.UPSTREAM_FAILED: "Skipped refreshing because an input dynamic table failed.",
    Ended.SKIPPED: "Skipped refreshing because an earlier refresh was still running.",
}


def runner(account: Account, max_parallel: int) -> RefreshRunner:
    """The runner of an account's dynamic tables, not started yet."""
    tables = ScheduledTables(account)
    return RefreshRunner(tables, tables, account.clock, max_parallel)


@dataclass(frozen=True, slots=True)
class _Past:
    """What the scheduler must know of a table's refreshes. Kept here, so that a tick reads no history."""

    attempted: datetime | None = None
    worked: datetime | None = None
    durations: tuple[timedelta, ...] = ()


_NO_PAST = _Past()


@dataclass(frozen=True, slots=True)
class _Standing:
    """What the scheduler was told about a table, and what that was made of."""

    state: DynamicState
    executing: datetime | None
    past: _Past
    table: scheduler.DynamicTable


class ScheduledTables:
    """Implements both protocols. What does not change between ticks is read once."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._session = account.session(user="SYSTEM")
        self._lock = threading.Lock()
        self._generation = -1
        self._tables: dict[str, CatalogObject] = {}
        """The live dynamic tables as of that generation of the catalog."""
        self._by_name: dict[ObjectName, str] = {}
        self._last_known: dict[str, _Standing] = {}
        self._states: dict[str, tuple[str, DynamicState]] = {}
        """The stored text and what was read from it: most rows are the same at the next tick."""
        self._past: dict[str, _Past] | None = None
        self._running: dict[str, Run] = {}
        self._failed: dict[tuple[str, datetime], Again] = {}
        """Refreshes that failed and may be tried again, by table and data timestamp."""

    # -- the catalog ----------------------------------------------------------------------------------------------

    def load(self) -> scheduler.LagGraph:
        with self._account.state.read() as state, self._lock:
            self._read_states(state)
            self._read_tables(state)
            executing = {row.table_id: row.data_timestamp for row in state.dynamic.executing()}
            if self._past is None:
                self._past = _pasts(state, self._account.clock.now())
            past = self._past
            return scheduler.LagGraph(
                tuple(self._as_scheduled(id, executing.get(id), past.get(id, _NO_PAST)) for id in self._tables)
            )

    def _as_scheduled(self, id: str, executing: datetime | None, past: _Past) -> scheduler.DynamicTable:
        """What the scheduler is told about a table: the same as at the last tick, where nothing changed."""
        state = self._states[id][1]
        last = self._last_known.get(id)
        if last is not None and last.state is state and last.executing == executing and last.past is past:
            return last.table
        upstream = graph.upstream_of(state, self._by_name)
        table = _scheduled(self._tables[id], state, upstream, executing, past)
        self._last_known[id] = _Standing(state, executing, past, table)
        return table

    def record(self, outcomes: Sequence[FailedRefresh]) -> None:
        with self._account.state.begin() as state:
            for outcome in outcomes:
                self._record(state, outcome)
        with self._lock:
            for outcome in outcomes:
                self._remember(outcome.table, outcome.data_timestamp)
                self._failed.pop((outcome.table, outcome.data_timestamp), None)

    def suspend(self, suspension: scheduler.Suspension) -> None:
        with self._account.state.begin() as state:
            table = state.catalog.by_id(suspension.table)
            if table is not None and table.dropped_on is None:
                scheduling.suspend(state, table, scheduling.BY_ERRORS)

    # -- refreshing -----------------------------------------------------------------------------------------------

    def begin(self, round_: scheduler.Round) -> datetime:
        """What other tools wrote becomes visible now, later than planned: then the round is as of now, too."""
        with self._lock:
            known = [id for id in round_.tables if id in self._tables]
            nodes = [RefreshNode(self._tables[id], self._states[id][1], frozenset()) for id in known]
        adopted = adopt_sources(self._account, nodes)
        return self._account.state.settle(None if adopted else round_.data_timestamp)

    def refresh(self, request: RefreshRequest) -> Ended:
        with self._account.state.read() as state:
            table = state.catalog.by_id(request.table)
        if table is None:
            raise errors.not_found("Dynamic table", request.table)
        caller = Run(self._session, SqlText(f"ALTER DYNAMIC TABLE {table.name} REFRESH"))
        self._running[request.table] = caller
        again = self._failed.pop((request.table, request.data_timestamp), None)
        try:
            outcome = refresh_table(
                self._account,
                table,
                request.data_timestamp,
                RefreshTrigger.SCHEDULED,
                caller=caller,
                completion_target=request.completion_target,
                # Whether it counts is known when it is not tried again; `record` counts it then.
                counts_as_failure=False,
                again=again,
            )
        finally:
            del self._running[request.table]
        return self._ended(request, outcome, again)

    def cancel(self, table: str) -> None:
        caller = self._running.get(table)
        if caller is not None:
            caller.cancelled = True
            # A Spark that does not answer must not hold up who stops the refreshes.
            threading.Thread(target=self._account.engine.cancel, args=(caller.tag,), daemon=True).start()
            self._account.locks.wake()

    # -- details --------------------------------------------------------------------------------------------------

    def _read_states(self, state: StateReader) -> None:
        known = self._states
        self._states = {
            id: known[id] if id in known and known[id][0] == record else (record, _parsed(record))
            for id, record in state.dynamic.records()
        }

    def _read_tables(self, state: StateReader) -> None:
        generation = state.catalog.generation()
        if generation == self._generation and self._tables.keys() <= self._states.keys():
            return
        found = state.catalog.by_ids(self._states)
        self._tables = {id: table for id, table in found.items() if table.dropped_on is None}
        self._by_name = {table.name: id for id, table in self._tables.items()}
        self._last_known = {}
        self._generation = generation

    def _ended(self, request: RefreshRequest, outcome: RefreshOutcome, again: Again | None) -> Ended:
        if outcome.error is not None:
            if outcome.error.transient and outcome.refresh_id is not None:
                attempts = again.attempts + 1 if again is not None else 1
                self._failed[request.table, request.data_timestamp] = Again(outcome.refresh_id, attempts)
            raise outcome.error
        if outcome.refresh_id is None and not stood_at(self._account, request.table, request.data_timestamp):
            return Ended.SKIPPED
        took = self._account.clock.now() - request.ready_at
        with self._lock:
            self._remember(request.table, request.data_timestamp, None if outcome.action is _IDLE else took)
        return Ended.SUCCEEDED

    def _remember(self, table: str, at: datetime, took: timedelta | None = None) -> None:
        if self._past is None:
            return
        past = self._past.get(table, _Past())
        attempted = max(at, past.attempted or at)
        if took is None:
            self._past[table] = replace(past, attempted=attempted)
        else:
            self._past[table] = _Past(attempted, at, (*past.durations, took)[-_MEASURED:])

    def _record(self, state: StateTransaction, outcome: FailedRefresh) -> None:
        table = state.catalog.by_id(outcome.table)
        if table is None or table.dropped_on is not None:
            return
        # An error that the refresh foresaw has its row; of another one the row says that it still runs.
        unforeseen = not isinstance(outcome.error, SnowmeltError) or outcome.state is Ended.UPSTREAM_FAILED
        if outcome.state is Ended.SKIPPED or unforeseen:
            row = _row(state, table, outcome)
            state.dynamic.record_refresh(_folded(state, row) if outcome.state is Ended.SKIPPED else row)
            self._account.events.refresh_ended(row)
        if outcome.state is Ended.FAILED:
            scheduling.note_failure(state, table)


_IDLE = RefreshAction.NO_DATA


def _parsed(record: str) -> DynamicState:
    return DynamicState.model_validate_json(record)


def _scheduled(
    table: CatalogObject, state: DynamicState, upstream: Iterable[str], executing: datetime | None, past: _Past
) -> scheduler.DynamicTable:
    assert isinstance(table.definition, TableDefinition) and table.definition.dynamic is not None
    declared = table.definition.dynamic
    lag = declared.target_lag
    return scheduler.DynamicTable(
        id=table.id,
        name=str(table.name),
        target_lag=scheduler.DOWNSTREAM if lag is None else timedelta(seconds=lag),
        upstream=tuple(sorted(upstream)),
        sources=tuple(item.object_id for item in state.dependencies if item.kind == "TABLE"),
        beyond=tuple(item.object_id for item in state.dependencies if item.kind == "DYNAMIC_TABLE" and item.bounded),
        state=_standing(state, scheduled=declared.scheduled),
        data_timestamp=state.data_timestamp,
        attempted=past.attempted,
        worked=past.worked,
        refreshing=executing,
        failures=state.failures,
        durations=past.durations,
    )


def _standing(state: DynamicState, *, scheduled: bool) -> scheduler.SchedulingState:
    if not scheduled:
        return scheduler.SchedulingState.DISABLED
    return scheduler.SchedulingState.SUSPENDED if state.suspended else scheduler.SchedulingState.ACTIVE


def _pasts(state: StateReader, now: datetime) -> dict[str, _Past]:
    """From the history of the last day, the newest first. A computation from nothing counts until there is another."""
    rows: dict[str, list[DynamicRefresh]] = {}
    for row in state.dynamic.refreshes(now - _REMEMBERED, now):
        rows.setdefault(row.table_id, []).append(row)
    return {id: _past(found) for id, found in rows.items()}


def _past(rows: Sequence[DynamicRefresh]) -> _Past:
    worked = [row for row in rows if row.state is RefreshState.SUCCEEDED and row.action is not RefreshAction.NO_DATA]
    usual = [
        row
        for row in worked
        if row.action is not RefreshAction.REINITIALIZE and row.trigger is not RefreshTrigger.CREATION
    ] or worked
    times = [row.ended_at - row.started_at for row in usual if row.ended_at is not None and row.started_at is not None]
    ended = [row.data_timestamp for row in rows if row.state is not RefreshState.EXECUTING]
    newest = max((row.data_timestamp for row in worked), default=None)
    return _Past(max(ended, default=None), newest, tuple(reversed(times[:_MEASURED])))


def _folded(state: StateTransaction, skipped: DynamicRefresh) -> DynamicRefresh:
    """A refresh that was skipped, in one row with those before it.

    A table that can't keep its lag skips one tick for every refresh. Until it manages two in a row, that is one story.
    """
    last = state.dynamic.newest(skipped.table_id, 2)
    before = next((row for row in last if row.state is RefreshState.SKIPPED), None)
    if before is None:
        return skipped
    times = before.details.get("skipped", 1) + 1
    message = f"Skipped refreshing {times} times, because an earlier refresh was still running each time."
    return before.model_copy(
        update={
            "data_timestamp": skipped.data_timestamp,
            "ended_at": skipped.ended_at,
            "target_lag": skipped.target_lag,
            "state_message": message,
            "details": {"skipped": times},
        }
    )


def _row(state: StateTransaction, table: CatalogObject, outcome: FailedRefresh) -> DynamicRefresh:
    """The row of a refresh that has none, or the one that says it still runs, ended."""
    assert isinstance(table.definition, TableDefinition) and table.definition.dynamic is not None
    for row in state.dynamic.executing():
        if row.table_id == table.id and row.data_timestamp == outcome.data_timestamp:
            break
    else:
        row = DynamicRefresh(
            id=str(uuid.uuid4()),
            table_id=table.id,
            name=table.name,
            state=RefreshState.EXECUTING,
            data_timestamp=outcome.data_timestamp,
            started_at=outcome.started_at or state.now,
            trigger=RefreshTrigger.SCHEDULED,
            target_lag=table.definition.dynamic.target_lag,
            graph_valid_from=state.dynamic.require(table.id).graph_since,
        )
    message = _MESSAGES.get(outcome.state) or errors.internal(repr(outcome.error)).text
    return row.model_copy(
        update={
            "state": RefreshState(outcome.state.value),
            "state_code": _CODES.get(outcome.state, "300002"),
            "state_message": message,
            "ended_at": state.now,
        }
    )
