"""Refreshing dynamic tables by what changed, beside computing them anew: CREATE TABLE AS in plain Spark, and DuckDB."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from benchmarks.cases import tpch
from benchmarks.comparing import Row, difference_of_rows
from benchmarks.duckdb_anew import DuckDbAnew
from benchmarks.measuring import Aim, Measure, Outcome, Samples, timed
from benchmarks.tpch.queries import query_names, query_text
from benchmarks.tpch.tables import TABLES
from benchmarks.workbench import Workbench

_SHARE = 0.001
_SHARES = (0.0001, 0.001, 0.01, 0.1, 0.5)
_SOME = ("q01", "q03", "q05", "q10", "q13", "q18")
"""Few groups, a top-k, many joins, an outer join, many groups with a threshold."""
_AIM_SMALL, _AIM_LARGE = 20.0, 1.2
_LARGE = 0.1
_LARGE_SCALE, _AIM_SMALL_AT_LARGE_SCALE = 10.0, 40.0
_AIM_DUCK, _AIM_FASTER = 3.0, 20
_DUCK = "DuckDB"
_CHAIN_AIM_MS = 100
_FEW_ORDERS, _AIM_FEW_MS = 3, 60
_GROWN, _AIM_GROWTH = 10, 2.0
_APART = 1_000_000_000
"""New orders get keys beyond all that are there."""


def run(bench: Workbench) -> Outcome:
    """All 22 queries, a thousandth of the orders changed with their lines."""
    # From the third change on it is as if tables were refreshed continuously: by what rows are looked up was in memory
    # already when the files of both versions were written.
    measures = _measured(bench, query_names(), _SHARE, bench.rounds(3), warmup=2)
    faster = _times(measures, "")
    mean = statistics.geometric_mean(faster.values())
    wanted = _AIM_SMALL if bench.scale < _LARGE_SCALE else _AIM_SMALL_AT_LARGE_SCALE
    aim = Aim(
        f"at {_SHARE:.1%}, {wanted:g} times faster than CREATE TABLE AS by geometric mean of {len(faster)} queries",
        f"{mean:.1f} times",
        mean >= wanted,
    )
    return Outcome(tuple(measures), (aim, _wins(measures)), {"scale factor": bench.scale, "share": _SHARE})


def _times(measures: Sequence[Measure], label: str) -> dict[str, float]:
    """How many times longer another one takes, by query. A table whose sources did not change is refreshed in no time:
    that says nothing here."""
    found: dict[str, float] = {}
    for measure in measures:
        _, name, *labels = measure.name.split()
        if measure.ratio and "".join(labels) == label and not _is_idle(name):
            found[name] = 1 / measure.ratio
    return found


def _wins(measures: Sequence[Measure]) -> Aim:
    faster = _times(measures, _DUCK)
    idle = len(query_names()) - len(faster)
    won = sum(times > 1 for times in faster.values())
    mean = statistics.geometric_mean(faster.values())
    return Aim(
        f"faster than DuckDB anew for {_AIM_FASTER} of {len(query_names())}, with those that have nothing to do",
        f"{won + idle}, {mean:.2f} times by geometric mean of the {len(faster)} others",
        won + idle >= _AIM_FASTER,
    )


def _is_idle(name: str) -> bool:
    """Whether the query reads none of the tables that the benchmark changes."""
    return not re.search(r"\b(orders|lineitem)\b", query_text(name, 1.0), re.IGNORECASE)


def few(bench: Workbench) -> Outcome:
    """All 22 queries, about ten lines and three orders changed. DuckDB computes them anew: Spark would take minutes."""
    prepare(bench, query_names())
    measures = measured(
        bench, query_names(), 0.0, [by_duckdb(bench)], bench.rounds(3), warmup=2, change=_change_few
    )  # fmt: skip
    taken = [m.snowmelt.median for m in measures if not _is_idle(m.name.split()[1])]
    mean = statistics.geometric_mean(taken)
    faster = _times(measures, _DUCK)
    times, worst = statistics.geometric_mean(faster.values()), min(faster, key=lambda name: faster[name])
    aims = (
        Aim(f"below {_AIM_FEW_MS} ms by geometric mean of {len(taken)} queries", f"{mean:.0f} ms", mean < _AIM_FEW_MS),
        Aim(f"{_AIM_DUCK:g} times as fast as DuckDB anew by geometric mean", f"{times:.2f} times", times >= _AIM_DUCK),
        Aim("never slower than DuckDB anew", f"{worst}: {faster[worst]:.2f} times", faster[worst] >= 1),
    )
    return Outcome(tuple(measures), aims, {"scale factor": bench.scale, "orders": _FEW_ORDERS})


def shares(bench: Workbench) -> Outcome:
    """Some queries, from a ten-thousandth to half of the orders changed.

    Large shares are warmed up as well: there a table turns to full refreshes, which it did not need before.
    """
    measures: list[Measure] = []
    for share in _SHARES:
        warmup = 1 if share == _SHARES[0] or share >= _LARGE else 0
        measures += _measured(bench, _SOME, share, bench.rounds(1), warmup=warmup)
    largest = [m for m in measures if m.name.startswith(f"{_SHARES[-1]:.2%}") and not m.name.endswith(_DUCK)]
    worst = max((m.ratio for m in largest if m.ratio), default=0.0)
    aim = Aim(
        f"at {_SHARES[-1]:.0%} changed at most {_AIM_LARGE:g} times CREATE TABLE AS", f"{worst:.2f} times",
        worst <= _AIM_LARGE,
    )  # fmt: skip
    return Outcome(tuple(measures), (aim,), {"scale factor": bench.scale})


def chain(bench: Workbench) -> Outcome:
    """Three dynamic tables one on the other: from the commit of a small change to the last one showing it."""
    execute = bench.connection.execute
    _load(bench)
    execute(
        "CREATE DYNAMIC TABLE chain_staged TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH AS "
        "SELECT o_orderkey, o_custkey, o_totalprice, o_orderdate FROM orders WHERE o_orderstatus <> 'P'"
    )
    execute(
        "CREATE DYNAMIC TABLE chain_joined TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH AS "
        "SELECT s.o_orderkey, s.o_totalprice, c.c_nationkey FROM chain_staged s "
        "JOIN customer c ON c.c_custkey = s.o_custkey"
    )
    execute(
        "CREATE DYNAMIC TABLE chain_total TARGET_LAG = '1 hour' WAREHOUSE = COMPUTE_WH AS "
        "SELECT c_nationkey, COUNT(*) AS orders, SUM(o_totalprice) AS total FROM chain_joined GROUP BY c_nationkey"
    )
    taken = []
    for number in range(2 + bench.rounds(5)):
        bench.step(f"chain {number + 1}")
        first = number * 40
        execute(f"UPDATE orders SET o_totalprice = o_totalprice + 1 WHERE o_orderkey BETWEEN {first} AND {first + 39}")
        taken.append(timed(lambda _: execute("ALTER DYNAMIC TABLE chain_total REFRESH").fetchall(), number)[1])
    measure = Measure("three tables, about ten changed rows", Samples(tuple(taken[2:]), tuple(taken[:2])))
    median = measure.snowmelt.median
    aim = Aim(f"below {_CHAIN_AIM_MS} ms", f"{median:.0f} ms", median < _CHAIN_AIM_MS)
    return Outcome((measure,), (aim,), {"scale factor": bench.scale})


def growth(bench: Workbench) -> Outcome:
    """The same number of changed orders in tables that are ten times larger."""
    with closing(bench.smaller(_GROWN)) as small:
        before = _measured(small, _SOME, _SHARE * _GROWN, bench.rounds(3), warmup=2)
    after = _measured(bench, _SOME, _SHARE, bench.rounds(3), warmup=2)
    twice = list(zip(before, after, strict=True))
    pairs = [(small.snowmelt, large.snowmelt) for small, large in twice if not small.name.endswith(_DUCK)]
    factor = statistics.geometric_mean([large.median / small.median for small, large in pairs])
    measures = [
        *(replace(measure, name=f"{measure.name}, a tenth as large") for measure in before),
        *after,
    ]
    aim = Aim(
        f"at most {_AIM_GROWTH:g} times the time in tables {_GROWN} times larger, by geometric mean",
        f"{factor:.2f} times",
        factor <= _AIM_GROWTH,
    )
    return Outcome(tuple(measures), (aim,), {"scale factor": bench.scale, "share": _SHARE})


def _measured(bench: Workbench, names: Sequence[str], share: float, rounds: int, warmup: int) -> list[Measure]:
    prepare(bench, names)
    return measured(bench, names, share, [computed_anew(bench), by_duckdb(bench)], rounds, warmup)


@dataclass(frozen=True, slots=True)
class Contender:
    """Another way to keep the results of queries up to date, to time beside a dynamic table's refresh."""

    label: str
    """What its measures are called, after the query. Empty for the only one."""
    update: Callable[[str], float]
    """Brings the named query's result up to date, and says in how many milliseconds."""
    rows: Callable[[str], Sequence[Row]]
    """The named query's result as it was last brought up to date."""


def measured(
    bench: Workbench, names: Sequence[str], share: float, contenders: Sequence[Contender], rounds: int, warmup: int,
    change: Callable[[Workbench, float], None] | None = None,
) -> list[Measure]:  # fmt: skip
    """Each round changes the tables, then every query is brought up to date in every way and the results compared.

    Who comes first takes turns: the first to see a change reads its commits into caches that the others share. Only a
    refresh builds on the one before it, so one round is enough to warm the others up.
    """
    ours = Contender(
        "",
        stopped(lambda name: bench.connection.execute(f"ALTER DYNAMIC TABLE refreshed_{name} REFRESH")),
        lambda name: bench.snowmelt_rows(f"SELECT * FROM refreshed_{name}"),
    )
    sides = [ours, *contenders]
    taken: dict[tuple[str, int], list[float]] = {(name, side): [] for name in names for side in range(len(sides))}
    differences: dict[tuple[str, int], str] = {}
    for number in range(warmup + rounds):
        bench.step(f"changing {share:.2%}")
        (change or _change)(bench, share)
        for name in names:
            bench.step(f"{name}: {share:.2%} changed, round {number + 1} of {warmup + rounds}")
            if number < warmup - 1:
                taken[name, 0].append(ours.update(name))
                continue
            for turn in range(len(sides)):
                side = (turn + number) % len(sides)
                taken[name, side].append(sides[side].update(name))
            expected = ours.rows(name)
            for side, contender in enumerate(contenders, start=1):
                found = difference_of_rows(expected, contender.rows(name))
                if found is not None:
                    differences.setdefault((name, side), found)

    def samples(name: str, side: int) -> Samples:
        return Samples(tuple(taken[name, side][-rounds:]), tuple(taken[name, side][:-rounds]))

    return [
        Measure(
            f"{share:.2%} {name} {contender.label}".rstrip(),
            samples(name, 0),
            samples(name, side),
            differences.get((name, side)),
        )
        for name in names
        for side, contender in enumerate(contenders, start=1)
    ]


def computed_anew(bench: Workbench, label: str = "") -> Contender:
    """CREATE OR REPLACE TABLE AS in plain Spark: whatever else was compared, this is the full query's result."""
    return Contender(
        label, stopped(lambda name: _full(bench, name)), lambda name: bench.plain_rows(f"SELECT * FROM full_{name}")
    )


def by_duckdb(bench: Workbench) -> Contender:
    """DuckDB over the same files: what one would do without an engine of changes."""
    duck = DuckDbAnew(bench)
    return Contender(_DUCK, duck.update, duck.rows)


def stopped(work: Callable[[str], object]) -> Callable[[str], float]:
    """That work, from its call to its return, by a stopwatch."""
    return lambda name: timed(lambda _: work(name), 0)[1]


def prepare(bench: Workbench, names: Sequence[str]) -> None:
    """Loads TPC-H, makes the queries dynamic tables and gives plain Spark views of the same Delta tables."""
    _load(bench)
    for table in TABLES:
        path = bench.snowmelt_path(table)
        bench.plain.sql(f"CREATE OR REPLACE TEMPORARY VIEW {table} AS SELECT * FROM delta.`{path}`")
    for name in names:
        bench.step(f"creating {name}")
        bench.connection.execute(
            f"CREATE DYNAMIC TABLE IF NOT EXISTS refreshed_{name} TARGET_LAG = '1 day' WAREHOUSE = COMPUTE_WH AS "
            f"{query_text(name, bench.scale)}"
        )


def _load(bench: Workbench) -> None:
    """Plain Spark computes over Snowmelt's files, so it has no tables of its own."""
    for spec in tpch.specs(bench):
        bench.load_ours(spec)
        bench.connection.execute(f"ALTER TABLE {spec.name} SET CHANGE_TRACKING = TRUE")


def _full(bench: Workbench, name: str) -> None:
    bench.plain.sql(f"CREATE OR REPLACE TABLE full_{name} USING delta AS {query_text(name, bench.scale)}")


def _round(bench: Workbench) -> int:
    """Another number for each change of the tables, in whichever run."""
    return bench.snowmelt_version("orders") + bench.snowmelt_version("lineitem")


def _change(bench: Workbench, share: float) -> None:
    """Of so many orders, half are new with all their lines, a quarter go with their lines, a quarter change lines."""
    number = _round(bench)
    orders = ", ".join(TABLES["orders"]).replace("o_orderkey", f"o_orderkey + {number * _APART}")
    lines = ", ".join(TABLES["lineitem"]).replace("l_orderkey", f"l_orderkey + {number * _APART}")
    every = max(round(2 / share), 2)
    for statement in (
        f"INSERT INTO orders SELECT {orders} FROM orders WHERE MOD(HASH(o_orderkey, {number}), {every}) = 1",
        f"INSERT INTO lineitem SELECT {lines} FROM lineitem WHERE MOD(HASH(l_orderkey, {number}), {every}) = 1",
        f"DELETE FROM orders WHERE MOD(HASH(o_orderkey, {number}), {every * 2}) = 3",
        f"DELETE FROM lineitem WHERE MOD(HASH(l_orderkey, {number}), {every * 2}) = 3",
        f"UPDATE lineitem SET l_quantity = l_quantity + 1 WHERE MOD(HASH(l_orderkey, {number}), {every * 2}) = 2",
    ):
        bench.connection.execute(statement)


def _change_few(bench: Workbench, _: float) -> None:
    """Some orders change with their lines, one goes; others in each round, anywhere in the tables."""
    number = _round(bench)
    every = max(round(1_500_000 * bench.scale / (_FEW_ORDERS + 1)), 4)
    found = bench.connection.execute(
        f"SELECT o_orderkey FROM orders WHERE MOD(o_orderkey, {every}) = {number} ORDER BY 1 LIMIT {_FEW_ORDERS + 1}"
    ).fetchall()
    *changed, gone = [row[0] for row in found] or [number]
    some = ", ".join(map(str, changed or [gone]))
    for statement in (
        f"UPDATE lineitem SET l_quantity = l_quantity + 1 WHERE l_orderkey IN ({some})",
        f"UPDATE orders SET o_totalprice = o_totalprice + 1 WHERE o_orderkey IN ({some})",
        f"DELETE FROM orders WHERE o_orderkey = {gone}",
        f"DELETE FROM lineitem WHERE l_orderkey = {gone}",
    ):
        bench.connection.execute(statement)
