"""kill -9 between any two steps of a statement that consumes a stream: every change arrives once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.runtime.account import Account
from tests.conftest import SPARK
from tests.crash.test_refresh_kill import killed

PLACES = ("log-entry-linked:1", "before-flip:1", "inside-flip:1", "after-flip:1")
CONSUME = "INSERT INTO target SELECT id FROM s"


@pytest.mark.slow
def test_every_change_arrives_once(account: Account, tmp_path: Path) -> None:
    # The account of the other tests keeps Spark up between the lives.
    account.engine.session()
    data = tmp_path / "data"
    with open_account(data, settings=Settings(spark=SPARK)) as opened:
        session = opened.session()
        session.execute("CREATE TABLE t (id INT)")
        session.execute("CREATE TABLE target (id INT)")
        session.execute("CREATE STREAM s ON TABLE t")
    expected: list[int] = []
    for life, place in enumerate(PLACES):
        with open_account(data, settings=Settings(spark=SPARK)) as opened:
            opened.session().execute(f"INSERT INTO t VALUES ({life}), ({life + 100})")
        expected += [life, life + 100]
        assert killed(data, place, CONSUME) == -9, place
        with open_account(data, settings=Settings(spark=SPARK)) as opened:
            session = opened.session()
            arrived = [row[0] for row in session.execute("SELECT id FROM target").rows()]
            left = [row[0] for row in session.execute("SELECT id FROM s").rows()]
            assert Counter([*arrived, *left]) == Counter(expected), place
            # Nothing before the flip counts, everything after it does.
            assert bool(left) == (place != "after-flip:1"), place
            session.execute(CONSUME)
            rows = session.execute("SELECT id FROM target").rows()
            assert Counter(row[0] for row in rows) == Counter(expected), place
