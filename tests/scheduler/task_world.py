"""A world in which time is a number: graphs of tasks that take random times and fail at random, under the real tick.

It keeps the books as the catalog does, dies and comes back, and checks at every step what must never happen.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count

from snowmelt.scheduler.task_graph import (
    BeginRun,
    Decision,
    EndRun,
    Graphs,
    NewRun,
    OpenGraphRun,
    PassOver,
    Root,
    StartTask,
    SuspendRoot,
    TaskNode,
    TaskProgress,
    TaskState,
    TimeOut,
)
from snowmelt.scheduler.task_tick import tick

START = datetime(2026, 3, 1, 0, 0, 7, tzinfo=UTC)


@dataclass(frozen=True)
class Shape:
    """A graph as its author wrote it."""

    root: Root
    tasks: tuple[TaskNode, ...]
    finalizer: TaskNode | None
    longest: timedelta
    """Of a task's duration."""
    failing: float
    """How likely a task is to fail."""
    skipping: float
    data: float = 0.0
    """How likely a stream is to have data when it is looked at."""


@dataclass
class Ran:
    """What is known of a run after the world has ended."""

    root: str
    scheduled: datetime
    began: datetime
    attempt: int
    ended: datetime | None = None
    state: TaskState | None = None
    asked_for: bool = False
    states: dict[str, TaskState] = field(default_factory=dict)
    interrupted: bool = False


@dataclass
class World:
    shapes: dict[str, Shape]
    seed: int
    workers: int = 3
    now: datetime = START
    ticks: int = 0
    ran: dict[str, Ran] = field(default_factory=dict)
    passed: dict[str, list[datetime]] = field(default_factory=dict)
    down: list[tuple[datetime, datetime]] = field(default_factory=list)
    suspended_at: dict[str, datetime] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.roots = {id: shape.root for id, shape in self.shapes.items()}
        self.runs: dict[str, OpenGraphRun] = {}
        self.failures: Counter[str] = Counter()
        self._numbers = count()
        self._ends: list[tuple[datetime, int, str, str, TaskState]] = []
        self._next: datetime | None = self.now

    # -- time -----------------------------------------------------------------------------------------------------

    def run(self, length: timedelta) -> None:
        end = self.now + length
        while True:
            instants = [instant for instant in (self._next, self._ends[0][0] if self._ends else None) if instant]
            if not instants or min(instants) > end:
                break
            self.now = max(self.now, min(instants))
            while self._ends and self._ends[0][0] <= self.now:
                _, _, run, task, state = heapq.heappop(self._ends)
                self._end(run, task, state)
            self._decide()
        self.now = end
        self._decide()

    def ask(self, root: str) -> None:
        """EXECUTE TASK."""
        self._add(root, self.now, waiting=True)
        self._decide()

    def die(self, length: timedelta) -> None:
        """The process is killed, and another one starts later. A task starts again, or has failed."""
        self.down.append((self.now, self.now + length))
        self._ends.clear()
        for run in list(self.runs.values()):
            for task, progress in list(run.progress.items()):
                if progress.state is not TaskState.EXECUTING:
                    continue
                self.ran[run.id].interrupted = True
                if self.random.random() < 0.5:
                    self._forget(run.id, task)
                else:
                    self._put(run.id, task, TaskState.FAILED)
        self.now += length
        self._decide()

    # -- decisions ------------------------------------------------------------------------------------------------

    def _decide(self) -> None:
        for _ in range(200):
            self.ticks += 1
            graphs = self._graphs()
            plan = tick(graphs, self.now)
            self._next = plan.next_due
            assert self._next is None or self._next > self.now
            self._check_suspending(graphs, plan.decisions)
            done = [self._carry_out(decision) for decision in plan.decisions]
            if not any(done):
                assert not any(0 < root.suspend_after <= root.failures for root in self._graphs().roots if root.started)
                return
        raise AssertionError("the tick decides for ever")

    def _check_suspending(self, graphs: Graphs, decisions: Sequence[Decision]) -> None:
        """Had one failure too many come at this very moment, nothing would begin, not even another attempt."""
        if not any(isinstance(decision, NewRun | EndRun) for decision in decisions):
            return
        failing = [replace(root, suspend_after=1, failures=1) for root in graphs.roots]
        for decision in tick(replace(graphs, roots=tuple(failing)), self.now).decisions:
            assert not isinstance(decision, NewRun | PassOver)
            assert not isinstance(decision, EndRun) or not decision.retry or not self._starts(decision.run)

    def _starts(self, run: str) -> bool:
        return self.roots[self.runs[run].root].started

    def _graphs(self) -> Graphs:
        roots = []
        for id, root in self.roots.items():
            shape = self.shapes[id]
            failures = max(self.failures[node.id] for node in _members(shape))
            data = root.trigger_interval is not None and self.random.random() < shape.data
            roots.append(replace(root, failures=failures, triggered=data))
        return Graphs(tuple(roots), tuple(self.runs.values()))

    def _carry_out(self, decision: Decision) -> bool:
        match decision:
            case NewRun(root=root, scheduled_time=at, triggered=triggered):
                assert self.roots[root].started
                change = {"triggered_at": self.now} if triggered else {"settled": at}
                self.roots[root] = replace(self.roots[root], **change)
                self._add(root, at)
            case PassOver(root=root, until=until):
                self.roots[root] = replace(self.roots[root], settled=until)
                self.passed.setdefault(root, []).append(until)
            case BeginRun(run=run):
                assert self.runs[run].waiting
                self.runs[run] = replace(self.runs[run], waiting=False)
                self.ran[run].began = self.now
            case StartTask(run=run, task=task):
                return self._start(run, task)
            case TimeOut(run=run, task=task):
                self._ends = [item for item in self._ends if (item[2], item[3]) != (run, task)]
                heapq.heapify(self._ends)
                self._end(run, task, TaskState.FAILED)
            case EndRun(run=run, state=state, retry=retry):
                self._end_run(run, state, retry)
            case SuspendRoot(root=root):
                assert self.roots[root].started
                self.roots[root] = replace(self.roots[root], started=False)
                self.suspended_at[root] = self.now
        return True

    def _add(self, root: str, at: datetime, *, waiting: bool = False) -> None:
        shape = self.shapes[root]
        id = f"{root}#{next(self._numbers)}"
        self.runs[id] = OpenGraphRun(id, root, shape.tasks, shape.finalizer, waiting=waiting)
        self.ran[id] = Ran(root, at, self.now, 1, asked_for=waiting)

    def _start(self, run: str, task: str) -> bool:
        executing = [item for one in self.runs.values() for item in one.progress.values()]
        if sum(item.state is TaskState.EXECUTING for item in executing) >= self.workers:
            return False
        self._check_start(self.runs[run], task)
        shape = self.shapes[self.runs[run].root]
        chance = self.random.random()
        state = TaskState.SUCCEEDED
        if chance < shape.failing:
            state = TaskState.FAILED
        elif chance < shape.failing + shape.skipping:
            state = TaskState.SKIPPED
        took = shape.longest * self.random.random() if state is not TaskState.SKIPPED else timedelta()
        heapq.heappush(self._ends, (self.now + took, next(self._numbers), run, task, state))
        self._put(run, task, TaskState.EXECUTING)
        self._next = min(self._next, self.now + took) if self._next else self.now + took
        return True

    def _check_start(self, run: OpenGraphRun, task: str) -> None:
        """Nothing starts twice, before its predecessors, or in a run that has not begun."""
        nodes = {node.id: node for node in run.tasks}
        assert not run.waiting and task not in run.progress
        if run.finalizer is not None and task == run.finalizer.id:
            assert all(item.state is not TaskState.EXECUTING for item in run.progress.values())
            assert run.state(run.root) is not TaskState.SKIPPED
            return
        assert nodes[task].started or task == run.root
        if nodes[task].branches:
            assert run.state(run.root) is not TaskState.SKIPPED
        for predecessor in nodes[task].predecessors:
            ready = _is_over if nodes[task].branches else _is_done
            assert ready(run, nodes, predecessor), (run, task)

    def _end(self, run: str, task: str, state: TaskState) -> None:
        since = self.runs[run].progress[task].since
        timeout = next(node.timeout for node in _members(self.shapes[self.runs[run].root]) if node.id == task)
        assert timeout is None or self.now - since <= timeout
        self._put(run, task, state)
        if state is TaskState.FAILED:
            self.failures[task] += 1
        elif state is TaskState.SUCCEEDED:
            self.failures[task] = 0

    def _end_run(self, run: str, state: TaskState, retry: bool) -> None:
        ended = self.runs.pop(run)
        self.ran[run].ended, self.ran[run].state = self.now, state
        self.ran[run].states = {task: item.state for task, item in ended.progress.items()}
        self._check_complete(ended)
        if retry:
            assert state is TaskState.FAILED
            nodes = {node.id: node for node in ended.tasks}
            kept = {
                task: item for task, item in ended.progress.items() if task in nodes and _stands(ended, nodes, task)
            }
            self._add(ended.root, self.ran[run].scheduled, waiting=True)
            id = next(reversed(self.runs))
            self.runs[id] = replace(self.runs[id], attempt=ended.attempt + 1, progress=kept)
            self.ran[id].attempt = ended.attempt + 1

    def _check_complete(self, run: OpenGraphRun) -> None:
        """A run has ended: whatever could run has run."""
        nodes = {node.id: node for node in run.tasks}
        for node in run.tasks:
            assert run.state(node.id) is not TaskState.EXECUTING
            possible = all(_is_done(run, nodes, above) for above in node.predecessors)
            if node.branches:
                possible = run.state(run.root) is not TaskState.SKIPPED
            wanted = possible and (node.started or node.id == run.root)
            assert (node.id in run.progress) == wanted, (run, node)
        last = run.finalizer
        if last is not None:
            assert (last.id in run.progress) == (last.started and run.state(run.root) is not TaskState.SKIPPED)

    def _put(self, run: str, task: str, state: TaskState) -> None:
        progress = {**self.runs[run].progress, task: TaskProgress(state, self.now)}
        self.runs[run] = replace(self.runs[run], progress=progress)

    def _forget(self, run: str, task: str) -> None:
        progress = {id: item for id, item in self.runs[run].progress.items() if id != task}
        self.runs[run] = replace(self.runs[run], progress=progress)


def _members(shape: Shape) -> tuple[TaskNode, ...]:
    return shape.tasks if shape.finalizer is None else (*shape.tasks, shape.finalizer)


def _is_done(run: OpenGraphRun, nodes: dict[str, TaskNode], task: str) -> bool:
    """Said in another way than the tick says it: succeeded, or suspended with all above it done."""
    if run.state(task) is TaskState.SUCCEEDED:
        return True
    node = nodes[task]
    return not node.started and task != run.root and all(_is_done(run, nodes, above) for above in node.predecessors)


def _is_over(run: OpenGraphRun, nodes: dict[str, TaskNode], task: str) -> bool:
    """Whether nothing more is to come of a task: it ended, or all above it did and it does not start."""
    if task in run.progress:
        return run.state(task) is not TaskState.EXECUTING
    node = nodes[task]
    starts = node.started and (node.branches or all(_is_done(run, nodes, above) for above in node.predecessors))
    return not starts and all(_is_over(run, nodes, above) for above in node.predecessors)


def _stands(run: OpenGraphRun, nodes: dict[str, TaskNode], task: str) -> bool:
    """What another attempt does not repeat: tasks that are done, with all above them done."""
    return _is_done(run, nodes, task) and all(_stands(run, nodes, above) for above in nodes[task].predecessors)
