"""The files of states: which of them a refresh may remove."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from snowmelt.features.dynamic_tables.service import DynamicTables
from snowmelt.runtime.account import Account
from snowmelt.runtime.incremental import operator_states
from snowmelt.runtime.session import Session
from snowmelt.state.dynamic_model import DynamicState, RefreshAction, RefreshTrigger
from snowmelt.state.model import CatalogObject, TableDefinition


def dynamic_table(account: Account, session: Session) -> tuple[CatalogObject, DynamicState]:
    graph = account.services[DynamicTables].graph()
    node = next(node for node in graph.nodes.values() if node.table.name.database == session.database)
    return node.table, node.state


def test_a_refresh_leaves_the_files_of_the_next_one_alone(
    session: Session, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It removes files after it let the table go, when the next one may have written its own."""
    session.execute("CREATE TABLE s (k INT, n INT)")
    session.execute("INSERT INTO s VALUES (1, 1)")
    session.execute(
        "CREATE DYNAMIC TABLE d TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH REFRESH_MODE = INCREMENTAL"
        " AS SELECT k, SUM(n) AS n FROM s GROUP BY k"
    )
    table, _ = dynamic_table(account, session)
    assert isinstance(table.definition, TableDefinition)
    folder = account.store.root.path(table.definition.location) / operator_states.FOLDER
    (folder / "left-by-a-refresh-that-died.parquet").touch()
    remove = operator_states.remove

    def late(entries: Iterable[Path]) -> None:
        monkeypatch.setattr(operator_states, "remove", remove)
        session.execute("INSERT INTO s VALUES (1, 3)")
        account.services[DynamicTables].refresh([table.id], RefreshTrigger.MANUAL)
        remove(entries)

    monkeypatch.setattr(operator_states, "remove", late)
    session.execute("INSERT INTO s VALUES (1, 2)")
    outcomes = account.services[DynamicTables].refresh([table.id], RefreshTrigger.MANUAL)
    assert outcomes[table.id].action is RefreshAction.INCREMENTAL
    _, stands = dynamic_table(account, session)
    named = {file for recorded in stands.operator_states.values() for file in recorded.files}
    assert {file.split("/", 1)[0] for file in named} == {entry.name for entry in folder.iterdir()}
    assert session.execute("SELECT n FROM d").rows() == [(6,)]


def test_full_refreshes_in_a_row_keep_no_states(session: Session, account: Account) -> None:
    """Where so much changes every time that full is cheaper, nobody needs them; a small change has them again."""
    session.execute("CREATE TABLE s (k INT, n INT)")
    session.execute("INSERT INTO s VALUES (1, 1)")
    session.execute(
        "CREATE DYNAMIC TABLE d TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH REFRESH_MODE = AUTO"
        " AS SELECT k, SUM(n) AS n FROM s GROUP BY k"
    )
    full_is_cheaper = {"full_ms": 1.0, "incremental_ms": 60_000.0}
    changes_are_cheaper = {"full_ms": 60_000.0, "incremental_ms": 1.0}
    steps = [
        (full_is_cheaper, RefreshAction.FULL, True),
        (full_is_cheaper, RefreshAction.FULL, False),
        (full_is_cheaper, RefreshAction.FULL, False),
        (changes_are_cheaper, RefreshAction.FULL, True),
        (changes_are_cheaper, RefreshAction.INCREMENTAL, True),
        (full_is_cheaper, RefreshAction.FULL, True),
    ]
    for total, (costs, action, has_states) in enumerate(steps, start=2):
        table, stands = dynamic_table(account, session)
        with account.state.begin() as state:
            state.dynamic.put(stands.model_copy(update={"costs": stands.costs.model_copy(update=costs)}))
        session.execute("INSERT INTO s VALUES (1, 1)")
        outcome = account.services[DynamicTables].refresh([table.id], RefreshTrigger.MANUAL)[table.id]
        _, stands = dynamic_table(account, session)
        assert (outcome.action, bool(stands.operator_states)) == (action, has_states)
        assert session.execute("SELECT n FROM d").rows() == [(total,)]


def test_extremes_of_all_types_are_put_together(session: Session) -> None:
    """A state has one more file after each refresh; beyond some they become one."""
    columns = "k INT, n NUMBER(9, 2), t VARCHAR, d DATE, b BOOLEAN, at TIMESTAMP_NTZ, raw BINARY"
    session.execute(f"CREATE TABLE s ({columns})")
    query = (
        "SELECT k, MAX(n) AS n, MIN(t) AS t, MAX(d) AS d, MIN(b) AS b, MAX(at) AS at, MIN(raw) AS raw, COUNT(*) AS c"
        " FROM s GROUP BY k"
    )
    session.execute(
        f"CREATE DYNAMIC TABLE d TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH REFRESH_MODE = INCREMENTAL AS {query}"
    )
    for number in range(20):
        session.execute(
            f"INSERT INTO s SELECT {number % 3}, {number}.25, 't{number}', '2024-01-{number + 1:02}', {number % 2} = 0,"
            f" '2024-01-{number + 1:02} 10:00:00', TO_BINARY('{number:02}')"
        )
        session.execute("ALTER DYNAMIC TABLE d REFRESH")
    assert sorted(session.execute("SELECT * FROM d").rows()) == sorted(session.execute(query).rows())
