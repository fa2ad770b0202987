"""The runner with real threads, a clock that the tests move, and fakes of catalog and refresher."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from snowmelt.core.clock import ManualClock, SystemClock
from snowmelt.core.errors import SnowmeltError, WriteConflictError, cancelled
from snowmelt.scheduler.graph import DynamicTable, SchedulingState
from snowmelt.scheduler.ports import RefreshEnd, RefreshRequest
from snowmelt.scheduler.runner import RefreshRunner
from tests.scheduler.fakes import AT_ONCE, DEADLINE, NOON, FakeCatalog, FakeRefresher, Gate, running

MINUTE = timedelta(minutes=1)


def table(id_: str, *upstream: str, lag: timedelta = MINUTE, **more: object) -> DynamicTable:
    return DynamicTable(id_, id_.upper(), lag, upstream, **more)  # type: ignore[arg-type]


def raising(error: BaseException) -> object:
    def behaviour(request: RefreshRequest) -> None:
        raise error

    return behaviour


def fakes(*tables: DynamicTable, **behaviour: object) -> tuple[FakeCatalog, FakeRefresher]:
    catalog = FakeCatalog(*tables)
    refresher = FakeRefresher(catalog)
    refresher.behaviour.update(behaviour)  # type: ignore[arg-type]
    return catalog, refresher


def test_a_diamond_is_refreshed_in_order_its_branches_side_by_side() -> None:
    meet = threading.Barrier(2)

    def together(request: RefreshRequest) -> None:
        meet.wait(DEADLINE)

    catalog, refresher = fakes(
        table("d", "b", "c"), table("c", "a"), table("b", "a"), table("a"), b=together, c=together
    )
    with running(catalog, refresher):
        catalog.await_successes("d")
    assert refresher.started[0] == "a"
    assert refresher.started[-1] == "d"
    assert {request.data_timestamp for request in catalog.succeeded} == {NOON}


def test_time_makes_the_next_refresh_due() -> None:
    catalog, refresher = fakes(table("a"))
    clock = ManualClock(NOON)
    with running(catalog, refresher, clock) as runner:
        catalog.await_successes("a")
        clock.advance(timedelta(seconds=30))
        loads = catalog.loads
        runner.wake()
        catalog.await_that(lambda: catalog.loads > loads)
        assert len(catalog.succeeded) == 1
        clock.advance(timedelta(seconds=30))
        runner.wake()
        catalog.await_successes("a", 2)
    assert catalog.succeeded[1].data_timestamp == NOON + MINUTE


def test_the_system_clock_alone_keeps_a_table_fresh() -> None:
    catalog, refresher = fakes(table("a", lag=timedelta(seconds=1), durations=(timedelta(milliseconds=1),)))
    with running(catalog, refresher, SystemClock()):
        catalog.await_successes("a", 3)
    first, second, third = (request.data_timestamp for request in catalog.succeeded[:3])
    assert third - second < timedelta(seconds=1)
    assert first < second < third
    assert catalog.loads < 12


def test_a_failure_leaves_other_branches_alone() -> None:
    broken = SnowmeltError("000904", "42000", "invalid identifier 'X'")
    catalog, refresher = fakes(
        table("a"), table("b", "a"), table("c", "b"), table("d", "a", "c"), table("e", "a"), b=raising(broken)
    )
    with running(catalog, refresher):
        catalog.await_successes("e")
        catalog.await_states(
            ("b", RefreshEnd.FAILED), ("c", RefreshEnd.UPSTREAM_FAILED), ("d", RefreshEnd.UPSTREAM_FAILED)
        )
    assert len(catalog.outcomes) == 3
    assert {outcome.data_timestamp for outcome in catalog.outcomes} == {NOON}
    assert all(outcome.error is broken for outcome in catalog.outcomes)
    assert catalog.tables["b"].failures == 1
    assert catalog.tables["c"].failures == 0
    assert "c" not in refresher.started


def test_transient_errors_are_tried_again() -> None:
    errors = [WriteConflictError("A"), WriteConflictError("A")]

    def twice(request: RefreshRequest) -> None:
        if errors:
            raise errors.pop()

    catalog, refresher = fakes(table("a"), a=twice)
    with running(catalog, refresher):
        catalog.await_successes("a")
    assert refresher.started == ["a"] * 3
    assert catalog.outcomes == []


def test_a_transient_error_that_stays_is_a_failure() -> None:
    catalog, refresher = fakes(table("a"), a=raising(WriteConflictError("A")))
    with running(catalog, refresher):
        catalog.await_states(("a", RefreshEnd.FAILED))
    assert refresher.started == ["a"] * AT_ONCE.attempts


def test_five_failures_in_a_row_suspend() -> None:
    catalog, refresher = fakes(table("a"), table("b", "a"), a=raising(ValueError("no")))
    clock = ManualClock(NOON)
    with running(catalog, refresher, clock) as runner:
        for number in range(1, 6):
            catalog.await_that(lambda number=number: catalog.tables["a"].failures == number)  # type: ignore[misc]
            clock.advance(MINUTE)
            runner.wake()
        catalog.await_that(lambda: catalog.tables["a"].state is SchedulingState.SUSPENDED)
        loads = catalog.loads
        clock.advance(MINUTE)
        runner.wake()
        catalog.await_that(lambda: catalog.loads > loads)
    assert len(refresher.started) == 5


def test_a_refresh_that_is_due_while_the_last_one_runs_starts_right_after_it() -> None:
    gate = Gate()
    catalog, refresher = fakes(table("a", data_timestamp=NOON - MINUTE), a=gate)
    clock = ManualClock(NOON)
    with running(catalog, refresher, clock) as runner:
        refresher.await_started("a")
        for _ in range(5):
            clock.advance(MINUTE)
            loads = catalog.loads
            runner.wake()
            catalog.await_that(lambda loads=loads: catalog.loads > loads)  # type: ignore[misc]
        catalog.await_states(("a", RefreshEnd.SKIPPED))
        gate.open()
        catalog.await_successes("a", 2)
    assert [outcome.state for outcome in catalog.outcomes] == [RefreshEnd.SKIPPED]
    assert catalog.succeeded[1].data_timestamp == NOON + 5 * MINUTE


def test_a_table_that_waits_for_a_busy_one_waits_for_no_other() -> None:
    short, long = Gate(), Gate()
    catalog, refresher = fakes(table("a", data_timestamp=NOON - MINUTE), table("slow"), a=short, slow=long)
    clock = ManualClock(NOON)
    with running(catalog, refresher, clock) as runner:
        refresher.await_started("a")
        refresher.await_started("slow")
        clock.advance(MINUTE)
        loads = catalog.loads
        runner.wake()
        catalog.await_that(lambda: catalog.loads > loads)
        short.open()
        catalog.await_successes("a", 2)
        assert "slow" in refresher.running
        long.open()


def test_the_last_failure_too_many_suspends_without_waiting_for_the_next_tick() -> None:
    catalog, refresher = fakes(table("a", failures=4), a=raising(ValueError("no")))
    with running(catalog, refresher):
        catalog.await_that(lambda: catalog.tables["a"].state is SchedulingState.SUSPENDED)


def test_stopping_starts_nothing_that_became_due() -> None:
    catalog, refresher = fakes(table("a", data_timestamp=NOON))
    clock = ManualClock(NOON)
    runner = RefreshRunner(catalog, refresher, clock, 2)
    runner.start()
    catalog.await_that(lambda: catalog.loads == 1)
    clock.advance(MINUTE)
    assert runner.stop(DEADLINE)
    assert refresher.started == []


def test_never_more_at_once_than_allowed_and_the_most_urgent_first() -> None:
    gate = Gate()
    relaxed = [table(f"r{number}", lag=timedelta(hours=1)) for number in range(6)]
    catalog, refresher = fakes(table("first", lag=timedelta(seconds=1)), *relaxed, table("urgent"), first=gate)
    with running(catalog, refresher, max_parallel=1):
        refresher.await_started("first")
        gate.open()
        catalog.await_that(lambda: len(catalog.succeeded) >= 8)
    assert refresher.most_at_once == 1
    assert refresher.started[:2] == ["first", "urgent"]


def test_stopping_lets_what_runs_finish_and_starts_nothing_more() -> None:
    catalog, refresher = fakes(table("a"), table("b", "a"))
    runner = RefreshRunner(catalog, refresher, ManualClock(NOON), 2)

    def until_told_to_stop(request: RefreshRequest) -> None:
        assert runner._stopping.wait(DEADLINE)

    refresher.behaviour["a"] = until_told_to_stop
    runner.start()
    refresher.await_started("a")
    assert runner.stop(DEADLINE)
    assert refresher.started == ["a"]
    assert len(catalog.succeeded) == 1
    assert catalog.outcomes == []
    with running(catalog, refresher):
        catalog.await_successes("b")


def test_stopping_cancels_what_does_not_finish() -> None:
    catalog, refresher = fakes(table("a"), table("b", "a"))

    def until_cancelled(request: RefreshRequest) -> None:
        catalog.await_that(lambda: "a" in refresher.cancelled)
        raise cancelled()

    refresher.behaviour["a"] = until_cancelled
    runner = RefreshRunner(catalog, refresher, ManualClock(NOON), 2)
    runner.start()
    refresher.await_started("a")
    assert runner.stop(0.0)
    assert [(outcome.table, outcome.state) for outcome in catalog.outcomes] == [("a", RefreshEnd.CANCELLED)]
    assert catalog.tables["a"].failures == 0


def test_what_can_not_be_cancelled_is_said() -> None:
    gate = Gate()
    catalog, refresher = fakes(table("a"), a=gate)
    runner = RefreshRunner(catalog, refresher, ManualClock(NOON), 2)
    runner.start()
    refresher.await_started("a")
    assert not runner.stop(0.0, cancel_timeout=0.0)
    gate.open()
    catalog.await_successes("a")


def test_a_stopped_runner_that_never_started() -> None:
    catalog, refresher = fakes()
    assert RefreshRunner(catalog, refresher, ManualClock(NOON), 2).stop(0.0)


def test_another_runner_goes_on_where_the_first_stood() -> None:
    catalog, refresher = fakes(table("a"), table("b", "a"), b=raising(ValueError("no")))
    clock = ManualClock(NOON)
    with running(catalog, refresher, clock):
        catalog.await_states(("b", RefreshEnd.FAILED))
    del refresher.behaviour["b"]
    clock.advance(timedelta(hours=3))
    with running(catalog, refresher, clock):
        catalog.await_successes("b")
    assert [request.data_timestamp for request in catalog.succeeded[1:]] == [NOON + timedelta(hours=3)] * 2


def test_a_new_table_is_refreshed_when_somebody_wakes_the_runner() -> None:
    catalog, refresher = fakes()
    with running(catalog, refresher) as runner:
        catalog.await_that(lambda: catalog.loads >= 1)
        catalog.tables = {"a": table("a")}
        runner.wake()
        catalog.await_successes("a")


@pytest.mark.parametrize(("method", "times"), [("load", 1), ("record", 2), ("suspend", 1)])
def test_a_catalog_that_fails_delays_but_stops_nothing(method: str, times: int) -> None:
    catalog, refresher = fakes(
        table("a"), table("b", failures=5), table("c"), b=raising(ValueError()), c=raising(ValueError("no"))
    )
    catalog.broken[method] = times
    with running(catalog, refresher):
        catalog.await_successes("a")
        catalog.await_states(("c", RefreshEnd.FAILED))
        catalog.await_that(lambda: catalog.tables["b"].state is SchedulingState.SUSPENDED)
    assert refresher.started.count("c") == 1


def test_one_outcome_that_can_not_be_recorded_holds_nobody_else_back() -> None:
    catalog, refresher = fakes(table("a"), table("gone"), gone=raising(ValueError()), a=raising(ValueError()))
    clock = ManualClock(NOON)

    def drop(request: RefreshRequest) -> None:
        with catalog.changed:
            del catalog.tables["gone"]
        raise ValueError

    refresher.behaviour["gone"] = drop
    with running(catalog, refresher, clock, max_parallel=1) as runner:
        catalog.await_states(("a", RefreshEnd.FAILED))
        del refresher.behaviour["a"]
        clock.advance(MINUTE)
        runner.wake()
        catalog.await_successes("a")
    assert runner._unrecorded == []


def test_a_round_that_can_not_begin_is_still_due() -> None:
    catalog, refresher = fakes(table("a"))
    refresher.refuse_to_begin = 1
    with running(catalog, refresher):
        catalog.await_successes("a")
    assert catalog.outcomes == []


def test_a_round_gets_the_data_timestamp_that_the_refresher_settled() -> None:
    catalog, refresher = fakes(table("a"), table("b", "a"))
    refresher.later = timedelta(milliseconds=7)
    with running(catalog, refresher):
        catalog.await_successes("b")
    assert {request.data_timestamp for request in catalog.succeeded} == {NOON + refresher.later}


def test_even_an_exit_in_a_refresh_is_only_its_failure() -> None:
    catalog, refresher = fakes(table("a"), table("b"), a=raising(SystemExit(1)))
    with running(catalog, refresher):
        catalog.await_successes("b")
        catalog.await_states(("a", RefreshEnd.FAILED))


def test_a_table_somebody_refreshes_by_hand_is_skipped_with_those_that_read_it() -> None:
    catalog, refresher = fakes(table("a"), table("b", "a"), a=lambda request: RefreshEnd.SKIPPED)
    with running(catalog, refresher):
        catalog.await_states(("a", RefreshEnd.SKIPPED), ("b", RefreshEnd.SKIPPED))
    assert catalog.succeeded == []


def test_a_thousand_tables_due_at_once_make_few_ticks() -> None:
    many = [table(f"t{number}", data_timestamp=NOON - MINUTE) for number in range(1000)]
    catalog, refresher = fakes(*many)
    with running(catalog, refresher):
        catalog.await_that(lambda: len(catalog.succeeded) == 1000)
    assert catalog.loads <= 3


def test_a_chain_is_refreshed_without_a_tick_for_each_of_its_tables() -> None:
    chain = [table(f"t{number}", *([f"t{number - 1}"] if number else []), data_timestamp=NOON - MINUTE)
             for number in range(50)]  # fmt: skip
    catalog, refresher = fakes(*chain)
    with running(catalog, refresher):
        catalog.await_that(lambda: len(catalog.succeeded) == len(chain))
    assert catalog.loads <= 3


def test_what_waited_long_for_a_worker_gets_a_newer_data_timestamp() -> None:
    """All but what reads a table that has begun; those that read each other keep sharing one."""
    gate = Gate()
    catalog, refresher = fakes(
        table("first", lag=MINUTE / 2), table("reader", "first"), table("low"), table("high", "low"), table("alone"),
        first=gate,
    )  # fmt: skip
    for name in ("first", "low", "alone"):
        catalog.change(name, sources=("base",))
    clock = ManualClock(NOON)
    with running(catalog, refresher, clock, max_parallel=1):
        refresher.await_started("first")
        clock.advance(MINUTE / 10)
        gate.open()
        for name in ("reader", "high", "alone"):
            catalog.await_successes(name)
    found = {request.table: request.data_timestamp for request in catalog.succeeded}
    assert found == {
        "first": NOON, "reader": NOON, **dict.fromkeys(("low", "high", "alone"), NOON + MINUTE / 10)
    }  # fmt: skip


def test_what_reads_a_table_that_is_fresh_already_stays_at_its_data_timestamp() -> None:
    gate = Gate()
    fresh = table("fresh", lag=MINUTE / 2, data_timestamp=NOON, attempted=NOON)
    catalog, refresher = fakes(table("first", lag=MINUTE / 2), fresh, table("reader", "fresh"), first=gate)
    clock = ManualClock(NOON)
    with running(catalog, refresher, clock, max_parallel=1):
        refresher.await_started("first")
        clock.advance(MINUTE / 10)
        gate.open()
        catalog.await_successes("reader")
    assert {request.table: request.data_timestamp for request in catalog.succeeded} == {"first": NOON, "reader": NOON}


def test_commits_are_looked_at_only_when_they_make_something_due() -> None:
    """The first one after quiet times refreshes at once; those that follow wait, and cost no look at the catalog."""
    idle = table("a", data_timestamp=NOON, sources=("base",))
    catalog, refresher = fakes(idle)
    clock = ManualClock(NOON)
    with running(catalog, refresher, clock) as runner:
        catalog.await_that(lambda: catalog.loads == 1)
        clock.advance(timedelta(seconds=1))
        refresher.behaviour["a"] = lambda request: catalog.change("a", worked=request.data_timestamp)
        runner.note_commit(frozenset({"base", "other"}), clock.now())
        catalog.await_successes("a")
        loads = catalog.loads
        for _ in range(100):
            clock.advance(timedelta(milliseconds=10))
            runner.note_commit(frozenset({"base"}), clock.now())
    assert catalog.loads == loads
    assert [request.data_timestamp for request in catalog.succeeded] == [NOON + timedelta(seconds=1)]
