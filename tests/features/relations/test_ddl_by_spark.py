"""Changes of columns that go through Spark: tables too large to be written anew from here."""

from __future__ import annotations

from typing import Any

import pytest
from deltalake import DeltaTable

from snowmelt.core.names import ObjectName
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition


def _rows(session: Session, sql: str) -> list[tuple[Any, ...]]:
    return sorted(session.execute(sql).rows(), key=repr)


def _table(account: Account, session: Session, name: str) -> CatalogObject:
    with account.state.read() as state:
        found = state.catalog.find(session_name(session, name), [ObjectKind.TABLE])
    assert found is not None
    return found


def session_name(session: Session, name: str) -> ObjectName:
    assert session.database is not None
    assert session.schema is not None
    return ObjectName(session.database, session.schema, name)


def _definition(account: Account, session: Session, name: str) -> TableDefinition:
    definition = _table(account, session, name).definition
    assert isinstance(definition, TableDefinition)
    return definition


@pytest.fixture
def nothing_is_small(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account, "settings", account.settings.model_copy(update={"small_query_bytes": -1}))


def test_columns_are_renamed_and_dropped_without_touching_files(
    account: Account, session: Session, nothing_is_small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.execute("CREATE TABLE t (a INT NOT NULL, b VARCHAR, c NUMBER(5, 1), gone INT)")
    session.execute("INSERT INTO t VALUES (1, 'one', 1.5, 10), (2, 'two', 2.5, 20)")
    first = session.query_ids[-1]
    before = set(account.store.files(_definition(account, session, "T").location, 1).uris)
    session.execute("ALTER TABLE t RENAME COLUMN b TO bb")
    session.execute("ALTER TABLE t DROP COLUMN gone")
    definition = _definition(account, session, "T")
    location = definition.location
    latest = account.store.latest_version(location)
    assert definition.spark_only
    assert set(account.store.files(location, latest).uris) == before
    assert _rows(session, "SELECT * FROM t") == [(1, "one", 1.5), (2, "two", 2.5)]
    assert _rows(session, f"SELECT * FROM t AT (STATEMENT => '{first}')") == [(1, "one", 1.5), (2, "two", 2.5)]

    # Everything else goes on working: Spark writes from now on.
    session.execute("ALTER TABLE t ADD COLUMN d INT DEFAULT 9")
    session.execute("ALTER TABLE t ADD COLUMN e TIMESTAMP_NTZ, v VARIANT")
    session.execute("ALTER TABLE t ALTER COLUMN a DROP NOT NULL")
    session.execute("INSERT INTO t (a, bb) VALUES (3, 'three'), (NULL, 'none')")
    session.execute("UPDATE t SET d = d + 1 WHERE a >= 2")
    session.execute("DELETE FROM t WHERE a IS NULL")
    session.execute(
        "MERGE INTO t USING (SELECT 1 AS k, 'uno' AS n) s ON t.a = s.k WHEN MATCHED THEN UPDATE SET bb = s.n"
    )
    expected = [(1, "uno", 9), (2, "two", 10), (3, "three", 10)]
    assert _rows(session, "SELECT a, bb, d FROM t") == expected
    session.execute("BEGIN")
    session.execute("INSERT INTO t (a) VALUES (4)")
    session.execute("ROLLBACK")
    assert _rows(session, "SELECT a, bb, d FROM t") == expected

    session.execute("CREATE TABLE copied CLONE t")
    session.execute("INSERT INTO copied (a, bb) VALUES (7, 'seven')")
    assert len(_rows(session, "SELECT * FROM copied")) == 4
    session.execute("TRUNCATE TABLE copied")
    assert _rows(session, "SELECT * FROM copied") == []

    # Once it counts as small it is written anew, and both writers know it again.
    monkeypatch.undo()
    session.execute("ALTER TABLE t DROP COLUMN c")
    assert not _definition(account, session, "T").spark_only
    assert _rows(session, "SELECT a, bb, d FROM t") == expected
    session.execute("INSERT INTO t (a, bb, d) VALUES (5, 'five', 5)")
    plain = DeltaTable(account.store.root.uri_of(location))
    assert "columnMapping" not in (plain.protocol().writer_features or [])
    assert plain.to_pyarrow_table().num_rows == 4
    assert _rows(session, f"SELECT a, bb, d FROM t AT (STATEMENT => '{first}')") == [(1, "one", 9), (2, "two", 9)]


def test_a_wider_number_and_a_filled_column(account: Account, session: Session, nothing_is_small: None) -> None:
    session.execute("CREATE TABLE t (a INT, n NUMBER(5, 2), ti TIME)")
    session.execute("INSERT INTO t SELECT 1, 123.45, '10:11:12'::TIME")
    session.execute("ALTER TABLE t ALTER COLUMN n SET DATA TYPE NUMBER(12, 2)")
    session.execute("ALTER TABLE t ADD COLUMN f VARCHAR DEFAULT 'x'")
    session.execute("INSERT INTO t (a, n) VALUES (2, 9999999999.99)")
    assert [str(row[1]) for row in _rows(session, "SELECT * FROM t")] == ["123.45", "9999999999.99"]
    assert _rows(session, "SELECT f, ti::VARCHAR FROM t") == [("x", "10:11:12"), ("x", None)]
    definition = _definition(account, session, "T")
    assert not definition.spark_only
    # Streams pass over commits that only moved rows.
    with account.state.read() as state:
        table = _table(account, session, "T")
        visible = state.versions.visible(table.id)
        assert visible is not None
        counted = state.versions.change_ranges(table.id, 0, visible.version)
    changes = account.store.changes(definition.location, counted).read_all()
    assert sorted(changes.column("_change_type").to_pylist()) == ["insert", "insert"]


def test_rows_that_do_not_fit_refuse_the_change(account: Account, session: Session, nothing_is_small: None) -> None:
    session.execute("CREATE TABLE t (a INT, n NUMBER(5, 2))")
    session.execute("INSERT INTO t VALUES (1, 123.45), (NULL, 1)")
    with pytest.raises(Exception, match="some existing values cannot be represented using precision 4"):
        session.execute("ALTER TABLE t ALTER COLUMN n SET DATA TYPE NUMBER(4, 2)")
    with pytest.raises(Exception, match="contains null values"):
        session.execute("ALTER TABLE t ALTER COLUMN a SET NOT NULL")
    session.execute("DELETE FROM t WHERE a IS NULL")
    session.execute("ALTER TABLE t ALTER COLUMN a SET NOT NULL")
    assert _rows(session, "SELECT * FROM t")[0][0] == 1
