"""What warehouses cost: when each was up, at which size, and the credits that makes.

A warehouse comes up when a statement first needs Spark, and is down once it was idle for AUTO_SUSPEND seconds. No timer
runs for that: the end of a span follows from its last use, and is written down when somebody looks. The last use itself
is saved in the background, every few seconds at most: no statement waits for it, and a crash may lose that much of an
open span.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal

from snowmelt.core import errors
from snowmelt.core.clock import Clock
from snowmelt.engine.pools import WAREHOUSE_SIZES, pool_of
from snowmelt.state.ids import new_id
from snowmelt.state.model import ParameterLevel, Warehouse, WarehouseState, WarehouseUsage
from snowmelt.state.sight import Sight
from snowmelt.state.store import StateStore, StateTransaction

MINIMUM = timedelta(seconds=60)
"""The least time that a start is charged for."""
_SAVE_EVERY = timedelta(seconds=5)
_HOUR = timedelta(hours=1)
_MOST_KNOWN = 1_000
TIME_LIMIT, QUEUE_LIMIT = LIMITS = ("STATEMENT_TIMEOUT_IN_SECONDS", "STATEMENT_QUEUED_TIMEOUT_IN_SECONDS")
"""How long statements in a warehouse may take, and may wait before they begin."""
_NINE_DIGITS = Decimal("0.000000001")


@dataclass(slots=True)
class _Open:
    """A warehouse that is up."""

    span: WarehouseUsage
    auto_suspend: int
    """Seconds; 0 for never."""
    saved_at: datetime
    running: int = 0

    def end(self, now: datetime) -> datetime | None:
        """When it went down for lack of work; None while it is up."""
        if self.running or not self.auto_suspend:
            return None
        end = self.span.last_used_at + timedelta(seconds=self.auto_suspend)
        return end if end <= now else None

    def is_unsaved(self, now: datetime) -> bool:
        return self.span.last_used_at > self.saved_at and now - self.saved_at >= _SAVE_EVERY


class Metering:
    """Safe to use from several threads. What changes a warehouse goes through `changing`, so that both stay in step."""

    def __init__(self, state: StateStore, clock: Clock) -> None:
        self._state = state
        self._clock = clock
        self._lock = threading.RLock()
        self._open: dict[str, _Open] = {}
        self._found: dict[str, tuple[int, Warehouse | None]] = {}
        """By name, how many transactions there had been when it was read, and what was found."""
        self._limits: dict[tuple[str, str], int] | None = None
        """By name and parameter, what warehouses have of `LIMITS`; None when that has to be read again."""

    def start(self) -> None:
        """After the account was opened: what was up when the last process ended is down.

        A warehouse that can't come up by itself is started again, or else a restart would lock its users out.
        """
        with self.changing() as state:
            for span in state.usage.open():
                state.usage.record(span.model_copy(update={"ended_at": span.last_used_at}))
            for warehouse in state.warehouses.list():
                if warehouse.state is WarehouseState.STARTED:
                    if warehouse.auto_resume:
                        state.warehouses.update(warehouse.model_copy(update={"state": WarehouseState.SUSPENDED}))
                    else:
                        self.up(state, warehouse)

    def stop(self) -> None:
        """When the account is closed: everything goes down, but stays marked as started for `start`."""
        with self.changing() as state:
            now = self._clock.now()
            for open_ in self._open.values():
                end = open_.end(now) or now
                state.usage.record(open_.span.model_copy(update={"last_used_at": end, "ended_at": end}))
            self._open.clear()

    # -- use ------------------------------------------------------------------------------------------------------

    def begin(self, name: str | None) -> tuple[str, str]:
        """A statement is about to use Spark: the warehouse's id and its scheduling pool.

        Brings the warehouse up if that is allowed. Raises when there is none, or it is down and stays down.
        """
        with self._lock:
            warehouse = self.warehouse(name) if name is not None else None
            if warehouse is None:
                raise errors.no_active_warehouse()
            if self.state_of(warehouse) is WarehouseState.SUSPENDED:
                if not warehouse.auto_resume:
                    raise errors.no_active_warehouse()
                with self.changing() as state:
                    self.up(state, warehouse)
            open_ = self._open.get(warehouse.id)
            if open_ is None:
                with self.changing() as state:
                    self.up(state, warehouse)
                open_ = self._open[warehouse.id]
            open_.running += 1
            open_.span = open_.span.model_copy(update={"last_used_at": max(self._clock.now(), open_.span.started_at)})
        return warehouse.id, pool_of(warehouse.id, warehouse.size)

    def warehouse(self, name: str) -> Warehouse | None:
        """The warehouse as it is now. Every statement asks."""
        commits = self._state.commits()
        known = self._found.get(name)
        if known is not None and known[0] == commits:
            return known[1]
        with self._state.read() as reader:
            found = reader.warehouses.get(name)
        if commits is not None and len(self._found) < _MOST_KNOWN:
            # Asked for before reading: if something was committed meanwhile, the next one reads again.
            self._found[name] = commits, found
        return found

    def rate(self, warehouse_id: str) -> int:
        """Credits an hour of a warehouse that is up; 0 when it is not."""
        with self._lock:
            open_ = self._open.get(warehouse_id)
            return credits_per_hour(open_.span) if open_ is not None else 0

    def limit(self, name: str | None, parameter: str) -> int:
        """A warehouse's own limit in seconds, one of `LIMITS`; 0 when nothing was set. Every statement asks."""
        found = self._limits
        if found is None:
            with self._lock:
                found = self._limits = self._read_limits()
        return found.get((name, parameter), 0) if name is not None else 0

    def _read_limits(self) -> dict[tuple[str, str], int]:
        with self._state.read() as state:
            kept = {
                (warehouse.name, limit): state.parameters.get(ParameterLevel.WAREHOUSE, warehouse.id, limit)
                for warehouse in state.warehouses.list()
                for limit in LIMITS
            }
        return {key: int(value) for key, value in kept.items() if value is not None}

    def end(self, warehouse_id: str) -> None:
        """The statement is done."""
        with self._lock:
            open_ = self._open.get(warehouse_id)
            if open_ is None:
                return
            now = self._clock.now()
            open_.running = max(open_.running - 1, 0)
            open_.span = open_.span.model_copy(update={"last_used_at": max(now, open_.span.last_used_at)})

    def save(self) -> None:
        """Writes down when warehouses that are up were last used, if that was not done lately. For the background."""
        with self._lock:
            now = self._clock.now()
            used = [open_ for open_ in self._open.values() if open_.is_unsaved(now)]
            if used:
                with self._state.begin() as state:
                    state.usage.record(*(open_.span for open_ in used))
            for open_ in used:
                open_.saved_at = now

    # -- changes --------------------------------------------------------------------------------------------------

    @contextmanager
    def changing(self, sight: Sight | None = None) -> Iterator[StateTransaction]:
        """A transaction, seen with somebody's eyes, in which warehouses may change.

        Spans that ended by themselves are settled in it first.
        """
        with self._lock:
            before = {id: replace(open_) for id, open_ in self._open.items()}
            try:
                with self._state.begin(sight) as state:
                    self._settle(state.without_limits())
                    yield state
            except BaseException:
                self._open = before
                raise
            finally:
                self._limits = None

    def state_of(self, warehouse: Warehouse) -> WarehouseState:
        """STARTED or SUSPENDED as of now, whether that was written down already or not."""
        with self._lock:
            open_ = self._open.get(warehouse.id)
            if open_ is not None and open_.end(self._clock.now()) is not None:
                return WarehouseState.SUSPENDED
            return warehouse.state

    def up(self, state: StateTransaction, warehouse: Warehouse) -> Warehouse:
        """The warehouse, started now. The caller is inside `changing`."""
        started = warehouse.model_copy(update={"state": WarehouseState.STARTED, "resumed_on": state.now})
        state.warehouses.update(started)
        self._begin_span(state, started, continued=False)
        return started

    def down(self, state: StateTransaction, warehouse: Warehouse) -> Warehouse:
        """The warehouse, suspended now."""
        self._end_span(state, warehouse.id, state.now)
        suspended = warehouse.model_copy(update={"state": WarehouseState.SUSPENDED})
        state.warehouses.update(suspended)
        return suspended

    def changed(self, state: StateTransaction, before: Warehouse, after: Warehouse) -> None:
        """After a change of size, name or clusters: a new span if the cost changes."""
        open_ = self._open.get(after.id)
        if open_ is None:
            return
        open_.auto_suspend = after.auto_suspend or 0
        kept = ("size", "name", "min_cluster_count")
        if any(getattr(before, field) != getattr(after, field) for field in kept):
            running = open_.running
            self._end_span(state, after.id, state.now)
            self._begin_span(state, after, continued=True)
            self._open[after.id].running = running

    def dropped(self, state: StateTransaction, warehouse: Warehouse) -> None:
        self._end_span(state, warehouse.id, state.now)

    def _begin_span(self, state: StateTransaction, warehouse: Warehouse, *, continued: bool) -> None:
        span = WarehouseUsage(
            id=new_id(), warehouse_id=warehouse.id, warehouse_name=warehouse.name, size=warehouse.size,
            clusters=warehouse.min_cluster_count, started_at=state.now, last_used_at=state.now, continued=continued,
        )  # fmt: skip
        state.usage.record(span)
        self._open[warehouse.id] = _Open(span, warehouse.auto_suspend or 0, state.now)

    def _end_span(self, state: StateTransaction, warehouse_id: str, at: datetime) -> None:
        open_ = self._open.pop(warehouse_id, None)
        if open_ is not None:
            state.usage.record(open_.span.model_copy(update={"ended_at": at}))

    def _settle(self, state: StateTransaction) -> None:
        ended = {id: open_.end(state.now) for id, open_ in self._open.items()}
        for warehouse in state.warehouses.list() if any(ended.values()) else []:
            end = ended.get(warehouse.id)
            if end is not None:
                self._end_span(state, warehouse.id, end)
                state.warehouses.update(warehouse.model_copy(update={"state": WarehouseState.SUSPENDED}))

    # -- cost -----------------------------------------------------------------------------------------------------

    def spans(self, start: datetime, end: datetime) -> list[tuple[WarehouseUsage, datetime]]:
        """Spans that overlap with that time, each with the end of what it is charged for."""
        now = self._clock.now()
        with self._lock:
            known = {open_.span.id: open_ for open_ in self._open.values()}
        with self._state.read() as reader:
            found = reader.usage.between(start - _HOUR - MINIMUM, end)
        charged: list[tuple[WarehouseUsage, datetime]] = []
        for span in found:
            open_ = known.get(span.id)
            until = (open_.end(now) or now) if open_ is not None else span.ended_at or span.last_used_at
            charged.append((span, until if span.continued else max(until, span.started_at + MINIMUM)))
        return charged


def credits_per_hour(span: WarehouseUsage) -> int:
    return WAREHOUSE_SIZES[span.size] * span.clusters


def hourly(
    spans: list[tuple[WarehouseUsage, datetime]], start: datetime, end: datetime
) -> dict[tuple[datetime, str], Decimal]:
    """Credits by hour and warehouse, for all hours of which a part lies between `start` and `end`."""
    found: dict[tuple[datetime, str], Decimal] = {}
    for span, until in spans:
        at = span.started_at
        while at < until:
            hour = at.replace(minute=0, second=0, microsecond=0)
            following = min(hour + _HOUR, until)
            if hour < end and hour + _HOUR > start:
                seconds = Decimal(str((following - at).total_seconds()))
                key = (hour, span.warehouse_name)
                found[key] = found.get(key, Decimal(0)) + credits_per_hour(span) * seconds / 3600
            at = following
    return {key: value.quantize(_NINE_DIGITS) for key, value in found.items()}
