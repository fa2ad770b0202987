"""Changes that come again, however much of them: only what is new is taken."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from snowmelt.ingest.cdc.envelope import CapturedChange, Operation, SnapshotMark
from snowmelt.ingest.cdc.redelivery import Deliveries


def change(commit: int | None, transaction: int, lsn: int, key: int = 1, table: str = "t") -> CapturedChange:
    return CapturedChange(
        operation=Operation.UPDATE, table=table, key={"id": key}, before=None, after={"id": key}, ts_ms=1, lsn=lsn,
        transaction=transaction, sequence=f'[{f"{chr(34)}{commit}{chr(34)}" if commit else "null"}, "{lsn}"]',
    )  # fmt: skip


def row(lsn: int, snapshot: SnapshotMark = SnapshotMark.MIDDLE) -> CapturedChange:
    return replace(change(None, 0, lsn), operation=Operation.READ, snapshot=snapshot)


def log(seed: int) -> list[CapturedChange]:
    """Transactions in the order of their commits; they overlap, so that places in the log go back and forth."""
    chosen = random.Random(seed)
    places = iter(range(1, 1_000_000))
    running = [[next(places) for _ in range(chosen.randint(1, 4))] for _ in range(3)]
    changes: list[CapturedChange] = []
    commit: int | None = None
    for transaction in range(1, 400):
        ended = running.pop(chosen.randrange(len(running)))
        running.append([])
        for own in running:
            own += [next(places) for _ in range(chosen.randint(0, 3))]
        for lsn in ended:
            # Some records of the log hold several rows.
            changes += [change(commit, transaction, lsn, key, f"t{key % 2}") for key in range(chosen.choice((1, 1, 3)))]
        commit = next(places)
    return changes


@pytest.mark.parametrize("seed", range(20))
def test_whatever_comes_again_is_known(seed: int) -> None:
    """A reader that is killed again and again, and goes back by any distance."""
    changes = log(seed)
    chosen = random.Random(seed)
    taken: list[CapturedChange] = []
    progress: dict[str, Any] = {}
    recent: tuple[str, ...] = ()
    at = furthest = 0
    while furthest < len(changes):
        deliveries = Deliveries(progress, recent)
        upto = min(at + chosen.randint(1, 200), len(changes))
        taken += [each for each in changes[at:upto] if deliveries.is_new(each)]
        # Identities alone would not do: these are a few of those that may come again.
        progress, recent = deliveries.progress, deliveries.recent[-5:]
        furthest = max(furthest, upto)
        first = next(place for place, each in enumerate(changes) if each.behind_commit is not None)
        at = chosen.choice((upto, upto, max(min(first, upto), upto - chosen.randint(1, 500))))
    assert taken == changes


def test_what_is_behind_no_commit_and_not_known_is_taken_with_all_that_follows() -> None:
    deliveries = Deliveries({}, ())
    log = [change(None, 1, 5), change(6, 2, 7), change(8, 3, 9)]
    assert [deliveries.is_new(each) for each in log] == [True, True, True]
    again = Deliveries(deliveries.progress, ())
    assert [again.is_new(each) for each in log] == [True, True, True]


def test_a_new_snapshot_begins_anew() -> None:
    deliveries = Deliveries({}, ())
    assert deliveries.begun_snapshot(row(10), ["t"]) == ["t"]
    assert deliveries.begun_snapshot(row(10), ["t"]) == []
    assert deliveries.is_new(change(20, 2, 21))
    assert deliveries.begun_snapshot(row(5, SnapshotMark.INCREMENTAL), ["t"]) == []
    assert not deliveries.is_new(change(15, 1, 16))
    assert deliveries.begun_snapshot(row(30), ["t", "other"]) == ["t", "other"]
    assert deliveries.is_new(change(15, 1, 16))
