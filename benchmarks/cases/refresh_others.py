"""Refreshing dynamic tables beside every other way to keep a query's result fresh in Spark, in one run."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks.by_hand import MAINTAINED, ByHand
from benchmarks.cases.refresh import Contender, computed_anew, measured, prepare, stopped
from benchmarks.measuring import Measure, Outcome, timed
from benchmarks.pipelines import Pipelines, run_command
from benchmarks.workbench import Workbench

_ROUNDS = {0.0001: 2, 0.001: 3, 0.01: 3, 0.1: 2, 0.5: 1}
"""Of each share that changes: large ones take minutes, and differ less from round to round."""
_ANEW, _VIEW, _MERGE = "CTAS", "view", "MERGE"


def run(bench: Workbench) -> Outcome:
    """The queries with maintenance written by hand, each as CREATE TABLE AS, as materialized view, and by MERGE."""
    names = list(MAINTAINED)
    prepare(bench, names)
    by_hand, pipelines = ByHand(bench, names), Pipelines(bench, names)
    contenders = (
        computed_anew(bench, _ANEW),
        Contender(_VIEW, pipelines.update, pipelines.rows),
        Contender(_MERGE, stopped(by_hand.update), by_hand.rows),
    )
    measures: list[Measure] = []
    for number, (share, rounds) in enumerate(_ROUNDS.items()):
        measures += measured(bench, names, share, contenders, bench.rounds(rounds), warmup=0 if number else 1)
    bench.step(f"{names[0]}: the whole command spark-pipelines run")
    whole = timed(lambda _: run_command(bench, names[0]), 0)[1]
    facts: dict[str, str | int | float] = {
        "scale factor": bench.scale,
        _ANEW: "CREATE OR REPLACE TABLE AS in plain Spark",
        _VIEW: "a run of a Spark pipeline with one materialized view, in a Connect server that is up",
        _MERGE: "hand-written: change feed and MERGE INTO in plain Spark",
        f"{_VIEW}: a run goes on after its table is fresh, ms": round(statistics.median(pipelines.waits)),
        f"whole command 'spark-pipelines run' with {names[0]}, ms": round(whole),
    }
    for share in _ROUNDS:
        for label in (_ANEW, _VIEW, _MERGE):
            facts[f"{share:.2%} {label} over Snowmelt, geometric mean"] = _mean(measures, share, label)
    return Outcome(tuple(measures), (), facts)


def _mean(measures: Sequence[Measure], share: float, label: str) -> float:
    """How many times longer than Snowmelt it took: below 1, Snowmelt loses."""
    wanted = [m.ratio for m in measures if m.ratio and m.name.startswith(f"{share:.2%}") and m.name.endswith(label)]
    return round(statistics.geometric_mean(1 / ratio for ratio in wanted), 2)
