"""Upkeep of an account at work: its thread, who goes first, records, leftovers, the command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from snowmelt import accounts
from snowmelt.cli.main import app
from snowmelt.core.clock import ManualClock
from snowmelt.core.config import Settings, UpkeepSettings
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.observing.service import Observing
from snowmelt.features.upkeep.service import FinishedJob, Upkeep
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.scheduler.upkeep import Compact, TrimHistories
from snowmelt.state.model import QueryRecord
from tests.runtime.transactions.seeing import location, seen
from tests.support.table_files import files_on_disk, live_files
from tests.support.waiting import wait_until

DAY = timedelta(days=1)


@pytest.fixture
def open_account(tmp_path: Path, clock: ManualClock) -> Iterator[Callable[..., Account]]:
    opened: list[Account] = []

    def opening(**settings: float) -> Account:
        chosen = UpkeepSettings(**{"small_files": 4, **settings})  # type: ignore[arg-type]
        opened.append(accounts.open_account(tmp_path / "data", settings=Settings(upkeep=chosen), clock=clock))
        return opened[-1]

    yield opening
    for account in opened:
        account.close()


def filled(account: Account, count: int = 6) -> Session:
    session = account.session()
    session.execute("CREATE TABLE T (ID INT)")
    for number in range(count):
        session.execute(f"INSERT INTO T VALUES ({number})")
    return session


def of(done: list[FinishedJob], kind: type) -> list[FinishedJob]:
    return [item for item in done if isinstance(item.job, kind)]


def test_the_thread_of_a_server(open_account: Callable[..., Account]) -> None:
    account = open_account(every_seconds=0.02, share=1)
    session = filled(account, 20)
    # What nobody watches is not counted; a server watches from its start.
    watching = account.services[Observing]
    account.services[Upkeep].start()
    wait_until(lambda: len(live_files(account, "T")) <= 4, "the files are not put together")
    assert seen(session, "T") == [list(range(20))]
    # Counted when the job is over, a moment after its files are seen.
    done = 'snowmelt_upkeep_jobs_total{job="compact",outcome="DONE"}'
    wait_until(lambda: done in watching.metrics_text().decode(), "the job is not counted")


def test_not_when_the_settings_say_so(open_account: Callable[..., Account]) -> None:
    account = open_account(enabled=False)
    account.services[Upkeep].start()
    assert account.services[Upkeep]._thread is None


def test_a_table_that_somebody_writes_comes_later(open_account: Callable[..., Account]) -> None:
    account = open_account()
    session = filled(account)
    session.execute_script("BEGIN; INSERT INTO T VALUES (100)")
    before = files_on_disk(account, "T")
    (tried,) = of(account.services[Upkeep].run(), Compact)
    assert tried.outcome == "POSTPONED"
    assert files_on_disk(account, "T") == before, "the file that was written for it is left"
    session.execute("COMMIT")
    assert [item.outcome for item in of(account.services[Upkeep].run(), Compact)] == ["DONE"]
    assert seen(session, "T") == [[*range(6), 100]]
    assert of(account.services[Upkeep].run(), Compact) == []


def test_the_budget_of_an_hour(open_account: Callable[..., Account], clock: ManualClock) -> None:
    account = open_account(bytes_per_hour=1)
    session = filled(account)
    assert len(of(account.services[Upkeep].run(), Compact)) == 1, "larger than all of it, and nothing else was done"
    for number in range(10, 16):
        session.execute(f"INSERT INTO T VALUES ({number})")
    assert of(account.services[Upkeep].run(), Compact) == []
    clock.advance(timedelta(days=400))
    assert len(of(account.services[Upkeep].run(), Compact)) == 1


def test_records_are_trimmed(open_account: Callable[..., Account], clock: ManualClock) -> None:
    account = open_account(query_history_days=2)
    old = QueryRecord(
        query_id="", session_id="1", text="SELECT 1", query_type="SELECT", database=None, schema_name=None, user="U",
        role="R", warehouse=None, status="success", start_time=clock.now() - 3 * DAY,
    )  # fmt: skip
    with account.state.begin() as state:
        state.queries.record([old.model_copy(update={"query_id": f"old-{number}"}) for number in range(1200)])
        state.queries.record([old.model_copy(update={"query_id": "new", "start_time": clock.now()})])
        state.queries.record([old.model_copy(update={"query_id": "going on", "status": "running"})])
    (done,) = of(account.services[Upkeep].run(), TrimHistories)
    assert (done.rows, done.message) == (1200, "queries 1200")
    with account.state.read() as reader:
        assert {query.query_id for query in reader.queries.list(10)} == {"new", "going on"}
    assert of(account.services[Upkeep].run(), TrimHistories) == []


def test_files_that_nobody_names(open_account: Callable[..., Account], clock: ManualClock) -> None:
    account = open_account(orphan_hours=1e-9, result_hours=1e-9)
    session = filled(account, 2)
    folder = account.store.root.path(location(account, "T"))
    (folder / "part-lost.parquet").write_bytes(b"PAR1")
    (folder / "_delta_log" / ".00000000000000000009.json.1.tmp").write_text("{")
    results = account.data_dir / "results" / "session" / "rows-1"
    results.mkdir(parents=True)
    account.services[Upkeep].run()
    assert files_on_disk(account, "T") == 2
    assert not list((folder / "_delta_log").glob(".*.tmp"))
    assert not results.exists()
    assert seen(session, "T") == [[0, 1]]


def test_what_was_dropped_goes(open_account: Callable[..., Account], clock: ManualClock) -> None:
    account = open_account()
    session = filled(account)
    folder = account.store.root.path(location(account, "T"))
    session.execute("DROP TABLE T")
    clock.advance(DAY - timedelta(minutes=1))
    account.services[Upkeep].run()
    assert folder.exists()
    clock.advance(timedelta(hours=2))
    account.services[Upkeep].run()
    assert not folder.exists()


def test_the_command(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with accounts.open_account(data) as account:
        filled(account, 40)
    runner = CliRunner()
    planned = runner.invoke(app, ["upkeep", "--data", str(data), "--dry-run"])
    assert (planned.exit_code, "planned" in planned.output) == (0, True)
    done = runner.invoke(app, ["upkeep", "--data", str(data)])
    assert (done.exit_code, "SNOWMELT.PUBLIC.T" in done.output) == (0, True)
    with accounts.open_account(data) as account:
        assert len(live_files(account, "T")) == 1


def test_only_who_manages_the_account(open_account: Callable[..., Account]) -> None:
    account = open_account()
    session = account.session()
    session.execute_script("CREATE ROLE small; GRANT USAGE ON DATABASE SNOWMELT TO ROLE small")
    other = account.session(role="SMALL")
    for statement in ("CALL SYSTEM$UPKEEP()", "SELECT SYSTEM$UPKEEP_PLAN()"):
        with pytest.raises(SnowmeltError, match="Insufficient privileges"):
            other.execute(statement)
