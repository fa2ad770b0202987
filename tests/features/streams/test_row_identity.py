"""METADATA$ROW_ID and rows belong together for good, also where Spark decides what becomes of rows.

A column that is different in every row and never changes says which row is which. Whatever happens to the table, each
row has one id, and each id one row, in every stream and in the table's clones.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from tests.conftest import SPARK

KEYS = st.integers(0, 3)
BY_SPARK = st.sampled_from([0, 1])
"""Of `small_write_rows`: no statement's rows are few, or those of one row are."""


class RowIdentity(RuleBasedStateMachine):
    @initialize(keys=st.lists(KEYS, min_size=2, max_size=6), small=BY_SPARK)
    def start(self, keys: list[int], small: int) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="snowmelt-rows-")
        options = Settings(spark=SPARK, small_write_rows=small)
        self.account = open_account(Path(self.folder.name) / "data", settings=options)
        self.session = self.account.session()
        self.next = 0
        self.columns = 0
        self.clones = 0
        self.rows: dict[int, tuple[int, int]] = {}
        """The key and a number, by the column that never changes."""
        self.replica: dict[int, tuple[int, int]] = {}
        self.ids: dict[int, str] = {}
        self.session.execute("CREATE TABLE t (uid INT, k INT, n INT)")
        self.session.execute("CREATE TABLE log (d INT, uid INT, k INT, n INT, action VARCHAR, upd BOOLEAN, id VARCHAR)")
        self.deliveries = 0
        self.insert(keys)
        self.session.execute("CREATE STREAM s ON TABLE t SHOW_INITIAL_ROWS = TRUE")
        self.consume()

    # -- changes --------------------------------------------------------------------------------------------------

    def _new(self, keys: list[int]) -> list[tuple[int, int, int]]:
        found = [(self.next + place, key, 0) for place, key in enumerate(keys)]
        self.next += len(keys)
        return found

    @rule(keys=st.lists(KEYS, min_size=1, max_size=4))
    def insert(self, keys: list[int]) -> None:
        new = self._new(keys)
        self.session.execute(f"INSERT INTO t (uid, k, n) VALUES {_values(new)}")
        self.rows |= {uid: (k, n) for uid, k, n in new}

    @rule(key=KEYS)
    def update(self, key: int) -> None:
        self.session.execute(f"UPDATE t SET n = n + 1 WHERE k = {key}")
        self._counted_up({uid for uid, (k, _) in self.rows.items() if k == key})

    @rule()
    def update_all(self) -> None:
        self.session.execute("UPDATE t SET n = n + 1")
        self._counted_up(set(self.rows))

    @rule(key=KEYS)
    def update_by_subquery(self, key: int) -> None:
        self.session.execute(f"UPDATE t SET n = n + 1 WHERE uid IN (SELECT uid FROM t WHERE k = {key})")
        self._counted_up({uid for uid, (k, _) in self.rows.items() if k == key})

    @rule(key=KEYS, to=KEYS)
    def update_from(self, key: int, to: int) -> None:
        """Any of several source rows."""
        self.session.execute(
            f"UPDATE t SET k = u.b FROM (VALUES ({key}, {to}), ({key}, {to})) u (a, b) WHERE t.k = u.a"
        )
        self.rows = {uid: (to if k == key else k, n) for uid, (k, n) in self.rows.items()}

    @rule(key=KEYS)
    def delete(self, key: int) -> None:
        self.session.execute(f"DELETE FROM t WHERE k = {key} AND n > 0")
        self.rows = {uid: (k, n) for uid, (k, n) in self.rows.items() if k != key or n == 0}

    @rule(gone=KEYS, keys=st.lists(KEYS, min_size=1, max_size=3))
    def merge(self, gone: int, keys: list[int]) -> None:
        """Deletes some rows, counts others up, inserts more."""
        new = self._new(keys)
        there = [(uid, k, n) for uid, (k, n) in self.rows.items() if uid % 2 == 0]
        self.session.execute(
            f"MERGE INTO t USING (SELECT column1 AS uid, column2 AS k FROM VALUES {_values([*there, *new])}) u "
            f"ON t.uid = u.uid WHEN MATCHED AND t.k = {gone} THEN DELETE WHEN MATCHED THEN UPDATE SET n = t.n + 1 "
            "WHEN NOT MATCHED THEN INSERT (uid, k, n) VALUES (u.uid, u.k, 0)"
        )
        for uid, k, _ in there:
            if k == gone:
                del self.rows[uid]
        self._counted_up({uid for uid, k, _ in there if k != gone})
        self.rows |= {uid: (k, n) for uid, k, n in new}

    def _counted_up(self, uids: set[int]) -> None:
        self.rows = {uid: (k, n + (uid in uids)) for uid, (k, n) in self.rows.items()}

    @rule()
    def other_columns(self) -> None:
        """Writes all rows anew."""
        self.session.execute(f"ALTER TABLE t ADD COLUMN more{self.columns} INT DEFAULT 7")
        if self.columns:
            self.session.execute(f"ALTER TABLE t DROP COLUMN more{self.columns - 1}")
        self.columns += 1

    @rule(key=KEYS)
    def roll_back(self, key: int) -> None:
        before = dict(self.rows)
        self.session.execute("BEGIN")
        self.update(key)
        self.delete(key)
        self.session.execute("ROLLBACK")
        self.rows = before

    # -- what is said of rows -------------------------------------------------------------------------------------

    @rule()
    def consume(self) -> None:
        self.deliveries += 1
        self.session.execute(
            f"INSERT INTO log SELECT {self.deliveries}, uid, k, n, metadata$action, metadata$isupdate, metadata$row_id "
            "FROM s"
        )
        delivered = self.session.execute(
            f"SELECT uid, k, n, action, upd, id FROM log WHERE d = {self.deliveries} ORDER BY action"
        ).rows()
        updated: dict[bool, set[int]] = {True: set(), False: set()}
        for uid, k, n, action, is_update, row_id in delivered:
            self._identify(uid, row_id)
            if is_update:
                updated[action == "DELETE"].add(uid)
            if action == "DELETE":
                assert self.replica.pop(uid) == (k, n)
            else:
                assert uid not in self.replica
                self.replica[uid] = (k, n)
        assert updated[True] == updated[False], "half an update"
        assert self.replica == self.rows

    @rule()
    def look_at_a_clone(self) -> None:
        self.clones += 1
        self.session.execute(f"CREATE TABLE clone{self.clones} CLONE t")
        self.session.execute(f"CREATE STREAM of_clone{self.clones} ON TABLE clone{self.clones}")
        self.session.execute(f"UPDATE clone{self.clones} SET n = -1 WHERE uid >= 0")
        for uid, row_id in self._changed(f"of_clone{self.clones}"):
            if uid in self.ids:
                self._identify(uid, row_id)

    def _changed(self, stream: str) -> Iterator[tuple[Any, ...]]:
        yield from self.session.execute(f"SELECT uid, metadata$row_id FROM {stream}").rows()

    def _identify(self, uid: int, row_id: str) -> None:
        assert self.ids.setdefault(uid, row_id) == row_id, "the row got another id"
        assert list(self.ids.values()).count(row_id) == 1, "two rows have one id"

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.account.close()
            self.folder.cleanup()


def _values(rows: list[tuple[int, int, int]]) -> str:
    return ", ".join(map(str, rows)) or "(NULL, NULL, NULL)"


RowIdentity.TestCase.settings = settings(
    max_examples=1, stateful_step_count=8, deadline=None, suppress_health_check=list(HealthCheck)
)
TestRowIdentity = pytest.mark.usefixtures("spark_stays_up")(RowIdentity.TestCase)


class LongRowIdentity(RowIdentity):
    pass


LongRowIdentity.TestCase.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
TestLongRowIdentity = pytest.mark.slow(
    pytest.mark.usefixtures("spark_stays_up")(pytest.mark.timeout(7200)(LongRowIdentity.TestCase))
)
