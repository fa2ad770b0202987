"""Change data capture: how fast PostgreSQL's rows and changes land.

The first snapshot stands beside Spark's JDBC, a bare COPY that keeps nothing, and the one that Debezium reads.
"""

from __future__ import annotations

import time
from typing import Any

import psycopg
from sqlalchemy import Engine, create_engine, text

from benchmarks.comparing import difference_of_rows
from benchmarks.measuring import Measure, Outcome, Samples, timed
from benchmarks.workbench import Workbench
from snowmelt.engine.jars import ensure_jars, locked_jars
from snowmelt.features.connectors.service import Connectors
from snowmelt.ingest.cdc.embedded_postgres import LOGICAL_REPLICATION, EmbeddedPostgres

_ROWS, _CHANGES = 1_000_000, 300_000
_TRANSACTION = 100
"""Rows that a transaction changes."""
_PATIENCE = 900.0
_OTHERS = {
    "raw": "TARGET = RAW RAW_TABLE = read_orders",
    "by_debezium": "TARGET = MIRROR MIRROR_SCHEMA = debezium SNAPSHOT_READER = DEBEZIUM",
}
"""First snapshots beside the one of a mirror; they end with the last row."""
_SUMS = "COUNT(*), SUM(id), SUM(amount), MAX(note), MAX(status)"


def run(bench: Workbench) -> Outcome:
    rows, changes = bench.rows(_ROWS), bench.rows(_CHANGES)
    bench.step("capture: PostgreSQL")
    server = EmbeddedPostgres(LOGICAL_REPLICATION)
    server.__enter__()
    bench.at_close(lambda: server.__exit__(None, None, None))
    source = create_engine(server.url(), isolation_level="AUTOCOMMIT")
    bench.at_close(source.dispose)
    _fill(source, rows)
    bench.account.services[Connectors].start()
    mirrored = _snapshot(bench, server, rows)
    facts: dict[str, str | int | float] = {"rows": rows, "snapshot, rows/s": _rate(rows, mirrored)}
    facts["bare COPY, rows/s"] = _per_second(rows, _copied(server))
    for name, options in _OTHERS.items():
        facts[f"snapshot {name}, rows/s"] = _per_second(rows, _other_snapshot(bench, server, name, options, rows))
    measures = [mirrored]
    for target in ("MIRROR", "RAW"):
        measure = _changes(bench, server, source, target, changes)
        measures.append(measure)
        facts[f"changes/s, {target.lower()}"] = _rate(changes, measure)
    return Outcome(tuple(measures), (), facts)


def _rate(rows: int, measure: Measure) -> int:
    return _per_second(rows, measure.snowmelt.median)


def _per_second(rows: int, milliseconds: float) -> int:
    return round(rows / milliseconds * 1000)


def _fill(source: Engine, rows: int) -> None:
    with source.connect() as connection:
        connection.execute(
            text(
                "CREATE TABLE orders (id BIGINT PRIMARY KEY, customer INT, status TEXT, amount NUMERIC(12,2), "
                "note TEXT, at TIMESTAMPTZ)"
            )
        )
        connection.execute(
            text(
                "INSERT INTO orders SELECT n, n % 5000, 'new', n % 100000 / 100.0, 'note ' || n % 1000, "
                f"TIMESTAMPTZ '2024-01-01' + n * INTERVAL '1 second' FROM generate_series(1, {rows}) n"
            )
        )


def _create(bench: Workbench, server: EmbeddedPostgres, name: str, options: str) -> None:
    bench.connection.execute(
        f"CREATE CONNECTOR {name} TYPE = POSTGRES HOST = '127.0.0.1' PORT = {server.port} DATABASE = 'postgres' "
        f"USER = 'postgres' TABLES = ('public.orders') {options}"
    )


def _state(bench: Workbench, name: str) -> dict[str, Any]:
    cursor = bench.connection.execute(f"DESCRIBE CONNECTOR {name}")
    return dict(zip((column[0].lower() for column in cursor.description or ()), cursor.fetchall()[0], strict=True))


def _until_equal(bench: Workbench, query: str, wanted: list[tuple[Any, ...]]) -> None:
    until = time.monotonic() + _PATIENCE
    while (found := bench.snowmelt_rows(query)) != wanted:
        assert time.monotonic() < until, f"{query}: {found} instead of {wanted}"
        time.sleep(0.05)


def _until(bench: Workbench, name: str, wanted: str) -> None:
    until = time.monotonic() + _PATIENCE
    while (state := _state(bench, name))["state"] != wanted:
        assert state["state"] != "FAILED" and time.monotonic() < until, state
        time.sleep(0.05)


def _copied(server: EmbeddedPostgres) -> float:
    """Milliseconds in which PostgreSQL gives the table to a client that throws it away."""

    def copy(_: int) -> None:
        command = "COPY orders TO STDOUT (FORMAT BINARY)"
        with psycopg.connect(server.url()) as connection, connection.cursor().copy(command) as sent:
            while sent.read():
                pass

    return timed(copy, 0)[1]


def _other_snapshot(bench: Workbench, server: EmbeddedPostgres, name: str, options: str, rows: int) -> float:
    """Milliseconds of a first snapshot, the engine's start included where there is one."""
    bench.step(f"capture: the first snapshot, {name}")
    if "debezium" in options:
        home = bench.snowmelt_rows("SELECT CURRENT_SCHEMA()")[0][0]
        bench.connection.execute("CREATE SCHEMA debezium")
        bench.connection.execute(f"USE SCHEMA {home}")

    def take(_: int) -> None:
        _create(bench, server, name, f"{options} SNAPSHOT_MODE = INITIAL_ONLY")
        _until(bench, name, "COMPLETED")

    elapsed = timed(take, 0)[1]
    assert _state(bench, name)["changes"] == rows
    bench.connection.execute(f"DROP CONNECTOR {name}")
    return elapsed


def _snapshot(bench: Workbench, server: EmbeddedPostgres, rows: int) -> Measure:
    """All rows of the table, until they are visible. Both begin with nothing started but Spark."""
    jars = ensure_jars(jars=[jar for jar in locked_jars("snowmelt.ingest.cdc") if jar.artifact == "postgresql"])
    bench.plain.sql(f"ADD JAR '{jars[0]}'")
    path = bench.folder("orders_by_jdbc") / "table"

    def ours(_: int) -> None:
        _create(bench, server, "mirrored", "TARGET = MIRROR")
        _until(bench, "mirrored", "STREAMING")
        _until_equal(bench, "SELECT COUNT(*) FROM orders", [(rows,)])

    def theirs(_: int) -> None:
        reader = bench.plain.read.format("jdbc").option("driver", "org.postgresql.Driver").option("fetchsize", 10_000)
        address = f"jdbc:postgresql://127.0.0.1:{server.port}/postgres?user=postgres"
        reader.option("url", address).option("dbtable", "orders").load().write.format("delta").save(str(path))

    bench.step("capture: the first snapshot")
    mine = timed(ours, 0)[1]
    bench.step("capture: by JDBC")
    other = timed(theirs, 0)[1]
    found, plain = (
        bench.snowmelt_rows(f"SELECT {_SUMS} FROM orders"),
        bench.plain_rows(f"SELECT {_SUMS} FROM delta.`{path}`"),
    )
    return Measure(
        f"{rows:,} rows of PostgreSQL, first snapshot, beside Spark's JDBC", Samples((mine,)), Samples((other,)),
        difference_of_rows(found, plain),
    )  # fmt: skip


def _changes(bench: Workbench, server: EmbeddedPostgres, source: Engine, target: str, changes: int) -> Measure:
    """Updates that are committed as fast as PostgreSQL takes them, until the last is visible here."""
    bench.step(f"capture: changes, {target.lower()}")
    if target == "RAW":
        bench.connection.execute("DROP CONNECTOR mirrored")
        bench.connection.execute(
            "CREATE TABLE raw_orders (operation VARCHAR, table_name VARCHAR, before VARIANT, after VARIANT, "
            "ts_ms NUMBER, ingested_at TIMESTAMP_LTZ)"
        )
        _create(bench, server, "raw", "TARGET = RAW RAW_TABLE = raw_orders SNAPSHOT_MODE = NO_DATA")
        _until(bench, "raw", "STREAMING")
    started = time.perf_counter()
    with source.connect() as connection:
        for first in range(1, changes + 1, _TRANSACTION):
            connection.execute(
                text("UPDATE orders SET amount = amount + 1, status = :status WHERE id BETWEEN :first AND :last"),
                {"status": target, "first": first, "last": min(first + _TRANSACTION - 1, changes)},
            )
    committed = time.perf_counter() - started
    if target == "RAW":
        _until_equal(bench, "SELECT COUNT(*) FROM raw_orders", [(changes,)])
    else:
        _until_equal(bench, "SELECT COUNT(*) FROM orders WHERE status = 'MIRROR'", [(changes,)])
    elapsed = (time.perf_counter() - started) * 1000
    name = f"{changes:,} changes in transactions of {_TRANSACTION}, {target.lower()}, beside PostgreSQL's own time"
    return Measure(name, Samples((elapsed,)), Samples((committed * 1000,)), _difference(bench, source, target))


def _difference(bench: Workbench, source: Engine, target: str) -> str | None:
    """Of what there is now from what the source has, by sums."""
    wanted_sums, found_sums = f"SELECT {_SUMS} FROM orders", f"SELECT {_SUMS} FROM orders"
    if target == "RAW":
        wanted_sums += " WHERE status = 'RAW'"
        found_sums = (
            "SELECT COUNT(*), SUM(after:id::INT), SUM(after:amount::NUMBER(12,2)), MAX(after:note::VARCHAR), "
            "MAX(after:status::VARCHAR) FROM raw_orders"
        )
    with source.connect() as connection:
        wanted = [tuple(row) for row in connection.execute(text(wanted_sums))]
    return difference_of_rows(bench.snowmelt_rows(found_sums), wanted)
