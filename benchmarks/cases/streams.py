"""Streams over a large table of which a little changed, beside Delta's raw change feed and beside a full compare."""

from __future__ import annotations

from typing import Any

from deltalake import DeltaTable

from benchmarks.comparing import difference_of_rows
from benchmarks.events import events
from benchmarks.measuring import Aim, Measure, Outcome, side_by_side
from benchmarks.workbench import Workbench

_ROWS = 10_000_000
_SHARES = (0.0001, 0.001, 0.01, 0.1)
_AIM = 1.3
_WARMUP = 1
_SUMS = "COUNT(*), SUM(id), SUM(customer), SUM(amount), MIN(status), MAX(ordered)"
_COLUMNS = "id, customer, status, amount, ordered"
_CAME = "_change_type IN ('insert', 'update_postimage')"


def run(bench: Workbench) -> Outcome:
    """Of the changed rows half are new, a quarter are updated and a quarter deleted; no row changes twice."""
    rows = bench.rows(_ROWS)
    rounds = bench.rounds(5)
    bench.load(events("watched", rows, change_feed=True))
    bench.snowmelt_rows("SELECT COUNT(*) FROM watched")
    appended: list[Measure] = []
    others: list[Measure] = []
    for number, share in enumerate(_SHARES):
        before = _version(bench)
        for stream, option in (("changed", ""), ("appended", " APPEND_ONLY = TRUE")):
            bench.connection.execute(f"CREATE OR REPLACE STREAM {stream} ON TABLE watched{option}")
        _change(bench, number, share, rows)
        span = before, _version(bench)
        appended.append(_appended(bench, share, span, rounds))
        others.append(_changed(bench, share, span, rounds))
        others.append(_compared(bench, share, span, min(rounds, 2)))
    ratios = [measure.ratio or 0.0 for measure in appended]
    worst = max(ratios)
    aim = Aim(f"append-only within {_AIM} times the raw feed", f"{worst:.2f} times at worst", worst <= _AIM)
    return Outcome((*appended, *others), (aim,), {"rows": rows})


def _change(bench: Workbench, number: int, share: float, rows: int) -> None:
    bench.step(f"changing {share:.2%}")
    every = round(4 / share)
    first = (number + 1) * rows
    fresh = f"id + {first}, customer, status, amount, ordered"
    for statement in (
        f"INSERT INTO watched SELECT {fresh} FROM watched WHERE id < {round(rows * share / 2)}",
        f"UPDATE watched SET amount = amount + 1 WHERE id < {rows} AND MOD(id, {every}) = {number * 2 + 10}",
        f"DELETE FROM watched WHERE id < {rows} AND MOD(id, {every}) = {number * 2 + 11}",
    ):
        bench.connection.execute(statement)


def _version(bench: Workbench) -> int:
    return DeltaTable(bench.snowmelt_path("watched")).version()


def _feed(bench: Workbench, span: tuple[int, int]) -> str:
    return f"table_changes_by_path('{bench.snowmelt_path('watched')}', {span[0] + 1}, {span[1]})"


def _appended(bench: Workbench, share: float, span: tuple[int, int], rounds: int) -> Measure:
    def ours(_: int) -> list[tuple[Any, ...]]:
        return bench.snowmelt_rows(f"SELECT {_SUMS} FROM appended")

    def theirs(_: int) -> list[tuple[Any, ...]]:
        return bench.plain_rows(f"SELECT {_SUMS} FROM {_feed(bench, span)} WHERE _change_type = 'insert'")

    return side_by_side(
        f"{share:.2%} append-only, raw feed", ours, theirs, rounds=rounds, warmup=_WARMUP,
        compare=difference_of_rows, step=bench.step,
    )  # fmt: skip


def _changed(bench: Workbench, share: float, span: tuple[int, int], rounds: int) -> Measure:
    def theirs(_: int) -> list[tuple[Any, ...]]:
        action = f"IF({_CAME}, 'INSERT', 'DELETE')"
        return bench.plain_rows(f"SELECT {action}, {_SUMS} FROM {_feed(bench, span)} GROUP BY 1")

    return side_by_side(
        f"{share:.2%} standard, raw feed", lambda _: _standard(bench), theirs, rounds=rounds, warmup=_WARMUP,
        compare=difference_of_rows, step=bench.step,
    )  # fmt: skip


def _compared(bench: Workbench, share: float, span: tuple[int, int], rounds: int) -> Measure:
    path = bench.snowmelt_path("watched")

    def theirs(_: int) -> list[tuple[Any, ...]]:
        old, new = (f"SELECT {_COLUMNS} FROM delta.`{path}` VERSION AS OF {version}" for version in span)
        return bench.plain_rows(
            f"SELECT action, {_SUMS} FROM (SELECT 'INSERT' AS action, * FROM ({new} EXCEPT ALL {old}) UNION ALL "
            f"SELECT 'DELETE' AS action, * FROM ({old} EXCEPT ALL {new})) GROUP BY 1"
        )

    return side_by_side(
        f"{share:.2%} standard, full compare", lambda _: _standard(bench), theirs, rounds=rounds, warmup=_WARMUP,
        compare=difference_of_rows, step=bench.step,
    )  # fmt: skip


def _standard(bench: Workbench) -> list[tuple[Any, ...]]:
    return bench.snowmelt_rows(f"SELECT METADATA$ACTION, {_SUMS} FROM changed GROUP BY 1")
