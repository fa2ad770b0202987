"""TPC-H's 22 queries as refresh plans on DuckDB, under inserts, updates and deletes in all eight tables."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

from benchmarks.tpch.queries import query_names, query_text
from benchmarks.tpch.tables import TABLES
from snowmelt.core.types import DataType, parse_type
from snowmelt.ivm.lowering import lower
from snowmelt.ivm.plan import RefreshPlanner
from tests.ivm.duck import Columns, Row, View, bind
from tests.support.tiny_tpch import tiny_change, tiny_rows

SCALE = 0.002
"""What q11 asks for depends on it: some groups are above its fraction and some below."""


def _type(text: str) -> DataType:
    found = parse_type(text)
    assert found is not None
    return found


ALL: dict[str, Columns] = {
    table.upper(): tuple((name.upper(), _type(kind)) for name, kind in columns.items())
    for table, columns in TABLES.items()
}


def tables_of(query: str) -> dict[str, Columns]:
    words = {word.upper() for word in re.findall(r"\w+", query)}
    return {table: columns for table, columns in ALL.items() if table in words}


def filled(name: str, *, states: bool) -> View:
    query = query_text(name, SCALE)
    rows = {table.upper(): content.elements() for table, content in tiny_rows(random.Random(22)).items()}
    return View(query, tables_of(query), rows, states=states)


def change(rnd: random.Random, view: View, table: str) -> Counter[Row]:
    return tiny_change(rnd, table.lower(), view.rows[table])


def assert_right(view: View, *what: object) -> None:
    more, less = view.check()
    assert not more and not less, f"{what}: {view.last} has {more} in addition and has not {less}"


def test_all_22_are_incremental() -> None:
    names = query_names()
    assert len(names) == 22
    for name in names:
        RefreshPlanner(lower(bind(query_text(name, SCALE), ALL).tree, ALL))


@pytest.mark.parametrize(
    "states", [pytest.param(False, marks=pytest.mark.slow, id="recomputed"), pytest.param(True, id="states")]
)
@pytest.mark.parametrize("name", query_names())
def test_equal_after_every_round(name: str, states: bool) -> None:
    rnd = random.Random(f"{name} {states}")
    view = filled(name, states=states)
    assert_right(view, "at first")
    assert any(value is not None for row in view.result() for value in row), "the data says nothing about this query"
    before, moved = Counter(view.result()), 0
    names = list(view.tables)
    # Each table alone, then all of them at once.
    for changing in (*([table] for table in names), names, names):
        view.refresh({table: change(rnd, view, table) for table in changing})
        assert_right(view, *changing)
        moved += Counter(view.result()) != before
        before = Counter(view.result())
    assert moved, "no round changed anything"


@pytest.mark.parametrize("name", query_names())
def test_all_rows_go_and_come_back(name: str) -> None:
    view = filled(name, states=True)
    rows = {table: Counter(content) for table, content in view.rows.items()}
    view.refresh({table: Counter({row: -count for row, count in content.items()}) for table, content in rows.items()})
    assert_right(view, "nothing left")
    view.refresh(rows)
    assert_right(view, "all back")
