"""A table of PostgreSQL into Snowmelt by `snowmelt.extract_load`, beside Spark's JDBC reader and Delta's writer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from sqlalchemy import make_url

from benchmarks.comparing import difference_of_tables
from benchmarks.measuring import Measure, Outcome, alone, side_by_side
from benchmarks.workbench import Workbench
from snowmelt.engine.jars import ensure_jars, locked_jars
from snowmelt.engine.session import class_loader_of, with_jars
from snowmelt.extract_load import RAW_DDL, Flow, Loader, PostgresExtractor, RawLoader, TableLoader, run_flow
from snowmelt.ingest.cdc.embedded_postgres import EmbeddedPostgres

_CONNECTIONS = 2
"""For either side: as many as the machine that this is aimed at has cores."""
_FETCHED = 10_000
"""Rows that JDBC asks for at once; its own default asks for all, and holds them."""
_SOURCE = """
CREATE TABLE orders AS SELECT
  n AS id, n * 7 % 50000 AS customer, (ARRAY['new', 'paid', 'sent', 'returned'])[n % 4 + 1] AS status,
  (n % 100000 / 100.0)::numeric(12, 2) AS amount, n / 8.0::double precision AS score, n % 3 = 0 AS paid,
  '2024-01-01'::date + (n % 700)::int AS ordered, '2024-01-01'::timestamp + n * interval '1 second' AS at,
  '2024-01-01Z'::timestamptz + n * interval '1 second' AS changed_at, 'note ' || n % 1000 AS note
FROM generate_series(1::bigint, {rows}) AS n
"""
_COLUMNS = (
    "id INT, customer INT, status VARCHAR, amount NUMBER(12,2), score FLOAT, paid BOOLEAN, ordered DATE, "
    "at TIMESTAMP_NTZ, changed_at TIMESTAMP_LTZ, note VARCHAR"
)


def run(bench: Workbench) -> Outcome:
    rows = bench.rows(1_000_000)
    bench.step("moving: making rows")
    with _source(rows) as address:
        typed = _typed(bench, address, rows)
        raw = _raw(bench, address, rows)
    facts = {
        "rows": rows, "typed rows/s": round(rows / typed.snowmelt.median * 1000),
        "rows/s by JDBC": round(rows / typed.plain.median * 1000) if typed.plain is not None else 0,
        "raw rows/s": round(rows / raw.snowmelt.median * 1000),
    }  # fmt: skip
    return Outcome((typed, raw), facts=facts)


@contextmanager
def _source(rows: int) -> Iterator[str]:
    with EmbeddedPostgres() as server:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(_SOURCE.format(rows=rows).encode())
            connection.execute("CREATE UNIQUE INDEX ON orders (changed_at, id)")
            connection.execute("ANALYZE orders")
        yield server.url()


def _typed(bench: Workbench, address: str, rows: int) -> Measure:
    rounds, warmup = bench.rounds(3), 1
    for number in range(rounds + warmup):
        bench.connection.execute(f"CREATE TABLE moved_{number} ({_COLUMNS})")
    bench.step("starting Spark")
    session = _with_driver(bench)

    def ours(number: int) -> None:
        _move(address, TableLoader(bench.connection, f"moved_{number}", "orders", "run"), rows)

    def theirs(number: int) -> None:
        _by_jdbc(session, address, _plain_path(bench, number), rows)

    name = f"{rows:,} rows of 10 columns, typed"
    measure = side_by_side(name, ours, theirs, rounds=rounds, warmup=warmup, step=bench.step)
    last = rounds + warmup - 1
    paths = (bench.snowmelt_path(f"moved_{last}"), _plain_path(bench, last))
    one, other = (DeltaTable(path).to_pyarrow_table() for path in paths)
    return Measure(name, measure.snowmelt, measure.plain, difference_of_tables(one, other, "id"))


def _plain_path(bench: Workbench, number: int) -> str:
    return str(bench.folder(f"moved_{number}") / "table")


def _raw(bench: Workbench, address: str, rows: int) -> Measure:
    """As built projects land it: each row a document of a VARIANT. Spark's reader has no counterpart."""
    rounds = bench.rounds(1)

    def ours(number: int) -> None:
        bench.connection.execute(f"CREATE TABLE landed_{number} {RAW_DDL}")
        _move(address, RawLoader(bench.connection, f"landed_{number}", "orders", "run"), rows)

    return alone(f"{rows:,} rows as documents", ours, rounds=rounds, warmup=0, step=bench.step)


def _move(address: str, loader: Loader, rows: int) -> None:
    """Until everything is visible, and its place with it."""
    extractor = PostgresExtractor(address, "orders", key=["id"], change_column="changed_at", parallel=_CONNECTIONS)
    with closing(loader):
        result = run_flow(Flow("orders", extractor, loader))
    assert result.rows == rows


def _with_driver(bench: Workbench) -> SparkSession:
    """PostgreSQL's driver is among the jars of change data capture."""
    jars = [jar for jar in locked_jars("snowmelt.ingest.cdc") if jar.coordinate.startswith("org.postgresql:")]
    return with_jars(bench.plain, ensure_jars(jars=jars))


def _by_jdbc(session: SparkSession, address: str, target: str, rows: int) -> None:
    url = make_url(address)
    with class_loader_of(session):
        read = session.read.format("jdbc").options(
            url=f"jdbc:postgresql://{url.host}:{url.port}/{url.database}", user=url.username, dbtable="orders",
            driver="org.postgresql.Driver", fetchsize=_FETCHED, partitionColumn="id", lowerBound=1,
            upperBound=rows + 1, numPartitions=_CONNECTIONS, preferTimestampNTZ="true",
        )  # fmt: skip
        read.load().write.format("delta").save(target)
