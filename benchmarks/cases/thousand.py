"""A thousand dynamic tables over one source that changes all the time: how far they fall behind."""

from __future__ import annotations

import time

from benchmarks.measuring import Aim, Measure, Outcome, Samples
from benchmarks.workbench import Workbench
from snowmelt.features.dynamic_tables.scheduled import ScheduledTables
from snowmelt.features.dynamic_tables.service import DynamicTables

_TABLES = 1_000
_LAG = 30
_SECONDS = 240
_ROWS = 10
"""A second."""
_SETTLING = 60
"""Seconds until every table has had its turn: what a start costs is not what is measured."""


def run(bench: Workbench) -> Outcome:
    tables = max(int(_TABLES * min(bench.scale, 1.0)), 10)
    session = bench.connection.session
    session.execute("CREATE OR REPLACE TABLE busy_source (id INTEGER, kind INTEGER, amount NUMBER(12, 2))")
    session.execute("INSERT INTO busy_source SELECT SEQ4(), SEQ4() % 50, 1.25 FROM TABLE(GENERATOR(ROWCOUNT => 10000))")
    session.execute(
        f"CREATE OR REPLACE DYNAMIC TABLE busy_0 TARGET_LAG = '{_LAG} seconds' WAREHOUSE = COMPUTE_WH "
        "REFRESH_MODE = INCREMENTAL AS SELECT kind, COUNT(*) AS n, SUM(amount) AS total FROM busy_source GROUP BY kind"
    )
    for number in range(1, tables):
        bench.step(f"cloning table {number + 1} of {tables}")
        session.execute(f"CREATE OR REPLACE DYNAMIC TABLE busy_{number} CLONE busy_0")
        session.execute(f"ALTER DYNAMIC TABLE busy_{number} RESUME")
    lags, seconds = _watched(bench, tables)
    worst = max(lags, default=0.0)
    within = sum(lag <= _LAG for lag in lags) / max(len(lags), 1)
    measure = Measure("lag of each table, in ms", Samples(tuple(lag * 1000 for lag in lags)))
    aim = Aim(f"every table within {_LAG} s", f"{worst:.1f} s at worst, {within:.1%} within", worst <= _LAG)
    return Outcome((measure,), (aim,), {"tables": tables, "rows a second": _ROWS, "seconds": round(seconds)})


def _watched(bench: Workbench, tables: int) -> tuple[list[float], float]:
    """The lags of all tables, looked at every five seconds while rows come in."""
    account, session = bench.account, bench.connection.session
    scheduled, service = ScheduledTables(account), account.services[DynamicTables]
    lags: list[float] = []
    service.start()
    began = time.monotonic()
    try:
        number = 0
        while time.monotonic() - began < bench.rounds(_SECONDS):
            number += 1
            values = ", ".join(f"({number * _ROWS + row}, {row * 7 % 50}, 2.5)" for row in range(_ROWS))
            session.execute(f"INSERT INTO busy_source VALUES {values}")
            if number % 5 == 0 and time.monotonic() - began > min(_SETTLING, bench.rounds(_SECONDS) / 4):
                now = account.clock.now()
                stamps = [table.data_timestamp for table in scheduled.load().tables]
                lags += [(now - stamp).total_seconds() for stamp in stamps if stamp is not None]
                bench.step(f"{time.monotonic() - began:.0f} s, {tables} tables, {max(lags[-tables:]):.1f} s at worst")
            time.sleep(max(0.0, began + number - time.monotonic()))
    finally:
        service.stop(timeout=30)
    return lags, time.monotonic() - began
