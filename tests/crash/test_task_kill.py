"""kill -9 of the owner while tasks run: what a task did and what the history says of it are one and the same."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable

from snowmelt.accounts import open_account
from snowmelt.features.tasks.definitions import RunState
from snowmelt.features.tasks.records import TaskRecords
from snowmelt.features.tasks.service import Tasks
from snowmelt.runtime.account import Account
from snowmelt.state.model import TableDefinition
from tests.crash.driver import Zygote

PLACES = (
    "task-decided:1", "task-decided:2", "task-decided:3", "task-began:1", "task-began:2", "before-commit:1",
    "after-commit:2", "before-flip:1", "inside-flip:1", "inside-flip:2", "after-flip:1", "after-flip:2",
    "task-executed:1", "task-executed:2",
)  # fmt: skip
"""The second time is the task behind the root."""


def create(data: Path) -> None:
    with open_account(data) as account:
        session = account.session()
        for table in ("a", "b", "noise0", "noise1"):
            session.execute(f"CREATE TABLE {table} (n INT)")
        session.execute("CREATE TASK r TASK_AUTO_RETRY_ATTEMPTS = 1 AS INSERT INTO a VALUES (1)")
        session.execute("CREATE TASK c AFTER r AS INSERT INTO b VALUES (1)")
        session.execute("ALTER TASK c RESUME")


def rows(account: Account, table: str) -> int:
    """As many as a reader of the visible version finds in the files."""
    with account.state.read() as state:
        found = next(item for item in state.catalog.objects() if item.name.name == table)
        visible = state.versions.visible(found.id)
    assert isinstance(found.definition, TableDefinition) and visible is not None
    location = account.store.root.uri_of(found.definition.location)
    counted = DeltaTable(location, version=visible.version).to_pyarrow_table().num_rows
    assert counted == visible.rows
    return int(counted)


def outcomes(account: Account, task: str) -> list[RunState]:
    with account.state.read() as state:
        assert state[TaskRecords].executing() == []
        ids = [run.id for run in state[TaskRecords].graph_runs()]
        return [run.state for run in state[TaskRecords].runs_of(ids) if run.name.name == task]


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    made = Zygote("tests.crash.task_child")
    yield made
    made.close()


def die(zygote: Zygote, data: Path, *, at: str | None = None, after: float | None = None) -> None:
    paths = {name: str(data.parent / name) for name in ("output", "error")}
    status = zygote.run({"data": str(data), "once": at is not None, "kill_at": at, **paths}, after)
    assert status == -signal.SIGKILL, at


@pytest.mark.slow
def test_a_task_that_is_killed_runs_exactly_once(zygote: Zygote, tmp_path: Path) -> None:
    data = tmp_path / "data"
    create(data)
    for life, place in enumerate(PLACES, start=1):
        die(zygote, data, at=place)
        with open_account(data) as account:
            account.services[Tasks].run_due()
            assert (rows(account, "A"), rows(account, "B")) == (life, life), place
            for task in ("R", "C"):
                assert outcomes(account, task) == [RunState.SUCCEEDED] * life, place


@pytest.mark.slow
def test_killed_at_any_time_under_load(zygote: Zygote, tmp_path: Path) -> None:
    data = tmp_path / "data"
    create(data)
    chance = random.Random(7)
    for life in range(10):
        die(zygote, data, after=chance.uniform(0.5, 4.0))
        with open_account(data) as account:
            account.services[Tasks].run_due()
            for task, table in (("R", "A"), ("C", "B")):
                ran = outcomes(account, task)
                assert set(ran) <= {RunState.SUCCEEDED}, life
                assert rows(account, table) == len(ran), life
    with open_account(data) as account:
        assert rows(account, "B") > 10
