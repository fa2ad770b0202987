"""The five strategies of Snowmelt's own tables, twice each, and a table of Snowmelt as a source, on Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from snowmelt.extract_load import FilesLoader, Flow, LoadStrategy, SnowmeltExtractor, SqlLoader, run_flow
from snowmelt.runtime.session import Session

pytestmark = pytest.mark.slow
COLUMNS = ("id", "name")


class Executing:
    """A session as a loader sees a connection."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def execute(self, text: str) -> list[tuple[object, ...]]:
        table = self.session.execute(text).data
        return list(zip(*[column.to_pylist() for column in table.columns], strict=True)) if table.num_columns else []


@pytest.mark.parametrize("strategy", list(LoadStrategy))
def test_a_strategy_means_what_it_says(strategy: LoadStrategy, session: Session) -> None:
    connection = Executing(session)
    connection.execute("CREATE TABLE source (id NUMBER, name VARCHAR)")
    connection.execute("INSERT INTO source VALUES (1, 'a'), (2, 'b')")
    history = ", valid_from TIMESTAMP_LTZ, valid_to TIMESTAMP_LTZ, is_current BOOLEAN"
    versions = strategy is LoadStrategy.SCD_TYPE_2
    connection.execute(f"CREATE TABLE target (id NUMBER, name VARCHAR{history if versions else ''})")
    loader = SqlLoader(connection)

    def load() -> None:
        loader.load(strategy, "target", "SELECT id, name FROM source", COLUMNS, ["id"])

    def found() -> list[tuple[object, ...]]:
        return connection.execute("SELECT id::VARCHAR, name FROM target ORDER BY id, name")

    load()
    assert found() == [("1", "a"), ("2", "b")]
    if strategy is not LoadStrategy.APPEND:
        load()
        assert found() == [("1", "a"), ("2", "b")], "again, it changes nothing"
    connection.execute("DELETE FROM source WHERE id = 1")
    connection.execute("UPDATE source SET name = 'B' WHERE id = 2")
    connection.execute("INSERT INTO source VALUES (3, NULL)")
    load()
    expected = {
        LoadStrategy.APPEND: [("1", "a"), ("2", "B"), ("2", "b"), ("3", None)],
        LoadStrategy.OVERWRITE: [("2", "B"), ("3", None)],
        LoadStrategy.UPSERT: [("1", "a"), ("2", "B"), ("3", None)],
        LoadStrategy.MERGE: [("2", "B"), ("3", None)],
        LoadStrategy.SCD_TYPE_2: [("1", "a"), ("2", "B"), ("2", "b"), ("3", None)],
    }
    assert found() == expected[strategy]
    if versions:
        load()
        current = "SELECT id::VARCHAR, name FROM target WHERE is_current AND valid_to IS NULL ORDER BY id"
        assert connection.execute(current) == [("1", "a"), ("2", "B"), ("3", None)]
        closed = "SELECT id::VARCHAR, name FROM target WHERE NOT is_current AND valid_to >= valid_from"
        assert connection.execute(closed) == [("2", "b")]


def test_a_strategy_that_fails_leaves_nothing(session: Session) -> None:
    connection = Executing(session)
    connection.execute("CREATE TABLE target (id NUMBER, name VARCHAR)")
    connection.execute("INSERT INTO target VALUES (1, 'a')")
    with pytest.raises(Exception, match="NOWHERE"):
        SqlLoader(connection).load(LoadStrategy.MERGE, "target", "SELECT id, name FROM nowhere", COLUMNS, ["id"])
    assert connection.execute("SELECT COUNT(*)::VARCHAR FROM target") == [("1",)]
    with pytest.raises(ValueError, match="upsert needs a key"):
        SqlLoader(connection).load(LoadStrategy.UPSERT, "target", "SELECT 1", COLUMNS)


class Cursors:
    """A session as DB-API shows it."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def execute(self, sql: str) -> Cursors:
        self.result = self.session.execute(sql)
        self.description = [(column.name, column.type.kind.value) for column in self.result.columns]
        return self

    def fetch_arrow_table(self) -> pa.Table:
        return self.result.data.rename_columns([column.name for column in self.result.columns])


def test_a_table_is_sent_on(session: Session, tmp_path: Path) -> None:
    session.execute("CREATE TABLE orders (id NUMBER, at TIMESTAMP_NTZ, doc VARIANT)")
    session.execute("INSERT INTO orders SELECT 1, '2024-01-01'::TIMESTAMP_NTZ, PARSE_JSON('{\"a\": 1}')")
    changes = SnowmeltExtractor(Cursors(session), "orders", key=["id"], change_column="at")
    loader = FilesLoader(tmp_path, "orders", "flow", "run")
    assert run_flow(Flow("flow", changes, loader)).rows == 1
    assert run_flow(Flow("flow", changes, loader)).batches == 0
    session.execute("INSERT INTO orders SELECT 2, '2024-01-01'::TIMESTAMP_NTZ, NULL")
    session.execute("INSERT INTO orders SELECT 3, '2024-01-02 10:00:00'::TIMESTAMP_NTZ, NULL")
    (batch,) = changes.extract(loader.place())
    loader.close()
    assert [record["id"] for record in batch.records] == [2, 3]
    whole = SnowmeltExtractor(Cursors(session), "orders", key=["id"])
    (everything,) = whole.extract(None)
    assert [record["doc"] for record in everything.records] == [{"a": 1}, None, None]
    assert list(whole.extract(everything.place)) == []
