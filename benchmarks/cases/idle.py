"""Dynamic tables whose sources do not change: what a thousand of them cost the scheduler."""

from __future__ import annotations

from datetime import timedelta
from itertools import count

from benchmarks.measuring import Aim, Measure, Outcome, Samples, alone, timed
from benchmarks.workbench import Workbench
from snowmelt.features.dynamic_tables.scheduled import ScheduledTables
from snowmelt.scheduler.ports import RefreshRequest
from snowmelt.scheduler.tick import tick

_AIM_MS = 10
_TABLES = 1_000


def run(bench: Workbench) -> Outcome:
    """Clones of one table: filling a thousand would measure something else."""
    tables = max(int(_TABLES * min(bench.scale, 1.0)), 10)
    session = bench.connection.session
    session.execute("CREATE OR REPLACE TABLE idle_source (id INTEGER)")
    session.execute("INSERT INTO idle_source VALUES (1)")
    session.execute(
        "CREATE OR REPLACE DYNAMIC TABLE idle_0 TARGET_LAG = '1 minute' WAREHOUSE = COMPUTE_WH "
        "AS SELECT id, COUNT(*) AS n FROM idle_source GROUP BY id"
    )
    for number in range(1, tables):
        bench.step(f"cloning table {number + 1} of {tables}")
        session.execute(f"CREATE OR REPLACE DYNAMIC TABLE idle_{number} CLONE idle_0")
        session.execute(f"ALTER DYNAMIC TABLE idle_{number} RESUME")
    scheduled = ScheduledTables(bench.account)
    rounds = bench.rounds(15)
    ticks = alone("tick, nothing due", lambda _: _tick(bench, scheduled), rounds=rounds, warmup=2, step=bench.step)
    refreshes, loads = _refreshes(bench, scheduled, max(rounds // 5, 1))
    each = refreshes.snowmelt.median
    aims = (
        Aim(f"NO_DATA check below {_AIM_MS} ms a table", f"{each:.1f} ms", each < _AIM_MS),
        Aim("a tick of all below 100 ms", f"{ticks.snowmelt.median:.1f} ms", ticks.snowmelt.median < 100),
    )
    return Outcome((ticks, loads, refreshes), aims, {"tables": tables})


def _tick(bench: Workbench, scheduled: ScheduledTables) -> int:
    return len(tick(scheduled.load(), bench.account.clock.now()).rounds)


def _refreshes(bench: Workbench, scheduled: ScheduledTables, rounds: int) -> tuple[Measure, Measure]:
    """All tables, one after the other, so that each sample is one table; and the tick after, when all rows changed."""
    each: list[float] = []
    loads: list[float] = []
    ids = [table.id for table in scheduled.load().tables]
    numbers = count()
    for round_ in range(rounds):
        at = bench.account.state.settle()
        for id in ids:
            bench.step(f"round {round_ + 1} of {rounds}: table {next(numbers) % len(ids) + 1} of {len(ids)}")
            request = RefreshRequest(id, at, at, None, timedelta(seconds=1))
            each.append(timed(lambda _, request=request: scheduled.refresh(request), 0)[1])
        loads.append(timed(lambda _: _tick(bench, scheduled), 0)[1])
    return (
        Measure("NO_DATA refresh of one table", Samples(tuple(each))),
        Measure("tick after all were refreshed", Samples(tuple(loads))),
    )
