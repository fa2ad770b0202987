"""What text can't say about gates: that nothing bad is ever seen, and that no row is ever lost."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snowmelt.core.errors import SnowmeltError
from snowmelt.ingest import StreamingIngestClient
from snowmelt.service.account import Account
from snowmelt.service.session import Session
from snowmelt.service.transactions import PendingTable, Transaction

Row = tuple[int | None, int | None]


def rows(session: Session, query: str) -> list[tuple[Any, ...]]:
    return session.execute(query).rows()


def values(written: list[Row]) -> str:
    return ", ".join(f"({'NULL' if a is None else a}, {'NULL' if b is None else b})" for a, b in written)


def declare(session: Session, table: str) -> None:
    session.execute(f"CREATE TABLE {table} (a INT, b INT)")
    session.execute(f"ALTER TABLE {table} ADD QUALITY CHECK there AS NOT_NULL (a) ON_FAILURE = QUARANTINE")
    session.execute(f"ALTER TABLE {table} ADD QUALITY CHECK bound AS RANGE (b) MIN = 0 MAX = 5 ON_FAILURE = QUARANTINE")


_ROWS = st.lists(st.tuples(st.none() | st.integers(0, 3), st.none() | st.integers(-3, 8)), max_size=6)
_WRITES = st.lists(st.tuples(st.sampled_from(["INSERT", "OVERWRITE", "TRANSACTION"]), _ROWS), min_size=1, max_size=3)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writes=_WRITES)
def test_quarantined_and_passed_are_what_was_written(session: Session, writes: list[tuple[str, list[Row]]]) -> None:
    table = f"t{len(rows(session, 'SHOW TABLES'))}"
    declare(session, table)
    passed: Counter[Row] = Counter()
    quarantined: Counter[Row] = Counter()
    for how, written in writes:
        good = [row for row in written if row[0] is not None and (row[1] is None or 0 <= row[1] <= 5)]
        if not written:
            continue
        if how == "TRANSACTION":
            session.execute("BEGIN")
            session.execute(f"INSERT INTO {table} VALUES {values(written)}")
            session.execute(f"INSERT INTO {table} VALUES (1, 1)")
            session.execute("COMMIT")
            passed[1, 1] += 1
        else:
            session.execute(f"INSERT {'OVERWRITE ' if how == 'OVERWRITE' else ''}INTO {table} VALUES {values(written)}")
        passed = Counter(good) + (Counter() if how == "OVERWRITE" else passed)
        quarantined += Counter(written) - Counter(good)
        assert Counter(rows(session, f"SELECT a, b FROM {table}")) == passed
        assert Counter(rows(session, f"SELECT a, b FROM {table}_quarantine")) == quarantined


def test_nobody_sees_what_a_gate_looks_at(session: Session, account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others read while a gate is at work, and streams read afterwards: there never was a bad row."""
    declare(session, "t")
    session.execute("INSERT INTO t VALUES (1, 1)")
    session.execute("CREATE STREAM all_changes ON TABLE t")
    session.execute("CREATE STREAM appended ON TABLE t APPEND_ONLY = TRUE")
    seen: list[list[tuple[Any, ...]]] = []
    gate = account.transactions.gate
    reader = account.session(database=session.database, schema="PUBLIC")

    def watched(transaction: Transaction, items: list[PendingTable]) -> None:
        seen.append(rows(reader, "SELECT a, b FROM t"))
        gate(transaction, items)
        seen.append(rows(reader, "SELECT a, b FROM t"))

    monkeypatch.setattr(account.transactions, "gate", watched)
    session.execute("INSERT INTO t VALUES (2, 2), (NULL, 3), (4, 99)")
    session.execute("ALTER TABLE t ADD QUALITY CHECK few AS ROW_COUNT MAX = 2")
    with pytest.raises(SnowmeltError, match="FEW"):
        session.execute("INSERT INTO t VALUES (5, 5), (6, NULL), (NULL, NULL)")
    reader.close()
    assert seen == [[(1, 1)], [(1, 1)], [(1, 1), (2, 2)]]
    assert rows(session, "SELECT a, b FROM t ORDER BY a") == [(1, 1), (2, 2)]
    assert len(rows(session, "SELECT * FROM t_quarantine")) == 2
    for stream in ("all_changes", "appended"):
        assert rows(session, f"SELECT a, b FROM {stream}") == [(2, 2)]


def test_a_key_is_looked_up_and_not_scanned_for(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.execute("CREATE TABLE t (id INT, v INT)")
    session.execute("INSERT INTO t SELECT seq4(), 1 FROM TABLE(GENERATOR(ROWCOUNT => 1000))")
    session.execute("ALTER TABLE t ADD QUALITY CHECK once AS UNIQUE (id)")
    read: list[str] = []
    fetch = session.account.engine.to_arrow

    def noted(text: str, *arguments: Any, **options: Any) -> Any:
        read.append(text)
        return fetch(text, *arguments, **options)

    monkeypatch.setattr(session.account.engine, "to_arrow", noted)
    session.execute("INSERT INTO t VALUES (1000, 1), (1001, 1)")
    with pytest.raises(SnowmeltError, match="ONCE: 1 of 2 rows"):
        session.execute("INSERT INTO t VALUES (7, 1), (1002, 1)")
    assert read and not any("stayed" in text for text in read)
    assert rows(session, "SELECT count(*) FROM t") == [(1002,)]


def test_tables_without_checks_have_no_gate(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(transaction: Transaction, items: list[PendingTable]) -> None:
        raise AssertionError("there is nothing to check")

    monkeypatch.setattr(session.account.transactions, "gate", fail)
    session.execute("CREATE TABLE t (a INT)")
    session.execute("INSERT INTO t VALUES (1)")


def test_a_task_whose_write_fails_is_suspended(session: Session) -> None:
    session.execute("CREATE TABLE t (a INT)")
    session.execute("ALTER TABLE t ADD QUALITY CHECK there AS NOT_NULL (a) SEVERITY = CRITICAL")
    session.execute("CREATE TASK tk WAREHOUSE = compute_wh SCHEDULE = '1 hour' AS INSERT INTO t VALUES (NULL)")
    session.execute("ALTER TASK tk RESUME")
    account = session.account
    with account.state.read() as state:
        task = next(item for item in state.catalog.objects(database=session.database) if item.name.name == "TK")
        assert state.tasks.standing(task.id).started
    transaction = account.transactions.begin(explicit=True)
    transaction.task_id = task.id
    session.transaction = transaction
    session.execute("INSERT INTO t VALUES (NULL)")
    with pytest.raises(SnowmeltError, match="THERE"):
        session.execute("COMMIT")
    with account.state.read() as state:
        standing = state.tasks.standing(task.id)
    assert (standing.started, standing.suspended_reason) == (False, "SUSPENDED_DUE_TO_QUALITY_CHECK")


def test_channels_and_copy_pass_the_gate_too(session: Session, tmp_path: Path) -> None:
    declare(session, "t")
    client = StreamingIngestClient("test", connection=session)
    channel = client.open_channel("c", "t")
    channel.append_rows(pa.table({"a": [1, None, 3], "b": [1, 2, 99]}), end_offset_token="3")
    assert channel.wait_for_flush(120)
    assert channel.get_latest_committed_offset_token() == "3"
    client.close()
    file = tmp_path / "rows.csv"
    file.write_text("4,4\n5,-5\n", encoding="utf-8")
    session.execute("CREATE STAGE sg")
    session.execute(f"PUT 'file://{file}' @sg")
    session.execute("COPY INTO t FROM @sg FILE_FORMAT = (TYPE = CSV)")
    assert sorted(rows(session, "SELECT a, b FROM t")) == [(1, 1), (4, 4)]
    found = rows(session, "SELECT b, quality_checks FROM t_quarantine ORDER BY b")
    assert found == [(-5, "BOUND"), (2, "THERE"), (99, "BOUND")]
    operations = rows(
        session,
        "SELECT DISTINCT operation FROM TABLE(INFORMATION_SCHEMA.QUALITY_CHECK_HISTORY(TABLE_NAME => 't')) ORDER BY 1",
    )
    assert operations == [("COPY",), ("STREAMING INGEST",)]
