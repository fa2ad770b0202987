"""Every operator by name: under random changes, all subsets of changed tables, empty tables, wiped and filled again."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from itertools import chain, combinations

import pytest

from tests.ivm.duck import NOW, Columns, Row, View
from tests.ivm.fixed_queries import TIMED, TOP, UNTIMED
from tests.ivm.randomdata import CODES, random_changes, random_row, random_rows

TABLES: dict[str, Columns] = {
    "T": tuple(zip("KABSFDZ", map(CODES.__getitem__, "IIISFDN"), strict=True)),
    "U": tuple(zip("KAC", map(CODES.__getitem__, "III"), strict=True)),
    "W": tuple(zip("AD", map(CODES.__getitem__, "II"), strict=True)),
}


def assert_right(view: View, what: object) -> None:
    more, less = view.check()
    assert not more, f"{what}: {view.last} has {more} in addition"
    assert not less, f"{what}: {view.last} has not {less}"


def subsets(names: list[str]) -> Iterator[tuple[str, ...]]:
    return chain.from_iterable(combinations(names, size) for size in range(1, len(names) + 1))


@pytest.mark.parametrize("query", UNTIMED)
def test_random_changes(query: str) -> None:
    rnd = random.Random(query)
    view = View(query, TABLES, {name: random_rows(rnd, columns) for name, columns in TABLES.items()})
    for step in range(4):
        view.refresh(random_changes(rnd, TABLES, view.rows))
        assert_right(view, step)


@pytest.mark.slow
@pytest.mark.parametrize("query", UNTIMED)
def test_every_subset_of_changed_tables(query: str) -> None:
    rnd = random.Random(query)
    view = View(query, TABLES, {name: random_rows(rnd, columns) for name, columns in TABLES.items()})
    names = sorted(view.planner.view.root.tables)
    for chosen in subsets(names):
        used = {name: TABLES[name] for name in chosen}
        for only_inserts in (True, False):
            changes = {name: Counter(random_rows(rnd, columns, 3)) for name, columns in used.items()}
            if not only_inserts:
                for name in used:
                    there = list(view.rows[name].elements())
                    changes[name].subtract(rnd.sample(there, min(2, len(there))))
            view.refresh(changes)
            assert_right(view, (chosen, only_inserts))


@pytest.mark.parametrize("query", UNTIMED)
def test_from_nothing_to_nothing(query: str) -> None:
    """Empty tables fill, lose all their rows, and fill again in one step with the loss."""
    rnd = random.Random(query)
    view = View(query, TABLES, {}, states=True)
    view.refresh({name: Counter(random_rows(rnd, columns)) for name, columns in TABLES.items()})
    assert_right(view, "filled")
    view.refresh({name: _refill(rnd, columns, view.rows[name]) for name, columns in TABLES.items()})
    assert_right(view, "all other rows")
    view.refresh({name: Counter({row: -count for row, count in rows.items()}) for name, rows in view.rows.items()})
    assert_right(view, "wiped")


def _refill(rnd: random.Random, columns: Columns, rows: Counter[Row]) -> Counter[Row]:
    change = Counter({row: -count for row, count in rows.items()})
    change.update(random_row(rnd, columns) for _ in range(5))
    return change


@pytest.mark.parametrize("query", TIMED)
def test_time_moves(query: str) -> None:
    """With and without changes of the tables: rows come and go with time alone."""
    rnd = random.Random(query)
    view = View(query, TABLES, {name: random_rows(rnd, columns) for name, columns in TABLES.items()})
    for day in range(1, 7):
        changes = random_changes(rnd, TABLES, view.rows) if day % 2 else {}
        view.refresh(changes, now=NOW + timedelta(days=day // 2 * 2 - 2))
        assert_right(view, day)


@pytest.mark.parametrize("query", TOP)
def test_the_first_rows_from_those_the_table_has(query: str) -> None:
    shortened = steps = 0
    for seed in range(6):
        rnd = random.Random(f"{query} {seed}")
        rows = {name: random_rows(rnd, columns) for name, columns in TABLES.items()}
        view = View(query, TABLES, rows, states=bool(seed % 2))
        for step in range(5):
            view.refresh(random_changes(rnd, TABLES, view.rows))
            assert_right(view, (seed, step))
        shortened, steps = shortened + view.shortened, steps + 5
    assert 0 < shortened < steps, "now and then all has to be read"
