"""Where tasks stand, and the runs of graphs and of their tasks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import bindparam, delete, select

from snowmelt.features.tasks.definitions import ACTIVE, GraphRun, RunState, TaskRun, TaskStanding
from snowmelt.state.repository import Repository, chunks
from snowmelt.state.tables import TASK_GRAPH_RUNS, TASK_RUNS, TASKS

_T = TASKS.c
_G = TASK_GRAPH_RUNS.c
_R = TASK_RUNS.c
_ACTIVE = [state.value for state in ACTIVE]
_STANDING = select(_T.record).where(_T.task_id == bindparam("task_id"))
_ACTIVE_RUNS = select(_G.record).where(_G.state.in_(_ACTIVE)).order_by(_G.scheduled_time, _G.id)


class TaskRecords(Repository):
    # -- where they stand -----------------------------------------------------------------------------------------

    def standing(self, task_id: str) -> TaskStanding:
        """A task's standing. A task without a record is suspended and has never run."""
        record = self._execute(_STANDING, {"task_id": task_id}).scalar()
        return TaskStanding(task_id=task_id) if record is None else TaskStanding.model_validate_json(record)

    def records(self) -> dict[str, str]:
        """All standings by task, as they are stored, for those who know most of them already."""
        rows = self._execute(select(_T.task_id, _T.record)).all()
        return {row.task_id: row.record for row in rows}

    def change(self, task_id: str, **values: object) -> TaskStanding:
        """Other values for parts of a task's standing; the new one."""
        self._writing()
        standing = self.standing(task_id).model_copy(update=values)
        self._upsert(TASKS, [{"task_id": task_id, "record": standing.model_dump_json()}])
        return standing

    # -- runs of graphs -------------------------------------------------------------------------------------------

    def put_graph_run(self, run: GraphRun) -> None:
        """Adds a run, or replaces the one with the same id."""
        self._writing()
        row = {
            "id": run.id,
            "group_id": run.group_id,
            "root_id": run.root_id,
            "state": run.state.value,
            "scheduled_time": run.scheduled_time,
            "record": run.model_dump_json(),
        }
        self._upsert(TASK_GRAPH_RUNS, [row])

    def graph_run(self, id: str) -> GraphRun | None:
        record = self._execute(select(_G.record).where(_G.id == id)).scalar()
        return None if record is None else GraphRun.model_validate_json(record)

    def active_graph_runs(self) -> list[GraphRun]:
        """The runs that wait or execute, the oldest first."""
        return [GraphRun.model_validate_json(record) for record in self._execute(_ACTIVE_RUNS).scalars()]

    def graph_runs(self, root_id: str | None = None, group_id: str | None = None) -> list[GraphRun]:
        """The newest first."""
        query = select(_G.record).order_by(_G.scheduled_time.desc(), _G.id)
        if root_id is not None:
            query = query.where(_G.root_id == root_id)
        if group_id is not None:
            query = query.where(_G.group_id == group_id)
        return [GraphRun.model_validate_json(record) for record in self._execute(query).scalars()]

    def forget_graph_run(self, id: str) -> None:
        """A run that never began."""
        self._writing()
        self._execute(delete(TASK_GRAPH_RUNS).where(_G.id == id))

    # -- runs of tasks --------------------------------------------------------------------------------------------

    def put_run(self, run: TaskRun) -> None:
        """Adds a run, or replaces the one with the same id."""
        self._writing()
        row = {
            "id": run.id,
            "graph_run_id": run.graph_run_id,
            "task_id": run.task_id,
            "state": run.state.value,
            "scheduled_time": run.scheduled_time,
            "record": run.model_dump_json(),
        }
        self._upsert(TASK_RUNS, [row])

    def run(self, id: str) -> TaskRun | None:
        record = self._execute(select(_R.record).where(_R.id == id)).scalar()
        return None if record is None else TaskRun.model_validate_json(record)

    def forget_run(self, id: str) -> None:
        """A run that left nothing behind and is begun again."""
        self._writing()
        self._execute(delete(TASK_RUNS).where(_R.id == id))

    def last_runs(self, task_id: str, limit: int = 10) -> list[TaskRun]:
        """The newest runs of a task."""
        query = select(_R.record).where(_R.task_id == task_id).order_by(_R.scheduled_time.desc(), _R.id).limit(limit)
        return [TaskRun.model_validate_json(record) for record in self._execute(query).scalars()]

    def runs_of(self, graph_run_ids: Collection[str]) -> list[TaskRun]:
        """The runs of tasks in these runs of graphs, the oldest first."""
        found: list[TaskRun] = []
        for some in chunks(sorted(graph_run_ids)):
            query = select(_R.record).where(_R.graph_run_id.in_(some)).order_by(_R.scheduled_time, _R.id)
            found.extend(TaskRun.model_validate_json(record) for record in self._execute(query).scalars())
        return found

    def executing(self) -> list[TaskRun]:
        query = select(_R.record).where(_R.state == RunState.EXECUTING.value).order_by(_R.scheduled_time, _R.id)
        return [TaskRun.model_validate_json(record) for record in self._execute(query).scalars()]

    def runs(self, start: datetime, end: datetime, task_ids: Sequence[str] | None = None) -> list[TaskRun]:
        """Runs scheduled in that range, the newest first."""
        query = select(_R.record).where(_R.scheduled_time.between(start, end))
        if task_ids is not None:
            query = query.where(_R.task_id.in_(task_ids))
        records = self._execute(query.order_by(_R.scheduled_time.desc(), _R.id)).scalars()
        return [TaskRun.model_validate_json(record) for record in records]

    # -- forgetting -----------------------------------------------------------------------------------------------

    def delete_for(self, task_id: str) -> None:
        """Forget where a task stands, and its runs."""
        self._writing()
        self._execute(delete(TASKS).where(_T.task_id == task_id))
        self._execute(delete(TASK_RUNS).where(_R.task_id == task_id))
        self._execute(delete(TASK_GRAPH_RUNS).where(_G.root_id == task_id))
