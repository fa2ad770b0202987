"""kill -9 in refreshes that keep states: neither a wrong table nor a wrong state afterwards, and no file for ever."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.features.dynamic_tables.service import DynamicTables
from snowmelt.runtime.account import Account
from snowmelt.runtime.incremental.operator_states import FOLDER
from snowmelt.state.dynamic_model import RefreshAction, RefreshTrigger
from snowmelt.state.model import CatalogObject, TableDefinition
from tests.conftest import SPARK
from tests.crash.test_refresh_kill import consistent, killed

QUERY = "SELECT total, COUNT(*) AS n FROM (SELECT k, SUM(n) AS total FROM s GROUP BY k) GROUP BY total"
STATES = 2
CHANGING = (
    "stages-computed", "after-commit", "state-written:1", "state-written:2", "inside-flip", "before-state-removed",
)  # fmt: skip
"""Where a refresh by changes dies; `test_refresh_kill` has what is the same without states. Each life starts Spark."""
FILLING = ("state-filled:1", "state-filled:2", "inside-flip")
"""The same for one that computes the states again, because their files are gone."""
REFRESHES = 6
"""With those of the lives, more files than a state may have: they are put together in between."""


@pytest.mark.slow
def test_a_refresh_that_dies_leaves_its_states_right(account: Account, tmp_path: Path) -> None:
    rnd = random.Random(4)
    data = created(account, tmp_path)
    with opened(data) as first:
        for _ in range(REFRESHES):
            refreshed(first, rnd)
    for place in CHANGING:
        live(data, place, rnd, lost=False)


@pytest.mark.slow
def test_a_refresh_that_dies_while_it_fills_its_states(account: Account, tmp_path: Path) -> None:
    rnd = random.Random(5)
    data = created(account, tmp_path)
    for place in FILLING:
        live(data, place, rnd, lost=True)


def created(account: Account, folder: Path) -> Path:
    # The account of the other tests keeps Spark up between the lives.
    account.engine.session()
    data = folder / "data"
    with opened(data) as first:
        session = first.session()
        session.execute("CREATE TABLE s (k INT, n INT)")
        session.execute("INSERT INTO s VALUES (1, 1), (2, 1), (3, 5)")
        session.execute(
            "CREATE DYNAMIC TABLE d TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH REFRESH_MODE = INCREMENTAL"
            f" AS {QUERY}"
        )
    return data


def opened(data: Path) -> Account:
    return open_account(data, settings=Settings(spark=SPARK))


def live(data: Path, place: str, rnd: random.Random, *, lost: bool) -> None:
    with opened(data) as account:
        change(account, rnd)
        if lost:
            for file in folder_of(account, table_of(account)).rglob("*.parquet"):
                file.unlink()
        elif place == "before-state-removed":
            (folder_of(account, table_of(account)) / "left.parquet").touch()
    assert killed(data, place, "ALTER DYNAMIC TABLE d REFRESH") == -9, place
    with opened(data) as account:
        table = table_of(account)
        with account.state.read() as state:
            assert state.dynamic.executing() == [], place
        consistent(account, table.id, place)
        assert account.services[DynamicTables].check(table)["equal"], place
        session = account.session()
        session.execute("ALTER DYNAMIC TABLE d REFRESH")
        assert account.services[DynamicTables].check(table)["equal"], place
        assert session.execute("SELECT * FROM d ORDER BY 1").rows() == session.execute(f"{QUERY} ORDER BY 1").rows()
        # What the states hold decides about this one: they must be neither too old nor too new.
        refreshed(account, rnd)
        assert on_disk(account, table) == named(account, table), place


def change(account: Account, rnd: random.Random) -> None:
    session = account.session()
    # A sum that was never there: the table changes.
    session.execute(
        f"INSERT INTO s VALUES ({rnd.randint(1, 6)}, {rnd.randint(10**6, 10**9)}), ({rnd.randint(1, 6)}, 1)"
    )
    session.execute(f"DELETE FROM s WHERE k = {rnd.randint(1, 6)} AND n = {rnd.randint(1, 5)}")


def refreshed(account: Account, rnd: random.Random) -> None:
    change(account, rnd)
    table = table_of(account)
    outcome = next(iter(account.services[DynamicTables].refresh([table.id], RefreshTrigger.MANUAL).values()))
    assert outcome.succeeded and outcome.action is RefreshAction.INCREMENTAL, outcome
    assert account.services[DynamicTables].check(table)["equal"]


def table_of(account: Account) -> CatalogObject:
    (node,) = account.services[DynamicTables].graph().nodes.values()
    return node.table


def folder_of(account: Account, table: CatalogObject) -> Path:
    assert isinstance(table.definition, TableDefinition)
    return account.store.root.path(table.definition.location) / FOLDER


def on_disk(account: Account, table: CatalogObject) -> set[str]:
    return {entry.name for entry in folder_of(account, table).iterdir()}


def named(account: Account, table: CatalogObject) -> set[str]:
    with account.state.read() as state:
        states = state.dynamic.require(table.id).operator_states
    assert len(states) == STATES
    return {file.split("/", 1)[0] for recorded in states.values() for file in recorded.files}
