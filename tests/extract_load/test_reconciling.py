"""Rows committed late, and tables here held against their sources: a real PostgreSQL, an account, and no Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import snowmelt
from snowmelt.extract_load import FilesExtractor, Flow, PostgresExtractor, RawLoader, Rows, run_flow
from snowmelt.extract_load.noting import RECONCILIATIONS_DDL, note_reconciliation, seconds_since_reconciliation
from snowmelt.extract_load.reconciling.comparing import reconcile
from snowmelt.extract_load.reconciling.model import ComparedTable, Key
from snowmelt.extract_load.reconciling.sides import DatabaseSide, RecordsSide, TableSide
from snowmelt.extract_load.records import Batch
from tests.support.postgres import empty_schema

Source = psycopg.Connection[Any]
ORDERS = ComparedTable("orders", "orders", ("id",), day="at", sums=("id", "amount"), complete=False)


@pytest.fixture
def source(postgres_url: str) -> Iterator[tuple[str, Source]]:
    url = empty_schema(postgres_url)
    with psycopg.connect(url, autocommit=True) as opened:
        opened.execute("CREATE TABLE orders (id int PRIMARY KEY, amount numeric(12,2), at timestamp)")
        opened.execute(
            "INSERT INTO orders SELECT i, i * 1.5, timestamp '2024-01-01' + i * interval '1 hour' "
            "FROM generate_series(1, 60) i"
        )
        yield url, opened


class Pipeline:
    """Orders by their change column, and a table of the newest record of each key."""

    def __init__(self, connection: snowmelt.Connection, url: str, overlap: int = 0) -> None:
        self.connection = connection
        self.extractor = PostgresExtractor(url, "orders", key=("id",), change_column="at", overlap=overlap)

    def bring(self) -> None:
        self.load(self.extractor, "orders")
        self.connection.execute(
            "CREATE OR REPLACE TABLE orders AS SELECT record:id::INT AS id, record:amount::NUMBER(12,2) AS amount, "
            "record:at::TIMESTAMP_NTZ AS at FROM raw "
            "QUALIFY ROW_NUMBER() OVER (PARTITION BY record:id::INT ORDER BY record:at::TIMESTAMP_NTZ DESC) = 1"
        )

    def load(self, extractor: Any, channel: str) -> int:
        loader = RawLoader(self.connection, "raw", channel, "run")
        try:
            return run_flow(Flow(channel, extractor, loader)).rows
        finally:
            loader.close()

    def repair(self, side: DatabaseSide, keys: list[Key]) -> int:
        loader = RawLoader(self.connection, "raw", "orders_late", "run")
        rows: list[Rows] = list(side.fetch(keys))
        try:
            return sum(loader.load(Batch(part, f"{keys[0]}:{number}", "late"), "2024-01-01T00:00:00+00:00")
                       for number, part in enumerate(rows))  # fmt: skip
        finally:
            loader.close()

    def reconciled(self, compared: ComparedTable = ORDERS, *, repairing: bool = False) -> Any:
        sides = (DatabaseSide(compared, self.extractor), TableSide(compared, self.connection))
        return reconcile(*sides, bring=self.bring, repair=self.repair if repairing else None)


def test_a_row_that_is_committed_late_is_seen_by_the_overlap(
    connection: snowmelt.Connection, source: tuple[str, Source]
) -> None:
    url, orders = source
    pipeline = Pipeline(connection, url, overlap=4 * 3600)
    assert pipeline.load(pipeline.extractor, "orders") == 60
    assert pipeline.load(pipeline.extractor, "orders") == 0, "what came before does not come again"
    orders.execute("INSERT INTO orders VALUES (100, 7, '2024-01-03 10:30'), (101, 8, '2024-01-03 13:00')")
    assert pipeline.load(pipeline.extractor, "orders") == 2, "one of them is behind the place"
    assert pipeline.load(pipeline.extractor, "orders") == 0
    orders.execute("INSERT INTO orders VALUES (102, 9, '2024-01-03 08:59')")
    assert pipeline.load(pipeline.extractor, "orders") == 0, "the hole: earlier than the overlap reaches"
    orders.execute("UPDATE orders SET amount = 1, at = '2024-01-03 12:30' WHERE id = 100")
    assert pipeline.load(pipeline.extractor, "orders") == 1


def test_what_the_place_remembers_has_a_bound(
    connection: snowmelt.Connection, source: tuple[str, Source], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("snowmelt.extract_load.sources.overlap._MOST", 3)
    url, orders = source
    pipeline = Pipeline(connection, url, overlap=24 * 3600)
    assert pipeline.load(pipeline.extractor, "orders") == 60
    orders.execute("INSERT INTO orders VALUES (100, 7, '2024-01-03 11:30'), (101, 7, '2024-01-03 02:30')")
    assert pipeline.load(pipeline.extractor, "orders") == 1, "the last three rows are remembered; none comes twice"


@pytest.mark.slow
def test_a_late_commit_is_found_and_fetched(connection: snowmelt.Connection, source: tuple[str, Source]) -> None:
    """Spark, for the QUALIFY over documents."""
    url, orders = source
    pipeline = Pipeline(connection, url)
    pipeline.bring()
    assert pipeline.reconciled().breaches == 0
    orders.execute("INSERT INTO orders VALUES (100, 7, '2024-01-01 00:30')")
    orders.execute("INSERT INTO orders VALUES (101, 8, '2024-02-01')")
    found = pipeline.reconciled()
    assert found.differences == {("100",): "missing"}, "the other one was only on its way"
    assert found.days == ("2024-01-01", "2024-02-01") and (found.source_rows, found.table_rows) == (62, 61)
    found = pipeline.reconciled(repairing=True)
    assert (found.breaches, found.repaired) == (0, 1)
    orders.execute("DELETE FROM orders WHERE id = 1")
    assert pipeline.reconciled().breaches == 0, "a change column does not tell what is gone"


def compare(connection: snowmelt.Connection, url: str, compared: ComparedTable) -> Any:
    extractor = PostgresExtractor(url, "orders", key=compared.key)
    return reconcile(DatabaseSide(compared, extractor), TableSide(compared, connection), bring=lambda: None)


def test_counts_sums_and_keys_are_compared_by_day(connection: snowmelt.Connection, source: tuple[str, Source]) -> None:
    url, orders = source
    connection.execute("CREATE TABLE orders (id INT, amount NUMBER(12,2), at TIMESTAMP_NTZ)")
    rows = orders.execute("SELECT id, amount, at FROM orders").fetchall()
    values = ", ".join(f"({key}, {amount}, '{at}')" for key, amount, at in rows)
    connection.execute(f"INSERT INTO orders VALUES {values}")
    complete = ComparedTable("orders", "orders", ("id",), day="at", sums=("id", "amount"))
    assert compare(connection, url, complete).differences == {}
    connection.execute("UPDATE orders SET amount = amount + 1 WHERE id = 30")
    connection.execute("DELETE FROM orders WHERE id = 5")
    connection.execute("INSERT INTO orders VALUES (900, 1, '2024-01-02')")
    found = compare(connection, url, complete)
    assert found.differences == {("5",): "missing", ("30",): "different", ("900",): "extra"}
    assert found.days == ("2024-01-01", "2024-01-02") and found.breaches == 3
    connection.execute(f"CREATE TABLE reconciliations {RECONCILIATIONS_DDL}")
    assert seconds_since_reconciliation(connection, "orders") is None
    note_reconciliation(connection, found, "run")
    told = "SELECT missing, different, extra, breaches, examples[0]:key.id::VARCHAR FROM reconciliations"
    assert connection.execute(told).fetchall() == [(1, 1, 1, 3, "5")]
    assert seconds_since_reconciliation(connection, "orders") is not None


def test_equal_totals_do_not_hide_other_keys(connection: snowmelt.Connection, postgres_url: str) -> None:
    url = empty_schema(postgres_url)
    with psycopg.connect(url, autocommit=True) as opened:
        opened.execute("CREATE TABLE orders (id text PRIMARY KEY, email text)")
        opened.execute("INSERT INTO orders VALUES ('a', 'x'), ('b', 'y')")
    connection.execute("CREATE TABLE orders (id VARCHAR)")
    connection.execute("INSERT INTO orders VALUES ('a'), ('c')")
    found = compare(connection, url, ComparedTable("orders", "orders", ("id",)))
    assert found.differences == {("b",): "missing", ("c",): "extra"}
    connection.execute("DELETE FROM orders WHERE id = 'c'")
    connection.execute("INSERT INTO orders SELECT SHA2('b', 256)")
    connection.execute("UPDATE orders SET id = SHA2('a', 256) WHERE id = 'a'")
    assert compare(connection, url, ComparedTable("orders", "orders", ("id",), hashed=("id",))).differences == {}


def test_files_are_read_once_more(connection: snowmelt.Connection, tmp_path: Path) -> None:
    (tmp_path / "orders_1.csv").write_text("id,amount,at\n1,5,2024-01-01T10:00:00\n2,6.50,2024-01-01T11:00:00\n")
    (tmp_path / "orders_2.csv").write_text("id,amount,at\n1,7,2024-01-02T10:00:00\n")
    connection.execute("CREATE TABLE orders (id INT, amount NUMBER(12,2), at TIMESTAMP_NTZ)")
    connection.execute("INSERT INTO orders VALUES (1, 7, '2024-01-02 10:00'), (2, 6.5, '2024-01-01 11:00')")

    def found() -> Any:
        side = RecordsSide(ORDERS, FilesExtractor(str(tmp_path), "orders_*.csv"), None)
        return reconcile(side, TableSide(ORDERS, connection), bring=lambda: None)

    assert found().differences == {}
    (tmp_path / "orders_3.csv").write_text("id,amount,at\n3,1,2024-01-03T10:00:00\n")
    assert found().differences == {("3",): "missing"}
    side = RecordsSide(ORDERS, FilesExtractor(str(tmp_path), "orders_*.csv"), None)
    assert [list(rows.records) for rows in side.fetch([("3",)])] == [
        [{"id": "3", "amount": "1", "at": "2024-01-03T10:00:00"}]
    ], "as the source has it"
