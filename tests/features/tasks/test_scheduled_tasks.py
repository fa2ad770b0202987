"""Graphs of tasks that run by themselves on a real account, whose clock the test sets. Nothing here needs Spark."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.tasks.definitions import GraphRun, RunState, TaskRun
from snowmelt.features.tasks.records import TaskRecords
from snowmelt.features.tasks.service import Tasks
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.support.waiting import DEADLINE


class ShiftedClock:
    """The real time, moved on by as much as a test likes."""

    def __init__(self) -> None:
        self._shift = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self._shift

    def advance(self, step: timedelta) -> None:
        self._shift += step


class Place:
    def __init__(self, account: Account, clock: ShiftedClock) -> None:
        self.account = account
        self.clock = clock
        self.session: Session = account.session()

    def advance(self, **step: float) -> None:
        self.clock.advance(timedelta(**step))
        self.account.services[Tasks].wake()

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        return self.session.execute(text).rows()

    def runs(self, task: str | None = None) -> list[TaskRun]:
        """The oldest first."""
        now = self.clock.now()
        with self.account.state.read() as state:
            found = state[TaskRecords].runs(now - timedelta(days=30), now + timedelta(days=1))
        return [run for run in reversed(found) if task in (None, run.name.name)]

    def states(self, task: str) -> list[RunState]:
        return [run.state for run in self.runs(task)]

    def graph_runs(self) -> list[GraphRun]:
        with self.account.state.read() as state:
            return state[TaskRecords].graph_runs()

    def rows(self, table: str) -> int:
        with self.account.state.read() as state:
            found = next(item for item in state.catalog.objects() if item.name.name == table)
            version = state.versions.visible(found.id)
        return version.rows if version is not None else 0


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    clock = ShiftedClock()
    with open_account(tmp_path / "data", clock=clock) as account:
        account.services[Tasks].start()
        yield Place(account, clock)


def await_that(condition: Callable[[], bool]) -> None:
    pause = threading.Event()
    end = monotonic() + DEADLINE
    while not condition():
        assert monotonic() < end, "it did not happen in time"
        pause.wait(0.01)


def test_a_schedule_starts_runs_and_missed_ones_count_once(place: Place) -> None:
    place.sql("CREATE TABLE t (a INT)")
    place.sql("CREATE TASK r SCHEDULE = '10 MINUTES' AS INSERT INTO t VALUES (1)")
    place.sql("CREATE TASK c AFTER r AS INSERT INTO t VALUES (2)")
    place.advance(hours=1)
    place.sql("ALTER TASK c RESUME")
    place.sql("ALTER TASK r RESUME")
    assert place.runs() == []
    place.advance(minutes=10)
    await_that(lambda: place.states("C") == [RunState.SUCCEEDED])
    place.advance(hours=5)
    await_that(lambda: place.states("C") == [RunState.SUCCEEDED] * 2)
    first, second = place.runs("R")
    assert second.scheduled_time - first.scheduled_time == timedelta(hours=5)
    assert place.rows("T") == 4
    place.sql("ALTER TASK r SUSPEND")
    place.advance(hours=5)
    place.sql("EXECUTE TASK r")
    await_that(lambda: len(place.states("C")) == 3)
    assert place.runs("R")[-1].scheduled_from == "EXECUTE TASK"
    assert len(place.runs("R")) == 3


def test_a_busy_graph_passes_instants_over_and_can_be_cancelled(place: Place) -> None:
    place.sql("CREATE TASK r SCHEDULE = '1 MINUTE' AS CALL SYSTEM$WAIT(600)")
    place.sql("ALTER TASK r RESUME")
    place.advance(minutes=1)
    await_that(lambda: place.states("R") == [RunState.EXECUTING])
    place.advance(minutes=3)
    assert len(place.sql("SHOW TASKS")) == 1
    with pytest.raises(Exception, match="091421"):
        place.sql("ALTER TASK r MODIFY AS SELECT 1")

    def cancelled() -> bool:
        return place.sql("SELECT SYSTEM$USER_TASK_CANCEL_ONGOING_EXECUTIONS('r')")[0][0].startswith("1 ")

    await_that(cancelled)
    await_that(lambda: place.states("R") == [RunState.CANCELLED])
    place.advance(minutes=1)
    await_that(lambda: place.states("R") == [RunState.CANCELLED, RunState.EXECUTING])


def test_timeouts_fail_and_failures_suspend(place: Place) -> None:
    place.sql(
        "CREATE TASK r SCHEDULE = '1 MINUTE' USER_TASK_TIMEOUT_MS = 20000 SUSPEND_TASK_AFTER_NUM_FAILURES = 2 "
        "AS CALL SYSTEM$WAIT(600)"
    )
    place.sql("ALTER TASK r RESUME")
    for count in (1, 2):
        place.advance(minutes=1)
        await_that(lambda count=count: len(place.runs("R")) == count)  # type: ignore[misc]
        # The worker must have begun to be stopped.
        await_that(lambda: bool(place.account.services[Tasks].running()))
        place.advance(seconds=21)
        await_that(lambda count=count: place.runs("R")[count - 1].state is not RunState.EXECUTING)  # type: ignore[misc]
    await_that(lambda: place.states("R") == [RunState.FAILED, RunState.FAILED_AND_AUTO_SUSPENDED])
    assert "timeout of 20000" in (place.runs("R")[0].error_message or "")
    shown = place.session.execute("SHOW TASKS")
    names = [column.name for column in shown.columns]
    row = dict(zip(names, shown.rows()[0], strict=True))
    assert (row["state"], row["last_suspended_reason"]) == ("suspended", "SUSPENDED_DUE_TO_ERRORS")
    place.advance(hours=1)
    assert len(place.runs("R")) == 2


def test_overlapping_runs(place: Place) -> None:
    place.sql("CREATE TASK r SCHEDULE = '1 MINUTE' ALLOW_OVERLAPPING_EXECUTION = TRUE AS SELECT 1")
    place.sql("CREATE TASK c AFTER r AS CALL SYSTEM$WAIT(600)")
    place.sql("ALTER TASK c RESUME")
    place.sql("ALTER TASK r RESUME")
    place.advance(minutes=1)
    await_that(lambda: place.states("C") == [RunState.EXECUTING])
    place.advance(minutes=1)
    await_that(lambda: place.states("C") == [RunState.EXECUTING] * 2)
    assert len({run.group_id for run in place.runs("C")}) == 2


def test_branches_on_what_became_of_other_tasks(place: Place) -> None:
    place.sql("CREATE TABLE t (who VARCHAR)")

    def task(name: str, clauses: str, table: str = "t") -> None:
        place.sql(f"CREATE TASK {name} {clauses} AS INSERT INTO {table} VALUES ('{name}')")

    task("root", "SCHEDULE = '60 MINUTES'")
    task("good", "AFTER root")
    task("bad", "AFTER root", "nowhere")
    task("idle", "AFTER root WHEN SYSTEM$GET_PREDECESSOR_RETURN_VALUE() = 'never'")
    task("off", "AFTER bad")
    task("usual", "AFTER bad, good")
    conditions = {
        "alarm": ("bad, good", "SYSTEM$PREDECESSORS_STATE('AT_LEAST_ONE_FAILED')"),
        "calm": ("bad, good", "SYSTEM$PREDECESSORS_STATE('NONE_FAILED')"),
        "cleaner": ("bad, good, idle", "SYSTEM$PREDECESSORS_STATE('all_done')"),
        "behind_off": ("off", "SYSTEM$PREDECESSORS_STATE('ALL_FAILED')"),
        "rest": ("idle", "SYSTEM$PREDECESSORS_STATE('ALL_SKIPPED')"),
        "late": ("usual", "SYSTEM$TASK_COMPLETION_STATE('USUAL') = 'NOT_EXECUTED'"),
        "hopeful": ("usual", "SYSTEM$PREDECESSORS_STATE('ALL_DONE')"),
        "picky": ("cleaner", "SYSTEM$TASK_COMPLETION_STATE('BAD') = 'FAILED' AND "
                             "SYSTEM$TASK_COMPLETION_STATE('ROOT') = 'SUCCEEDED'"),
    }  # fmt: skip
    for name, (after, condition) in conditions.items():
        task(name, f"AFTER {after} WHEN {condition}")
    place.sql("SELECT SYSTEM$TASK_DEPENDENTS_ENABLE('root')")
    place.sql("ALTER TASK root SUSPEND")
    place.sql("ALTER TASK off SUSPEND")
    place.sql("EXECUTE TASK root")
    await_that(lambda: any(run.state is RunState.FAILED for run in place.graph_runs()))
    found = {run.name.name.lower(): str(run.state) for run in place.runs()}
    assert found == {
        "root": "SUCCEEDED", "good": "SUCCEEDED", "bad": "FAILED", "idle": "SKIPPED",
        "alarm": "SUCCEEDED", "calm": "SKIPPED", "cleaner": "SUCCEEDED", "behind_off": "SUCCEEDED",
        "rest": "SUCCEEDED", "late": "SUCCEEDED", "hopeful": "SKIPPED", "picky": "SUCCEEDED",
    }  # fmt: skip


def test_a_run_can_be_repeated_for_a_fortnight(place: Place) -> None:
    place.sql("CREATE TASK root SCHEDULE = '60 MINUTES' AS INSERT INTO nowhere VALUES (1)")
    place.sql("EXECUTE TASK root")
    await_that(lambda: place.states("ROOT") == [RunState.FAILED])
    await_that(lambda: place.graph_runs()[0].state is RunState.FAILED)
    place.advance(days=13)
    place.sql("EXECUTE TASK root RETRY LAST")
    await_that(lambda: place.states("ROOT") == [RunState.FAILED] * 2)
    await_that(lambda: place.graph_runs()[0].state is RunState.FAILED)
    place.advance(days=15)
    with pytest.raises(SnowmeltError, match="no suitable run"):
        place.sql("EXECUTE TASK root RETRY LAST")


def test_the_return_value_of_a_task_further_up(place: Place) -> None:
    place.sql("CREATE TABLE t (said VARCHAR)")
    place.sql("CREATE TASK root SCHEDULE = '60 MINUTES' AS CALL SYSTEM$SET_RETURN_VALUE('from the top')")
    place.sql("CREATE TASK middle AFTER root AS INSERT INTO t VALUES ('middle')")
    place.sql(
        "CREATE TASK last AFTER middle WHEN SYSTEM$GET_PREDECESSOR_RETURN_VALUE('ROOT') = 'from the top' "
        "AS INSERT INTO t VALUES ('last')"
    )
    place.sql("SELECT SYSTEM$TASK_DEPENDENTS_ENABLE('root')")
    place.sql("EXECUTE TASK root")
    await_that(lambda: place.states("LAST") == [RunState.SUCCEEDED])


def test_a_graph_keeps_its_version_while_it_runs(place: Place) -> None:
    place.sql("CREATE TABLE t (a INT)")
    place.sql("CREATE TASK r AS CALL SYSTEM$WAIT(1)")
    place.sql("CREATE TASK c AFTER r AS INSERT INTO t VALUES (1)")
    place.sql("ALTER TASK c RESUME")
    place.sql("EXECUTE TASK r")
    await_that(lambda: place.states("R") == [RunState.EXECUTING])
    place.sql("ALTER TASK c MODIFY AS INSERT INTO t VALUES (1), (2)")
    place.sql("CREATE TASK d AFTER c AS INSERT INTO t VALUES (3)")
    await_that(lambda: place.states("C") == [RunState.SUCCEEDED])
    assert place.rows("T") == 1
    place.sql("EXECUTE TASK r")
    await_that(lambda: place.states("C") == [RunState.SUCCEEDED] * 2)
    assert place.rows("T") == 3
    assert [run.version for run in place.runs("C")] == [1, 2]


def test_stopping_leaves_what_can_be_repeated_for_the_next_start(tmp_path: Path) -> None:
    clock = ShiftedClock()
    with open_account(tmp_path / "data", clock=clock) as account:
        session = account.session()
        session.execute("CREATE TASK r AS CALL SYSTEM$WAIT(600)")
        session.execute("CREATE TASK f FINALIZE = r AS SELECT 1")
        session.execute("ALTER TASK f RESUME")
        account.services[Tasks].start()
        session.execute("EXECUTE TASK r")
        place = Place(account, clock)
        await_that(lambda: place.states("R") == [RunState.EXECUTING])
        account.services[Tasks].stop(0.0)
        assert place.states("R") == [RunState.FAILED]
        assert place.states("F") == []
        account.services[Tasks].start()
        await_that(lambda: place.states("F") == [RunState.SUCCEEDED])
        with account.state.read() as state:
            assert state[TaskRecords].standing(place.runs("R")[0].task_id).failures == 0
