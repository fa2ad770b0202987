"""Tasks: what the user declared, where they stand, and their runs."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import Field

from snowmelt.core.kinds import ObjectType
from snowmelt.core.names import ObjectName
from snowmelt.state.model import CatalogObject
from snowmelt.state.record import Definition, Record

TASK = ObjectType("TASK")


class OverlapPolicy(StrEnum):
    NO_OVERLAP = "NO_OVERLAP"
    ALLOW_CHILD_OVERLAP = "ALLOW_CHILD_OVERLAP"
    ALLOW_ALL_OVERLAP = "ALLOW_ALL_OVERLAP"


class TaskDefinition(Definition):
    kind: Literal["TASK"] = "TASK"
    warehouse: str | None = None
    """None for a serverless task."""
    initial_size: str | None = None
    """USER_TASK_MANAGED_INITIAL_WAREHOUSE_SIZE."""
    schedule: str | None = None
    """As written."""
    predecessors: tuple[str, ...] = ()
    """Names of tasks in the same schema, sorted."""
    finalizes: str | None = None
    """The name of the root task whose finalizer this is."""
    condition: str | None = None
    """WHEN, as written."""
    body: str
    config: str | None = None
    """A JSON object, as written."""
    overlap: OverlapPolicy = OverlapPolicy.NO_OVERLAP
    timeout_ms: int | None = None
    suspend_after_failures: int | None = None
    retry_attempts: int | None = None
    trigger_interval: int | None = None
    """USER_TASK_MINIMUM_TRIGGER_INTERVAL_IN_SECONDS."""
    completion_interval: str | None = None
    """TARGET_COMPLETION_INTERVAL, as written."""
    parameters: dict[str, str | int | bool] = Field(default_factory=dict)
    """Session parameters for its runs."""
    exists: str | None = None
    """For an alert: the statement that decides. The body runs if it returns rows."""

    @property
    def is_root(self) -> bool:
        return not self.predecessors and self.finalizes is None


def definition_of(item: CatalogObject) -> TaskDefinition:
    assert isinstance(item.definition, TaskDefinition)
    return item.definition


class RunsAsTask(Definition):
    """Something that runs as a graph of one task, such as an alert."""

    task: TaskDefinition


class TaskStanding(Record):
    """Where a task stands. One a task."""

    task_id: str
    started: bool = False
    committed_on: datetime | None = None
    """When it was resumed last, or its version fixed."""
    suspended_on: datetime | None = None
    suspended_reason: str | None = None
    failures: int = 0
    """Runs that failed in a row."""
    version: int = 0
    """The graph's version, kept at its root. 0 as long as no run has fixed one."""
    fingerprint: str = ""
    """A hash of the graph's definitions in that version."""
    beginning: datetime | None = None
    """What intervals of the schedule count from."""
    settled: datetime | None = None
    """Scheduled instants up to this one have had their run, or were passed over."""
    triggered_at: datetime | None = None
    """When the last run began that a stream's data started."""


class RunState(StrEnum):
    """The state of a task's run, or of a graph's."""

    SCHEDULED = "SCHEDULED"
    EXECUTING = "EXECUTING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    FAILED_AND_AUTO_SUSPENDED = "FAILED_AND_AUTO_SUSPENDED"
    CANCELLED = "CANCELLED"
    SKIPPED = "SKIPPED"


ACTIVE = frozenset({RunState.SCHEDULED, RunState.EXECUTING})


class ScheduledFrom(StrEnum):
    SCHEDULE = "SCHEDULE"
    EXECUTE_TASK = "EXECUTE TASK"
    MANUAL_RETRY = "MANUAL RETRY"
    AUTOMATIC_RETRY = "AUTOMATIC RETRY"
    TRIGGER = "TRIGGER"
    EXECUTE_ALERT = "EXECUTE ALERT"


class RunTask(Record):
    """A task as it is in the version of the graph that a run uses."""

    id: str
    name: str
    owner: str
    definition: TaskDefinition
    started: bool = True
    """A suspended one counts as done; the root runs in any case."""


class GraphRun(Record):
    """One attempt to run a graph."""

    id: str
    group_id: str
    """Shared by an attempt and those that try it again."""
    attempt: int = 1
    root_id: str
    root: ObjectName
    version: int
    is_alert: bool = False
    state: RunState
    scheduled_from: ScheduledFrom
    scheduled_time: datetime
    original_time: datetime
    """When the first attempt was scheduled: RUN_ID."""
    config: str | None = None
    tasks: tuple[RunTask, ...] = ()
    """The root first; empty once the run has ended."""
    kept: tuple[str, ...] = ()
    """Tasks that an earlier attempt completed."""
    started_at: datetime | None = None
    completed_at: datetime | None = None
    next_time: datetime | None = None
    first_error_task: str | None = None
    first_error_code: str | None = None
    first_error_message: str | None = None


class TaskRun(Record):
    """One run of one task, as TASK_HISTORY shows it."""

    id: str
    graph_run_id: str
    group_id: str
    task_id: str
    root_id: str
    name: ObjectName
    body: str
    condition: str | None = None
    exists: str | None = None
    """For an alert: the condition that must return rows."""
    condition_query_id: str | None = None
    condition_held: bool | None = None
    """Whether it had; None when that is not known."""
    state: RunState
    error_code: str | None = None
    error_message: str | None = None
    query_id: str | None = None
    scheduled_time: datetime
    original_time: datetime
    started_at: datetime | None = None
    completed_at: datetime | None = None
    next_time: datetime | None = None
    version: int
    attempt: int = 1
    scheduled_from: ScheduledFrom
    config: str | None = None
    return_value: str | None = None
    repeatable: bool = False
    """The body is one statement that commits together with this record: if it says EXECUTING, it did not commit."""
