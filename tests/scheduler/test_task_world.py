"""A month of random graphs of tasks on a simulated clock: what holds of every schedule."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from snowmelt.core.schedules import parse_schedule
from snowmelt.scheduler.task_graph import (
    EndRun,
    Graphs,
    NewRun,
    OpenGraphRun,
    Overlap,
    PassOver,
    Root,
    TaskNode,
    TaskProgress,
    TaskState,
)
from snowmelt.scheduler.task_tick import tick
from tests.scheduler.task_world import START, Shape, World

MONTH = timedelta(days=31)
SCHEDULES = (
    "100 MINUTES", "3 HOURS", "7 HOURS", "USING CRON 0 2 * * * America/Los_Angeles", "USING CRON 30 */6 * * 1-5 UTC",
    "USING CRON 15 1 L * FRI Europe/Berlin", "USING CRON 5 0,12 * * * Australia/Lord_Howe",
)  # fmt: skip
DURATIONS = (timedelta(seconds=20), timedelta(minutes=10), timedelta(hours=2))


@st.composite
def shapes(draw: st.DrawFn, name: str) -> Shape:
    tasks = [TaskNode(f"{name}.0", timeout=draw(st.sampled_from([None, timedelta(minutes=30)])))]
    for number in range(1, draw(st.integers(1, 7))):
        known = [node.id for node in tasks]
        above = draw(st.lists(st.sampled_from(known), min_size=1, max_size=3, unique=True))
        timeout = draw(st.sampled_from([None, timedelta(minutes=1)]))
        started, branches = draw(st.integers(0, 4)) > 0, draw(st.integers(0, 3)) == 0
        tasks.append(TaskNode(f"{name}.{number}", tuple(above), started, timeout, branches))
    finalizer = TaskNode(f"{name}.last", started=draw(st.booleans())) if draw(st.booleans()) else None
    triggered = draw(st.integers(0, 4)) == 0
    overlap = draw(st.sampled_from(list(Overlap)))
    # Runs that may all overlap and take longer than the workers have time would pile up without end.
    durations = DURATIONS[:2] if overlap is Overlap.ALL else DURATIONS
    root = Root(
        f"{name}.0",
        schedule=None if triggered else parse_schedule(draw(st.sampled_from(SCHEDULES))),
        beginning=START,
        settled=START,
        overlap=overlap,
        retries=draw(st.integers(0, 2)),
        suspend_after=draw(st.sampled_from([0, 3])),
        trigger_interval=timedelta(minutes=45) if triggered else None,
    )
    return Shape(
        root,
        tuple(tasks),
        finalizer,
        draw(st.sampled_from(durations)),
        draw(st.sampled_from([0.0, 0.2])),
        draw(st.sampled_from([0.0, 0.1])),
        0.8,
    )


@st.composite
def worlds(draw: st.DrawFn) -> World:
    made = [draw(shapes(f"g{number}")) for number in range(draw(st.integers(1, 3)))]
    return World({shape.root.id: shape for shape in made}, draw(st.integers(0, 10_000)), draw(st.integers(1, 4)))


@settings(max_examples=60, deadline=None)
@given(worlds(), st.lists(st.integers(1, 72), max_size=4))
def test_a_month_of_random_graphs(world: World, deaths: list[int]) -> None:
    end = START + MONTH
    for hours in deaths:
        world.run(timedelta(days=5))
        world.ask(next(iter(world.shapes)))
        world.run(timedelta(minutes=7))
        world.die(timedelta(hours=hours / 6))
    world.run(end - world.now)
    for root, shape in world.shapes.items():
        check_runs(world, root, shape)
        if shape.root.schedule is not None:
            check_schedule(world, root, shape)


def check_runs(world: World, root: str, shape: Shape) -> None:
    ran = [run for run in world.ran.values() if run.root == root and run.ended is not None]
    if shape.root.overlap is Overlap.NONE:
        spans = sorted((run.began, run.ended) for run in ran)
        assert all(first[1] <= second[0] for first, second in pairwise(spans))
    for run in ran:
        assert run.attempt <= shape.root.retries + 1
        states = set(run.states.values())
        failed = run.states.get(root) is not TaskState.SKIPPED and TaskState.FAILED in states
        assert (run.state is TaskState.FAILED) == failed
    suspended = world.suspended_at.get(root)
    if shape.root.suspend_after == 0:
        assert suspended is None
    if suspended is not None:
        assert not [run for run in ran if not run.asked_for and run.attempt == 1 and run.began > suspended]


def check_schedule(world: World, root: str, shape: Shape) -> None:
    """Each run has an instant of its schedule, none has two runs, and one that has none had a reason."""
    assert shape.root.schedule is not None
    ran = sorted(
        run.scheduled for run in world.ran.values() if run.root == root and not run.asked_for and run.attempt == 1
    )
    instants: list[datetime] = []
    at: datetime | None = START
    until = min(world.now, world.suspended_at.get(root, world.now))
    while at is not None and (at := shape.root.schedule.next(at, START)) is not None and at <= until:
        instants.append(at)
    assert set(ran) <= set(instants) and len(ran) == len(set(ran))
    passed = world.passed.get(root, [])
    for instant in set(instants) - set(ran):
        missed = any(died <= instant <= back for died, back in world.down)
        assert missed or instant in passed or instant == until, (instant, ran[:3])
    for died, back in world.down:
        # However many instants were missed, one run makes up for them, or none if another was active.
        late = [instant for instant in ran if died < instant <= back]
        assert len(late) <= 1


def test_a_run_that_is_busy_passes_its_instants_over() -> None:
    root = Root("r", schedule=parse_schedule("1 MINUTE"), beginning=START, settled=START)
    world = World({"r": Shape(root, (TaskNode("r"),), None, timedelta(), 0.0, 0.0)}, 0)
    world.run(timedelta(minutes=10))
    assert len(world.ran) == 10
    assert [run.scheduled for run in world.ran.values()] == [START + timedelta(minutes=n) for n in range(1, 11)]
    world.die(timedelta(hours=3))
    assert len(world.ran) == 11


def test_a_run_that_is_over_holds_no_instant_up() -> None:
    """Its last task ended just before the instant, and nobody looked in between."""
    later = START + timedelta(minutes=1)
    done = {"r": TaskProgress(TaskState.SUCCEEDED, START)}
    run = OpenGraphRun("1", "r", (TaskNode("r"),), None, progress=done)
    root = Root("r", schedule=parse_schedule("1 MINUTE"), beginning=START, settled=START)
    decisions = tick(Graphs((root,), (run,)), later).decisions
    assert decisions == (EndRun("1", TaskState.SUCCEEDED, False), NewRun("r", later))
    # Another attempt comes first.
    failed = replace(run, progress={"r": TaskProgress(TaskState.FAILED, START)})
    decisions = tick(Graphs((replace(root, retries=1),), (failed,)), later).decisions
    assert decisions == (EndRun("1", TaskState.FAILED, True), PassOver("r", later))
