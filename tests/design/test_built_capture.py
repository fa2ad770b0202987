"""Built projects that read a PostgreSQL's log: whatever is killed when, their tables are those of the source."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from snowmelt.ingest.cdc.embedded_postgres import LOGICAL_REPLICATION, EmbeddedPostgres
from tests.design.building import PROJECTS, built, environment, killed_in_the_middle, made, queried, streaming

pytestmark = pytest.mark.slow
Source = psycopg.Connection[Any]
SHOP: dict[str, Any] = {
    "name": "shop_stream", "owner": "sales", "recipe": "cdc", "latency": "20 seconds",
    "volume": {"events_per_second": 100}, "pii": {"present": False}, "approvals": {"ASK-LATENCY": "the board"},
    "sources": [{"name": "shop", "kind": "postgres", "connection": "SHOP_URL", "tables": [
        {"name": "public.orders", "key": ["id"], "replica_identity": "full", "columns": [
            {"name": "id", "type": "NUMBER(38,0)"}, {"name": "customer", "type": "NUMBER(38,0)"},
            {"name": "amount", "type": "NUMBER(12,2)"}, {"name": "placed", "type": "TIMESTAMP_NTZ"}]},
        {"name": "customers", "key": ["id"], "columns": [
            {"name": "id", "type": "NUMBER(38,0)"}, {"name": "city"}]},
    ]}],
    "sinks": [{"name": "mart", "kind": "snowmelt"}],
    "transformations": [{"name": "revenue", "key": ["city"], "sql":
        "SELECT c.city, SUM(o.amount) AS revenue, COUNT(*) AS orders FROM stg_orders o "
        "JOIN stg_customers c ON c.id = o.customer GROUP BY c.city"}],
}  # fmt: skip
PASSWORD = "hush-hush"


@pytest.fixture
def server() -> Iterator[EmbeddedPostgres]:
    with EmbeddedPostgres(LOGICAL_REPLICATION) as running:
        with psycopg.connect(running.url(), autocommit=True) as source:
            source.execute(f"CREATE ROLE capture SUPERUSER LOGIN PASSWORD '{PASSWORD}'".encode())
        yield running


@pytest.fixture
def source(server: EmbeddedPostgres) -> Iterator[Source]:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("CREATE TABLE customers (id int PRIMARY KEY, city text)")
        connection.execute("INSERT INTO customers SELECT i, 'city ' || i % 7 FROM generate_series(1, 500) i")
        yield connection


def url(server: EmbeddedPostgres) -> str:
    return f"postgresql://capture:{PASSWORD}@127.0.0.1:{server.port}/postgres?sslmode=disable"


def in_source(source: Source, query: str) -> list[str]:
    return [",".join("" if value is None else str(value) for value in row) for row in source.execute(query.encode())]


ORDERS = "SELECT id, customer, amount, placed FROM {} ORDER BY id"
CUSTOMERS = "SELECT id, city FROM {} ORDER BY id"
REVENUE = "SELECT city, revenue, orders FROM {} ORDER BY city"
_SUMS = (
    "(SELECT city, SUM(amount) AS revenue, COUNT(*) AS orders FROM orders o JOIN customers c ON c.id = o.customer "
    "GROUP BY city) AS sums"
)


def assert_equal(project: Path, source: Source, *more: str, runs: int = 0, **variables: str) -> list[str]:
    """Every table is that of the source, after some runs; the answers to more queries."""
    expected = [
        *in_source(source, ORDERS.format("orders")), *in_source(source, CUSTOMERS.format("customers")),
        *in_source(source, REVENUE.format(_SUMS)),
    ]  # fmt: skip
    found = queried(
        project, ORDERS.format("stg_orders"), CUSTOMERS.format("stg_customers"), REVENUE.format("revenue"),
        *more, runs=runs, **variables,
    )  # fmt: skip
    assert found[: len(expected)] == expected
    return found[len(expected) :]


_ONCE = "SELECT COUNT(*) - COUNT(DISTINCT change_number), COUNT_IF(operation = 'TRUNCATE') FROM raw_shop_changes"


def test_a_log_is_followed_row_for_row(server: EmbeddedPostgres, source: Source, tmp_path: Path) -> None:
    """Killed in the first snapshot while rows go from the source; then `make run` and `make stream`, killed again."""
    project = built(SHOP, tmp_path)
    variables = {"SHOP_URL": url(server)}
    source.execute("CREATE TABLE orders (id int PRIMARY KEY, customer int, amount numeric(12, 2), placed timestamp)")
    source.execute("ALTER TABLE orders REPLICA IDENTITY FULL")
    source.execute(
        "INSERT INTO orders SELECT i, i % 500 + 1, i / 4.0, TIMESTAMP '2024-01-01' + i * INTERVAL '1 second' "
        "FROM generate_series(1, 20000) i"
    )
    killed_in_the_middle(project, batches=5, event="changes landed", **variables)
    source.execute("DELETE FROM orders WHERE id % 10 = 0")
    source.execute("UPDATE orders SET amount = amount + 1 WHERE id % 7 = 0")
    (told,) = assert_equal(project, source, _ONCE, runs=1, **variables)
    twice, emptied = map(int, told.split(","))
    assert twice == 0 and emptied in (1, 2), "the snapshot began anew, for each table that had begun to land"
    _change(source, 1)
    count = "SELECT COUNT(*) FROM raw_shop_changes"
    (landed,) = assert_equal(project, source, count, runs=1, **variables)
    assert queried(project, count, runs=1, **variables) == [landed], "a run that finds nothing changes nothing"
    with streaming(project, **variables) as stream:
        stream.wait_for_rows(0)
        stream.wait_for_rows(_change(source, 2))
    assert_equal(project, source, _ONCE)
    with streaming(project, **variables) as stream:
        stream.wait_for_rows(0)
        source.execute("TRUNCATE orders")
        _change(source, 3)
        source.execute(_MANY.format(100_000).encode())
        stream.wait(lambda events: any(event.get("changes", 0) > 1 for event in events))
        stream.end(signal.SIGKILL)
    made(project, "run", "backfill", "quality", "check", **variables)
    assert assert_equal(project, source, _ONCE) == [f"0,{emptied + 1}"]
    _assert_no_secret(project)


def _change(source: Source, turn: int) -> int:
    """Rows come, change, change their key and go; how many changes the log has then."""
    first = 30_000 * turn
    statements = (
        _MANY.format(first), f"UPDATE orders SET amount = {turn} WHERE id % 100 = {turn}",
        f"UPDATE orders SET customer = NULL WHERE id % 100 = {turn + 10}",
        f"DELETE FROM orders WHERE id % 100 = {turn + 20}", f"DELETE FROM customers WHERE id = {turn}",
        f"UPDATE customers SET city = 'moved {turn}' WHERE id % 50 = {turn}",
    )  # fmt: skip
    changes = sum(source.execute(statement.encode()).rowcount for statement in statements)
    renumbered = source.execute(f"UPDATE orders SET id = -id WHERE id % 100 = {turn + 30}".encode()).rowcount
    return changes + 2 * renumbered


_MANY = (
    "INSERT INTO orders SELECT {0} + i, i % 500 + 1, i, TIMESTAMP '2024-02-01' + i * INTERVAL '1 second' "
    "FROM generate_series(1, 9000) i"
)


def _assert_no_secret(project: Path) -> None:
    """The password is in the environment alone."""
    for path in project.rglob("*"):
        assert not path.is_file() or PASSWORD.encode() not in path.read_bytes(), path


# -- every version ----------------------------------------------------------------------------------------------------


def test_every_version_is_kept_and_the_current_ones_are_the_source(
    server: EmbeddedPostgres, source: Source, tmp_path: Path
) -> None:
    """A snapshot that is taken once more closes what is gone, and makes no version of what is the same."""
    project = built(PROJECTS["postgres_log_snowmelt"], tmp_path)
    variables = {"SHOP_URL": url(server)}
    source.execute("INSERT INTO customers SELECT i, 'town' FROM generate_series(1001, 20000) i")
    killed_in_the_middle(project, batches=5, event="changes landed", **variables)
    source.execute("DELETE FROM customers WHERE id = 1 OR id > 18000")
    current = CUSTOMERS.format("stg_customers WHERE is_current")
    checked = "PARSE_JSON(SYSTEM$CHECK_SCD('stg_customers')):sound::BOOLEAN"
    sound = f"SELECT COUNT_IF(NOT is_current), {checked} FROM stg_customers"
    expected = in_source(source, CUSTOMERS.format("customers"))
    *rows, told = queried(project, current, sound, runs=1, **variables)
    assert rows == expected
    closed = int(told.partition(",")[0])
    assert closed <= 2001, "only rows that are gone"
    source.execute("UPDATE customers SET city = 'moved' WHERE id <= 10")
    source.execute("DELETE FROM customers WHERE id BETWEEN 11 AND 20")
    expected = in_source(source, CUSTOMERS.format("customers"))
    found = queried(project, current, sound, runs=1, **variables)
    assert found == [*expected, f"{closed + 19},True"]
    source.execute("TRUNCATE customers")
    source.execute("INSERT INTO customers VALUES (5, 'back'), (30000, 'new')")
    assert queried(project, current, runs=2, **variables) == ["5,back", "30000,new"]


def test_what_a_source_lacks_is_told_and_mended(tmp_path: Path) -> None:
    """Without logical replication the run ends with what to do; when it is done, the next run goes on."""
    project = built(PROJECTS["postgres_log_snowmelt"], tmp_path)
    with EmbeddedPostgres({"max_wal_senders": "5"}) as server:
        with psycopg.connect(server.url(), autocommit=True) as source:
            source.execute("CREATE TABLE customers (id int PRIMARY KEY, city text)")
            source.execute("INSERT INTO customers VALUES (1, 'Paris')")
            done = subprocess.run(
                ["make", "run", f"PYTHON={sys.executable}"], cwd=project, timeout=600, capture_output=True, text=True,
                env=environment(project, SHOP_URL=server.url()), check=False,
            )  # fmt: skip
            assert done.returncode != 0 and "wal_level" in done.stderr, done.stderr[-3000:]
            source.execute("ALTER SYSTEM SET wal_level = 'logical'")
        server.stop()
        server.start()
        query = "SELECT id, city FROM stg_customers WHERE is_current"
        assert queried(project, query, runs=1, SHOP_URL=server.url()) == ["1,Paris"]
