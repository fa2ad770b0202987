"""Statements that need no Spark job, and must not wait for one."""

from __future__ import annotations

from typing import Any

from benchmarks.measuring import Aim, Outcome, side_by_side
from benchmarks.workbench import Workbench

_AIM_MS = 20
_TABLES = 10
_PLAIN = "plain_metadata"
_STATEMENTS = {
    # Snowflake's text, and Spark's for the same question.
    "SHOW TABLES": ("SHOW TABLES", f"SHOW TABLES IN {_PLAIN}"),
    "DESCRIBE TABLE": ("DESCRIBE TABLE listed_3", f"DESCRIBE TABLE {_PLAIN}.listed_3"),
    "USE": ("USE SCHEMA PUBLIC", f"USE {_PLAIN}"),
    "SYSTEM$TYPEOF": ("SELECT SYSTEM$TYPEOF(1)", "SELECT typeof(1)"),
    "CURRENT_VERSION": ("SELECT CURRENT_VERSION()", "SELECT version()"),
}
_SAME_LENGTH = {"SHOW TABLES", "DESCRIBE TABLE"}
"""The answers have other columns on each side, but as many rows."""


def run(bench: Workbench) -> Outcome:
    account = bench.account_without_spark("metadata")
    session = account.session()
    # A session of its own: USE must not change the one that other benchmarks share.
    plain = bench.plain.newSession()
    plain.sql(f"CREATE DATABASE IF NOT EXISTS {_PLAIN}")
    for number in range(_TABLES):
        bench.step(f"creating table {number + 1} of {_TABLES}")
        session.execute(f"CREATE TABLE listed_{number} (id INTEGER, name VARCHAR, amount NUMBER(12, 2))")
        plain.sql(f"CREATE TABLE {_PLAIN}.listed_{number} (id BIGINT, name STRING, amount DECIMAL(12, 2)) USING delta")
    measures = []
    for name, (ours, theirs) in _STATEMENTS.items():

        def snowmelt_side(_: int, sql: str = ours) -> list[tuple[Any, ...]]:
            return session.execute(sql).rows()

        def plain_side(_: int, sql: str = theirs) -> list[tuple[Any, ...]]:
            return [tuple(row) for row in plain.sql(sql).collect()]

        measures.append(
            side_by_side(
                name,
                snowmelt_side,
                plain_side,
                rounds=bench.rounds(25),
                warmup=5,
                compare=_same_length if name in _SAME_LENGTH else None,
                step=bench.step,
            )
        )
    started = account.engine.started.is_set()
    slowest = max(measures, key=lambda measure: measure.snowmelt.median)
    aims = (
        Aim(f"each below {_AIM_MS} ms", f"at most {slowest.snowmelt.median:.1f} ms ({slowest.name})",
            slowest.snowmelt.median < _AIM_MS),
        Aim("Spark not started", "started" if started else "not started", not started),
    )  # fmt: skip
    return Outcome(tuple(measures), aims, {"tables": _TABLES})


def _same_length(ours: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]]) -> str | None:
    return None if len(ours) == len(theirs) else f"{len(ours)} rows against {len(theirs)}"
