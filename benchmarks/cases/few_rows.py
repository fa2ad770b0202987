"""Changing a few rows of a large table, by keys that another table has: TPC-H's orders and their lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from benchmarks.comparing import difference_of_rows
from benchmarks.measuring import Aim, Measure, Outcome, Samples, alone, side_by_side
from benchmarks.tpch.tables import TABLES
from benchmarks.workbench import TableSpec, Workbench

_AIM_MS = 1_000
_GROWTH = 10
_AT_MOST = 1.5
"""How much longer a table that is so many times larger may take."""
_WARMUP, _ROUNDS = 1, 3
_KEYS = 12
_BESIDE_SPARK = 1.0
"""The largest scale factor at which Spark's own statements are run as well: at 10 each takes a minute or two."""
_STATEMENTS = {
    "UPDATE … IN (SELECT …)": (
        "UPDATE lineitem SET l_quantity = l_quantity + 1 WHERE l_orderkey IN (SELECT k FROM chosen WHERE batch = {})"
    ),
    "UPDATE … EXISTS": (
        "UPDATE lineitem SET l_tax = l_tax + 1 WHERE EXISTS (SELECT 1 FROM chosen WHERE k = l_orderkey AND batch = {})"
    ),
    "MERGE of one row": (
        "MERGE INTO orders USING (SELECT MIN(k) AS k FROM chosen WHERE batch = {}) s ON o_orderkey = s.k"
        " WHEN MATCHED THEN UPDATE SET o_totalprice = o_totalprice + 1"
    ),
    "MERGE of lines": (
        "MERGE INTO lineitem USING (SELECT k FROM chosen WHERE batch = {}) s ON l_orderkey = s.k"
        " WHEN MATCHED THEN UPDATE SET l_discount = l_discount + 1"
    ),
    "DELETE … IN (SELECT …)": "DELETE FROM orders WHERE o_orderkey IN (SELECT k + 1000 FROM chosen WHERE batch = {})",
}
_BY_MERGE = {
    "UPDATE … IN (SELECT …)": (
        "MERGE INTO lineitem USING (SELECT k FROM chosen WHERE batch = {}) s ON l_orderkey = s.k"
        " WHEN MATCHED THEN UPDATE SET l_quantity = l_quantity + 1"
    ),
    "UPDATE … EXISTS": (
        "MERGE INTO lineitem USING (SELECT k FROM chosen WHERE batch = {}) s ON l_orderkey = s.k"
        " WHEN MATCHED THEN UPDATE SET l_tax = l_tax + 1"
    ),
    "DELETE … IN (SELECT …)": (
        "MERGE INTO orders USING (SELECT k + 1000 AS k FROM chosen WHERE batch = {}) s ON o_orderkey = s.k"
        " WHEN MATCHED THEN DELETE"
    ),
}
"""How Spark says it: Delta refuses subqueries in UPDATE and DELETE."""
_SNOWMELT_ONLY = {
    "UPDATE … FROM": "UPDATE lineitem SET l_quantity = l_quantity + 1 FROM chosen WHERE l_orderkey = k AND batch = {}",
    "DELETE … USING": "DELETE FROM lineitem USING chosen WHERE l_orderkey = k AND batch = {}",
}
"""What Spark has no statement for."""
_SUMS = {
    "lineitem": "SELECT COUNT(*), SUM(l_quantity), SUM(l_tax), SUM(l_discount), SUM(l_orderkey) FROM lineitem",
    "orders": "SELECT COUNT(*), SUM(o_totalprice), SUM(o_orderkey) FROM orders",
}


def run(bench: Workbench) -> Outcome:
    """At the scale that was asked for, beside Spark's statements on Delta; and in tables of a tenth, ours alone."""
    beside = bench.scale <= _BESIDE_SPARK
    _load(bench, beside=beside)
    if beside:
        measures = [_beside(bench, name, text) for name, text in _STATEMENTS.items()]
        difference = _difference(bench)
    else:
        measures, difference = _counted(bench)
    measures[0] = replace(measures[0], difference=difference)
    measures += [_alone(bench, name, text) for name, text in _SNOWMELT_ONLY.items()]
    tenth = _tenth(bench)
    aims = [_below(measure) for measure in measures] + [
        _grows(measure, samples) for measure, samples in zip(measures, tenth, strict=True)
    ]
    return Outcome(tuple(measures), tuple(aims), {"scale factor": bench.scale, "keys": _KEYS})


def _load(bench: Workbench, *, beside: bool) -> None:
    folder, load = bench.tpch_files(), bench.load if beside else bench.load_ours
    for name in ("orders", "lineitem"):
        load(TableSpec(name, TABLES[name], partial(_read, path=folder / f"{name}.parquet"), change_feed=True))
    load(TableSpec("chosen", {"batch": "INTEGER", "k": "INTEGER"}, partial(_chosen, scale=bench.scale)))


def _read(spark: SparkSession, path: Path) -> DataFrame:
    return spark.read.parquet(str(path))


def _chosen(spark: SparkSession, scale: float) -> DataFrame:
    """Keys all over the table, other ones in each round. Of every 32 numbers the first eight are orders."""
    span = max(int(6_000_000 * scale) // 32 // _KEYS, 1)
    rows = [
        (batch, (index * span + batch * 7 % span) * 32 + 1)
        for batch in range(_WARMUP + _ROUNDS)
        for index in range(_KEYS)
    ]
    return spark.createDataFrame(rows, "batch bigint, k bigint").coalesce(1)


def _beside(bench: Workbench, name: str, text: str) -> Measure:
    def on(run: Callable[[str], object], statement: str) -> Callable[[int], object]:
        return lambda number: run(statement.format(number % (_WARMUP + _ROUNDS)))

    ours, theirs = on(bench.snowmelt_rows, text), on(bench.plain_rows, _BY_MERGE.get(name, text))
    return side_by_side(name, ours, theirs, rounds=bench.rounds(_ROUNDS), warmup=_WARMUP, step=bench.step)


def _alone(bench: Workbench, name: str, text: str) -> Measure:
    return alone(
        name, lambda number: bench.snowmelt_rows(text.format(number % (_WARMUP + _ROUNDS))),
        rounds=bench.rounds(_ROUNDS), warmup=_WARMUP, step=bench.step,
    )  # fmt: skip


def _counted(bench: Workbench) -> tuple[list[Measure], str | None]:
    """Ours alone, held against the number of lines that have the keys."""
    rounds = _WARMUP + bench.rounds(_ROUNDS)
    keys = " UNION ALL ".join(
        f"SELECT k FROM chosen WHERE batch = {number % (_WARMUP + _ROUNDS)}" for number in range(rounds)
    )
    lines = bench.snowmelt_rows(f"SELECT COUNT(*) FROM lineitem JOIN ({keys}) ON l_orderkey = k")[0][0]
    before = bench.snowmelt_rows(_SUMS["lineitem"])[0]
    measures = [_alone(bench, name, text) for name, text in _STATEMENTS.items()]
    after = bench.snowmelt_rows(_SUMS["lineitem"])[0]
    grown = [now - then for now, then in zip(after, before, strict=True)]
    wanted = [0, lines, lines, lines, 0]
    return measures, None if grown == wanted else f"lineitem: the sums grew by {grown} instead of {wanted}"


def _difference(bench: Workbench) -> str | None:
    for table, text in _SUMS.items():
        found = difference_of_rows(bench.snowmelt_rows(text), bench.plain_rows(text))
        if found is not None:
            return f"{table}: {found}"
    return None


def _tenth(bench: Workbench) -> Sequence[Samples]:
    small = bench.smaller(_GROWTH)
    try:
        _load(small, beside=False)
        both = {**_STATEMENTS, **_SNOWMELT_ONLY}
        return [_alone(small, name, text).snowmelt for name, text in both.items()]
    finally:
        small.close()


def _below(measure: Measure) -> Aim:
    median = measure.snowmelt.median
    return Aim(f"{measure.name} below {_AIM_MS} ms", f"{median:.0f} ms", median < _AIM_MS)


def _grows(measure: Measure, tenth: Samples) -> Aim:
    times = measure.snowmelt.median / tenth.median
    return Aim(
        f"{measure.name}: at most {_AT_MOST} times as long as in a tenth of the rows", f"{times:.2f} times",
        times <= _AT_MOST,
    )  # fmt: skip
