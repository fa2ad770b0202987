"""COUNT(DISTINCT …) in two steps: no row is read that did not change."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from snowmelt.ivm.changes import TableChange
from snowmelt.ivm.operators.aggregate import Aggregate
from tests.ivm.duck import Columns, View
from tests.ivm.randomdata import CODES
from tests.ivm.views import StatefulView

TABLES: dict[str, Columns] = {"T": (("K", CODES["I"]), ("X", CODES["I"]), ("Y", CODES["S"]), ("Z", CODES["N"]))}
ONE_LIST = (
    "SELECT K, COUNT(DISTINCT X) AS N FROM T GROUP BY K",
    "SELECT COUNT(DISTINCT X) AS N FROM T",
    "SELECT K, COUNT(DISTINCT X, Y) AS N, COUNT(*) AS A, COUNT(Z) AS C FROM T GROUP BY K",
    "SELECT COUNT(DISTINCT X) AS N, COUNT(*) AS A, COUNT_IF(X > 1) AS C, SUM(Z) AS S, AVG(Z) AS V FROM T",
    "SELECT K, SUM(DISTINCT X) AS S, MIN(Z) AS LOW, MAX(Y) AS HIGH, SUM(X) AS A FROM T GROUP BY K",
    "SELECT K, COUNT(DISTINCT X + K) AS N, BOOLOR_AGG(X > 1) AS B, BOOLAND_AGG(X > 1) AS C FROM T GROUP BY K",
)
SEVERAL_LISTS = (
    "SELECT K, COUNT(DISTINCT X) AS N, COUNT(DISTINCT Y) AS M FROM T GROUP BY K",
    "SELECT K, COUNT(DISTINCT X) AS N, LISTAGG(Y) WITHIN GROUP (ORDER BY Y) AS L FROM T GROUP BY K",
)


def random_rows(rnd: random.Random, most: int) -> Counter[tuple[object, ...]]:
    def row() -> tuple[object, ...]:
        return tuple(rnd.choice(values) for values in ((None, 1, 2), (None, 0, 1, 2), (None, "a", "b"), (None, 1, 2)))

    return Counter(row() for _ in range(rnd.randint(0, most)))


def steps(view: View) -> int:
    return sum(isinstance(node, Aggregate) for node in view.planner.view.root.walk())


@pytest.mark.parametrize("query", ONE_LIST)
def test_values_that_come_and_go(query: str) -> None:
    rnd = random.Random(query)
    view = StatefulView(query, TABLES, {"T": random_rows(rnd, 8).elements()})
    assert steps(view) == 2
    for _ in range(30):
        change = random_rows(rnd, 3)
        there = list(view.rows["T"].elements())
        change.subtract(Counter(rnd.sample(there, min(len(there), rnd.randint(0, 4)))))
        view.refresh({"T": change})
        assert view.check() == (Counter(), Counter())


def test_no_row_is_read_that_did_not_change() -> None:
    view = StatefulView(ONE_LIST[0], TABLES, {})
    plan = view.planner.plan({"T": TableChange()}, types={})
    texts = [stage.query.sql() for stage in plan.stages]
    assert not any("T__new" in text or "T__old" in text for text in texts), texts


@pytest.mark.parametrize("query", SEVERAL_LISTS)
def test_what_has_no_two_steps_stays_one(query: str) -> None:
    assert steps(StatefulView(query, TABLES, {})) == 1
