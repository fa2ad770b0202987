"""What text can't say about refreshes: versions, data timestamps, failures in a row, several at once."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from snowmelt.core.errors import SnowmeltError
from snowmelt.features.dynamic_tables.recording import RefreshOutcome
from snowmelt.features.dynamic_tables.service import DynamicTables
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.state.dynamic_model import (
    DynamicRefresh,
    DynamicState,
    RefreshAction,
    RefreshState,
    RefreshTrigger,
)
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition
from tests.support.waiting import DEADLINE

MANUAL, SCHEDULED = RefreshTrigger.MANUAL, RefreshTrigger.SCHEDULED
COMPUTED = (RefreshAction.FULL, RefreshAction.INCREMENTAL)


def make(session: Session, name: str, query: str, options: str = "TARGET_LAG = DOWNSTREAM") -> CatalogObject:
    session.execute(f"CREATE DYNAMIC TABLE {name} {options} WAREHOUSE = COMPUTE_WH AS {query}")
    return table_of(session, name)


def table_of(session: Session, name: str) -> CatalogObject:
    with session.account.state.read() as state:
        found = state.catalog.objects([ObjectKind.TABLE], session.database, "PUBLIC")
    return next(item for item in found if item.name.name == name.upper())


def standing(account: Account, table: CatalogObject) -> DynamicState:
    with account.state.read() as state:
        return state.dynamic.require(table.id)


def visible(account: Account, table: CatalogObject) -> int:
    with account.state.read() as state:
        found = state.versions.visible(table.id)
    assert found is not None
    return found.version


def rows(session: Session, query: str) -> list[tuple[Any, ...]]:
    return session.execute(query).rows()


def history(account: Account, table: CatalogObject) -> list[DynamicRefresh]:
    with account.state.read() as state:
        return list(reversed(state.dynamic.refreshes(datetime.min.replace(tzinfo=UTC), FAR, [table.id])))


UTC = datetime.fromisoformat("2024-01-01T00:00:00+00:00").tzinfo
FAR = datetime.max.replace(tzinfo=UTC)


def test_the_frontier_is_what_the_table_was_computed_from(session: Session, account: Account) -> None:
    session.execute("CREATE TABLE s (id INT)")
    session.execute("INSERT INTO s VALUES (1)")
    table, source = make(session, "d", "SELECT * FROM s"), table_of(session, "s")
    first = standing(account, table)
    assert first.frontier == {source.id: visible(account, source)}
    assert first.version == visible(account, table)
    session.execute("INSERT INTO s VALUES (2)")
    session.execute("ALTER DYNAMIC TABLE d REFRESH")
    second = standing(account, table)
    assert second.frontier == {source.id: visible(account, source)} != first.frontier
    assert second.data_timestamp is not None and first.data_timestamp is not None
    assert second.data_timestamp > first.data_timestamp
    last = history(account, table)[-1]
    assert (last.version, last.frontier, last.state) == (second.version, second.frontier, RefreshState.SUCCEEDED)


def test_nothing_new_costs_neither_spark_nor_a_commit(
    session: Session, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.execute("CREATE TABLE s (id INT)")
    session.execute("CREATE VIEW w AS SELECT * FROM s")
    table = make(session, "d", "SELECT id FROM w")
    version = visible(account, table)

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("Spark was asked")

    monkeypatch.setattr(account.engine, "session", refuse)
    monkeypatch.setattr(account.engine, "to_arrow", refuse)
    monkeypatch.setattr(account.engine.spark, "_present", refuse)
    for _ in range(3):
        at = account.state.settle()
        outcome = account.services[DynamicTables].refresh_table(table, at, SCHEDULED)
        assert outcome.action is RefreshAction.NO_DATA and outcome.succeeded
        assert standing(account, table).data_timestamp == at
    assert visible(account, table) == version


def test_a_source_that_is_dynamic_is_read_as_of_the_data_timestamp(session: Session, account: Account) -> None:
    session.execute("CREATE TABLE s (id INT)")
    session.execute("INSERT INTO s VALUES (1)")
    upper = make(session, "upper_", "SELECT id FROM s")
    lower = make(session, "lower_", "SELECT COUNT(*) AS n FROM upper_ u JOIN s ON u.id = s.id")
    session.execute("INSERT INTO s VALUES (2)")
    early = account.state.settle()
    assert account.services[DynamicTables].refresh_table(upper, early, MANUAL).action in COMPUTED
    session.execute("INSERT INTO s VALUES (3)")
    late = account.state.settle()
    assert account.services[DynamicTables].refresh_table(upper, late, MANUAL).action in COMPUTED
    assert account.services[DynamicTables].refresh_table(lower, early, MANUAL).succeeded
    assert rows(session, "SELECT n FROM lower_") == [(2,)]
    assert account.services[DynamicTables].refresh_table(lower, late, MANUAL).succeeded
    assert rows(session, "SELECT n FROM lower_") == [(3,)]
    # Back in time is nothing to do.
    again = account.services[DynamicTables].refresh_table(lower, early, MANUAL)
    assert again.succeeded and again.refresh_id is None


def test_five_scheduled_failures_in_a_row_suspend_a_table_and_what_reads_it(session: Session, account: Account) -> None:
    session.execute("CREATE TABLE s (id INT)")
    session.execute("INSERT INTO s VALUES (1)")
    table = make(session, "d", "SELECT 1 / id AS x FROM s")
    below = make(session, "e", "SELECT x FROM d")
    session.execute("INSERT INTO s VALUES (0)")
    for count in range(1, 6):
        assert not standing(account, table).suspended
        outcome = account.services[DynamicTables].refresh_table(table, account.state.settle(), SCHEDULED)
        assert outcome.state is RefreshState.FAILED and outcome.error is not None and outcome.error.code == "100051"
        assert standing(account, table).failures == count
        # Neither a refresh by hand nor an attempt that will be repeated counts.
        account.services[DynamicTables].refresh_table(table, account.state.settle(), MANUAL)
        account.services[DynamicTables].refresh_table(table, account.state.settle(), SCHEDULED, counts_as_failure=False)
        assert standing(account, table).failures == count
    assert standing(account, table).reason_code == "SUSPENDED_DUE_TO_ERRORS"
    assert standing(account, below).reason_code == "UPSTREAM_SUSPENDED_DUE_TO_ERRORS"
    assert rows(session, "SELECT * FROM d") == rows(session, "SELECT 1 / 1")
    session.execute("DELETE FROM s WHERE id = 0")
    session.execute("ALTER DYNAMIC TABLE d RESUME")
    assert (standing(account, table).suspended, standing(account, below).suspended) == (False, False)
    assert account.services[DynamicTables].refresh_table(table, account.state.settle(), SCHEDULED).succeeded
    assert standing(account, table).failures == 0


def test_a_table_is_never_refreshed_twice_at_once(session: Session, account: Account) -> None:
    session.execute("CREATE TABLE s (id INT)")
    table = make(session, "d", "SELECT id FROM s")
    session.execute("INSERT INTO s VALUES (1)")
    at = account.state.settle()
    outcomes: list[RefreshOutcome] = []

    def refresh() -> None:
        outcomes.append(account.services[DynamicTables].refresh_table(table, at, MANUAL))

    threads = [threading.Thread(target=refresh) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(outcome.succeeded for outcome in outcomes)
    assert sum(outcome.action in COMPUTED for outcome in outcomes) == 1
    assert len(history(account, table)) == 2


def test_all_tables_of_a_group_see_the_same_base(session: Session, account: Account) -> None:
    """A diamond over two tables that are always changed together, while they are."""
    session.execute("CREATE TABLE p (id INT)")
    session.execute("CREATE TABLE q (id INT)")
    make(session, "a", "SELECT id FROM p")
    make(session, "b", "SELECT id FROM q")
    bottom = make(session, "c", "SELECT (SELECT COUNT(*) FROM a) AS n, (SELECT COUNT(*) FROM b) AS m")
    stop = threading.Event()

    def write() -> None:
        writer = account.session(database=session.database)
        number = 0
        while not stop.is_set():
            number += 1
            writer.execute_script(f"BEGIN; INSERT INTO p VALUES ({number}); INSERT INTO q VALUES ({number}); COMMIT")
        writer.close()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(4):
            outcomes = account.services[DynamicTables].refresh([bottom.id], MANUAL)
            assert all(outcome.succeeded for outcome in outcomes.values())
            [(first, second)] = rows(session, "SELECT n, m FROM c")
            assert first == second
    finally:
        stop.set()
        thread.join()


def test_a_refresh_that_is_cancelled_leaves_the_table(session: Session, account: Account) -> None:
    session.execute("CREATE TABLE s (id INT)")
    table = make(session, "d", "SELECT id FROM s")
    session.execute("INSERT INTO s VALUES (1)")
    holder = account.transactions.begin(explicit=True)
    account.transactions.open_for_write(holder, table)
    failures: list[SnowmeltError] = []

    def refresh() -> None:
        try:
            session.execute("ALTER DYNAMIC TABLE d REFRESH")
        except SnowmeltError as error:
            failures.append(error)

    thread = threading.Thread(target=refresh)
    thread.start()
    _until(lambda: session.running is not None)
    session.cancel()
    thread.join()
    account.transactions.rollback(holder)
    assert [error.code for error in failures] == ["000604"]
    assert history(account, table)[-1].state is RefreshState.CANCELLED
    session.execute("ALTER DYNAMIC TABLE d REFRESH")
    assert rows(session, "SELECT * FROM d") == [(1,)]


def test_what_another_tool_wrote_into_a_dynamic_table_is_found_and_goes(session: Session, account: Account) -> None:
    session.execute("CREATE TABLE s (id INT)")
    session.execute("INSERT INTO s VALUES (1), (1), (2)")
    table = make(session, "d", "SELECT id FROM s")
    assert account.services[DynamicTables].check(table)["equal"]
    assert isinstance(table.definition, TableDefinition)
    uri = account.store.root.uri_of(table.definition.location)
    kept = pa.schema(DeltaTable(uri).schema().to_arrow())
    write_deltalake(uri, pa.table({"ID": [7, 1]}).cast(kept), mode="append")
    assert rows(session, "SELECT COUNT(*) FROM d") == [(5,)]
    verdict = json.loads(rows(session, "SELECT SYSTEM$CHECK_DYNAMIC_TABLE('d')")[0][0])
    assert (verdict["equal"], verdict["missing_rows"], verdict["unexpected_rows"]) == (False, 0, 2)
    found = sorted(verdict["differences"], key=lambda item: item["row"]["ID"])
    assert found == [
        {"row": {"ID": "1"}, "expected": 2, "actual": 3},
        {"row": {"ID": "7"}, "expected": 0, "actual": 1},
    ]
    session.execute("ALTER DYNAMIC TABLE d REFRESH")
    assert history(account, table)[-1].action is RefreshAction.REINITIALIZE
    assert account.services[DynamicTables].check(table)["equal"]


def test_what_another_tool_wrote_into_a_source_is_part_of_the_next_refresh(session: Session, account: Account) -> None:
    session.execute("CREATE TABLE s (id INT)")
    make(session, "d", "SELECT id FROM s")
    source = table_of(session, "s")
    assert isinstance(source.definition, TableDefinition)
    uri = account.store.root.uri_of(source.definition.location)
    kept = pa.schema(DeltaTable(uri).schema().to_arrow())
    write_deltalake(uri, pa.table({"ID": [7]}).cast(kept), mode="append")
    session.execute("ALTER DYNAMIC TABLE d REFRESH")
    assert rows(session, "SELECT * FROM d") == [(7,)]


def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.005)
