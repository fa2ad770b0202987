"""kill -9 between any two steps of a refresh: the table is as it was or as it should be, and its history says which."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.features.dynamic_tables.service import DynamicTables
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.state.dynamic_model import RefreshState
from tests.conftest import SPARK

ROOT = Path(__file__).parents[2]
PLACES = (
    "refresh-recorded:1", "refresh-recorded:2", "refresh-bound:1", "before-commit:2", "after-commit:1",
    "after-commit:2", "before-flip:1", "inside-flip:1", "inside-flip:2", "after-flip:1", "after-flip:2",
    "refresh-done:1",
)  # fmt: skip
"""The second time is the table at the end of the chain."""
TABLES = ("UPPER_", "LOWER_")
QUERIES = ("SELECT k, n FROM s", "SELECT k, SUM(n) AS n FROM upper_ GROUP BY k")


def killed(data: Path, place: str, statement: str) -> int:
    """Runs a statement in a process that dies on its way, and how it ended."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path, "SNOWMELT_TEST_KILL_AT": place, "SNOWMELT_LOG_LEVEL": "ERROR"}
    command = [sys.executable, "-m", "snowmelt", "sql", "--data", str(data), "-q", statement]
    return subprocess.run(command, env=environment, cwd=ROOT, check=False, capture_output=True, timeout=600).returncode


@pytest.mark.slow
def test_a_refresh_that_is_killed_leaves_no_wrong_table(account: Account, tmp_path: Path) -> None:
    # The account of the other tests keeps Spark up between the lives.
    account.engine.session()
    data = tmp_path / "data"
    with open_account(data, settings=Settings(spark=SPARK)) as opened:
        session = opened.session()
        session.execute("CREATE TABLE s (k INT, n INT)")
        for name, query in zip(
            TABLES, ("SELECT k, n FROM s", "SELECT k, SUM(n) AS n FROM upper_ GROUP BY k"), strict=True
        ):
            session.execute(f"CREATE DYNAMIC TABLE {name} TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH AS {query}")
    for life, place in enumerate(PLACES):
        with open_account(data, settings=Settings(spark=SPARK)) as opened:
            opened.session().execute(f"INSERT INTO s VALUES (1, {life}), ({life}, 1)")
        assert killed(data, place, "ALTER DYNAMIC TABLE lower_ REFRESH") == -9, place
        with open_account(data, settings=Settings(spark=SPARK)) as opened:
            _check(opened, opened.session(), place)


def _check(opened: Account, session: Session, place: str) -> None:
    with opened.state.read() as state:
        assert state.dynamic.executing() == [], place
    graph = opened.services[DynamicTables].graph()
    assert {node.table.name.name for node in graph.nodes.values()} == set(TABLES)
    for node in graph.nodes.values():
        consistent(opened, node.table.id, place)
        assert opened.services[DynamicTables].check(node.table)["equal"], place
    session.execute("ALTER DYNAMIC TABLE lower_ REFRESH")
    expected = session.execute("SELECT k, SUM(n) FROM s GROUP BY k ORDER BY k").rows()
    assert session.execute("SELECT k, n FROM lower_ ORDER BY k").rows() == expected, place


def consistent(opened: Account, table_id: str, place: str) -> None:
    """What is visible, where the table stands and what the history says are one and the same."""
    with opened.state.read() as state:
        dynamic = state.dynamic.require(table_id)
        visible = state.versions.visible(table_id)
        assert dynamic.data_timestamp is not None and visible is not None
        made_by = state.dynamic.refresh_as_of(table_id, dynamic.data_timestamp)
        assert dynamic.version is not None
        # A commit that was undone is followed by another one that takes it back: both together change nothing.
        assert state.versions.change_ranges(table_id, dynamic.version, visible.version) == [], place
    assert made_by is not None and made_by.state is RefreshState.SUCCEEDED
    assert made_by.data_timestamp == dynamic.data_timestamp, place
    assert made_by.version == dynamic.version, place
    assert made_by.frontier == dynamic.frontier, place
