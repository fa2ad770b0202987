"""MIN and MAX from their state: rows are read again only for groups that lost an extreme."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.ivm.duck import Columns, Row, View
from tests.ivm.randomdata import CODES
from tests.ivm.views import StatefulView

TABLES: dict[str, Columns] = {
    "A": (("ID", CODES["I"]), ("K", CODES["I"])),
    "B": (("ID", CODES["I"]), ("V", CODES["I"])),
}
GROUPED = "SELECT ID, MIN(V) AS LOW, MAX(V) AS HIGH, COUNT(*) AS N FROM B GROUP BY ID"
JOINED = "SELECT A.K, MIN(B.V) AS LOW, MAX(B.V) AS HIGH FROM A JOIN B ON B.ID = A.ID GROUP BY A.K"
SCALAR = "SELECT MAX(V) AS HIGH, SUM(V) AS TOTAL FROM B"
ROWS = {"A": [(1, 10), (2, 10)], "B": [(1, 1), (1, 5), (1, 5), (1, 9), (2, None), (9, 0)]}


def lost(view: View) -> int:
    found = view.database.execute("SELECT COUNT(*) FROM a1__lost").fetchone()
    assert found is not None
    return int(found[0])


def assert_right(view: View) -> None:
    assert view.check() == (Counter(), Counter())


@pytest.mark.parametrize(
    ("change", "read_again"),
    [
        ({(1, 5): -2}, 0),
        ({(1, 9): -1}, 1),
        ({(1, 9): -1, (1, 10): 1}, 0),
        ({(1, 9): -1, (1, 8): 1}, 1),
        ({(1, 1): -1, (1, 5): -2, (1, 9): -1}, 1),
        ({(2, None): -1, (2, 3): 1}, 0),
        ({(9, 0): -1}, 1),
    ],
)
def test_only_a_lost_extreme_is_looked_for(change: dict[Row, int], read_again: int) -> None:
    view = StatefulView(GROUPED, TABLES, ROWS)
    view.refresh({"B": Counter(change)})
    assert_right(view)
    assert lost(view) == read_again


def test_a_group_that_went_and_came_again_has_no_memory() -> None:
    view = StatefulView(GROUPED, TABLES, ROWS)
    view.refresh({"B": Counter({(9, 0): -1})})
    view.refresh({"B": Counter({(9, 4): 1})})
    assert_right(view)


def test_a_row_that_was_never_there_is_no_extreme() -> None:
    """The new row of A meets the old row of B, which went: by the rule for joins it comes and goes."""
    view = StatefulView(JOINED, TABLES, ROWS)
    view.refresh({"A": Counter({(9, 10): 1}), "B": Counter({(9, 0): -1})})
    assert_right(view)


@pytest.mark.parametrize("query", [GROUPED, JOINED, SCALAR])
def test_few_values_that_come_and_go(query: str) -> None:
    """Small numbers, so that extremes are lost and reached again all the time."""
    rnd = random.Random(query)
    view = StatefulView(query, TABLES, ROWS)
    for _ in range(40):
        changes = {}
        for name in TABLES:
            came = Counter((rnd.randint(1, 3), rnd.choice((None, 0, 1, 2, 3))) for _ in range(rnd.randint(0, 2)))
            there = list(view.rows[name].elements())
            went = Counter(rnd.sample(there, min(len(there), rnd.randint(0, 2))))
            came.subtract(went)
            changes[name] = came
        view.refresh(changes)
        assert_right(view)
