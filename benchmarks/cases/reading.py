"""Reading a little out of much, and reading little."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.comparing import difference_of_rows
from benchmarks.events import events
from benchmarks.measuring import Aim, Measure, Outcome, side_by_side
from benchmarks.workbench import Workbench

_WARMUP = 5
_POINT_AIM_MS, _SMALL_AIM_MS = 10, 20
_SMALL = {
    "SELECT": "SELECT id, customer, amount FROM small_events WHERE amount > {}.5 AND status = 'paid'",
    "GROUP BY": (
        "SELECT status, COUNT(*) AS n, SUM(amount) AS total, MAX(ordered) AS latest FROM small_events"
        " WHERE customer > {} GROUP BY status"
    ),
    "join": (
        "SELECT b.status, COUNT(*) AS n, SUM(a.amount) AS total FROM small_events a"
        " JOIN small_others b ON a.id = b.id WHERE a.customer > {} GROUP BY b.status"
    ),
}

Rows = list[tuple[Any, ...]]


def point_select(bench: Workbench) -> Outcome:
    rows = bench.rows(1_000_000)
    bench.load(events("events", rows))
    rounds = bench.rounds(25)
    keys = random.Random(7).sample(range(rows), _WARMUP + rounds)

    def statement(number: int) -> str:
        return f"SELECT id, customer, status, amount, ordered FROM events WHERE id = {keys[number]}"

    measure = _beside_spark(bench, "point SELECT", statement, rounds)
    return Outcome((measure,), (_below(measure, _POINT_AIM_MS),), {"rows": rows})


def small(bench: Workbench) -> Outcome:
    """A filter, groups and a join over 10,000 rows, beside Spark and beside DuckDB over the files that Spark reads."""
    rows = bench.rows(10_000)
    names = ("small_events", "small_others")
    for name in names:
        bench.load(events(name, rows, files=1))
    rounds = bench.rounds(25)
    measures: list[Measure] = []
    with duckdb.connect() as duck:
        for name in names:
            files = sorted(map(str, Path(bench.snowmelt_path(name)).glob("*.parquet")))
            duck.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({files!r})")
        for kind, text in _SMALL.items():

            def statement(number: int, text: str = text) -> str:
                return text.format(100 + number)

            measures.append(_beside_spark(bench, kind, statement, rounds))
            # Other values than before: what was asked a moment ago is not computed again.
            others = partial(_later, statement, _WARMUP + rounds)
            measures.append(_beside_duckdb(bench, duck, f"{kind}, beside DuckDB", others, rounds))
    aims = tuple(_below(measure, _SMALL_AIM_MS) for measure in measures[::2])
    return Outcome(tuple(measures), aims, {"rows": rows})


def _later(statement: Callable[[int], str], by: int, number: int) -> str:
    return statement(by + number)


def _beside_spark(bench: Workbench, name: str, statement: Callable[[int], str], rounds: int) -> Measure:
    def ours(number: int) -> Rows:
        return bench.snowmelt_rows(statement(number))

    def theirs(number: int) -> Rows:
        return bench.plain_rows(statement(number))

    return side_by_side(
        name, ours, theirs, rounds=rounds, warmup=_WARMUP, compare=difference_of_rows, step=bench.step
    )  # fmt: skip


def _beside_duckdb(
    bench: Workbench, duck: duckdb.DuckDBPyConnection, name: str, statement: Callable[[int], str], rounds: int
) -> Measure:
    def ours(number: int) -> Rows:
        return bench.snowmelt_rows(statement(number))

    def theirs(number: int) -> Rows:
        return duck.execute(statement(number)).fetchall()

    return side_by_side(
        name, ours, theirs, rounds=rounds, warmup=_WARMUP, compare=difference_of_rows, step=bench.step
    )  # fmt: skip


def _below(measure: Measure, most: int) -> Aim:
    return Aim(f"{measure.name} below {most} ms", f"{measure.snowmelt.median:.1f} ms", measure.snowmelt.median < most)
