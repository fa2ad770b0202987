"""The first fill of a dynamic table, beside CREATE TABLE AS in plain Spark over the same files."""

from __future__ import annotations

import statistics
from dataclasses import replace

from benchmarks.cases import refresh
from benchmarks.comparing import difference_of_rows
from benchmarks.measuring import Aim, Measure, Outcome, side_by_side
from benchmarks.tpch.queries import query_names, query_text
from benchmarks.workbench import Workbench

_AIM = 1.1
_ROUNDS, _WARMUP = 3, 1


def run(bench: Workbench) -> Outcome:
    """All 22 queries, each with what later refreshes by changes need beside the table."""
    refresh.prepare(bench, [])
    measures = [_measured(bench, name) for name in query_names()]
    mean = statistics.geometric_mean([measure.ratio for measure in measures if measure.ratio])
    longer = [m.name.split()[-1] for m in measures if m.ratio is not None and m.ratio > _AIM]
    aim = Aim(
        f"at most {_AIM:g} times CREATE TABLE AS by geometric mean of {len(measures)} queries",
        f"{mean:.2f} times; longer: {', '.join(longer) or 'none'}",
        mean <= _AIM,
    )
    return Outcome(tuple(measures), (aim,), {"scale factor": bench.scale})


def _measured(bench: Workbench, name: str) -> Measure:
    anew = refresh.computed_anew(bench)

    def fill(_: int) -> None:
        bench.connection.execute(
            f"CREATE OR REPLACE DYNAMIC TABLE filled_{name} TARGET_LAG = '1 day' WAREHOUSE = COMPUTE_WH AS "
            f"{query_text(name, bench.scale)}"
        )

    def compute(_: int) -> None:
        anew.update(name)

    measure = side_by_side(
        f"first fill {name}", fill, compute, rounds=bench.rounds(_ROUNDS), warmup=_WARMUP, step=bench.step
    )
    difference = difference_of_rows(bench.snowmelt_rows(f"SELECT * FROM filled_{name}"), anew.rows(name))
    return replace(measure, difference=difference)
