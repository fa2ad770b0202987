"""Random graphs over random times: what holds of every schedule."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from snowmelt.scheduler.graph import DOWNSTREAM, Downstream, DynamicTable, LagGraph, SchedulingState
from snowmelt.scheduler.tick import tick
from snowmelt.scheduler.topology import Unscheduled, effective_lags, topology, unscheduled
from tests.scheduler.simulation import START, Simulation

MOST = 8


@st.composite
def worlds(draw: st.DrawFn, *, feasible: bool) -> Simulation:
    """Up to 8 tables. Feasible: every lag is at least four times what the chain up to the table takes."""
    stands_at = START - timedelta(milliseconds=draw(st.integers(0, 200))) if feasible else None
    tables: dict[str, DynamicTable] = {}
    longest: dict[str, timedelta] = {}
    chain: dict[str, timedelta] = {}
    for number in range(draw(st.integers(1, MOST))):
        id_ = f"t{number}"
        upstream = tuple(draw(st.sets(st.sampled_from(sorted(tables)), max_size=3))) if tables else ()
        longest[id_] = timedelta(milliseconds=draw(st.integers(1, 3000)))
        chain[id_] = longest[id_] + max((chain[read] for read in upstream), default=timedelta())
        if draw(st.integers(0, 3)) == 0:
            lag: timedelta | Downstream = DOWNSTREAM
        else:
            wanted = timedelta(seconds=draw(st.integers(1, 120)))
            lag = max(wanted, 4 * chain[id_]) if feasible else wanted
        tables[id_] = DynamicTable(
            id=id_,
            name=id_,
            target_lag=lag,
            upstream=upstream,
            sources=(f"base{draw(st.integers(0, 2))}",),
            data_timestamp=stands_at,
            durations=(longest[id_],),
        )
    return Simulation(tables, longest, seed=draw(st.integers(0, 1000)))


@settings(max_examples=300, deadline=None)
@given(worlds(feasible=True))
def test_lag_stays_within_the_target_when_durations_allow_it(world: Simulation) -> None:
    world.run(300)
    shape = topology(LagGraph(tuple(world.tables.values())))
    for table, lag in effective_lags(shape, unscheduled(shape)).items():
        stands_at = world.tables[table].data_timestamp
        assert stands_at is not None
        assert max([*world.lags.get(table, []), world.now - stands_at]) <= lag
        assert "SKIPPED" not in world.states(table)


@settings(max_examples=100, deadline=None)
@given(worlds(feasible=True))
def test_no_table_is_refreshed_more_often_than_it_must(world: Simulation) -> None:
    """A table that nobody reads is refreshed at most three times per lag."""
    world.run(120)
    for id_, table in world.tables.items():
        if any(id_ in other.upstream for other in world.tables.values()) or isinstance(table.target_lag, Downstream):
            continue
        assert len(world.succeeded(id_)) <= 120 / (table.target_lag.total_seconds() / 3) + 2


@settings(max_examples=150, deadline=None)
@given(worlds(feasible=False), st.integers(1, 3), st.data())
def test_overload_and_failures_break_nothing(world: Simulation, parallel: int, data: st.DataObject) -> None:
    """Too slow for its lags, too few workers, failing: the simulation's own checks hold, and rows stay few."""
    world.parallel = parallel
    failing = data.draw(st.sets(st.tuples(st.sampled_from(sorted(world.tables)), st.integers(1, 12))))
    world.fails = lambda table, attempt: (table, attempt) in failing
    world.run(40)
    skips = sum(state == "SKIPPED" for _, _, state in world.history)
    done = sum(state in ("SUCCEEDED", "FAILED") for _, _, state in world.history)
    assert skips <= (done + MOST) * MOST
    assert world.ticks <= 8 * 40 * 12


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 60), st.integers(10, 60), st.floats(0.05, 0.6), st.integers(1, 3), st.floats(1, 5))
def test_many_tables_over_one_source_keep_their_lag_with_few_workers(
    number: int, lag: int, share: float, parallel: int, pause: float
) -> None:
    """All of them take up to 0.6 of the lag. Those that wait for a worker get a newer data timestamp, so that each
    needs to be refreshed once in a period, and what a period costs is what decides."""
    longest = timedelta(seconds=lag * share * parallel / number)
    if longest > timedelta(seconds=lag / 16):
        return
    tables = {
        f"t{n}": DynamicTable(
            id=f"t{n}",
            name=f"t{n}",
            target_lag=timedelta(seconds=lag),
            sources=("base",),
            data_timestamp=START,
        )
        for n in range(number)
    }
    world = Simulation(tables, dict.fromkeys(tables, longest), parallel=parallel)
    world.run(3 * lag)
    world.lags.clear()
    for _ in range(int(5 * lag / pause)):
        world.run(pause)
        world.commit("base")
    assert max(max(found) for found in world.lags.values()) <= timedelta(seconds=lag)
    assert all("SKIPPED" not in world.states(table)[-3:] for table in tables)


def test_a_thousand_tables_over_one_source_keep_a_lag_that_one_worker_can_keep() -> None:
    """A refresh of each takes 18 ms, all together more than half of the lag of 30 s."""
    ids = [f"t{n}" for n in range(1000)]
    lag = timedelta(seconds=30)
    tables = {
        id_: DynamicTable(id=id_, name=id_, target_lag=lag, sources=("base",), data_timestamp=START) for id_ in ids
    }
    world = Simulation(tables, dict.fromkeys(ids, timedelta(milliseconds=18)), parallel=1)
    for second in range(160):
        if second == 60:
            world.lags.clear()
        world.run(1)
        world.commit("base")
    assert max(max(found) for found in world.lags.values()) <= lag
    assert max(map(len, world.lags.values())) <= 5, "each is refreshed once in 24 s"


@settings(max_examples=100, deadline=None)
@given(worlds(feasible=False))
def test_tables_nobody_needs_are_never_refreshed(world: Simulation) -> None:
    shape = topology(LagGraph(tuple(world.tables.values())))
    idle = {table for table, reason in unscheduled(shape).items() if reason is Unscheduled.NO_CONSUMER}
    world.run(20)
    for table in world.tables:
        assert bool(world.history and world.succeeded(table)) == (table not in idle)


@settings(max_examples=100, deadline=None)
@given(worlds(feasible=True), st.data())
def test_tables_of_one_connected_graph_due_at_one_tick_share_the_data_timestamp(
    world: Simulation, data: st.DataObject
) -> None:
    later = START + timedelta(seconds=data.draw(st.floats(0, 300)))
    graph = LagGraph(tuple(world.tables.values()))
    plan = tick(graph, later)
    assert plan == tick(graph, later)
    stamps: dict[str, set[object]] = {}
    for round_ in plan.rounds:
        for table in round_.tables:
            for source in world.tables[table].sources:
                stamps.setdefault(source, set()).add(round_.data_timestamp)
    assert all(len(found) == 1 for found in stamps.values())


@settings(max_examples=100, deadline=None)
@given(worlds(feasible=True), st.data())
def test_suspended_tables_and_those_that_read_them_rest(world: Simulation, data: st.DataObject) -> None:
    stopped = data.draw(st.sampled_from(sorted(world.tables)))
    world.run(10)
    scheduled = set(world.tables) - set(unscheduled(topology(LagGraph(tuple(world.tables.values())))))
    before = {table: len(world.succeeded(table)) for table in world.tables}
    running = {table for table, state in world.tables.items() if state.refreshing is not None}
    world.change(stopped, state=SchedulingState.SUSPENDED)
    world.wake()
    shape = topology(LagGraph(tuple(world.tables.values())))
    resting = {
        table
        for table, reason in unscheduled(shape).items()
        if reason in (Unscheduled.SUSPENDED, Unscheduled.UPSTREAM_SUSPENDED)
    }
    world.run(40)
    for table in resting - running:
        assert len(world.succeeded(table)) == before[table]
    world.change(stopped, state=SchedulingState.ACTIVE)
    world.wake()
    world.run(600)
    assert all(len(world.succeeded(table)) > before[table] for table in scheduled)


@settings(max_examples=100, deadline=None)
@given(worlds(feasible=True), st.data())
def test_commits_make_tables_fresh_sooner_but_not_more_often(world: Simulation, data: st.DataObject) -> None:
    """Whatever is committed when: lags are kept, and a table nobody reads works at most three times per lag."""
    pauses = st.tuples(st.floats(0.001, 8), st.sampled_from(["base0", "base1", "base2"]))
    for pause, base in data.draw(st.lists(pauses, max_size=40)):
        world.run(pause)
        world.commit(base)
    seconds = (world.now - START).total_seconds()
    shape = topology(LagGraph(tuple(world.tables.values())))
    for table, lag in effective_lags(shape, unscheduled(shape)).items():
        assert max(world.lags.get(table, [timedelta()])) <= lag
        assert "SKIPPED" not in world.states(table)
        if not shape.consumers[table]:
            assert len(world.worked.get(table, [])) <= seconds / (lag.total_seconds() / 3) + 2


@settings(max_examples=100, deadline=None)
@given(st.floats(1, 600), st.integers(1, 400), st.floats(0.01, 2000), st.integers(1, 4))
def test_a_commit_after_quiet_times_goes_straight_through_a_chain(
    lag: float, took: int, moment: float, length: int
) -> None:
    """After at least a lag without commits: it is shown after the time of two refreshes, one of which was under way."""
    longest = timedelta(milliseconds=took)
    tables = {
        f"t{n}": DynamicTable(
            id=f"t{n}",
            name=f"t{n}",
            target_lag=DOWNSTREAM if n < length else timedelta(seconds=max(lag, 4 * length * took / 1000)),
            upstream=(f"t{n - 1}",) if n > 1 else (),
            sources=("base",) if n == 1 else (),
            data_timestamp=START,
            durations=(longest,),
        )
        for n in range(1, length + 1)
    }
    world = Simulation(tables, dict.fromkeys(tables, longest))
    world.run(moment)
    world.commit("base")
    world.run(2 * length * longest.total_seconds() + 0.001)
    assert world.worked[f"t{length}"]
