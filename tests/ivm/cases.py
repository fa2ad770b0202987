"""Random cases: a query, tables, and steps of changes, all from one seed. `python -m tests.ivm.cases SEED` runs one."""

from __future__ import annotations

import gc
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import duckdb

from snowmelt.core.errors import SnowmeltError
from snowmelt.ivm.reasons import NotIncrementalError
from tests.ivm.duck import NOW, Columns, Row, View, database
from tests.ivm.randomdata import random_changes, random_rows, random_tables
from tests.ivm.randomsql import Generator

STEPS = 4
_TOO_MANY_ROWS = 3000
_TOO_LONG = 600
MakeView = Callable[..., View]


@dataclass(frozen=True, slots=True)
class Case:
    seed: int
    query: str
    tables: dict[str, Columns]
    rows: dict[str, list[Row]]
    clock: bool


@dataclass(slots=True)
class Tally:
    """What happened to many cases."""

    checked: int = 0
    """Refreshes that were compared with the query."""
    queries: int = 0
    applied: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    """Queries that DuckDB itself, or the binder, has no answer to."""


class WrongRowsError(AssertionError):
    """A refresh that gave something else than the query."""


def make_case(seed: int) -> Case:
    rnd = random.Random(seed)
    clock = rnd.random() < 0.15
    tables = random_tables(rnd, dates=clock)
    depth = rnd.choices((1, 2, 3, 4), weights=(35, 50, 14, 1))[0]
    query = Generator(rnd, tables, clock=clock).query(depth)
    while len(query) > _TOO_LONG:
        query = Generator(rnd, tables, clock=clock).query(rnd.randint(1, 2))
    rows = {name: random_rows(rnd, columns) for name, columns in tables.items()}
    return Case(seed, query, tables, rows, clock)


def run_case(case: Case, tally: Tally, steps: int = STEPS, make: MakeView = View) -> None:
    """Refreshes through all steps, comparing after each. Raises `WrongRowsError`, or whatever a plan raises."""
    try:
        view = make(case.query, case.tables, case.rows, seed=case.seed)
    except NotIncrementalError as error:
        tally.refused[f"{error.reason}: {error.operator}"] += 1
        return
    except (SnowmeltError, duckdb.Error) as error:
        _skip(error, tally)
        return
    if len(view.result()) > _TOO_MANY_ROWS:
        tally.skipped["too many rows"] += 1
        return
    tally.queries += 1
    rnd = random.Random(case.seed)
    now = NOW
    for step in range(steps):
        changes, now = _next(rnd, case, view, now)
        try:
            _check(case, view, changes, now, step, tally)
        except (duckdb.InternalException, duckdb.FatalException) as error:
            _skip(error, tally)
            return


def _next(rnd: random.Random, case: Case, view: View, now: datetime) -> tuple[dict[str, Counter[Row]], datetime]:
    used = {name: columns for name, columns in case.tables.items() if name in view.planner.view.root.tables}
    changes = random_changes(rnd, used or case.tables, view.rows)
    if case.clock and rnd.random() < 0.7:
        now += timedelta(days=rnd.randint(0, 2))
        changes = {} if rnd.random() < 0.3 else changes
    return changes, now


def _skip(error: Exception, tally: Tally) -> None:
    tally.skipped[str(error).split("\n")[0][:90]] += 1
    if isinstance(error, duckdb.InternalException | duckdb.FatalException):
        # DuckDB's own mistake, after which it does nothing any more.
        database.cache_clear()


def _check(case: Case, view: View, changes: dict[str, Counter[Row]], now: datetime, step: int, tally: Tally) -> None:
    view.refresh(changes, now=now)
    assert view.last is not None
    more, less = view.check()
    tally.checked += 1
    tally.applied[view.last.kind] += 1
    if more or less:
        raise WrongRowsError(
            f"step {step}, {view.last.kind}: too many {_some(more)}, missing {_some(less)}\n{case.query}"
        )


def _some(rows: Counter[Any]) -> dict[Any, int]:
    return dict(list(rows.items())[:3])


def run_seeds(seeds: Iterable[int], make: MakeView = View, *, until_failure: bool = False) -> tuple[Tally, list[str]]:
    """All of them, or up to the first that fails, and a line for each that failed."""
    # The trees are full of cycles: the collector would look through all of them all the time.
    gc.collect()
    gc.freeze()
    before = gc.get_threshold()
    gc.set_threshold(200_000, 50, 50)
    tally, failures = Tally(), []
    try:
        for seed in seeds:
            try:
                run_case(make_case(seed), tally, make=make)
            except Exception as error:
                failures.append(f"seed {seed}: {type(error).__name__}: {error}")
                if until_failure:
                    break
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
    return tally, failures


def main(seeds: list[str]) -> None:
    for seed in map(int, seeds):
        case = make_case(seed)
        sys.stdout.write(f"{case.query}\n{case.tables}\n")
        run_case(case, Tally())


if __name__ == "__main__":
    main(sys.argv[1:])
