"""Prepared queries of the quick lane: the rows of each run are those that it is given, whatever came before."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from decimal import Decimal

import pyarrow as pa
import pytest

from snowmelt.engine.quick import prepared
from snowmelt.engine.quick.lane import QuickLane, Translations
from snowmelt.engine.quick.types import NotQuick
from snowmelt.sql.dialect import spark

JOINED = spark(
    "SELECT a.k AS k, SUM(a.v) AS total, COUNT(b.k) AS found FROM a LEFT JOIN b ON a.k = b.k "
    "WHERE EXISTS (SELECT 1 FROM c WHERE c.k = a.k) GROUP BY a.k"
)


@pytest.fixture
def lane() -> Iterator[QuickLane]:
    lane = QuickLane()
    yield lane
    lane.close()


def rows(keys: list[int | None], scale: int = 2) -> pa.Table:
    values = [None if key is None else Decimal(key).scaleb(-scale) for key in keys]
    return pa.table({"k": pa.array(keys, pa.int64()), "v": pa.array(values, pa.decimal128(12, scale))})


def some(chance: random.Random, most: int) -> pa.Table:
    return rows([chance.choice([None, *range(9)]) for _ in range(chance.randint(0, most))])


def multiset(found: pa.Table) -> list[str]:
    return sorted(map(repr, found.to_pylist()))


def test_random_rows_one_after_the_other(lane: QuickLane) -> None:
    chance, known = random.Random(7), Translations()
    for number in range(150):
        inputs = {name: some(chance, 2_000 if number % 50 == 49 else 12) for name in "abc"}
        expected = lane.run(JOINED, (), inputs)
        found = lane.run(JOINED, (), inputs, known=known)
        assert found.schema == expected.schema
        assert multiset(found) == multiset(expected)


def test_other_columns_are_another_statement(lane: QuickLane) -> None:
    known = Translations()
    for scale in (2, 4, 2):
        inputs = {name: rows([1, 2], scale) for name in "abc"}
        assert lane.run(JOINED, (), inputs, known=known).equals(lane.run(JOINED, (), inputs))


def test_a_failure_leaves_a_statement_that_works(lane: QuickLane) -> None:
    query, known = spark("SELECT CAST(s AS INT) AS n FROM a"), Translations()

    def run(text: str) -> list[int]:
        found = lane.run(query, (), {"a": pa.table({"s": [text]})}, known=known)
        values: list[int] = found.column("n").to_pylist()
        return values

    assert run("17") == [17]
    with pytest.raises(NotQuick):
        run("no number")
    assert run("18") == [18]


def test_several_threads_with_rows_of_their_own(lane: QuickLane) -> None:
    query, known = spark("SELECT SUM(k) AS total FROM a"), Translations()
    wrong: list[int] = []

    def work(first: int) -> None:
        for number in range(first, first + 60):
            found = lane.run(query, (), {"a": rows([number, number])}, known=known)
            if found.column("total").to_pylist() != [2 * number]:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(1_000 * index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_only_so_many_are_kept(lane: QuickLane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "_MOST", 2)
    for round_ in range(3):
        for number in range(4):
            found = lane.run(spark(f"SELECT k + {number} AS n FROM a"), (), {"a": rows([round_])}, known=Translations())
            assert found.column("n").to_pylist() == [round_ + number]


def test_a_closed_lane_prepares_nothing(lane: QuickLane) -> None:
    lane.close()
    with pytest.raises(NotQuick):
        lane.run(JOINED, (), {name: rows([1]) for name in "abc"}, known=Translations())
