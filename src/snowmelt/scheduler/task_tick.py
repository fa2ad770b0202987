"""Which graphs run now, which of their tasks start, and how runs end: a function of the catalog and the time.

A decision is carried out and recorded before the next tick, which therefore need not remember it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache

from snowmelt.core.schedules import Schedule
from snowmelt.scheduler.task_graph import (
    BeginRun,
    Decision,
    EndRun,
    Graphs,
    NewRun,
    OpenGraphRun,
    Overlap,
    PassOver,
    Root,
    StartTask,
    SuspendRoot,
    TaskNode,
    TaskPlan,
    TaskState,
    TimeOut,
)


def tick(graphs: Graphs, now: datetime) -> TaskPlan:
    roots = {root.id: root for root in graphs.roots}
    suspended = {root.id for root in graphs.roots if _fails_too_often(root)}
    decisions: list[Decision] = [SuspendRoot(id) for id in sorted(suspended)]
    for run in graphs.runs:
        if not run.waiting:
            decisions += _go_on(run, roots.get(run.root), now, may_retry=run.root not in suspended)
    # A run that is over holds no other one up, even if nobody noticed its end before the next instant came.
    over = {item.run for item in decisions if isinstance(item, EndRun) and not item.retry}
    left = [run for run in graphs.runs if run.id not in over]
    for root in graphs.roots:
        decisions += _begin(root, [run for run in left if run.root == root.id], now, root.id in suspended)
    return TaskPlan(tuple(decisions), _next_due(graphs, now))


def _fails_too_often(root: Root) -> bool:
    return root.started and 0 < root.suspend_after <= root.failures


# -- runs that have begun ---------------------------------------------------------------------------------------------


def _go_on(run: OpenGraphRun, root: Root | None, now: datetime, *, may_retry: bool) -> list[Decision]:
    overdue = [node for node in _all_tasks(run) if _is_overdue(run, node, now)]
    decisions: list[Decision] = [TimeOut(run.id, node.id) for node in overdue]
    ready = [node for node in run.tasks if _is_ready(run, node)]
    decisions += [StartTask(run.id, node.id) for node in ready]
    if ready or any(item.state is TaskState.EXECUTING for item in run.progress.values()):
        return decisions
    last = run.finalizer
    skipped = run.state(run.root) is TaskState.SKIPPED
    if last is not None and last.started and not skipped and last.id not in run.progress:
        return [*decisions, StartTask(run.id, last.id)]
    state = _outcome(run)
    retry = may_retry and state is TaskState.FAILED and root is not None and run.attempt <= root.retries
    return [*decisions, EndRun(run.id, state, retry)]


def _is_ready(run: OpenGraphRun, node: TaskNode) -> bool:
    """Whether a task is to start: suspended ones never are, but the root runs when its graph does."""
    if node.id in run.progress or not (node.started or node.id == run.root):
        return False
    if node.branches and run.state(run.root) is not TaskState.SKIPPED:
        return all(name in run.settled for name in node.predecessors)
    return all(name in run.passed for name in node.predecessors)


def _is_overdue(run: OpenGraphRun, node: TaskNode, now: datetime) -> bool:
    found = run.progress.get(node.id)
    if found is None or node.timeout is None or found.state is not TaskState.EXECUTING:
        return False
    return now >= found.since + node.timeout


def _outcome(run: OpenGraphRun) -> TaskState:
    states = {item.state for item in run.progress.values()}
    if run.state(run.root) is TaskState.SKIPPED:
        return TaskState.SKIPPED
    if TaskState.FAILED in states:
        return TaskState.FAILED
    return TaskState.CANCELLED if TaskState.CANCELLED in states else TaskState.SUCCEEDED


def _all_tasks(run: OpenGraphRun) -> Iterable[TaskNode]:
    return run.tasks if run.finalizer is None else (*run.tasks, run.finalizer)


# -- runs that are to begin -------------------------------------------------------------------------------------------


def _begin(root: Root, runs: list[OpenGraphRun], now: datetime, suspended: bool) -> list[Decision]:
    """At most one run of a graph begins at a tick: those that were asked for come before the schedule's."""
    waiting = [run for run in runs if run.waiting]
    free = _may_begin(root.overlap, [run for run in runs if not run.waiting])
    decisions: list[Decision] = [BeginRun(waiting[0].id)] if waiting and free else []
    if not root.started or suspended:
        return decisions
    due = _due(root, now)
    free = free and not waiting
    if due is not None:
        decisions.append(NewRun(root.id, due) if free else PassOver(root.id, due))
    elif free and _is_triggered(root, now):
        decisions.append(NewRun(root.id, now, triggered=True))
    return decisions


def _may_begin(overlap: Overlap, running: list[OpenGraphRun]) -> bool:
    if overlap is Overlap.NONE:
        return not running
    if overlap is Overlap.CHILDREN:
        return all(run.state(run.root) not in (None, TaskState.EXECUTING) for run in running)
    return True


def _due(root: Root, now: datetime) -> datetime | None:
    """The last scheduled instant that has no run yet: however many were missed, there is one run."""
    following = _following(root)
    if following is None or following > now:
        return None
    assert root.schedule is not None and root.beginning is not None
    return root.schedule.latest(now, root.beginning)


def _following(root: Root) -> datetime | None:
    """The first scheduled instant that is not settled, which may be long ago."""
    return _after(root.schedule, root.settled or root.beginning, root.beginning)


@lru_cache(maxsize=16_384)
def _after(schedule: Schedule | None, instant: datetime | None, beginning: datetime | None) -> datetime | None:
    """Asked at every tick, and the same until the graph's next run."""
    if schedule is None or instant is None or beginning is None:
        return None
    return schedule.next(instant, beginning)


def _is_triggered(root: Root, now: datetime) -> bool:
    if root.trigger_interval is None or not root.triggered:
        return False
    return root.triggered_at is None or now >= root.triggered_at + root.trigger_interval


# -- when to look again -----------------------------------------------------------------------------------------------


def _next_due(graphs: Graphs, now: datetime) -> datetime | None:
    found: list[datetime] = []
    for root in graphs.roots:
        if not root.started:
            continue
        following = _following(root)
        if following is not None and following <= now:
            # Settled by what this tick decides: what counts is the one behind it.
            following = _after(root.schedule, now, root.beginning)
        if following is not None:
            found.append(following)
        if root.trigger_interval is not None and root.triggered_at is not None:
            found.append(root.triggered_at + root.trigger_interval)
    for run in graphs.runs:
        for node in _all_tasks(run):
            progress = run.progress.get(node.id)
            if node.timeout is not None and progress is not None and progress.state is TaskState.EXECUTING:
                found.append(progress.since + node.timeout)
    return min((instant for instant in found if instant > now), default=None)
