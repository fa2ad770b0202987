"""Writing: one row, some rows, a small MERGE into a large table."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from benchmarks.comparing import difference_of_tables
from benchmarks.events import COLUMNS, empty, events
from benchmarks.measuring import Aim, Measure, Outcome, side_by_side
from benchmarks.workbench import TableSpec, Workbench

_WARMUP = 5
_INSERT_AIM_MS = 30
_MERGE_AIM = 5
_UPDATES, _INSERTS = 80, 20


def insert_row(bench: Workbench) -> Outcome:
    bench.load(empty("single_rows"))

    def statement(number: int) -> str:
        return f"INSERT INTO single_rows VALUES ({number}, {number * 7}, 'paid', {number}.25, DATE '2024-05-06')"

    measure = _statements(bench, "1-row INSERT", statement, "single_rows", bench.rounds(25), _WARMUP)
    median = measure.snowmelt.median
    aim = Aim(f"below {_INSERT_AIM_MS} ms", f"{median:.1f} ms", median < _INSERT_AIM_MS)
    return Outcome((measure,), (aim,))


def insert_select(bench: Workbench) -> Outcome:
    rows = 10_000
    bench.load(events("staged", rows, files=1))
    bench.load(empty("gathered"))

    def statement(number: int) -> str:
        return (
            f"INSERT INTO gathered SELECT id + {number * rows}, customer, UPPER(status), amount * 2, ordered "
            "FROM staged"
        )

    measure = _statements(bench, "INSERT … SELECT", statement, "gathered", bench.rounds(15), 3)
    return Outcome((measure,), facts={"rows": rows})


def merge(bench: Workbench) -> Outcome:
    """80 updates spread over the whole table and 20 new rows, other ones in each round."""
    rows = bench.rows(1_000_000)
    rounds, warmup = bench.rounds(7), 2
    bench.load(events("facts", rows, change_feed=True))
    bench.load(_changes("changes", rows, rounds + warmup))

    def statement(number: int) -> str:
        return f"""MERGE INTO facts t
USING (SELECT id, customer, status, amount, ordered FROM changes WHERE batch = {number}) s
ON t.id = s.id
WHEN MATCHED THEN UPDATE SET customer = s.customer, status = s.status, amount = s.amount, ordered = s.ordered
WHEN NOT MATCHED THEN INSERT (id, customer, status, amount, ordered)
    VALUES (s.id, s.customer, s.status, s.amount, s.ordered)"""

    measure = _statements(bench, "100-row MERGE", statement, "facts", rounds, warmup)
    ours, theirs = bench.feed_counts("facts")
    if measure.difference is None and ours != theirs:
        measure = replace(measure, difference=f"change feed {ours} against {theirs}")
    faster = 1 / measure.ratio if measure.ratio else 0.0
    aim = Aim(f"at least {_MERGE_AIM} times faster than Spark's MERGE", f"{faster:.1f} times", faster >= _MERGE_AIM)
    return Outcome((measure,), (aim,), {"rows": rows, "updates": _UPDATES, "inserts": _INSERTS})


def _changes(name: str, rows: int, batches: int) -> TableSpec:
    columns = {"batch": "INTEGER", **COLUMNS}
    chooser = random.Random(11)
    pairs = [
        (batch, number)
        for batch in range(batches)
        for number in [
            *chooser.sample(range(rows), _UPDATES),
            *range(rows + batch * _INSERTS, rows + (batch + 1) * _INSERTS),
        ]
    ]

    def frame(spark: SparkSession) -> DataFrame:
        given = spark.createDataFrame(pairs, "batch bigint, id bigint").coalesce(1)
        return given.selectExpr(
            "batch", "id", "id % 977 AS customer", "concat('changed ', batch) AS status",
            "cast(batch + 0.5 AS decimal(12, 2)) AS amount", "DATE '2025-01-01' AS ordered",
        )  # fmt: skip

    return TableSpec(name, columns, frame)


def _statements(
    bench: Workbench, name: str, statement: Callable[[int], str], table: str, rounds: int, warmup: int
) -> Measure:
    """Runs the same statements on both sides, then compares the tables they wrote."""

    def ours(number: int) -> None:
        bench.snowmelt_rows(statement(number))

    def theirs(number: int) -> None:
        bench.plain_rows(statement(number))

    measure = side_by_side(name, ours, theirs, rounds=rounds, warmup=warmup, step=bench.step)
    bench.step(f"{name}: comparing the tables")
    return replace(measure, difference=difference_of_tables(*bench.contents(table), key="id"))
