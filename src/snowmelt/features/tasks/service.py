"""What others ask of an account's tasks: that they run by themselves, that one runs now, that one stops."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from snowmelt.features.tasks.executing import Ended, Executions, Start
from snowmelt.features.tasks.records import TaskRecords
from snowmelt.features.tasks.scheduled import ScheduledTasks
from snowmelt.scheduler.task_runner import TaskRunner

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account


class Tasks:
    def __init__(self, account: Account) -> None:
        self._account = account
        self._executions = Executions(account)
        self._runner: TaskRunner[Start, Ended] | None = None
        self._lock = threading.Lock()
        self._running_due: TaskRunner[Start, Ended] | None = None
        """The runner of a statement that carries runs out by itself, for want of one that always does."""

    def start(self) -> None:
        """From now on, until the account is closed, graphs run by their schedules and streams."""
        if self._runner is None:
            self._runner = self._new_runner(by_itself=True)
            self._runner.start()

    def wake(self) -> None:
        """Something changed that the scheduler should look at. Cheap."""
        runner = self._runner
        if runner is not None:
            runner.wake()

    def stop(self, timeout: float, cancelling: float = 10.0) -> None:
        """Tasks that run may finish within so many seconds; then they are cancelled, which may take as many more."""
        if self._runner is not None:
            self._runner.stop(timeout, cancel_timeout=cancelling)
            self._runner = None

    def run_due(self) -> None:
        """Runs were asked for. The scheduler begins them; where there is none, they are carried out here and now."""
        if self._runner is not None:
            self._runner.wake()
            return
        while self._pending():
            with self._lock:
                if self._running_due is not None:
                    # Another statement does it, perhaps the body of a task that this one is part of.
                    self._running_due.wake()
                    return
                runner = self._running_due = self._new_runner(by_itself=False)
            try:
                runner.run_until_idle()
            finally:
                with self._lock:
                    self._running_due = None

    def cancel(self, task_id: str) -> int:
        """Stops all runs of a task; how many."""
        return self._executions.cancel(task_id)

    def running(self) -> int:
        """How many tasks are running in this process."""
        return self._executions.count()

    def _pending(self) -> bool:
        with self._account.state.read() as state:
            return bool(state[TaskRecords].active_graph_runs())

    def _new_runner(self, *, by_itself: bool) -> TaskRunner[Start, Ended]:
        catalog = ScheduledTasks(self._account, self._executions, by_itself=by_itself)
        return TaskRunner(catalog, self._account.clock, self._account.settings.parallel_tasks)
