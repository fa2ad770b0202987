"""Random changes and random points of consumption: what was consumed, applied to what was there, is the table.

One session changes the table, another one consumes; in between are rollbacks, other tools and kills. The replica knows
rows by METADATA$ROW_ID for as long as nobody rewrites files behind our back, and by what they hold from then on.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from tests.conftest import SPARK

Row = tuple[int, str]
IDS = st.integers(0, 5)
NAMES = st.sampled_from(["a", "b", "c"])
VIEW = """SELECT t.id, t.name || k.kind AS name FROM t JOIN k ON t.id = k.id WHERE t.name <> 'c'
UNION ALL SELECT id, kind FROM k WHERE id > 2"""
ENDS = st.sampled_from(["commit", "rollback", "kill"])


class Streams(RuleBasedStateMachine):
    @initialize(rows=st.lists(st.tuples(IDS, NAMES), min_size=1, max_size=5), initial=st.booleans())
    def start(self, rows: list[Row], *, initial: bool) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="snowmelt-streams-")
        self.open()
        self.rows: list[Row] = []
        self.appended: list[Row] = []
        self.replica: dict[str, Row] = {}
        self.identified = True
        self.deliveries = 0
        self.writer.execute("CREATE TABLE t (id INT, name VARCHAR)")
        self.writer.execute(
            "CREATE TABLE log (n INT, s VARCHAR, id INT, name VARCHAR, action VARCHAR, isupdate BOOLEAN, "
            "row_id VARCHAR)"
        )
        self.writer.execute("CREATE TABLE k (id INT, kind VARCHAR)")
        self.writer.execute(f"CREATE VIEW v AS {VIEW}")
        self.kinds: list[Row] = []
        self.view_began = False
        self.of_view: dict[str, Row] = {}
        self.insert(rows)
        self.appended = []
        self.writer.execute("CREATE STREAM of_view ON VIEW v SHOW_INITIAL_ROWS = TRUE")
        self.writer.execute("CREATE STREAM s ON TABLE t SHOW_INITIAL_ROWS = TRUE")
        self.writer.execute("CREATE STREAM appended ON TABLE t APPEND_ONLY = TRUE")
        self.consume()
        assert Counter(self.replica.values()) == Counter(rows), "the initial rows"
        self.consume()

    def open(self) -> None:
        self.account = open_account(Path(self.folder.name) / "data", settings=Settings(spark=SPARK))
        self.writer, self.consumer = self.account.session(), self.account.session()

    # -- changes --------------------------------------------------------------------------------------------------

    @rule(rows=st.lists(st.tuples(IDS, NAMES), min_size=1, max_size=4))
    def insert(self, rows: list[Row]) -> None:
        self.writer.execute(f"INSERT INTO t VALUES {', '.join(f'({id}, {name!r})' for id, name in rows)}")
        self.rows += rows
        self.appended += rows

    @rule(id=IDS, name=NAMES)
    def update(self, id: int, name: str) -> None:
        self.writer.execute(f"UPDATE t SET name = '{name}' WHERE id = {id}")
        self.rows = [(one, name if one == id else known) for one, known in self.rows]

    @rule(name=NAMES)
    def update_all(self, name: str) -> None:
        self.writer.execute(f"UPDATE t SET name = '{name}' WHERE id >= 0")
        self.rows = [(id, name) for id, _ in self.rows]

    @rule(ids=st.sets(IDS, min_size=1, max_size=2))
    def delete(self, ids: set[int]) -> None:
        self.writer.execute(f"DELETE FROM t WHERE id IN ({', '.join(map(str, ids))})")
        self.rows = [row for row in self.rows if row[0] not in ids]

    @rule()
    def truncate(self) -> None:
        self.writer.execute("TRUNCATE TABLE t")
        self.rows = []

    @rule(id=IDS, name=NAMES, other=IDS)
    def several_in_one_transaction(self, id: int, name: str, other: int) -> None:
        self.writer.execute("BEGIN")
        self.update(id, name)
        self.insert([(other, "t"), (id, "u")])
        self.delete({other})
        self.writer.execute("COMMIT")

    @rule(id=IDS)
    def roll_back(self, id: int) -> None:
        before, appended = list(self.rows), list(self.appended)
        self.writer.execute("BEGIN")
        self.insert([(id, "never")])
        self.update(id, "no")
        self.writer.execute("ROLLBACK")
        self.rows, self.appended = before, appended

    @rule(id=IDS)
    def they_append(self, id: int) -> None:
        table = self._theirs()
        schema = pa.schema(table.schema().to_arrow())
        data = pa.table([pa.array([id], schema.field(0).type), pa.array(["theirs"])], schema=schema)
        write_deltalake(table, data, mode="append")
        self.rows.append((id, "theirs"))
        self.appended.append((id, "theirs"))

    @rule()
    def they_compact(self) -> None:
        """Their tool leaves out what it does not know: where rows were born."""
        self._theirs().optimize.compact()
        self.identified = False

    @rule(id=IDS, kind=NAMES)
    def insert_kind(self, id: int, kind: str) -> None:
        self.writer.execute(f"INSERT INTO k VALUES ({id}, '{kind}')")
        self.kinds.append((id, kind))

    @rule(id=IDS, kind=NAMES)
    def update_kind(self, id: int, kind: str) -> None:
        self.writer.execute(f"UPDATE k SET kind = '{kind}' WHERE id = {id}")
        self.kinds = [(one, kind if one == id else known) for one, known in self.kinds]

    @rule(id=IDS)
    def delete_kind(self, id: int) -> None:
        self.writer.execute(f"DELETE FROM k WHERE id = {id}")
        self.kinds = [row for row in self.kinds if row[0] != id]

    def _rows_of_view(self) -> list[Row]:
        joined = [(id, name + kind) for id, name in self.rows for other, kind in self.kinds if id == other]
        return [row for row in joined if not row[1].startswith("c")] + [row for row in self.kinds if row[0] > 2]

    def _theirs(self) -> DeltaTable:
        return DeltaTable(next((Path(self.folder.name) / "data" / "tables").glob("*/*/t-*")))

    # -- consumption ----------------------------------------------------------------------------------------------

    def _insert_into_log(self, stream: str) -> int:
        self.deliveries += 1
        self.consumer.execute(
            f"INSERT INTO log SELECT {self.deliveries}, '{stream}', id, name, metadata$action, metadata$isupdate, "
            f"metadata$row_id FROM {stream}"
        )
        return self.deliveries

    def _delivered(self, number: int) -> list[tuple[Any, ...]]:
        query = f"SELECT id, name, action, isupdate, row_id FROM log WHERE n = {number}"
        return [tuple(row) for row in self.writer.execute(query).rows()]

    @rule()
    def consume(self) -> None:
        self._apply(self.replica, self._delivered(self._insert_into_log("s")), self.rows)

    @rule()
    def consume_view(self) -> None:
        number = self._insert_into_log("of_view")
        if not self.view_began:
            # The initial rows come alone, and what happened since with the next window.
            self.view_began = True
            self.of_view = {row[4]: row[:2] for row in self._delivered(number)}
            number = self._insert_into_log("of_view")
        self._apply(self.of_view, self._delivered(number), self._rows_of_view())

    @rule()
    def consume_appended(self) -> None:
        rows = self._delivered(self._insert_into_log("appended"))
        assert Counter((id, name) for id, name, *_ in rows) == Counter(self.appended)
        assert all(row[2:4] == ("INSERT", False) for row in rows)
        self.appended = []

    @rule(ends=ENDS, row=st.tuples(IDS, NAMES))
    def consume_in_a_transaction(self, ends: str, row: Row) -> None:
        # What other tools wrote becomes visible with the next read, and a transaction sees what was visible before it.
        self.writer.execute("SELECT COUNT(*) FROM t")
        self.consumer.execute("BEGIN")
        before = list(self.rows)
        self.insert([row])
        first = self._insert_into_log("s")
        self.update(row[0], "later")
        second = self._insert_into_log("s")
        if ends == "kill":
            self._kill()
        else:
            self.consumer.execute(ends.upper())
        delivered = self._delivered(first)
        assert sorted(delivered, key=repr) == sorted(self._delivered(second), key=repr)
        if ends == "commit":
            self._apply(self.replica, delivered, before)
        else:
            assert delivered == [], f"something is left after {ends}"

    def _kill(self) -> None:
        """As a kill leaves it: nothing is closed but what the operating system closes."""
        lost = self.account
        lost.ownership.release()
        self.open()
        lost.journal.close()
        lost.store.close()
        lost.state.close()

    def _apply(self, replica: dict[str, Row], delivered: list[tuple[Any, ...]], expected: list[Row]) -> None:
        went = [row for row in delivered if row[2] == "DELETE"]
        came = [row for row in delivered if row[2] == "INSERT"]
        self._check_updates(went, came)
        if self.identified:
            for id, name, _, _, row_id in went:
                assert replica.pop(row_id) == (id, name)
            for id, name, _, _, row_id in came:
                assert row_id not in replica
                replica[row_id] = (id, name)
        else:
            left = Counter(replica.values())
            left.subtract((id, name) for id, name, *_ in went)
            assert min(left.values(), default=0) >= 0, "a row went that was not there"
            left.update((id, name) for id, name, *_ in came)
            replica.clear()
            replica.update((str(place), row) for place, row in enumerate(left.elements()))
        assert Counter(replica.values()) == Counter(expected)

    def _check_updates(self, went: list[tuple[Any, ...]], came: list[tuple[Any, ...]]) -> None:
        old = {row[4]: row[:2] for row in went if row[3]}
        new = {row[4]: row[:2] for row in came if row[3]}
        assert old.keys() == new.keys(), "half an update"
        assert all(old[row_id] != new[row_id] for row_id in old), "an update that changes nothing"
        others = [row[4] for row in (*went, *came) if not row[3]]
        assert len(set(others)) == len(others), "one row came and went, and was not updated"

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.account.close()
            self.folder.cleanup()


Streams.TestCase.settings = settings(
    max_examples=4, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)
TestStreams = pytest.mark.usefixtures("spark_stays_up")(Streams.TestCase)


class LongStreams(Streams):
    pass


LongStreams.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestLongStreams = pytest.mark.slow(
    pytest.mark.usefixtures("spark_stays_up")(pytest.mark.timeout(7200)(LongStreams.TestCase))
)
