"""Reading a little out of much."""

from __future__ import annotations

import random
from typing import Any

from benchmarks.comparing import difference_of_rows
from benchmarks.events import events
from benchmarks.measuring import Outcome, side_by_side
from benchmarks.workbench import Workbench

_WARMUP = 5


def point_select(bench: Workbench) -> Outcome:
    rows = bench.rows(1_000_000)
    bench.load(events("events", rows))
    rounds = bench.rounds(25)
    keys = random.Random(7).sample(range(rows), _WARMUP + rounds)

    def statement(number: int) -> str:
        return f"SELECT id, customer, status, amount, ordered FROM events WHERE id = {keys[number]}"

    def ours(number: int) -> list[tuple[Any, ...]]:
        return bench.snowmelt_rows(statement(number))

    def theirs(number: int) -> list[tuple[Any, ...]]:
        return bench.plain_rows(statement(number))

    measure = side_by_side(
        "point SELECT", ours, theirs, rounds=rounds, warmup=_WARMUP, compare=difference_of_rows, step=bench.step
    )
    return Outcome((measure,), facts={"rows": rows})
