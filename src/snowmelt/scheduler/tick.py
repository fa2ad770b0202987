"""The tick: what is to be refreshed now, at which data timestamp, in which order. A function of its arguments.

`docs/design/scheduling.md` explains the choices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from snowmelt.scheduler.changes import openings, stands_at, unseen_commits
from snowmelt.scheduler.graph import Downstream, DynamicTable, LagGraph, Member, Round, Skip, Suspension, TickPlan
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


def tick(graph: LagGraph, now: datetime) -> TickPlan:
    """What to do at `now`. The same graph and instant give the same plan."""
    shape = topology(graph)
    reasons = unscheduled(shape)
    lags = effective_lags(shape, reasons)
    timings = _timings(shape, lags)
    unseen = unseen_commits(shape, graph.commits)
    on_time = {id_: _due(shape.tables[id_], timing) for id_, timing in timings.items()}
    opens = {id_: _opens(shape.tables[id_], timing) for id_, timing in timings.items()}
    due = {id_: min(tick_, max(unseen[id_], opens[id_])) if id_ in unseen else tick_ for id_, tick_ in on_time.items()}
    at = micros(now)
    busy = _busy(shape)
    starting = _Rounds(shape, lags, unseen, at)
    for group in connected(shape, [id_ for id_, tick_ in due.items() if tick_ <= at and id_ not in busy]):
        starting.plan(group)
    blocked = [id_ for id_, tick_ in due.items() if tick_ <= at and id_ in busy]
    skips = [_skip(shape.tables[id_], timings[id_], on_time[id_], busy[id_], at) for id_ in blocked]
    later = [tick_ for tick_ in due.values() if tick_ > at]
    later += [tick_after(at, timings[id_].period) for id_ in blocked]
    started = {t: timings[t].after(micros(r.data_timestamp)) for r in starting.rounds for t in r.tables if t in timings}
    later += started.values()
    later += starting.not_before
    opens.update((id_, tick_) for id_, tick_ in started.items() if id_ in unseen)
    return TickPlan(
        rounds=tuple(starting.rounds),
        skips=tuple(skip for skip in skips if skip is not None),
        suspensions=tuple(Suspension(t.id, t.name, t.failures) for t in graph.tables if failed_too_often(t)),
        next_due=instant(min(later)) if later else None,
        openings={base: instant(opening) for base, opening in openings(shape, opens).items()},
        waiting_for=_holders(shape, blocked),
    )


@dataclass(frozen=True, slots=True)
class _Timing:
    lag: int
    completion: int
    """From a tick at which the table and all upstream of it start, to its end."""
    period: int

    def after(self, stands_at: int) -> int:
        return due_tick(stands_at, self.lag, self.completion, self.period)


def _timings(shape: Topology, lags: Mapping[str, timedelta]) -> dict[str, _Timing]:
    """The timing of each table with a lag of its own. DOWNSTREAM tables are refreshed with their readers."""
    timings: dict[str, _Timing] = {}
    completion: dict[str, int] = {}
    for id_ in shape.order:
        table = shape.tables[id_]
        behind = max([completion[read] for read in shape.upstream[id_]], default=0)
        complete = completion[id_] = behind + expected_duration(table.durations)
        if id_ in lags and not isinstance(table.target_lag, Downstream):
            lag = lags[id_] // MICROSECOND
            timings[id_] = _Timing(lag, complete, refresh_period(lag, complete))
    return timings


def _due(table: DynamicTable, timing: _Timing) -> int:
    """When the next refresh is due. One under way is taken to succeed: if it does not, the runner ticks again."""
    retry = 0 if table.attempted is None else tick_after(micros(table.attempted), timing.period)
    if table.data_timestamp is None:
        return retry
    return max(timing.after(stands_at(table)), retry)


def _opens(table: DynamicTable, timing: _Timing) -> int:
    """From when on an unseen commit makes a table due: as if it stood at its last refresh that found something.

    So tables without changes wait for the next one, and a table that always has some is refreshed as often as its lag
    needs it, and no more. After a failure the next tick comes first, whatever is committed.
    """
    if table.data_timestamp is None:
        return 0
    worked = table.refreshing if table.refreshing is not None and table.working else table.worked
    opening = 0 if worked is None else timing.after(micros(worked))
    failed = table.attempted is not None and micros(table.attempted) > stands_at(table)
    return max(opening, _due(table, timing)) if failed else opening


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


def _skip(table: DynamicTable, timing: _Timing, due: int, obstacle: int, at: int) -> Skip | None:
    """A due table waits for what is in its way, and starts right after. If its next tick comes first, the one it waits
    with is given up.

    One record for each obstacle, however many ticks it outlasts, and none for a table that never had data.
    """
    if table.data_timestamp is None or at < due + timing.period:
        return None
    if table.attempted is not None and micros(table.attempted) > obstacle:
        return None
    return Skip(table.id, table.name, instant(due))


class _Rounds:
    """The rounds that start now."""

    def __init__(self, shape: Topology, lags: Mapping[str, timedelta], unseen: Mapping[str, int], at: int) -> None:
        self.rounds: list[Round] = []
        self.not_before: list[int] = []
        self._shape = shape
        self._lags = lags
        self._unseen = unseen
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
        self.rounds.append(_round(self._shape, members, self._lags, self._unseen, stamp))

    def _data_timestamp(self, members: Iterable[str]) -> int | None:
        """The last tick of all, which every table due on time shares. Just now for tables without data, whose sources
        may be younger than that tick, for those refreshed by hand since, and where something was committed since."""
        tables = [self._shape.tables[table] for table in members]
        last_tick = tick_at_or_before(self._at, GRAIN)
        newer = any(last_tick < self._unseen.get(table.id, 0) <= self._at for table in tables)
        if not newer and all(table.data_timestamp is not None and _may_take(table, last_tick) for table in tables):
            return last_tick
        return self._at if all(_may_take(table, self._at) for table in tables) else None


def _may_take(table: DynamicTable, data_timestamp: int) -> bool:
    """Data timestamps of a table only grow. One that stands at it already needs nothing."""
    newest = _newest(table)
    stands_at_it = table.data_timestamp is not None and micros(table.data_timestamp) == newest == data_timestamp
    return stands_at_it or newest < data_timestamp


def _newest(table: DynamicTable) -> int:
    return max((micros(t) for t in (table.data_timestamp, table.attempted) if t is not None), default=0)


def _round(
    shape: Topology,
    members: set[str],
    lags: Mapping[str, timedelta],
    unseen: Mapping[str, int],
    data_timestamp: datetime,
) -> Round:
    order = sorted(members, key=shape.position.__getitem__)
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
                working=table in unseen,
                lag=lags.get(table),
                bound=not members.issuperset(shape.upstream[table]),
            )
            for table in order
        ),
    )
