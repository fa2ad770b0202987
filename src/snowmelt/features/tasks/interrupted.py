"""Tasks that a process left behind when it ended."""

from __future__ import annotations

import structlog

from snowmelt.features.tasks.records import TaskRecords
from snowmelt.features.tasks.runs import interrupted
from snowmelt.state.store import StateStore

_log = structlog.get_logger(__name__)


def end_tasks(state_store: StateStore) -> None:
    """Tasks that ran when the process ended. Their graphs go on when the scheduler does."""
    with state_store.read() as reader:
        running = reader[TaskRecords].executing()
    if not running:
        return
    with state_store.begin() as state:
        for run in running:
            interrupted(state, run)
    _log.warning("tasks_interrupted", tasks=[str(run.name) for run in running])
