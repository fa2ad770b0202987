"""Single decisions of the tick, each with its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from time import process_time

import pytest

from snowmelt.scheduler.graph import DOWNSTREAM, DynamicTable, LagGraph, SchedulingState, TargetLag, TickPlan
from snowmelt.scheduler.periods import GRAIN, due_tick, refresh_period
from snowmelt.scheduler.tick import tick
from snowmelt.scheduler.topology import Unscheduled, effective_lags, topology, unscheduled

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
TENTH = timedelta(milliseconds=100)


def table(
    id_: str, *upstream: str, lag: TargetLag = MINUTE, at: datetime | None = NOON, **more: object
) -> DynamicTable:
    more.setdefault("durations", (TENTH,))
    return DynamicTable(id_, id_, lag, upstream, data_timestamp=at, **more)  # type: ignore[arg-type]


def plan(now: datetime, *tables: DynamicTable) -> TickPlan:
    return tick(LagGraph(tables), now)


def started(found: TickPlan) -> list[tuple[datetime, tuple[str, ...]]]:
    return [(round_.data_timestamp, round_.tables) for round_ in found.rounds]


@pytest.mark.parametrize(
    ("lag", "completion", "period"),
    [
        (60.0, 1.0, 48.0),
        (60.0, 12.0, 48.0),
        (60.0, 12.1, 24.0),
        (3600.0, 5.0, 3072.0),
        (1.0, 0.1, 0.75),
        (1.0, 0.3, 0.375),
        # No period is both long enough for a refresh and short enough for the lag: 4 of 6 s are 24, 2 of 12 as well.
        (60.0, 25.0, 6.0),
        # Nothing helps.
        (60.0, 50.0, 24.0),
        (1.0, 90.0, 0.375),
    ],
)
def test_periods(lag: float, completion: float, period: float) -> None:
    assert refresh_period(round(lag * 1e6), round(completion * 1e6)) == round(period * 1e6)


def test_a_period_in_multiples_is_used_as_seldom_as_the_lag_allows() -> None:
    """Lag 60 s, 25 s to refresh, a period of 6 s: not every 6 s, but every 30."""
    assert due_tick(0, 60_000_000, 25_000_000, 6_000_000) == 30_000_000


def test_nothing_is_due_before_its_tick() -> None:
    found = plan(NOON + 47 * SECOND, table("a"))
    assert found == TickPlan(next_due=NOON + 48 * SECOND)


def test_due_on_its_tick_at_that_data_timestamp() -> None:
    late = timedelta(milliseconds=20)
    assert started(plan(NOON + 48 * SECOND + late, table("a"))) == [(NOON + 48 * SECOND, ("a",))]


def test_a_late_tick_takes_data_as_new_as_it_can() -> None:
    (round_,) = plan(NOON + 10 * MINUTE, table("a")).rounds
    assert NOON + 10 * MINUTE - round_.data_timestamp < timedelta(microseconds=GRAIN)


def test_readers_join_on_the_ticks_they_need() -> None:
    chain = (table("a"), table("b", "a", lag=3 * MINUTE))
    assert started(plan(NOON + 48 * SECOND, *chain)) == [(NOON + 48 * SECOND, ("a",))]
    chain = (replace(chain[0], data_timestamp=NOON + 96 * SECOND), chain[1])
    found = plan(NOON + 2 * 96 * SECOND, *chain)
    assert started(found) == [(NOON + 192 * SECOND, ("a", "b"))]
    assert found.rounds[0].members[1].upstream == ("a",)


def test_an_upstream_table_with_a_longer_lag_comes_along() -> None:
    found = plan(NOON + 48 * SECOND, table("a", lag=60 * MINUTE), table("b", "a"))
    assert started(found) == [(NOON + 48 * SECOND, ("a", "b"))]


def test_an_upstream_table_that_stands_at_the_data_timestamp_is_not_refreshed_again() -> None:
    found = plan(NOON + 48 * SECOND, table("a", at=NOON + 48 * SECOND), table("b", "a"))
    assert started(found) == [(NOON + 48 * SECOND, ("b",))]
    assert found.rounds[0].members[0].upstream == ()


def test_an_upstream_table_refreshed_by_hand_since_the_tick_moves_on_with_its_readers() -> None:
    now = NOON + 48 * SECOND + timedelta(milliseconds=30)
    by_hand = now - timedelta(milliseconds=10)
    assert started(plan(now, table("a", at=by_hand), table("b", "a"))) == [(now, ("a", "b"))]


def test_durations_of_the_whole_chain_count() -> None:
    slow = (timedelta(seconds=8),)
    chain = (table("a", lag=DOWNSTREAM, durations=slow), table("b", "a", durations=slow))
    assert plan(NOON + SECOND, *chain).next_due == NOON + 24 * SECOND


def test_a_table_without_data_is_due_at_once_and_at_this_very_instant() -> None:
    """Its sources may have been created after the last tick."""
    now = NOON + timedelta(milliseconds=33)
    assert started(plan(now, table("a", lag=DOWNSTREAM), table("b", "a", at=None))) == [(now, ("a", "b"))]


def test_a_table_without_data_that_failed_waits_for_its_next_tick() -> None:
    failed = table("a", at=None, attempted=NOON + SECOND)
    found = plan(NOON + 2 * SECOND, failed)
    assert found == TickPlan(next_due=NOON + 48 * SECOND)
    assert started(plan(NOON + 48 * SECOND, failed)) == [(NOON + 48 * SECOND, ("a",))]


def test_a_failed_refresh_is_tried_again_at_the_next_tick_only() -> None:
    failed = table("a", attempted=NOON + 48 * SECOND, failures=1)
    assert plan(NOON + 50 * SECOND, failed) == TickPlan(next_due=NOON + 96 * SECOND)


def test_unconnected_graphs_are_separate_rounds() -> None:
    found = plan(NOON + 48 * SECOND, table("a"), table("b", "a"), table("x"))
    assert sorted(tables for _, tables in started(found)) == [("a", "b"), ("x",)]


def test_tables_over_one_source_share_a_data_timestamp_even_if_one_has_no_data() -> None:
    now = NOON + 48 * SECOND + timedelta(milliseconds=5)
    found = plan(now, table("a", sources=("s",)), table("b", at=None, sources=("s",)))
    assert [at for at, _ in started(found)] == [now]


def test_a_busy_table_is_waited_for() -> None:
    running = table("a", refreshing=NOON + 48 * SECOND)
    found = plan(NOON + 96 * SECOND, running, table("b", "a", at=NOON), table("c"))
    assert found.rounds[0].tables == ("c",)
    assert found.waiting_for == {"a"}
    assert [skip.table for skip in found.skips] == ["b"]
    """b waits since second 48, and its next tick has come; a waits since now."""


def test_one_obstacle_makes_one_skip_record() -> None:
    running = table("a", refreshing=NOON + 48 * SECOND)
    (skip,) = plan(NOON + 144 * SECOND, running).skips
    assert skip.data_timestamp == NOON + 96 * SECOND
    skipped = replace(running, attempted=skip.data_timestamp)
    later = plan(NOON + 10 * MINUTE, skipped)
    assert later.skips == ()
    assert later.next_due == NOON + 624 * SECOND
    freed = replace(skipped, refreshing=None, data_timestamp=NOON + 48 * SECOND)
    assert started(plan(NOON + 10 * MINUTE, freed)) != []


def test_a_table_being_created_is_not_skipped() -> None:
    found = plan(NOON + 10 * MINUTE, table("a", at=None, refreshing=NOON))
    assert (found.rounds, found.skips) == ((), ())


def test_five_failures_suspend_and_readers_rest() -> None:
    found = plan(NOON + 48 * SECOND, table("a", failures=5), table("b", "a"), table("c", failures=4))
    assert [(s.table, s.failures) for s in found.suspensions] == [("a", 5)]
    assert started(found) == [(NOON + 48 * SECOND, ("c",))]


def test_reasons_not_to_be_scheduled() -> None:
    suspended, disabled = SchedulingState.SUSPENDED, SchedulingState.DISABLED
    shape = topology(
        LagGraph(
            (
                table("suspended", state=suspended),
                table("reader", "suspended"),
                table("of_reader", "reader"),
                table("disabled", state=disabled),
                table("of_disabled", "disabled"),
                table("idle", lag=DOWNSTREAM),
                table("over_idle", "idle", lag=DOWNSTREAM),
                table("under_suspended", lag=DOWNSTREAM),
                table("stopped", "under_suspended", state=suspended),
                table("loop", "pool"),
                table("pool", "loop"),
                table("of_dropped", "nowhere"),
            )
        )
    )
    assert unscheduled(shape) == {
        "suspended": Unscheduled.SUSPENDED,
        "reader": Unscheduled.UPSTREAM_SUSPENDED,
        "of_reader": Unscheduled.UPSTREAM_SUSPENDED,
        "disabled": Unscheduled.DISABLED,
        "idle": Unscheduled.NO_CONSUMER,
        "over_idle": Unscheduled.NO_CONSUMER,
        "under_suspended": Unscheduled.NO_CONSUMER,
        "stopped": Unscheduled.SUSPENDED,
        "loop": Unscheduled.CYCLE,
        "pool": Unscheduled.CYCLE,
    }


def test_downstream_takes_the_smallest_lag_of_its_scheduled_readers() -> None:
    shape = topology(
        LagGraph(
            (
                table("a", lag=DOWNSTREAM),
                table("b", "a", lag=DOWNSTREAM),
                table("c", "b", lag=5 * MINUTE),
                table("d", "a", lag=9 * MINUTE),
                table("e", "a", lag=SECOND, state=SchedulingState.SUSPENDED),
            )
        )
    )
    lags = effective_lags(shape, unscheduled(shape))
    assert lags == {"a": 5 * MINUTE, "b": 5 * MINUTE, "c": 5 * MINUTE, "d": 9 * MINUTE}


def test_a_clock_that_was_set_back_never_makes_data_older() -> None:
    found = plan(NOON - MINUTE, table("a"), table("b", "a", at=NOON - 10 * MINUTE))
    assert found.rounds == ()
    assert found.next_due is not None
    assert found.next_due > NOON - MINUTE


def test_completion_targets_are_those_of_the_most_urgent_reader() -> None:
    (round_,) = plan(NOON + 48 * SECOND, table("a", lag=60 * MINUTE), table("b", "a")).rounds
    assert [member.completion_target for member in round_.members] == [NOON + MINUTE, NOON + MINUTE]


@pytest.mark.parametrize("connected", [True, False], ids=["connected", "single"])
@pytest.mark.parametrize("since", [timedelta(), timedelta(hours=1)], ids=["idle", "due"])
def test_a_tick_of_a_thousand_tables_is_quick(since: timedelta, connected: bool) -> None:
    tables = tuple(
        table(f"t{n}", *([f"t{n - 1}"] if connected and n % 10 else []), at=NOON - since, sources=(f"s{n}",))
        for n in range(1000)
    )
    # Measured against other work of the same moment, since a busy machine computes more slowly: 8 ms on a quiet one.
    paces = [
        (_seconds(lambda: plan(NOON, *tables)), _seconds(lambda: list(map(str, range(100_000))))) for _ in range(15)
    ]
    assert min(own for own, _ in paces) < 3 * min(other for _, other in paces)


def _seconds(work: Callable[[], object]) -> float:
    """Of the processor."""
    begin = process_time()
    work()
    return process_time() - begin


def test_a_commit_makes_a_table_without_changes_due_at_once() -> None:
    """Its last refresh that found something is long ago; a lag of ten minutes does not make it wait."""
    idle = table("a", lag=10 * MINUTE, sources=("base",), worked=NOON - 20 * MINUTE)
    commit = NOON + SECOND / 3
    found = tick(LagGraph((idle,), {"base": commit}), commit)
    assert started(found) == [(commit, ("a",))]
    assert found.rounds[0].members[0].working


def test_commits_do_not_refresh_more_often_than_the_lag_needs() -> None:
    """It has just been refreshed with changes: the next commits wait for the same tick as they would by time."""
    busy = table("a", lag=10 * MINUTE, sources=("base",), worked=NOON)
    found = tick(LagGraph((busy,), {"base": NOON + SECOND}), NOON + SECOND)
    quiet = plan(NOON + SECOND, busy)
    assert started(found) == []
    assert found.next_due == quiet.next_due == found.openings["base"]


def test_a_commit_that_the_table_shows_is_nothing_new() -> None:
    idle = table("a", sources=("base",))
    assert started(tick(LagGraph((idle,), {"base": NOON}), NOON + SECOND)) == []


@pytest.mark.parametrize("how", ["chain", "disabled", "beyond"])
def test_commits_are_heard_through_whatever_stands_between(how: str) -> None:
    tables = {
        "chain": (table("a", lag=DOWNSTREAM, sources=("base",)), table("b", "a")),
        "disabled": (table("base", state=SchedulingState.DISABLED), table("b", "base")),
        "beyond": (table("b", beyond=("base",)),),
    }[how]
    found = tick(LagGraph(tables, {"base": NOON + SECOND}), NOON + SECOND)
    assert "base" in found.openings
    assert [table_ for round_ in found.rounds for table_ in round_.tables][-1] == "b"


def test_after_a_failure_the_next_tick_comes_before_any_commit() -> None:
    failed = table("a", sources=("base",), attempted=NOON + SECOND, failures=1)
    found = tick(LagGraph((failed,), {"base": NOON + 2 * SECOND}), NOON + 2 * SECOND)
    assert started(found) == []
    assert found.next_due == plan(NOON + 2 * SECOND, failed).next_due
