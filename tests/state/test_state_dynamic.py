"""Where dynamic tables stand, their refreshes, the history of their definitions."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from snowmelt.core.clock import ManualClock
from snowmelt.core.errors import SnowmeltError
from snowmelt.state.dynamic_model import (
    Dependency,
    DynamicGraphEntry,
    DynamicRefresh,
    DynamicState,
    RefreshState,
    RefreshTrigger,
)
from snowmelt.state.store import StateStore
from snowmelt.state.trimming import HISTORIES
from tests.state.builders import T0, name

MINUTE = timedelta(minutes=1)


def refresh(id: str, minute: int, state: RefreshState, version: int | None = None) -> DynamicRefresh:
    return DynamicRefresh(
        id=id, table_id="d", name=name("D"), state=state, data_timestamp=T0 + minute * MINUTE, version=version,
        trigger=RefreshTrigger.SCHEDULED, frontier={"s": minute}, statistics={"numInsertedRows": 1},
    )  # fmt: skip


def test_a_state_comes_back_as_it_was_put(store: StateStore) -> None:
    dependency = Dependency(name=name("S"), kind="TABLE", object_id="s", columns=("A", "B"))
    put = DynamicState(table_id="d", data_timestamp=T0, version=3, frontier={"s": 7}, dependencies=(dependency,))
    with store.begin() as state:
        state.dynamic.put(put)
        state.dynamic.change("d", failures=2)
    with store.read() as state:
        assert state.dynamic.all() == {"d": put.model_copy(update={"failures": 2})}
        assert state.dynamic.get("other") is None
        with pytest.raises(SnowmeltError):
            state.dynamic.require("other")


def test_the_version_of_a_data_timestamp_is_that_of_the_newest_refresh_by_then(store: StateStore) -> None:
    with store.begin() as state:
        state.dynamic.record_refresh(refresh("1", 1, RefreshState.SUCCEEDED, 4))
        state.dynamic.record_refresh(refresh("2", 2, RefreshState.FAILED))
        state.dynamic.record_refresh(refresh("3", 3, RefreshState.SUCCEEDED, 6))
        state.dynamic.record_refresh(refresh("4", 4, RefreshState.EXECUTING))
    with store.read() as state:

        def version(minute: float) -> int | None:
            found = state.dynamic.refresh_as_of("d", T0 + minute * MINUTE)
            return found.version if found is not None else None

        assert [version(minute) for minute in (0.5, 1, 2.5, 3, 9)] == [None, 4, 4, 6, 6]
        made_by = state.dynamic.refresh_of_version("d", 5)
        assert made_by is not None and made_by.id == "1"
        last = state.dynamic.last_refresh("d")
        assert last is not None and last.id == "3"
        assert [item.id for item in state.dynamic.executing()] == ["4"]
        # What runs is always part of it.
        assert [item.id for item in state.dynamic.refreshes(T0, T0 + MINUTE)] == ["4", "1"]
        assert state.dynamic.refreshes(T0, T0 + MINUTE, ["other"]) == []


def test_trimming_keeps_what_says_where_a_table_stands(store: StateStore) -> None:
    with store.begin() as state:
        state.dynamic.put(DynamicState(table_id="d"))
        state.dynamic.record_refresh(refresh("1", 1, RefreshState.SUCCEEDED, 4))
        state.dynamic.record_refresh(refresh("2", 2, RefreshState.SUCCEEDED, 5))
        state.dynamic.record_refresh(refresh("3", 3, RefreshState.FAILED))
        assert state.trims.trim(HISTORIES["refreshes"], T0 + timedelta(days=1), 10) == 2
        found = state.dynamic.refresh_as_of("d", T0 + timedelta(days=1))
        assert found is not None and found.id == "2"
        state.dynamic.delete_for("d")
        assert state.dynamic.get("d") is None and state.dynamic.last_refresh("d") is None


def test_one_definition_holds_at_a_time(store: StateStore) -> None:
    for minute, query in enumerate(("SELECT 1", "SELECT 2")):
        with store.begin() as state:
            entry = DynamicGraphEntry(
                table_id="d", valid_from=T0 + minute * MINUTE, name=name("D"), query=query, alter_trigger=("NONE",)
            )
            state.dynamic.begin_graph(entry)
    with store.begin() as state:
        assert [item.query for item in state.dynamic.graph(T0, T0 + MINUTE)] == ["SELECT 1", "SELECT 2"]
        assert [item.query for item in state.dynamic.graph(T0, T0)] == ["SELECT 1"]
        assert [item.query for item in state.dynamic.graph(T0 + MINUTE, T0 + MINUTE)] == ["SELECT 2"]
        state.dynamic.end_graph("d", T0 + 2 * MINUTE)
        assert state.dynamic.graph_entry("d") is None
        assert state.dynamic.graph(T0 + 3 * MINUTE, T0 + 3 * MINUTE) == []


def test_nobody_commits_at_or_before_an_instant_that_is_settled(store: StateStore, clock: ManualClock) -> None:
    """Although a writer drew its instant before, and commits later."""
    inside, leave = threading.Event(), threading.Event()
    drawn = []

    def write() -> None:
        with store.begin() as state:
            drawn.append(state.now)
            inside.set()
            leave.wait(20)

    writer = threading.Thread(target=write)
    writer.start()
    assert inside.wait(20)
    settled = []
    waiter = threading.Thread(target=lambda: settled.append(store.settle(T0)))
    waiter.start()
    waiter.join(0.2)
    assert waiter.is_alive()
    leave.set()
    writer.join()
    waiter.join()
    assert settled == [T0] and drawn[0] <= T0 + timedelta(microseconds=10)
    with store.begin() as state:
        assert state.now > T0
    assert store.settle(T0) == T0
    assert store.settle() > T0
    with pytest.raises(SnowmeltError):
        store.settle(T0 + timedelta(days=1))
