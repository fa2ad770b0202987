"""Data directories that earlier versions wrote open, hold what they held, and are refreshed by changes as before.

Each archive here is named after the day of the version that wrote it, by `made_by.sql`.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import QuickMode, QuickSettings, Settings
from snowmelt.runtime.session import Session

ARCHIVES = sorted(Path(__file__).parent.glob("*.tar.gz"))


@pytest.fixture(params=ARCHIVES, ids=[path.name for path in ARCHIVES])
def earlier(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path / "data", filter="data")
    settings = Settings(quick=QuickSettings(mode=QuickMode.ALL))
    with open_account(tmp_path / "data", settings=settings) as account:
        yield account.session()


def rows(session: Session, query: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(str(value) for value in row) for row in session.execute(query).rows())


def test_all_is_there_and_goes_on(earlier: Session) -> None:
    session = earlier
    assert rows(session, "SELECT id, amount FROM orders") == [
        ("1", "6.25"), ("3", "7.50"), ("4", "1.25"), ("5", "3.00")
    ]  # fmt: skip
    assert rows(session, "SELECT id FROM large") == [("1",), ("3",)]
    assert rows(session, "SELECT id, TYPEOF(body) FROM events") == [("1", "OBJECT")]
    assert rows(session, "SELECT region, n, total, most FROM regions") == [
        ("north", "1", "6.25", "6.25"), ("south", "2", "8.75", "7.50")
    ]  # fmt: skip
    assert rows(session, "SELECT id, metadata$action FROM changed") == [
        ("1", "DELETE"), ("1", "INSERT"), ("2", "DELETE"), ("4", "INSERT"), ("5", "INSERT")
    ]  # fmt: skip
    session.execute("INSERT INTO taken SELECT id, metadata$action FROM changed")
    assert rows(session, "SELECT COUNT(*) FROM changed") == [("0",)]
    session.execute("INSERT INTO numbered (name) VALUES ('three')")
    assert len(set(rows(session, "SELECT id FROM numbered"))) == 3
    assert "SELECT" in str(session.execute("SHOW GRANTS TO ROLE reader").rows())
    session.execute("ALTER TASK take RESUME")
    session.execute("ALTER TASK take SUSPEND")


def test_refreshes_go_by_changes(earlier: Session) -> None:
    earlier.execute("UPDATE customers SET region = 'west' WHERE id = 2")
    for table in ("regions", "latest"):
        earlier.execute(f"ALTER DYNAMIC TABLE {table} REFRESH")
        told = earlier.execute(f"SELECT SYSTEM$CHECK_DYNAMIC_TABLE('{table}')").rows()[0][0]
        assert json.loads(told)["equal"], told
    found = earlier.execute(
        "SELECT name, refresh_action FROM TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY())"
        " QUALIFY ROW_NUMBER() OVER (PARTITION BY name ORDER BY refresh_start_time DESC) = 1"
    )
    assert {str(name): str(action) for name, action in found.rows()} == {
        "PLACED": "INCREMENTAL", "REGIONS": "INCREMENTAL", "LATEST": "INCREMENTAL"
    }  # fmt: skip
