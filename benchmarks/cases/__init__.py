"""The benchmarks, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.cases import (
    capture,
    channels,
    cold,
    dbt_build,
    door,
    few_rows,
    first_fill,
    idle,
    life,
    metadata,
    moving,
    quality,
    reading,
    refresh,
    refresh_others,
    streams,
    thousand,
    tpch,
    translation,
    upkeep,
    writing,
)
from benchmarks.measuring import Outcome
from benchmarks.workbench import Workbench


@dataclass(frozen=True, slots=True)
class Benchmark:
    title: str
    run: Callable[[Workbench], Outcome]


BENCHMARKS = {
    "point-select": Benchmark("Point SELECT by key from a 1,000,000-row table", reading.point_select),
    "small-select": Benchmark("SELECT, GROUP BY and join over 10,000 rows, beside Spark and DuckDB", reading.small),
    "insert-row": Benchmark("INSERT of one row", writing.insert_row),
    "insert-select": Benchmark("INSERT … SELECT of 10,000 rows", writing.insert_select),
    "merge": Benchmark("MERGE of 100 rows into 1,000,000, change feed on", writing.merge),
    "few-rows": Benchmark("A few rows of TPC-H's largest tables changed by keys of another table", few_rows.run),
    "tpch": Benchmark("TPC-H, 22 queries", tpch.run),
    "first-fill": Benchmark("Dynamic tables: the first fill, beside CREATE TABLE AS", first_fill.run),
    "refresh": Benchmark("Dynamic tables: TPC-H, 0.1 % changed, beside CREATE TABLE AS and DuckDB", refresh.run),
    "refresh-few": Benchmark("Dynamic tables: TPC-H, ten rows changed, beside DuckDB computing anew", refresh.few),
    "refresh-shares": Benchmark("Dynamic tables: from 0.01 % to half of the orders changed", refresh.shares),
    "refresh-growth": Benchmark("Dynamic tables: the same change in tables ten times larger", refresh.growth),
    "refresh-others": Benchmark(
        "Dynamic tables: beside CREATE TABLE AS, Spark's materialized view, a hand-written MERGE", refresh_others.run
    ),
    "refresh-chain": Benchmark("Dynamic tables: a chain of three", refresh.chain),
    "idle": Benchmark("Dynamic tables: a thousand whose sources do not change", idle.run),
    "thousand": Benchmark("Dynamic tables: a thousand over one source that changes every second", thousand.run),
    "streams": Benchmark("Streams: 0.01 % to 10 % of 10,000,000 rows changed, beside the raw feed", streams.run),
    "channels": Benchmark("Channels: beside Spark's streaming file source and COPY INTO", channels.run),
    "capture": Benchmark("Capture: PostgreSQL's rows and changes, beside Spark's JDBC", capture.run),
    "moving": Benchmark("Pipelines: a table of PostgreSQL, beside Spark's JDBC reader", moving.run),
    "quality-refresh": Benchmark(
        "Quality: a refresh of 1,000,000 changed rows with and without checks", quality.refresh
    ),
    "quality-checks": Benchmark("Quality: 50 checks of one table beside three scans", quality.fifty),
    "quality-unique": Benchmark("Quality: a key of 10,000,000 rows when 100 come", quality.unique),
    "upkeep": Benchmark("Upkeep: a commit a second, beside none and beside OPTIMIZE and VACUUM by cron", upkeep.run),
    "door": Benchmark("The Snowflake door: one connection, and a hundred at once", door.run),
    "beside-loader": Benchmark("SELECTs of six rows by eight clients, and a loader beside them", door.beside_loader),
    "dbt-build": Benchmark("dbt build of a data product, beside a server with Spark alone", dbt_build.run),
    "restart": Benchmark("A server that was killed: until it answers again", life.restart),
    "cancelling": Benchmark("Statements that would never end: from cancelling them to their end", life.cancelling),
    "translation": Benchmark("Translation: parse, bind, emit, without Spark", translation.run),
    "metadata": Benchmark("Metadata statements, without Spark", metadata.run),
    "cold": Benchmark("Cold starts of the command line, in processor time", cold.run),
}
