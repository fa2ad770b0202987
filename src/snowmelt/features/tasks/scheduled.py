"""What the runner of tasks needs of an account (`scheduler/task_runner.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import structlog

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.faults import reached
from snowmelt.core.names import SchemaName
from snowmelt.core.schedules import parse_schedule
from snowmelt.features.tasks import conditions, declaring, graph, runs
from snowmelt.features.tasks.definitions import GraphRun, RunsAsTask, RunState, ScheduledFrom, TaskRun, TaskStanding
from snowmelt.features.tasks.executing import Ended, Executions, Start
from snowmelt.features.tasks.graph import GraphTask, TasksOfSchema
from snowmelt.features.tasks.records import TaskRecords
from snowmelt.runtime.run import Run
from snowmelt.scheduler import task_graph as scheduler
from snowmelt.sql.tokens import SqlText
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateReader, StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account

_log = structlog.get_logger(__name__)
_POLL = timedelta(seconds=5)
"""How often streams are looked at although nothing was committed here: other tools write, too."""
_STATES = {
    RunState.EXECUTING: scheduler.TaskState.EXECUTING,
    RunState.SUCCEEDED: scheduler.TaskState.SUCCEEDED,
    RunState.FAILED: scheduler.TaskState.FAILED,
    RunState.FAILED_AND_AUTO_SUSPENDED: scheduler.TaskState.FAILED,
    RunState.CANCELLED: scheduler.TaskState.CANCELLED,
    RunState.SKIPPED: scheduler.TaskState.SKIPPED,
}


class ScheduledTasks:
    """Implements `TaskCatalog`. What does not change between ticks is read once."""

    def __init__(self, account: Account, executions: Executions, *, by_itself: bool) -> None:
        self._account = account
        self._executions = executions
        self._by_itself = by_itself
        """Whether schedules and streams start runs; otherwise only what was asked for is carried out."""
        self._generation = -1
        self._objects: list[CatalogObject] = []
        self._standings: dict[str, tuple[str, TaskStanding]] = {}
        self._watching = False
        self._in_doubt: list[Start] = []
        """What the last `apply` was about to begin, if it failed."""

    # -- what there is --------------------------------------------------------------------------------------------

    def load(self) -> scheduler.Graphs:
        with self._account.state.read() as state:
            schemas = self._schemas(state)
            active = state[TaskRecords].active_graph_runs()
            begun: dict[str, list[TaskRun]] = {}
            for item in state[TaskRecords].runs_of([run.id for run in active]):
                begun.setdefault(item.graph_run_id, []).append(item)
        busy = {run.root_id for run in active}
        roots = [
            self._root(tasks, node, busy=node.task.id in busy)
            for tasks in schemas
            for node in tasks.nodes.values()
            if node.definition.is_root
        ]
        self._watching = any(root.started and root.trigger_interval is not None for root in roots)
        return scheduler.Graphs(tuple(roots), tuple(_run(run, begun.get(run.id, [])) for run in active))

    def _schemas(self, state: StateReader) -> list[TasksOfSchema]:
        generation = state.catalog.generation()
        if generation != self._generation:
            self._objects = state.catalog.objects(graph.task_kinds())
            self._generation = generation
        stored = state[TaskRecords].records() if self._objects else {}
        known = self._standings
        self._standings = {
            id: known[id] if id in known and known[id][0] == record else (record, _parsed(record))
            for id, record in stored.items()
        }
        found: dict[SchemaName, dict[str, GraphTask]] = {}
        alerts: list[TasksOfSchema] = []
        for item in self._objects:
            _, standing = self._standings.get(item.id, ("", TaskStanding(task_id=item.id)))
            node = GraphTask(item, standing)
            if isinstance(item.definition, RunsAsTask):
                alerts.append(TasksOfSchema(item.name.parent, {item.name.name: node}))
            else:
                found.setdefault(item.name.parent, {})[item.name.name] = node
        return [*(TasksOfSchema(schema, nodes) for schema, nodes in found.items()), *alerts]

    def _root(self, tasks: TasksOfSchema, node: GraphTask, *, busy: bool) -> scheduler.Root:
        definition, standing = node.definition, node.standing
        triggered_by_data = definition.schedule is None and conditions.watches_streams(definition.condition)
        limit = definition.suspend_after_failures
        interval = definition.trigger_interval or declaring.DEFAULT_TRIGGER_INTERVAL
        members = tasks.graph(node.task.name.name) if standing.started or busy else [node]
        return scheduler.Root(
            id=node.task.id,
            started=standing.started,
            schedule=parse_schedule(definition.schedule) if definition.schedule and self._by_itself else None,
            beginning=standing.beginning,
            settled=standing.settled,
            overlap=scheduler.Overlap(definition.overlap.value),
            retries=definition.retry_attempts or 0,
            suspend_after=declaring.DEFAULT_SUSPEND_AFTER if limit is None else limit,
            failures=max(member.standing.failures for member in members),
            trigger_interval=timedelta(seconds=interval) if triggered_by_data and self._by_itself else None,
            triggered=triggered_by_data and self._by_itself and self._has_data(node, busy=busy),
            triggered_at=standing.triggered_at,
        )

    def _has_data(self, node: GraphTask, *, busy: bool) -> bool:
        """Looks only where a run could begin. A stream that can't be read starts nothing."""
        if not node.standing.started or busy or node.definition.condition is None:
            return False
        name = node.task.name
        session = self._account.session(user="SYSTEM", database=name.database, schema=name.schema)
        try:
            return conditions.holds(Run(session, SqlText(node.definition.condition)), node.definition.condition)
        except SnowmeltError as error:
            _log.warning("the condition of a task could not be looked at", task=str(name), error=str(error))
            return False
        finally:
            session.close()

    def polls(self) -> timedelta | None:
        return _POLL if self._watching else None

    # -- decisions ------------------------------------------------------------------------------------------------

    def apply(self, decisions: Sequence[scheduler.Decision]) -> list[Start]:
        starts: list[Start] = []
        if not decisions:
            return starts
        self._in_doubt = starts
        with self._account.state.begin() as state:
            for decision in decisions:
                start = _apply(state, decision)
                if start is not None:
                    starts.append(start)
        self._in_doubt = []
        reached("task-decided")
        return starts

    def begun_all_the_same(self) -> list[Start]:
        if not self._in_doubt:
            return []
        with self._account.state.read() as state:
            recorded = {start.run.id: state[TaskRecords].run(start.run.id) for start in self._in_doubt}
        found = [start for start in self._in_doubt if _is_executing(recorded[start.run.id])]
        self._in_doubt = []
        return found

    def execute(self, start: Start) -> Ended:
        return self._executions.execute(start)

    def record(self, ended: Ended) -> None:
        with self._account.state.begin() as state:
            if ended.error is runs.INTERRUPTED:
                runs.interrupted(state, ended.run)
                return
            runs.end_task(
                state,
                ended.run.id,
                ended.state,
                error=ended.error,
                query_id=ended.query_id,
                return_value=ended.return_value,
                condition=ended.condition,
            )

    def cancel(self, run: str | None = None, task: str | None = None) -> None:
        if run is None or task is None:
            self._executions.interrupt()
        else:
            self._executions.time_out(run, task)


def _is_executing(run: TaskRun | None) -> bool:
    return run is not None and run.state is RunState.EXECUTING


def _apply(state: StateTransaction, decision: scheduler.Decision) -> Start | None:
    match decision:
        case scheduler.NewRun(root=root_id, scheduled_time=at, triggered=triggered):
            _new_run(state, root_id, at, triggered=triggered)
        case scheduler.PassOver(root=root_id, until=until):
            state[TaskRecords].change(root_id, settled=until)
        case scheduler.SuspendRoot(root=root_id):
            node = _node(state, root_id)
            if node is not None:
                runs.suspend_root(state, node)
        case scheduler.BeginRun(run=run_id):
            run = state[TaskRecords].graph_run(run_id)
            if run is not None:
                begun = {"state": RunState.EXECUTING, "started_at": state.now}
                state[TaskRecords].put_graph_run(run.model_copy(update=begun))
        case scheduler.EndRun(run=run_id, state=outcome, retry=again):
            run = state[TaskRecords].graph_run(run_id)
            if run is not None:
                if again:
                    runs.retry(
                        state, run, run.tasks, runs.completed(state, run, run.tasks), ScheduledFrom.AUTOMATIC_RETRY
                    )
                runs.end_graph(state, run, RunState(outcome.value))
        case scheduler.StartTask(run=run_id, task=task_id):
            run = state[TaskRecords].graph_run(run_id)
            if run is not None:
                task = next(item for item in run.tasks if item.id == task_id)
                return Start(run, task, runs.begin_task(state, run, task))
    return None


def _new_run(state: StateTransaction, root_id: str, at: datetime, *, triggered: bool) -> None:
    node = _node(state, root_id)
    if node is None or not node.standing.started:
        # It was suspended since the tick looked.
        return
    state[TaskRecords].change(root_id, **({"triggered_at": state.now} if triggered else {"settled": at}))
    reason = ScheduledFrom.TRIGGER if triggered else ScheduledFrom.SCHEDULE
    runs.new_graph_run(state, node, at, reason, waiting=False, config=node.definition.config)


def _node(state: StateReader, task_id: str) -> GraphTask | None:
    task = state.catalog.by_id(task_id)
    if task is None or task.dropped_on is not None or task.kind not in graph.task_kinds():
        return None
    return GraphTask(task, state[TaskRecords].standing(task_id))


def _parsed(record: str) -> TaskStanding:
    return TaskStanding.model_validate_json(record)


def _run(run: GraphRun, begun: Sequence[TaskRun]) -> scheduler.OpenGraphRun:
    by_name = {task.name: task.id for task in run.tasks}
    nodes = [
        scheduler.TaskNode(
            id=task.id,
            predecessors=tuple(by_name[name] for name in task.definition.predecessors if name in by_name),
            started=task.started,
            timeout=_timeout(task.definition.timeout_ms),
            branches=conditions.branches(task.definition.condition),
        )
        for task in run.tasks
    ]
    last = next((task.id for task in run.tasks if task.definition.finalizes is not None), None)
    return scheduler.OpenGraphRun(
        id=run.id,
        root=run.root_id,
        tasks=tuple(node for node in nodes if node.id != last),
        finalizer=next((node for node in nodes if node.id == last), None),
        waiting=run.state is RunState.SCHEDULED,
        attempt=run.attempt,
        progress=_progress(run, begun),
    )


def _timeout(milliseconds: int | None) -> timedelta | None:
    """0 is no limit of the task's own."""
    found = declaring.DEFAULT_TIMEOUT_MS if milliseconds is None else milliseconds
    return timedelta(milliseconds=found) if found else None


def _progress(run: GraphRun, begun: Sequence[TaskRun]) -> Mapping[str, scheduler.TaskProgress]:
    kept = scheduler.TaskProgress(scheduler.TaskState.SUCCEEDED, run.scheduled_time)
    found = dict.fromkeys(run.kept, kept)
    for item in begun:
        found[item.task_id] = scheduler.TaskProgress(_STATES[item.state], item.started_at or item.scheduled_time)
    return found
