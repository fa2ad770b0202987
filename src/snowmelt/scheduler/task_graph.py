"""What the tick of tasks knows, and what it decides. Plain values: no clock, no catalog, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property

from snowmelt.core.schedules import Schedule


class TaskState(StrEnum):
    """The state of a task that has begun in a run."""

    EXECUTING = "EXECUTING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    SKIPPED = "SKIPPED"
    """Its condition did not hold."""


class Overlap(StrEnum):
    NONE = "NO_OVERLAP"
    CHILDREN = "ALLOW_CHILD_OVERLAP"
    """A run may begin as soon as the root of the one before has ended."""
    ALL = "ALLOW_ALL_OVERLAP"


@dataclass(frozen=True, slots=True)
class TaskNode:
    """A task in the version of the graph that a run uses."""

    id: str
    predecessors: tuple[str, ...] = ()
    started: bool = True
    """A suspended task counts as done when its predecessors are."""
    timeout: timedelta | None = None
    branches: bool = False
    """Its condition asks what became of other tasks: it starts when its predecessors have ended, however they did."""


@dataclass(frozen=True, slots=True)
class TaskProgress:
    state: TaskState
    since: datetime


@dataclass(frozen=True)
class OpenGraphRun:
    """One attempt to run a graph, which has not ended."""

    id: str
    root: str
    tasks: tuple[TaskNode, ...]
    """The root first."""
    finalizer: TaskNode | None = None
    waiting: bool = False
    """It was asked for, and has not begun."""
    attempt: int = 1
    progress: Mapping[str, TaskProgress] = field(default_factory=dict)
    """How far each task is that has begun, or that an earlier attempt completed."""

    def state(self, task: str) -> TaskState | None:
        found = self.progress.get(task)
        return None if found is None else found.state

    @cached_property
    def passed(self) -> frozenset[str]:
        """Tasks that those after them need not wait for any more."""
        nodes = {node.id: node for node in self.tasks}
        passed: set[str] = set()
        for node in _in_order(nodes):
            above = all(name in passed for name in node.predecessors)
            suspended = not node.started and node.id != self.root
            if self.state(node.id) is TaskState.SUCCEEDED or (above and suspended):
                passed.add(node.id)
        return frozenset(passed)

    @cached_property
    def settled(self) -> frozenset[str]:
        """Tasks of which nothing more is to come: they have ended, or will never start."""
        nodes = {node.id: node for node in self.tasks}
        settled: set[str] = set()
        for node in _in_order(nodes):
            state = self.state(node.id)
            above = all(name in settled for name in node.predecessors)
            if state is not TaskState.EXECUTING and (state is not None or (above and not self._starts(node))):
                settled.add(node.id)
        return frozenset(settled)

    def _starts(self, node: TaskNode) -> bool:
        """Whether a task starts once all its predecessors are settled."""
        if not (node.started or node.id == self.root):
            return False
        return node.branches or all(name in self.passed for name in node.predecessors)


def _in_order(nodes: Mapping[str, TaskNode]) -> list[TaskNode]:
    """Each behind its predecessors. Cycles were refused when the graph was made."""
    ordered: dict[str, TaskNode] = {}
    waiting = dict(nodes)
    while waiting:
        ready = [node for node in waiting.values() if all(name not in waiting for name in node.predecessors)]
        if not ready:
            raise ValueError("the graph has a cycle")
        for node in ready:
            ordered[node.id] = waiting.pop(node.id)
    return list(ordered.values())


@dataclass(frozen=True, slots=True)
class Root:
    """A graph: what its root says, and where it stands."""

    id: str
    started: bool = True
    schedule: Schedule | None = None
    beginning: datetime | None = None
    """What intervals count from: when the root was resumed."""
    settled: datetime | None = None
    """Scheduled instants up to this one have had their run, or were passed over."""
    overlap: Overlap = Overlap.NONE
    retries: int = 0
    suspend_after: int = 0
    """0: never."""
    failures: int = 0
    """The most failures in a row that a task of the graph has."""
    trigger_interval: timedelta | None = None
    """Set where data in a stream starts it, instead of a schedule: the least time between two runs."""
    triggered: bool = False
    """Whether there is such data now."""
    triggered_at: datetime | None = None
    """When the last run began for that reason."""


@dataclass(frozen=True, slots=True)
class Graphs:
    roots: tuple[Root, ...]
    runs: tuple[OpenGraphRun, ...]
    """The oldest first."""


# -- decisions --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NewRun:
    root: str
    scheduled_time: datetime
    triggered: bool = False


@dataclass(frozen=True, slots=True)
class PassOver:
    """Scheduled instants up to this one have no run: an earlier run was still active."""

    root: str
    until: datetime


@dataclass(frozen=True, slots=True)
class BeginRun:
    run: str


@dataclass(frozen=True, slots=True)
class StartTask:
    run: str
    task: str


@dataclass(frozen=True, slots=True)
class TimeOut:
    run: str
    task: str


@dataclass(frozen=True, slots=True)
class EndRun:
    run: str
    state: TaskState
    retry: bool = False
    """Another attempt follows."""


@dataclass(frozen=True, slots=True)
class SuspendRoot:
    """Because of its failures."""

    root: str


Decision = NewRun | PassOver | BeginRun | StartTask | TimeOut | EndRun | SuspendRoot


@dataclass(frozen=True, slots=True)
class TaskPlan:
    decisions: tuple[Decision, ...]
    next_due: datetime | None
    """When to tick again if nothing happens before."""
