"""The first row of each group from its state: rows are read again only for groups whose first row went."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from sqlglot import exp

from snowmelt.ivm.operators.first_row import FirstRow
from tests.ivm.duck import Columns, Row, View
from tests.ivm.randomdata import CODES
from tests.ivm.views import StatefulView

TABLES: dict[str, Columns] = {
    "E": (("ID", CODES["I"]), ("AT", CODES["I"]), ("V", CODES["I"]), ("S", CODES["S"])),
    "A": (("ID", CODES["I"]), ("K", CODES["I"])),
}
EVENTS = "(SELECT ID + 0 AS ID, AT, V, S FROM E)"
NEWEST = "QUALIFY ROW_NUMBER() OVER (PARTITION BY ID ORDER BY AT DESC NULLS LAST, V, S) = 1"
LATEST = f"SELECT ID, AT, V, S FROM {EVENTS} {NEWEST}"
LIVING = f"SELECT ID, V FROM (SELECT ID, AT, V, S FROM {EVENTS} {NEWEST}) WHERE V > 0"
PLACED = (
    f"SELECT * FROM (SELECT ID, V, S, ROW_NUMBER() OVER (PARTITION BY ID ORDER BY V, S) AS N FROM {EVENTS}) WHERE 1 = N"
)
BOTH = (
    f"SELECT ID, V FROM {EVENTS} QUALIFY S IS NOT NULL AND ROW_NUMBER() OVER (PARTITION BY ID ORDER BY V, S, AT) <= 1"
)
JOINED = f"SELECT A.K, COUNT(*) AS N, SUM(X.V) AS TOTAL FROM A JOIN ({LATEST}) X ON X.ID = A.ID GROUP BY A.K"
OVER_IT = f"SELECT ID, V, LAG(V) OVER (PARTITION BY ID ORDER BY V) AS L FROM ({LATEST})"
QUERIES = (LATEST, LIVING, PLACED, BOTH, JOINED, OVER_IT)
ROWS: dict[str, list[Row]] = {
    "E": [(1, 1, 5, "a"), (1, 2, 6, "b"), (1, 2, 6, "b"), (2, 7, 1, None), (None, 3, 0, "c")],
    "A": [(1, 10), (2, 10), (3, 11)],
}


def first_rows(view: View) -> list[FirstRow]:
    return [node for node in view.planner.view.root.walk() if isinstance(node, FirstRow)]


def lost(view: View) -> int:
    found = view.database.execute("SELECT COUNT(*) FROM a1__lost").fetchone()
    assert found is not None
    return int(found[0])


def assert_right(view: View) -> None:
    assert view.check() == (Counter(), Counter())


@pytest.mark.parametrize(
    ("change", "read_again"),
    [
        ({(1, 1, 5, "a"): -1}, 0),
        ({(1, 2, 6, "b"): -2}, 1),
        ({(1, 2, 6, "b"): -2, (1, 3, 0, "x"): 1}, 0),
        ({(1, 2, 6, "b"): -2, (1, 1, 9, "x"): 1}, 1),
        ({(2, 7, 1, None): -1}, 1),
        ({(None, 3, 0, "c"): -1, (None, 4, None, None): 1}, 0),
    ],
)
def test_only_a_first_row_that_went_is_looked_for(change: dict[Row, int], read_again: int) -> None:
    view = StatefulView(LATEST, TABLES, ROWS)
    view.refresh({"E": Counter(change)})
    assert_right(view)
    assert lost(view) == read_again


def test_insertions_read_no_row_that_was_there() -> None:
    view = StatefulView(LATEST, TABLES, ROWS)
    view.refresh({"E": Counter({(1, 0, 1, "old"): 1, (1, 9, 1, "new"): 1, (5, 1, 1, "first"): 1})})
    assert_right(view)
    plan = view.planner.plan({"E": view._note(Counter({(1, 1, 1, "x"): 1}))}, types=view.states)
    assert not any(
        table.name in ("E__old", "E__new") for stage in plan.stages for table in stage.query.find_all(exp.Table)
    )


def test_a_group_that_went_and_came_again_has_no_memory() -> None:
    view = StatefulView(LATEST, TABLES, ROWS)
    view.refresh({"E": Counter({(2, 7, 1, None): -1})})
    view.refresh({"E": Counter({(2, 1, 4, "z"): 1})})
    assert_right(view)


@pytest.mark.parametrize("query", QUERIES)
def test_rows_that_come_and_go(query: str) -> None:
    """Small numbers, so that first rows are lost, reached and equalled all the time."""
    rnd = random.Random(query)
    view = StatefulView(query, TABLES, ROWS)
    assert len(first_rows(view)) == 1
    for step in range(24):
        changes = {}
        for name, columns in TABLES.items():
            came = Counter(_row(rnd, len(columns)) for _ in range(rnd.randint(0, 3)))
            there = list(view.rows[name].elements())
            if step % 3:
                came.subtract(Counter(rnd.sample(there, min(len(there), rnd.randint(0, 2)))))
            changes[name] = came
        view.refresh(changes)
        assert_right(view)


def _row(rnd: random.Random, width: int) -> Row:
    numbers = [rnd.choice((None, 0, 1, 2, 3)) for _ in range(width)]
    return (*numbers[:3], rnd.choice((None, "a", "b"))) if width > 2 else tuple(numbers)


@pytest.mark.parametrize(
    "query",
    [
        # Rows of a key are found by it.
        "SELECT ID, V FROM E QUALIFY ROW_NUMBER() OVER (PARTITION BY ID ORDER BY V, S, AT) = 1",
        f"SELECT ID, V FROM {EVENTS} QUALIFY ROW_NUMBER() OVER (PARTITION BY ID ORDER BY V, S, AT) = 2",
        f"SELECT ID, V FROM {EVENTS} QUALIFY ROW_NUMBER() OVER (PARTITION BY ID ORDER BY V, S, AT) <= 2",
        f"SELECT ID, V FROM {EVENTS} QUALIFY RANK() OVER (PARTITION BY ID ORDER BY V) = 1",
        f"SELECT ID, V FROM {EVENTS} QUALIFY NOT ROW_NUMBER() OVER (PARTITION BY ID ORDER BY V, S, AT) = 1",
        f"SELECT ID, V, COUNT(*) OVER (PARTITION BY ID) AS N FROM {EVENTS}"
        " QUALIFY ROW_NUMBER() OVER (PARTITION BY ID ORDER BY V, S, AT) = 1",
        # Nothing to keep beside the key.
        "SELECT ID FROM (SELECT ID + 0 AS ID FROM E) QUALIFY ROW_NUMBER() OVER (PARTITION BY ID ORDER BY ID) = 1",
    ],
)
def test_other_windows_stay_what_they_are(query: str) -> None:
    view = StatefulView(query, TABLES, ROWS)
    assert not first_rows(view)
    view.refresh({"E": Counter({(1, 0, 1, "old"): 1, (1, 2, 6, "b"): -1})})
    assert_right(view)
