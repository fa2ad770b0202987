"""Any order, any split into batches, any duplicates: the table depends on the set of events alone.

The plans that Spark runs in production run on DuckDB here, against a reference that knows no SQL.
"""

from __future__ import annotations

import random
from collections import Counter
from functools import cache
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snowmelt.core import types
from snowmelt.ivm.changes import TableChange
from snowmelt.ivm.plan import ApplyKind
from snowmelt.sql.scd import Dimension, EventColumn, events_of, query_of
from tests.features.dynamic_tables.scd_reference import COLUMNS, Event, Version, assert_sound, current, versions
from tests.ivm.duck import Columns, Row, View

_TYPES = (types.INTEGER, types.VARCHAR, types.VARCHAR, types.BOOLEAN, types.INTEGER, types.INTEGER)
TABLES: dict[str, Columns] = {"EVENTS": tuple(zip(COLUMNS, _TYPES, strict=True))}
_AT = types.INTEGER
EXAMPLES, LONG = 12, 400

EVENT = st.builds(
    Event,
    st.sampled_from([None, 1, 2]),
    st.sampled_from([None, "x", "y"]),
    st.sampled_from([None, "p", "q"]),
    st.sampled_from([False, False, None, True]),
    st.sampled_from([None, 1, 2, 3, 4, 5, 6]),
    st.sampled_from([None, 0, 1]),
)
BATCHES = st.lists(st.lists(EVENT, max_size=6), min_size=1, max_size=3)


@cache
def query(type_: Literal[1, 2, 3], tracked: tuple[str, ...] | None = None) -> str:
    dimension = Dimension(type_, ("K",), "EVENTS", ("AT", "TIE"), "DELETED", tracked)
    columns = [EventColumn(name, kind) for name, kind in TABLES["EVENTS"]]
    return query_of(events_of(dimension, "EVENTS", [*columns, EventColumn("AT", _AT)]))


def made_by(view: View, batches: list[list[Event]]) -> list[Row]:
    """The table after all batches, which must be what its query gives after each of them."""
    for batch in batches:
        view.refresh({"EVENTS": Counter(map(tuple, batch))})
        assert view.check() == (Counter(), Counter())
    return view.result()


def history(rows: list[Row]) -> list[Version]:
    found = []
    for surrogate, k, a, b, valid_from, valid_to, is_current in rows:
        assert is_current == (valid_to is None) and len(surrogate) == 32
        found.append(Version(k, a, b, valid_from, valid_to))
    assert len({row[0] for row in rows}) == len(rows), "surrogate keys are unique"
    return found


def counted(found: list[Version]) -> Counter[Any]:
    return Counter((item.k, item.a, item.b, item.valid_from, item.valid_to) for item in found)


def assert_as_the_reference(tracked: tuple[str, ...] | None, batches: list[list[Event]]) -> None:
    events = [event for batch in batches for event in batch]
    found = history(made_by(View(query(2, tracked), TABLES, {}), batches))
    assert counted(found) == counted(versions(events, tracked=("a", "b") if tracked is None else ("a",)))
    assert_sound(found, events)


@pytest.mark.parametrize("tracked", [None, ("A",)])
@settings(max_examples=EXAMPLES, deadline=None)
@given(batches=BATCHES)
def test_the_versions_are_those_of_the_reference(tracked: tuple[str, ...] | None, batches: list[list[Event]]) -> None:
    assert_as_the_reference(tracked, batches)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=LONG, deadline=None)
@given(tracked=st.sampled_from([None, ("A",)]), batches=st.lists(st.lists(EVENT, max_size=12), max_size=5))
def test_the_versions_of_longer_histories(tracked: tuple[str, ...] | None, batches: list[list[Event]]) -> None:
    assert_as_the_reference(tracked, batches)


@settings(max_examples=EXAMPLES, deadline=None)
@given(events=st.lists(EVENT, max_size=10), seed=st.integers(0, 1000))
def test_order_batches_and_duplicates_change_nothing(events: list[Event], seed: int) -> None:
    chance = random.Random(seed)
    at_once = Counter(made_by(View(query(2, ("A",)), TABLES, {}), [events]))
    again = [*events, *chance.sample(events, len(events) // 2)]
    chance.shuffle(again)
    cut = chance.randint(0, len(again))
    split = Counter(made_by(View(query(2, ("A",)), TABLES, {}), [again[:cut], again[cut:]]))
    assert split == at_once, "surrogate keys included"


@settings(max_examples=EXAMPLES, deadline=None)
@given(batches=BATCHES)
def test_type_1_has_the_newest_of_each_key_that_lives(batches: list[list[Event]]) -> None:
    found = made_by(View(query(1), TABLES, {}), batches)
    assert Counter(found) == current(event for batch in batches for event in batch)


@settings(max_examples=EXAMPLES, deadline=None)
@given(batches=BATCHES)
def test_type_3_has_the_value_before(batches: list[list[Event]]) -> None:
    found = made_by(View(query(3, ("A",)), TABLES, {}), batches)
    wanted = versions((event for batch in batches for event in batch), tracked=("a",))
    assert Counter(found) == Counter(
        (item.k, item.a, item.b, item.previous, item.valid_from) for item in wanted if item.valid_to is None
    )


def test_a_late_event_takes_its_place() -> None:
    """The middle one makes a version of an event that said nothing new when it came."""
    view = View(query(2, ("A",)), TABLES, {})
    first, last = Event(1, "x", None, False, 1, 0), Event(1, "x", None, False, 3, 0)
    assert counted(history(made_by(view, [[first, last]]))) == Counter({(1, "x", None, 1, None): 1})
    late = Event(1, "y", None, False, 2, 0)
    assert counted(history(made_by(view, [[late]]))) == Counter(
        {(1, "x", None, 1, 2): 1, (1, "y", None, 2, 3): 1, (1, "x", None, 3, None): 1}
    )


@pytest.mark.parametrize("type_", [1, 2, 3])
def test_a_refresh_replaces_the_keys_that_changed(type_: Literal[1, 2, 3]) -> None:
    view = View(query(type_), TABLES, {"EVENTS": [Event(k, "x", None, False, 1, 0) for k in range(5)]})
    made_by(view, [[Event(1, "y", None, False, 2, 0)]])
    assert view.last is not None and view.last.kind is ApplyKind.REPLACE
    assert [own for own, _ in view.last.key_columns] == ["K"]
    assert len(view.planner.plan({"EVENTS": TableChange()}).stages) == 2, "the keys, and what they have: one pass"
