"""TPC-H: the 22 queries, on tables loaded into both sides."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from benchmarks.comparing import difference_of_rows
from benchmarks.measuring import Aim, Measure, Outcome, side_by_side
from benchmarks.tpch.queries import query_names, query_text
from benchmarks.tpch.tables import TABLES
from benchmarks.workbench import TableSpec, Workbench

_AIM = 1.10
"""Snowmelt's total over plain Spark's."""


def run(bench: Workbench) -> Outcome:
    for spec in specs(bench):
        bench.load(spec)
    measures = [_query(bench, name) for name in query_names()]
    return Outcome(tuple(measures), (_total(measures),), {"scale factor": bench.scale})


def specs(bench: Workbench) -> list[TableSpec]:
    """The eight tables."""
    folder = bench.tpch_files()
    return [
        TableSpec(name, columns, partial(_read, path=folder / f"{name}.parquet")) for name, columns in TABLES.items()
    ]


def _read(spark: SparkSession, path: Path) -> DataFrame:
    return spark.read.parquet(str(path))


def _query(bench: Workbench, name: str) -> Measure:
    text = query_text(name, bench.scale)
    return side_by_side(
        name,
        lambda _: bench.snowmelt_rows(text),
        lambda _: bench.plain_rows(text),
        rounds=bench.rounds(3),
        warmup=1,
        compare=difference_of_rows,
        step=bench.step,
    )


def _total(measures: list[Measure]) -> Aim:
    ours = sum(measure.snowmelt.median for measure in measures)
    theirs = sum(measure.plain.median for measure in measures if measure.plain is not None)
    measured = f"{ours / 1000:.1f} s against {theirs / 1000:.1f} s, ratio {ours / theirs:.2f}"
    return Aim(f"the total of all queries at most {_AIM - 1:.0%} above plain Spark", measured, ours <= theirs * _AIM)
