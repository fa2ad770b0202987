"""What UPDATE, DELETE and MERGE leave behind is the same to Spark, delta-rs and DuckDB, and so is the change feed."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName
from snowmelt.engine.arrow import to_arrow
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.state.model import ObjectKind, TableDefinition
from snowmelt.storage.variant import decode


def location(account: Account, session: Session, name: str) -> str:
    assert session.database is not None
    with account.state.read() as state:
        found = state.catalog.find(ObjectName(session.database, "PUBLIC", name), [ObjectKind.TABLE], None)
    assert found is not None
    assert isinstance(found.definition, TableDefinition)
    return found.definition.location


def plain(value: Any) -> Any:
    """A VARIANT, as its two parts or as Spark's own class, as a Python value."""
    if isinstance(value, dict) and value.keys() == {"metadata", "value"}:
        return repr(decode(value["metadata"], value["value"]))
    return value


def rows(table: pa.Table, names: list[str]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(plain(row[name]) for name in names) for row in table.to_pylist())


COLUMNS = ["ID", "NAME", "PRICE", "DAY", "AT", "DOC"]


def change_everything(session: Session) -> None:
    session.execute(
        "CREATE TABLE t (id INT, name VARCHAR, price NUMBER(10,2), day DATE, at TIMESTAMP_NTZ, doc VARIANT)"
    )
    session.execute(
        "INSERT INTO t SELECT seq4(), 'n' || seq4(), seq4() / 2, DATEADD(day, seq4(), '2024-01-01'::DATE), "
        "DATEADD(hour, seq4(), '2024-01-01'::TIMESTAMP_NTZ), IFF(seq4() % 3 = 0, NULL, OBJECT_CONSTRUCT('n', seq4())) "
        "FROM TABLE(GENERATOR(ROWCOUNT => 50))"
    )
    session.execute("UPDATE t SET name = 'changed', doc = PARSE_JSON('[1.50, null]') WHERE id IN (3, 4, 5)")
    session.execute("DELETE FROM t WHERE id BETWEEN 10 AND 14 OR name = 'n40'")
    session.execute(
        "MERGE INTO t USING (SELECT seq4() * 7 AS id, 'm' || seq4() AS name FROM TABLE(GENERATOR(ROWCOUNT => 12))) s "
        "ON t.id = s.id WHEN MATCHED AND t.id = 21 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET name = s.name, price = t.price + 1, doc = TO_VARIANT(t.at) "
        "WHEN NOT MATCHED THEN INSERT (id, name, day) VALUES (s.id, s.name, '2030-01-01')"
    )
    session.execute("UPDATE t SET price = NULL WHERE MOD(id, 10) = 0")


def spark_feed(account: Account, path: str, version: int) -> pa.Table:
    reader = account.engine.session().read.format("delta").option("readChangeFeed", "true")
    return to_arrow(reader.option("startingVersion", version).option("endingVersion", version).load(path))


def test_every_reader_sees_the_same(account: Account, session: Session) -> None:
    change_everything(session)
    place = location(account, session, "T")
    path, version = account.store.root.uri_of(place), account.store.latest_version(place)
    assert version == 5
    ours = rows(account.store.read(place, version), COLUMNS)
    files = list(account.store.files(place, version).uris)
    with duckdb.connect() as connection:
        query = f'SELECT "ID", "NAME", "PRICE", "DAY", "AT" FROM read_parquet({files})'
        by_duckdb = Counter(connection.sql(query).fetchall())
    by_spark = rows(account.engine.to_arrow(f"SELECT * FROM delta.`{path}`"), COLUMNS)
    assert ours == by_spark
    assert by_duckdb == Counter(row[:-1] for row in ours.elements())
    assert ours.total() == session.execute("SELECT COUNT(*) FROM t").rows()[0][0]


def test_the_change_feed(account: Account, session: Session) -> None:
    """Spark's and delta-rs' readings of the feed agree, version by version, and replaying it gives the table."""
    change_everything(session)
    place = location(account, session, "T")
    path, latest = account.store.root.uri_of(place), account.store.latest_version(place)
    names = ["_change_type", *COLUMNS]
    table: Counter[tuple[Any, ...]] = Counter()
    for version in range(1, latest + 1):
        ours = rows(account.store.changes(place, [(version, version)]).read_all(), names)
        by_spark = rows(spark_feed(account, path, version), names)
        assert ours == by_spark
        for (kind, *row), count in ours.items():
            table[tuple(row)] += count if kind in ("insert", "update_postimage") else -count
        assert +table == rows(account.store.read(place, version), COLUMNS)
        assert min(table.values(), default=0) >= 0


def test_updates_of_many_sessions_are_not_lost(account: Account, session: Session) -> None:
    session.execute("CREATE TABLE counters (id INT, n INT)")
    session.execute("INSERT INTO counters VALUES (1, 0), (2, 0)")
    problems: list[BaseException] = []
    start = threading.Barrier(4)

    def count() -> None:
        mine = account.session(database=session.database)
        try:
            start.wait()
            for _ in range(3):
                mine.execute("UPDATE counters SET n = n + 1 WHERE id = 1")
                mine.execute(
                    "MERGE INTO counters USING (SELECT 2 AS id) s ON counters.id = s.id "
                    "WHEN MATCHED THEN UPDATE SET n = counters.n + 1"
                )
        except BaseException as problem:
            problems.append(problem)
        finally:
            mine.close()

    workers = [threading.Thread(target=count) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not problems
    assert session.execute("SELECT id, n FROM counters ORDER BY id").rows() == [(1, 12), (2, 12)]


@pytest.mark.slow
def test_a_table_that_only_spark_can_write(account: Account, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Column mapping: files have other names for the columns, and rows are not known by their place."""
    session.execute("CREATE TABLE t (id INT, name VARCHAR, at TIME, doc VARIANT, gone INT)")
    session.execute(
        "INSERT INTO t SELECT column1, column2, '10:00:00', PARSE_JSON(column3), 1 FROM VALUES "
        "(1, 'a', '{\"k\":1}'), (2, 'b', NULL), (2, 'b', NULL), (3, 'c', '[1]')"
    )
    with monkeypatch.context() as patch:
        patch.setattr(account, "settings", account.settings.model_copy(update={"small_query_bytes": -1}))
        session.execute("ALTER TABLE t DROP COLUMN gone")
        session.execute("ALTER TABLE t RENAME COLUMN name TO label")
    assert session.execute("UPDATE t SET label = label || '!', at = '11:00:00' WHERE id = 2").rows() == [(2, 0)]
    session.execute("CREATE TABLE s (id INT, label VARCHAR)")
    session.execute("INSERT INTO s VALUES (1, 'one'), (1, 'uno'), (9, 'nine')")
    # Delta itself takes no subquery here.
    assert session.execute("DELETE FROM t WHERE id IN (SELECT id + 2 FROM s)").rows() == [(1,)]
    assert session.execute("UPDATE t SET label = s.label FROM s WHERE s.id = t.id").rows() == [(1, 1)]
    with pytest.raises(SnowmeltError) as failure:
        session.execute("MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET label = s.label")
    assert failure.value.code == "100090"
    merged = session.execute(
        "MERGE INTO t USING (SELECT * FROM s WHERE label <> 'uno') s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET label = s.label, at = t.at "
        "WHEN NOT MATCHED THEN INSERT (id, label) VALUES (s.id, s.label)"
    )
    assert merged.rows() == [(1, 1)]
    found = session.execute("SELECT id, label, at::VARCHAR, TO_JSON(doc) FROM t ORDER BY id, label").rows()
    assert found == [
        (1, "one", "10:00:00", '{"k":1}'), (2, "b!", "11:00:00", None), (2, "b!", "11:00:00", None),
        (9, "nine", None, None),
    ]  # fmt: skip
    assert session.execute("DELETE FROM t").rows() == [(4,)]
    assert session.execute("DELETE FROM t").rows() == [(0,)]


def test_many_rows_go_through_spark(account: Account, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit counts the rows that change, not the rows there are."""
    session.execute("CREATE TABLE t AS SELECT seq4() AS id, 0 AS n FROM TABLE(GENERATOR(ROWCOUNT => 100))")
    place = location(account, session, "T")
    monkeypatch.setattr(account, "settings", account.settings.model_copy(update={"small_write_rows": 10}))

    def engine_of_last_commit() -> str:
        log = account.store.root.path(place) / "_delta_log" / f"{account.store.latest_version(place):020d}.json"
        return "snowmelt" if '"engineInfo":"snowmelt"' in log.read_text(encoding="utf-8") else "spark"

    assert session.execute("UPDATE t SET n = n + 1 WHERE id < 10").rows() == [(10, 0)]
    assert engine_of_last_commit() == "snowmelt"
    assert session.execute("UPDATE t SET n = n + 1 WHERE id < 11").rows() == [(11, 0)]
    assert engine_of_last_commit() == "spark"
    assert session.execute("DELETE FROM t WHERE MOD(id, 50) = 0").rows() == [(2,)]
    assert engine_of_last_commit() == "snowmelt"
    assert session.execute("SELECT COUNT(*), SUM(n) FROM t").rows() == [(98, 19)]


def test_a_failed_rewrite_leaves_nothing(account: Account, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.execute("CREATE TABLE t (id INT)")
    session.execute("INSERT INTO t VALUES (1), (2)")
    place = location(account, session, "T")
    folder = account.store.root.path(place)
    before = sorted(path.name for path in folder.rglob("*.parquet"))

    def fail(*_: Any) -> None:
        raise SnowmeltError("300002", "XX000", "the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("snowmelt.storage.rewrite_many.write_feed", fail)
        with pytest.raises(SnowmeltError):
            session.execute("DELETE FROM t WHERE id = 1")
    assert sorted(path.name for path in folder.rglob("*.parquet")) == before
    assert session.execute("DELETE FROM t WHERE id = 1").rows() == [(1,)]
