"""Transactions, snapshots, the clock, races and crashes."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import snowmelt
from snowmelt.core.clock import ManualClock, SystemClock
from snowmelt.core.errors import SnowmeltError
from snowmelt.state.model import ObjectKind, ParameterLevel
from snowmelt.state.store import StateStore
from tests.state.builders import (
    T0,
    load,
    name,
    query,
    table,
    version,
    warehouse,
    with_public,
)


def test_now_always_moves_forward(store: StateStore, store_url: str, clock: ManualClock) -> None:
    def commit(to: StateStore) -> datetime:
        with to.begin() as transaction:
            return transaction.now

    assert commit(store) == T0
    assert commit(store) == T0 + timedelta(microseconds=1)
    clock.advance(timedelta(hours=-1))
    assert commit(store) == T0 + timedelta(microseconds=2)
    store.close()
    reopened = StateStore.open(store_url, clock)
    assert commit(reopened) == T0 + timedelta(microseconds=3)
    clock.advance(timedelta(hours=2))
    assert commit(reopened) == T0 + timedelta(hours=1)
    reopened.close()


def test_a_rollback_leaves_nothing(store: StateStore) -> None:
    with_public(store)
    with pytest.raises(ZeroDivisionError), store.begin() as transaction:
        transaction.catalog.create(table("T"))
        transaction.versions.flip(version("t", 1, transaction.now))
        transaction.versions.mark_undone("t", 1, 2)
        transaction.transactions.open("x", transaction.now)
        transaction.transactions.touch("x", "t")
        transaction.counters.take("t", "c", 1, 1, 1)
        transaction.warehouses.create(warehouse("W"))
        transaction.parameters.set("ACCOUNT", "a", "k", "v")
        transaction.queries.start(query("q"))
        transaction.loads.record([load("t", "f", T0)])
        raise ZeroDivisionError
    with store.read() as reader:
        assert reader.catalog.objects(include_dropped=True) == []
        assert reader.versions.visible("t") is None
        assert reader.versions.change_ranges("t", 0, 3) == [(1, 3)]
        assert reader.transactions.unfinished() == []
        assert reader.counters.peek("t", "c") is None
        assert reader.warehouses.list() == []
        assert reader.parameters.all("ACCOUNT", "a") == {}
        assert reader.queries.list(10) == []
        assert reader.loads.history("t") == []


def test_a_reader_sees_one_snapshot_and_never_waits(store: StateStore) -> None:
    with store.read() as before:
        assert before.versions.visible("t") is None
        with store.begin() as transaction:
            transaction.versions.flip(version("t", 1, transaction.now))
            # The writer still holds its lock, and what it wrote is not to be seen.
            with store.read() as during:
                assert during.versions.visible("t") is None
        assert before.versions.visible("t") is None
    with store.read() as after:
        assert after.versions.visible("t") is not None


def test_a_reader_refuses_every_write(store: StateStore) -> None:
    with_public(store)
    with store.read() as reader:
        for write in (
            lambda: reader.catalog.create(table("T")),
            lambda: reader.catalog.drop_session("s"),
            lambda: reader.catalog.drop_database("DB", T0),
            lambda: reader.versions.flip(version("t", 1, T0)),
            lambda: reader.versions.mark_undone("t", 1, 2),
            lambda: reader.counters.take("o", "n", 1, 1, 1),
            lambda: reader.transactions.open("x", T0),
            lambda: reader.warehouses.create(warehouse("W")),
            lambda: reader.parameters.set("ACCOUNT", "a", "k", "v"),
            lambda: reader.queries.start(query("q")),
            lambda: reader.loads.record([]),
        ):
            with pytest.raises(SnowmeltError, match="through a StateReader"):
                write()


def test_a_transaction_inside_another_is_refused_rather_than_waiting_forever(store: StateStore) -> None:
    with store.begin(), pytest.raises(SnowmeltError, match="inside another"), store.begin():
        pass
    with store.begin():
        pass


def test_one_of_many_racing_creators_wins(store: StateStore, store_url: str) -> None:
    """Two stores on one database race like two processes: the lock inside a process can't help here."""
    with_public(store)
    second = StateStore.open(store_url, SystemClock())
    racers = 8
    together = threading.Barrier(racers)

    def race(index: int) -> list[bool]:
        won = []
        for round_ in range(5):
            together.wait()
            try:
                with (store, second)[index % 2].begin() as transaction:
                    transaction.catalog.create(table(f"T{round_}"))
                won.append(True)
            except SnowmeltError as error:
                assert error.code == "002002", error
                won.append(False)
        return won

    with ThreadPoolExecutor(racers) as pool:
        outcomes = list(pool.map(race, range(racers)))
    second.close()
    assert [sum(round_) for round_ in zip(*outcomes, strict=True)] == [1] * 5
    with store.read() as reader:
        assert [item.name for item in reader.catalog.objects()] == [name(f"T{index}") for index in range(5)]


def test_instants_are_unique_across_processes_and_generations_do_not_collide(
    store: StateStore, store_url: str, clock: ManualClock
) -> None:
    with_public(store)
    second = StateStore.open(store_url, clock)
    seen = []
    for index, writer in enumerate((store, second, second, store)):
        with writer.begin() as transaction:
            transaction.catalog.create(table(f"T{index}"))
            seen.append((transaction.now, transaction.catalog.generation()))
    second.close()
    assert seen == sorted(set(seen))
    assert len({now for now, _ in seen}) == len({generation for _, generation in seen}) == 4


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_a_killed_process_leaves_a_consistent_store(store_url: str, seed: int) -> None:
    """A step of the child moves two tables and a counter together; after a kill -9 they must still agree."""
    choose = random.Random(seed)
    script = Path(__file__).with_name("crash_child.py")
    environment = {**os.environ, "PYTHONPATH": str(Path(snowmelt.__file__).parents[1])}
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, str(script), store_url], stdout=subprocess.PIPE, text=True, env=environment
        ) as child:
            assert child.stdout is not None
            confirmed = -1
            for _ in range(choose.randint(1, 60)):
                confirmed = int(child.stdout.readline())
            child.kill()
        store = StateStore.open(store_url, SystemClock())
        with store.begin() as transaction:
            a, b = transaction.versions.visible("a"), transaction.versions.visible("b")
            assert a is not None and b is not None
            assert (a.version, a.committed_at, a.transaction_id) == (
                b.version,
                b.committed_at,
                b.transaction_id,
            )
            assert a.version >= confirmed
            assert transaction.counters.peek("a", "steps") == a.version + 1
            assert len(transaction.versions.history("a")) == a.version + 1
            assert transaction.now > a.committed_at
            open_ones = transaction.transactions.unfinished()
            assert open_ones in ([], [(str(a.version + 1), ["a", "b"])])
            found = {item.name.name for item in transaction.catalog.objects([ObjectKind.TABLE])}
            assert found == {f"T{step}" for step in range(a.version + 1)}
        store.close()


def test_warehouses(store: StateStore) -> None:
    with store.begin() as transaction:
        warehouses = transaction.warehouses
        first = warehouse("W1")
        warehouses.create(first)
        warehouses.create(warehouse("B"))
        assert warehouses.get("W1") == first
        with pytest.raises(SnowmeltError, match="Object 'W1' already exists"):
            warehouses.create(warehouse("W1"))
        with pytest.raises(SnowmeltError, match="Object 'B' already exists"):
            warehouses.rename("W1", "B")
        warehouses.update(first.model_copy(update={"size": "Large"}))
        warehouses.rename("W1", "A")
        assert [(item.name, item.size) for item in warehouses.list()] == [("A", "Large"), ("B", "X-Small")]
        warehouses.drop("A")
        assert warehouses.get("A") is None
        attempts: list[Callable[[], None]] = [
            lambda: warehouses.drop("A"),
            lambda: warehouses.rename("A", "C"),
            lambda: warehouses.update(first),
        ]
        for missing in attempts:
            with pytest.raises(SnowmeltError, match="does not exist"):
                missing()


def test_parameters(store: StateStore) -> None:
    with store.begin() as transaction:
        parameters = transaction.parameters
        parameters.set(ParameterLevel.USER, "ALICE", "TIMEZONE", "UTC")
        parameters.set("USER", "ALICE", "TIMEZONE", "Europe/Paris")
        parameters.set("USER", "ALICE", "QUERY_TAG", "")
        parameters.set("ACCOUNT", "ALICE", "TIMEZONE", "x")
        assert parameters.get("USER", "ALICE", "TIMEZONE") == "Europe/Paris"
        assert parameters.get("USER", "BOB", "TIMEZONE") is None
        assert parameters.all("USER", "ALICE") == {"TIMEZONE": "Europe/Paris", "QUERY_TAG": ""}
        parameters.unset("USER", "ALICE", "TIMEZONE")
        assert parameters.all("USER", "ALICE") == {"QUERY_TAG": ""}
        parameters.unset("USER", "ALICE")
        assert parameters.all("USER", "ALICE") == {}
        assert parameters.all("ACCOUNT", "ALICE") == {"TIMEZONE": "x"}
        with pytest.raises(ValueError, match="PLANET"):
            parameters.get("PLANET", "a", "b")


def test_loads_know_the_latest_of_each_file(store: StateStore) -> None:
    later = T0 + timedelta(seconds=1)
    with store.begin() as transaction:
        loads = transaction.loads
        loads.record([load("t", f"f{index}", T0) for index in range(1100)])
        again = load("t", "f1", later)
        loads.record([again, load("u", "f1", later)])
        found = loads.loaded("t", [f"f{index}" for index in range(1100)] + ["none"])
        assert len(found) == 1100 and found["f1"] == again
        assert loads.history("t", later) == [again]
        assert len(loads.history("t")) == 1101
        loads.delete_for("t")
        assert loads.loaded("t", ["f1"]) == {}
        assert len(loads.history("u", T0)) == 1
