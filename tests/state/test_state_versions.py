"""Visible versions, undone ranges, transactions and counters."""

from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snowmelt.core.clock import ManualClock
from snowmelt.core.errors import SnowmeltError
from snowmelt.state.ids import new_id
from snowmelt.state.model import TransactionState
from snowmelt.state.store import StateStore
from snowmelt.state.trimming import HISTORIES
from tests.state.builders import version

TICK = timedelta(microseconds=1)


def test_flip_moves_the_visible_version_and_keeps_the_past(store: StateStore) -> None:
    instants = []
    for number in (0, 1, 5):
        with store.begin() as transaction:
            transaction.versions.flip(version("t", number, transaction.now, query_id=f"q{number}"))
            instants.append(transaction.now)
    with store.read() as reader:
        versions = reader.versions
        visible = versions.visible("t")
        assert visible == version("t", 5, instants[2], query_id="q5")
        assert [item.version for item in versions.history("t")] == [0, 1, 5]
        assert [versions.as_of("t", at) for at in instants] == versions.history("t")
        assert versions.as_of("t", instants[0] - TICK) is None
        assert versions.of_query("q5") == [visible]
        assert versions.visible("none") is None


def test_what_was_forgotten_may_have_been_anything(store: StateStore) -> None:
    for number, operation in enumerate(("INSERT", "DELETE", "OPTIMIZE", "OPTIMIZE")):
        with store.begin() as transaction:
            transaction.versions.flip(version("t", number, transaction.now).model_copy(update={"operation": operation}))
    with store.begin() as transaction:
        versions = transaction.versions
        assert [versions.only_moved("t", after, 3) for after in range(4)] == [False, True, True, True]
        versions.forget_before("t", 2, 100)
        assert [versions.only_moved("t", after, 3) for after in range(4)] == [False, False, True, True]
        assert [versions.forgotten("t", number) for number in range(4)] == [True, True, False, False]


def test_flip_refuses_to_go_back(store: StateStore) -> None:
    with store.begin() as transaction:
        transaction.versions.flip(version("t", 3, transaction.now))
        for number, at in ((3, transaction.now), (2, transaction.now), (4, transaction.now - TICK)):
            with pytest.raises(SnowmeltError, match="cannot follow"):
                transaction.versions.flip(version("t", number, at))
    with store.read() as reader:
        assert [item.version for item in reader.versions.history("t")] == [3]


def test_snapshot_has_the_tables_that_have_a_version(store: StateStore) -> None:
    tables = [f"t{number}" for number in range(1200)]
    with store.begin() as transaction:
        for number, table in enumerate(tables):
            transaction.versions.flip(version(table, number, transaction.now))
    with store.read() as reader:
        found = reader.versions.snapshot([*tables, "none"])
        assert {table: item.version for table, item in found.items()} == {f"t{n}": n for n in range(1200)}
        assert reader.versions.snapshot([]) == {}


def test_before_a_query(store: StateStore) -> None:
    with store.begin() as transaction:
        transaction.versions.flip(version("a", 0, transaction.now, "q0"))
        transaction.versions.flip(version("b", 0, transaction.now, "q0"))
    with store.begin() as transaction:
        transaction.versions.flip(version("a", 1, transaction.now, "q1"))
        transaction.versions.flip(version("a", 2, transaction.now, "q1"))
    with store.begin() as transaction:
        transaction.versions.flip(version("b", 1, transaction.now, "q2"))
    with store.read() as reader:
        before = reader.versions.before_query

        def number(table: str, query: str) -> int | None:
            found = before(table, query)
            return None if found is None else found.version

        assert number("a", "q1") == 0
        assert number("b", "q1") == 0, "q1 did not write b, so its instant decides"
        assert number("a", "q2") == 2
        assert number("b", "q2") == 0
        assert number("a", "q0") is None
        assert number("a", "unknown") is None
        assert [item.version for item in reader.versions.of_query("q1")] == [1, 2]


def test_delete_forgets_versions_and_undone_ranges(store: StateStore) -> None:
    with store.begin() as transaction:
        transaction.versions.flip(version("t", 9, transaction.now))
        transaction.versions.mark_undone("t", 2, 3)
        transaction.versions.delete_for("t")
        assert transaction.versions.visible("t") is None
        assert transaction.versions.change_ranges("t", 0, 5) == [(1, 5)]
        transaction.versions.flip(version("t", 0, transaction.now))
        with pytest.raises(SnowmeltError, match="ends before it starts"):
            transaction.versions.mark_undone("t", 3, 2)


# A Delta log as a run of steps: some commits, visible at once or undone by one restoring commit more.
STEPS = st.lists(st.tuples(st.integers(1, 4), st.booleans()), max_size=12)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, data=st.data())
def test_versions_and_changes_match_a_simple_model(
    store: StateStore, steps: list[tuple[int, bool]], data: st.DataObject
) -> None:
    table = new_id()
    newest, live, visible = -1, set[int](), list[tuple[object, int]]()
    for commits, undone in steps:
        with store.begin() as transaction:
            first, newest = newest + 1, newest + commits
            if undone:
                newest += 1
                transaction.versions.mark_undone(table, first, newest)
            else:
                live |= set(range(first, newest + 1))
                transaction.versions.flip(version(table, newest, transaction.now))
                visible.append((transaction.now, newest))
    after = data.draw(st.integers(-1, newest + 1))
    upto = data.draw(st.integers(after, newest + 1)) if after < newest else newest
    with store.read() as reader:
        ranges = reader.versions.change_ranges(table, after, upto)
        covered = [number for first, last in ranges for number in range(first, last + 1)]
        unseen = {newest + 1} & set(range(after + 1, upto + 1))
        assert covered == sorted({number for number in live if after < number <= upto} | unseen)
        assert all(last + 1 < first for (_, last), (first, _) in pairwise(ranges))
        current = reader.versions.visible(table)
        assert (current and current.version) == (visible[-1][1] if visible else None)
        assert [(item.committed_at, item.version) for item in reader.versions.history(table)] == visible
        for at, number in visible:
            found = reader.versions.as_of(table, at)  # type: ignore[arg-type]
            assert found is not None and found.version == number


def test_recovery_finds_what_an_unfinished_transaction_may_have_written(store: StateStore, clock: ManualClock) -> None:
    with store.begin() as transaction:
        for id in ("x", "y", "z"):
            transaction.transactions.open(id, transaction.now)
        transaction.transactions.touch("x", "t2")
        transaction.transactions.touch("x", "t1")
        transaction.transactions.touch("x", "t1")
        transaction.transactions.touch("y", "t1")
    with store.begin() as transaction:
        transaction.transactions.finish("y", TransactionState.COMMITTED)
        with pytest.raises(SnowmeltError, match="transaction y is not open"):
            transaction.transactions.finish("y", TransactionState.ROLLED_BACK)
        with pytest.raises(SnowmeltError, match="cannot finish as OPEN"):
            transaction.transactions.finish("x", TransactionState.OPEN)
    with store.begin() as transaction:
        assert transaction.transactions.unfinished() == [("x", ["t1", "t2"]), ("z", [])]
        assert transaction.transactions.state("y") is TransactionState.COMMITTED
        assert transaction.trims.trim(HISTORIES["transactions"], transaction.now, 10) == 1
        assert transaction.transactions.state("y") is None
        assert transaction.transactions.state("x") is TransactionState.OPEN


def test_counters_hand_out_each_number_once_under_threads(store: StateStore) -> None:
    threads, rounds = 8, 12
    together = threading.Barrier(threads)

    def take(worker: int) -> list[int]:
        together.wait()
        taken = []
        for _ in range(rounds):
            with store.begin() as transaction:
                first = transaction.counters.take("t", "ID", count=worker + 1, start=100, step=5)
            taken += [first + 5 * index for index in range(worker + 1)]
        return taken

    with ThreadPoolExecutor(threads) as pool:
        numbers = sorted(number for taken in pool.map(take, range(threads)) for number in taken)
    assert numbers == [100 + 5 * index for index in range(rounds * sum(range(1, threads + 1)))]


def test_counters_are_apart_and_can_count_down(store: StateStore) -> None:
    with store.begin() as transaction:
        counters = transaction.counters
        assert counters.peek("t", "A") is None
        assert [counters.take("t", "A", 2, 10, -3) for _ in range(2)] == [10, 4]
        assert counters.take("t", "B", 1, 1, 1) == 1
        assert counters.take("u", "A", 1, 7, 1) == 7
        assert counters.peek("t", "A") == -2
        counters.drop("t", "A")
        assert (counters.peek("t", "A"), counters.peek("t", "B")) == (None, 2)
        counters.drop("t")
        assert (counters.peek("t", "B"), counters.peek("u", "A")) == (None, 8)
        with pytest.raises(SnowmeltError, match="out of representable range"):
            counters.take("u", "A", 2**63, 1, 1)
        with pytest.raises(SnowmeltError, match="a range of 0 numbers"):
            counters.take("u", "A", 0, 1, 1)


def test_what_other_tools_wrote_is_found_without_a_look_at_every_version(tmp_path: Path, clock: ManualClock) -> None:
    """A vacuum asks for it, and a table that takes a commit a second has 86,400 versions a day."""
    with closing(StateStore.open(f"sqlite:///{tmp_path}/state.db", clock)) as store:

        def steps(after: int) -> tuple[int, bool]:
            taken = 0

            def step() -> int:
                nonlocal taken
                taken += 1
                return 0

            with store.read() as reader:
                driver = reader.versions._scope.connection.connection.driver_connection
                assert isinstance(driver, sqlite3.Connection)
                driver.set_progress_handler(step, 1)
                try:
                    found = reader.versions.foreign_since("t", after)
                finally:
                    driver.set_progress_handler(None, 0)
            return taken, found

        with store.begin() as transaction:
            for number in range(10):
                transaction.versions.flip(version("t", number, transaction.now))
        few, found = steps(0)
        assert not found
        with store.begin() as transaction:
            for number in range(10, 500):
                transaction.versions.flip(version("t", number, transaction.now))
        assert steps(0) == (few, False)
        with store.begin() as transaction:
            transaction.versions.flip(version("t", 500, transaction.now).model_copy(update={"foreign": True}))
        assert steps(499)[1] and not steps(500)[1]
