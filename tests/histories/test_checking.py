"""The checker itself: a history without fault has none, and each phenomenon that is planted is found."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.histories.checking import Append, Fate, Read, Transaction, anomalies

A, B = "a", "b"


def _wrote(name: str, *steps: Append | Read, fate: Fate = Fate.COMMITTED, at: float = 1.0) -> Transaction:
    return Transaction(name, steps, fate, at)


def _read(name: str, began: float = 0.0, **lists: tuple[int, ...]) -> Transaction:
    return Transaction(name, (Read(lists, began),), Fate.COMMITTED, began)


PLANTED: dict[str, tuple[list[Transaction], Mapping[str, tuple[int, ...]]]] = {
    "lost": ([_wrote("t1", Append(A, 1))], {A: ()}),
    "doubled": ([_wrote("t1", Append(A, 1))], {A: (1, 1)}),
    "invented": ([], {A: (9,)}),
    "torn": ([_wrote("t1", Append(A, 1), Append(B, 2), fate=Fate.UNKNOWN)], {A: (1,), B: ()}),
    "other order": ([_wrote("t1", Append(A, 1)), _wrote("t2", Append(A, 2)), _read("r", a=(2, 1))], {A: (1, 2)}),
    "aborted read": ([_wrote("t1", Append(A, 1), fate=Fate.ABORTED), _read("r", a=(1,))], {A: ()}),
    "intermediate read": ([_wrote("t1", Append(A, 1), Append(A, 2)), _read("r", a=(1,))], {A: (1, 2)}),
    "torn read": ([_wrote("t1", Append(A, 1), Append(B, 2)), _read("r", a=(1,), b=())], {A: (1,), B: (2,)}),
    "old read": ([_wrote("t1", Append(A, 1), at=1.0), _read("r", began=2.0, a=())], {A: (1,)}),
    "G0": (
        [_wrote("t1", Append(A, 1), Append(B, 2)), _wrote("t2", Append(A, 3), Append(B, 4))],
        {A: (1, 3), B: (4, 2)},
    ),
    "G1c": (
        [
            _wrote("t1", Append(A, 1), Read({B: (2,)}, 0.0)),
            _wrote("t2", Append(B, 2), Read({A: (1,)}, 0.0)),
        ],
        {A: (1,), B: (2,)},
    ),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_a_phenomenon_is_found(kind: str) -> None:
    assert kind in {each.kind for each in anomalies(*PLANTED[kind])}


@given(seed=st.integers(0, 10_000))
def test_transactions_one_after_the_other_have_none(seed: int) -> None:
    chance = random.Random(seed)
    lists: dict[str, tuple[int, ...]] = {A: (), B: (), "c": ()}
    history = []
    for number in range(20):
        kept, steps = dict(lists), list[Append | Read]()
        for part in range(chance.randint(1, 3)):
            if chance.random() < 0.4:
                keys = chance.sample(sorted(lists), chance.randint(1, 3))
                steps.append(Read({key: lists[key] for key in keys}, float(number)))
            else:
                key, value = chance.choice(sorted(lists)), number * 10 + part
                steps.append(Append(key, value))
                lists[key] += (value,)
        fate = chance.choice([Fate.COMMITTED, Fate.COMMITTED, Fate.ABORTED, Fate.UNKNOWN])
        if fate is Fate.ABORTED or (fate is Fate.UNKNOWN and chance.random() < 0.5):
            lists = kept
        history.append(Transaction(f"t{number}", tuple(steps), fate, number + 0.5))
    assert anomalies(history, lists) == []
