"""TPC-DS's 99 queries as refresh plans on DuckDB, under random changes of all their tables.

Each is planned incrementally, or the test fails: making its view raises. Their texts are not here (`queries.py`).
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.ivm.duck import Row, View
from tests.tpcds.queries import query_files, query_text
from tests.tpcds.rows import Rows, tables_of

OTHER_ROWS = 12
ROUNDS = 5


class Watched:
    """A view, and how often its rows changed."""

    def __init__(self, query: str, rows: dict[str, Counter[Row]], *, states: bool) -> None:
        self.view = View(
            query, tables_of(query), {name: table.elements() for name, table in rows.items()}, states=states
        )
        self.before = Counter(map(repr, self.view.result()))
        self.moved = 0

    def change(self, changes: dict[str, Counter[Row]]) -> None:
        self.view.refresh(changes)
        more, less = self.view.check()
        assert not more and not less, f"{list(changes)}: {self.view.last} has {more} and has not {less}"
        now = Counter(map(repr, self.view.result()))
        self.moved += now != self.before
        self.before = now

    @property
    def says_something(self) -> bool:
        return any(value not in (None, 0) for row in self.view.result() for value in row)


@pytest.mark.slow
@pytest.mark.parametrize("name", query_files())
@pytest.mark.parametrize("states", [True, False], ids=["states", "recomputed"])
def test_equal_after_every_change(name: str, states: bool) -> None:
    query = query_text(query_files()[name])
    tables = tables_of(query)
    rnd = random.Random(name)
    rows = Rows(rnd, query, tables)
    watched = Watched(query, {table: rows.table(table) for table in tables}, states=states)
    for _ in range(OTHER_ROWS):
        if watched.says_something:
            break
        rows = Rows(rnd, query, tables)
        fresh = {table: rows.table(table) for table in tables}
        for table, content in fresh.items():
            content.subtract(watched.view.rows[table])
        watched.change(fresh)
    for number in range(ROUNDS):
        changing = list(tables) if number % 2 else [rnd.choice(list(tables))]
        watched.change({table: rows.change(table, watched.view.rows[table]) for table in changing})
