"""The tick: what is to be refreshed now, at which data timestamp, in which order. A function of its arguments.

`docs/design/scheduling.md` explains the choices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from snowmelt.scheduler.graph import Downstream, DynamicTable, Graph, Member, Plan, Round, Skip, Suspension
from snowmelt.scheduler.periods import (
    GRAIN,
    MICROSECOND,
    due_tick,
    expected_duration,
    instant,
    micros,
    refresh_period,
    tick_after,
    tick_at_or_before,
)
from snowmelt.scheduler.topology import (
    Topology,
    connected,
    effective_lags,
    failed_too_often,
    topology,
    unscheduled,
    with_upstream,
)


def tick(graph: Graph, now: datetime) -> Plan:
    """What to do at `now`. The same graph and instant give the same plan."""
    shape = topology(graph)
    reasons = unscheduled(shape)
    lags = effective_lags(shape, reasons)
    timings = _timings(shape, lags)
    at = micros(now)
    busy = _busy(shape)
    due = [table for table in shape.order if table in timings and timings[table].due <= at]
    starting = _Rounds(shape, lags, at)
    for group in connected(shape, (table for table in due if table not in busy)):
        starting.plan(group)
    blocked = [table for table in due if table in busy]
    later = [timing.due for timing in timings.values() if timing.due > at]
    later += [tick_after(at, timings[table].period) for table in blocked]
    later += [timings[t].after(micros(r.data_timestamp)) for r in starting.rounds for t in r.tables if t in timings]
    later += starting.not_before
    return Plan(
        rounds=tuple(starting.rounds),
        skips=tuple(skip for table in blocked if (skip := _skip(shape.tables[table], timings[table], busy[table], at))),
        suspensions=tuple(Suspension(t.id, t.name, t.failures) for t in graph.tables if failed_too_often(t)),
        next_due=instant(min(later)) if later else None,
        waiting_for=_holders(shape, blocked),
    )


def manual_round(graph: Graph, tables: Iterable[str], now: datetime) -> Round:
    """What a manual refresh of `tables` refreshes: they and all upstream of them, suspended or not, at `now`.

    A disabled table is refreshed alone.
    """
    shape = topology(graph)
    members = with_upstream(shape, tables)
    targets = effective_lags(shape, unscheduled(shape))
    return _round(shape, members, targets, now)


@dataclass(frozen=True, slots=True)
class _Timing:
    lag: int
    completion: int
    """From a tick at which the table and all upstream of it start, to its end."""
    period: int
    due: int = 0

    def after(self, stands_at: int) -> int:
        return due_tick(stands_at, self.lag, self.completion, self.period)


def _timings(shape: Topology, lags: Mapping[str, timedelta]) -> dict[str, _Timing]:
    """When each table with a lag of its own is due. The DOWNSTREAM ones come along when a reader is."""
    timings: dict[str, _Timing] = {}
    completion: dict[str, int] = {}
    for id_ in shape.order:
        table = shape.tables[id_]
        behind = max((completion[read] for read in shape.upstream[id_]), default=0)
        completion[id_] = behind + expected_duration(table.durations)
        if id_ in lags and not isinstance(table.target_lag, Downstream):
            lag = lags[id_] // MICROSECOND
            timing = _Timing(lag, completion[id_], refresh_period(lag, completion[id_]))
            timings[id_] = replace(timing, due=_due(table, timing))
    return timings


def _due(table: DynamicTable, timing: _Timing) -> int:
    """A refresh under way is taken to succeed: if it does not, the runner ticks again."""
    retry = 0 if table.attempted is None else tick_after(micros(table.attempted), timing.period)
    if table.data_timestamp is None:
        return retry
    stands_at = max(micros(t) for t in (table.data_timestamp, table.refreshing) if t is not None)
    return max(timing.after(stands_at), retry)


def _busy(shape: Topology) -> dict[str, int]:
    """Tables that can't start now, with the newest data timestamp that they or one upstream still work on."""
    busy: dict[str, int] = {}
    for id_ in shape.order:
        table = shape.tables[id_]
        found = [busy[read] for read in shape.upstream[id_] if read in busy]
        if table.refreshing is not None:
            found.append(micros(table.refreshing))
        if found:
            busy[id_] = max(found)
    return busy


def _holders(shape: Topology, blocked: Iterable[str]) -> frozenset[str]:
    return frozenset(t for t in with_upstream(shape, blocked) if shape.tables[t].refreshing is not None)


def _skip(table: DynamicTable, timing: _Timing, obstacle: int, at: int) -> Skip | None:
    """A due table waits for what is in its way, and starts right after. If its next tick comes first, the one it waits
    with is given up.

    One record for each obstacle, however many ticks it outlasts, and none for a table that never had data.
    """
    if table.data_timestamp is None or at < timing.due + timing.period:
        return None
    if table.attempted is not None and micros(table.attempted) > obstacle:
        return None
    return Skip(table.id, table.name, instant(timing.due))


class _Rounds:
    """The rounds that start now."""

    def __init__(self, shape: Topology, lags: Mapping[str, timedelta], at: int) -> None:
        self.rounds: list[Round] = []
        self.not_before: list[int] = []
        self._shape = shape
        self._lags = lags
        self._at = at

    def plan(self, due: Iterable[str]) -> None:
        members = with_upstream(self._shape, due)
        data_timestamp = self._data_timestamp(members)
        if data_timestamp is None:
            # Only after the clock was set back: never give a table an older data timestamp than it has.
            self.not_before.append(max(_newest(self._shape.tables[table]) for table in members) + 1)
            return
        stamp = instant(data_timestamp)
        members = {table for table in members if self._shape.tables[table].data_timestamp != stamp}
        self.rounds.append(_round(self._shape, members, self._lags, stamp))

    def _data_timestamp(self, members: Iterable[str]) -> int | None:
        """The last tick of all, which every table due on time shares. Just now for tables without data, whose sources
        may be younger than that tick, and for those refreshed by hand since."""
        tables = [self._shape.tables[table] for table in members]
        last_tick = tick_at_or_before(self._at, GRAIN)
        if all(table.data_timestamp is not None and _may_take(table, last_tick) for table in tables):
            return last_tick
        return self._at if all(_may_take(table, self._at) for table in tables) else None


def _may_take(table: DynamicTable, data_timestamp: int) -> bool:
    """Data timestamps of a table only grow. One that stands at it already needs nothing."""
    newest = _newest(table)
    stands_at_it = table.data_timestamp is not None and micros(table.data_timestamp) == newest == data_timestamp
    return stands_at_it or newest < data_timestamp


def _newest(table: DynamicTable) -> int:
    return max((micros(t) for t in (table.data_timestamp, table.attempted) if t is not None), default=0)


def _round(shape: Topology, members: set[str], lags: Mapping[str, timedelta], data_timestamp: datetime) -> Round:
    order = [table for table in shape.order if table in members]
    targets: dict[str, datetime] = {}
    for table in reversed(order):
        wishes = [targets[reader] for reader in shape.consumers[table] if reader in targets]
        if table in lags:
            wishes.append((shape.tables[table].data_timestamp or data_timestamp) + lags[table])
        if wishes:
            targets[table] = min(wishes)
    return Round(
        data_timestamp,
        tuple(
            Member(
                table=table,
                name=shape.tables[table].name,
                upstream=tuple(read for read in shape.upstream[table] if read in members),
                completion_target=targets.get(table),
                expected_duration=expected_duration(shape.tables[table].durations) * MICROSECOND,
            )
            for table in order
        ),
    )
