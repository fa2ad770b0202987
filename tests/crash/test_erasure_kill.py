"""kill -9 between any two steps of forgetting a person: resumed, it is done as if nothing had happened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.runtime.account import Account
from tests.conftest import SPARK
from tests.crash.test_refresh_kill import killed
from tests.features.erasure.people import EMAIL, files_with, tables_with

PLACES = (
    "erasure-noted:1", "after-commit:1", "inside-flip:1", "erasure-table-changed:1", "erasure-table-changed:2",
    "erasure-rows-removed:1", "erasure-refreshed:1", "erasure-streams-moved:1", "versions-forgotten:1",
    "before-file-removed:1", "files-removed:1", "before-entry-removed:1", "erasure-history-cleared:2",
    "erasure-dropped-purged:1", "erasure-texts-blanked:1", "erasure-proved:1",
)  # fmt: skip
SHOP = """
CREATE TABLE customers (id INT, email VARCHAR);
INSERT INTO customers VALUES (42, 'ada@example.org'), (7, 'bob@example.org');
CREATE TABLE backup CLONE customers;
CREATE TABLE gone AS SELECT * FROM customers;
DROP TABLE gone;
CREATE DYNAMIC TABLE emails TARGET_LAG = '1 minute' WAREHOUSE = compute_wh AS
  SELECT email, COUNT(*) AS n FROM customers GROUP BY email;
CREATE STREAM changes ON TABLE customers;
"""
FORGET = f"CALL SYSTEM$FORGET_PERSON('{json.dumps({'columns': {'customers.id': 42}})}')"


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_killed_and_resumed(shared_account: Account, tmp_path: Path, place: str) -> None:
    # The account of the other tests keeps Spark up between the lives.
    shared_account.engine.session()
    data = tmp_path / "data"
    with open_account(data, settings=Settings(spark=SPARK)) as opened:
        opened.session().execute_script(SHOP)
    assert killed(data, place, FORGET) == -9
    with open_account(data, settings=Settings(spark=SPARK)) as opened:
        session = opened.session()
        resumed = json.loads(session.execute("CALL SYSTEM$RESUME_ERASURES()").rows()[0][0])
        assert [each["state"] for each in resumed] == ["DONE"]
        assert tables_with(session, EMAIL) == []
        assert session.execute("SELECT id FROM customers").rows() == [(7,)]
        assert session.execute("SELECT email, n FROM emails").rows() == [("bob@example.org", 1)]
        assert session.execute("SELECT * FROM changes").rows() == []
        assert json.loads(session.execute("SELECT SYSTEM$CHECK_DYNAMIC_TABLE('emails')").rows()[0][0])["equal"]
        opened.journal.flush()
        opened.state.rewrite()
        assert list(files_with(data, EMAIL)) == []
