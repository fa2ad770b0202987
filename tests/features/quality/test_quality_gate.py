"""What text can't say about gates: that nothing bad is ever seen, and that no row is ever lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snowmelt.core.errors import SnowmeltError
from snowmelt.features.quality import new_keys
from snowmelt.runtime.account import Account
from snowmelt.runtime.pending import PendingTable, Transaction
from snowmelt.runtime.session import Session

Row = tuple[int | None, int | None]


def rows(session: Session, query: str) -> list[tuple[Any, ...]]:
    return session.execute(query).rows()


def values(written: list[Row]) -> str:
    return ", ".join(f"({'NULL' if a is None else a}, {'NULL' if b is None else b})" for a, b in written)


def declare(session: Session, table: str) -> None:
    session.execute(f"CREATE TABLE {table} (a INT, b INT)")
    session.execute(f"ALTER TABLE {table} ADD QUALITY CHECK there AS NOT_NULL (a) ON_FAILURE = QUARANTINE")
    session.execute(f"ALTER TABLE {table} ADD QUALITY CHECK bound AS RANGE (b) MIN = 0 MAX = 5 ON_FAILURE = QUARANTINE")


KEY = st.none() | st.integers(0, 3)
_ROWS = st.lists(st.tuples(KEY, st.none() | st.integers(-3, 8)), min_size=1, max_size=6)
_KINDS = ("INSERT", "OVERWRITE", "TRANSACTION", "UPDATE", "MERGE", "DELETE")
_WRITES = st.lists(st.tuples(st.sampled_from(_KINDS), _ROWS), min_size=2, max_size=4)


def good(row: Row) -> bool:
    return row[0] is not None and (row[1] is None or 0 <= row[1] <= 5)


def carried_out(session: Session, table: str, how: str, written: list[Row], present: Counter[Row]) -> Counter[Row]:
    """Writes, and says which rows the table would have without its checks."""
    match how:
        case "INSERT":
            session.execute(f"INSERT INTO {table} VALUES {values(written)}")
            return present + Counter(written)
        case "OVERWRITE":
            session.execute(f"INSERT OVERWRITE INTO {table} VALUES {values(written)}")
            return Counter(written)
        case "TRANSACTION":
            session.execute_script(
                f"BEGIN; INSERT INTO {table} VALUES {values(written)}; INSERT INTO {table} VALUES (9, 1); COMMIT"
            )
            return present + Counter(written) + Counter([(9, 1)])
        case "UPDATE":
            session.execute(f"UPDATE {table} SET b = b - 2 WHERE b >= {written[0][1] or 0}")
            return _mapped(present, lambda a, b: (a, b - 2 if b is not None and b >= (written[0][1] or 0) else b))
        case "DELETE":
            session.execute(f"DELETE FROM {table} WHERE a = {written[0][0] or 0}")
            return Counter({row: count for row, count in present.items() if row[0] != (written[0][0] or 0)})
    source = dict(reversed(written))
    session.execute(
        f"MERGE INTO {table} t USING (SELECT column1 AS a, column2 AS b FROM VALUES {values(list(source.items()))}) s"
        " ON t.a = s.a WHEN MATCHED THEN UPDATE SET b = s.b WHEN NOT MATCHED THEN INSERT VALUES (s.a, s.b)"
    )
    keys = {row[0] for row in present}
    new = Counter([(a, b) for a, b in source.items() if a is None or a not in keys])
    return new + _mapped(present, lambda a, b: (a, source.get(a, b)))


def _mapped(rows: Counter[Row], change: Callable[[int | None, int | None], Row]) -> Counter[Row]:
    made: Counter[Row] = Counter()
    for row, count in rows.items():
        made[change(*row)] += count
    return made


@pytest.mark.parametrize("unique", [False, True])
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writes=_WRITES)
def test_quarantined_and_passed_are_what_was_written(
    session: Session, unique: bool, writes: list[tuple[str, list[Row]]]
) -> None:
    """The oracle is the statement itself over the rows that were there: whatever the gate takes out, it keeps."""
    table = f"t{len(rows(session, 'SHOW TABLES'))}"
    declare(session, table)
    if unique:
        session.execute(f"ALTER TABLE {table} ADD QUALITY CHECK once AS UNIQUE (a) ON_FAILURE = QUARANTINE")
    passed: Counter[Row] = Counter()
    quarantined: Counter[Row] = Counter()
    for how, written in writes:
        whole = carried_out(session, table, how, written, passed)
        passed = Counter(rows(session, f"SELECT a, b FROM {table}"))
        kept = Counter(rows(session, f"SELECT a, b FROM {table}_quarantine"))
        assert quarantined <= kept
        assert passed + (kept - quarantined) == whole
        assert all(good(row) for row in passed)
        if unique:
            assert all(count == 1 for count in Counter(row[0] for row in passed.elements()).values())
        else:
            assert not any(good(row) for row in kept)
        quarantined = kept


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
    assert read == [], "files say it all"
    assert rows(session, "SELECT count(*) FROM t") == [(1002,)]


def test_rows_that_keep_their_key_are_not_looked_up(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was wrong before a check was added is not this write's doing; what an update makes wrong is."""
    session.execute("CREATE TABLE t (id INT, v INT) CHANGE_TRACKING = TRUE")
    session.execute("INSERT INTO t VALUES (1, 1), (1, 2), (2, 3), (3, 4)")
    session.execute("ALTER TABLE t ADD QUALITY CHECK once AS UNIQUE (id)")
    searched: list[int] = []
    search = new_keys.rows_with_keys

    def noted(filters: Any, files: Any, columns: Any, keys: pa.Table) -> Any:
        searched.append(keys.num_rows)
        return search(filters, files, columns, keys)

    monkeypatch.setattr(new_keys, "rows_with_keys", noted)
    session.execute("UPDATE t SET v = v + 1")
    assert searched == []
    session.execute("UPDATE t SET id = 4 WHERE id = 3")
    assert searched == [1]
    wrong = ("id = 2 WHERE id = 4", "id = 5 WHERE id > 1", "id = 4 WHERE v = 2")
    for change in wrong:
        with pytest.raises(SnowmeltError, match="ONCE: 1 of"):
            session.execute(f"UPDATE t SET {change}")
    session.execute("UPDATE t SET id = IFF(id = 2, 4, 2) WHERE id IN (2, 4)")
    assert rows(session, "SELECT id, v FROM t ORDER BY v") == [(1, 2), (1, 3), (4, 4), (2, 5)]


def test_tables_without_checks_have_no_gate(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(transaction: Transaction, items: list[PendingTable]) -> None:
        raise AssertionError("there is nothing to check")

    monkeypatch.setattr(session.account.transactions, "gate", fail)
    session.execute("CREATE TABLE t (a INT)")
    session.execute("INSERT INTO t VALUES (1)")
