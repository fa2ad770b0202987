"""One behaviour for all sources: each record once, whatever happens; what is wrong is set aside; policies hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import snowmelt
from snowmelt.extract_load import Field, FollowSchema, Record, SchemaDriftError, SchemaPolicy
from tests.extract_load.loading import CutOffError, records, rows, run, version
from tests.extract_load.rigs import Rig, rig, sources

__all__ = ["rig"]
FIELDS = [
    Field("id", "NUMBER(38,0)", nullable=False), Field("name", "VARCHAR", nullable=False),
    Field("amount", "NUMBER(12,2)"), Field("changed_at", "DATE"),
]  # fmt: skip


def order(number: int, **changes: object) -> Record:
    return {"id": number, "name": f"n{number}", "amount": "1.50", "changed_at": f"2024-01-{number:02}", **changes}


def ids(tmp_path: Path) -> list[int]:
    return sorted(int(record["id"]) for record in records(tmp_path / "data"))


@sources("jsonl", "rest")
def test_each_record_comes_once(rig: Rig, connection: snowmelt.Connection, tmp_path: Path) -> None:
    rig.add(*[order(number) for number in range(1, 6)])
    first = run(connection, rig.extractor())
    assert (first.rows, first.rejected) == (5, 0) and first.batches > 1
    before = version(tmp_path / "data")
    again = run(connection, rig.extractor())
    assert (again.rows, again.batches) == (0, 0)
    assert version(tmp_path / "data") == before, "no commit, where nothing is new"
    rig.add(order(6), order(7))
    assert run(connection, rig.extractor()).rows == 2
    assert ids(tmp_path) == [1, 2, 3, 4, 5, 6, 7]
    assert records(tmp_path / "data")[0].keys() == order(1).keys()


@sources("jsonl", "rest")
@pytest.mark.parametrize("cut", ["before 1", "before 2", "behind 1", "behind 2"])
def test_what_was_cut_off_goes_on(cut: str, rig: Rig, connection: snowmelt.Connection, tmp_path: Path) -> None:
    where, number = cut.split()
    rig.add_bad()
    rig.add(*[order(number) for number in range(1, 6)])
    follow = FollowSchema(FIELDS)
    with pytest.raises(CutOffError):
        run(connection, rig.extractor(), follow, **{f"cut_{where}": int(number)})
    rig.add(*[order(number) for number in range(6, 9)])
    run(connection, rig.extractor(), follow)
    assert ids(tmp_path) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert len(rows(tmp_path / "data", "letters")) == 1


@sources("jsonl", "rest")
def test_what_can_not_be_understood_is_set_aside(rig: Rig, connection: snowmelt.Connection, tmp_path: Path) -> None:
    rig.add(order(1), order(2))
    rig.add_bad()
    rig.add(order(3))
    follow = FollowSchema(FIELDS)
    result = run(connection, rig.extractor(), follow)
    assert (result.rows, result.rejected) == (3, 1)
    (letter,) = rows(tmp_path / "data", "letters")
    assert letter["REASON"] and letter["SOURCE_POSITION"] and letter["ORIGIN"] and letter["FLOW"] == "flow"
    assert run(connection, rig.extractor(), follow).batches == 0
    assert len(rows(tmp_path / "data", "letters")) == 1


DRIFTS: dict[str, Callable[[], Record]] = {
    "new": lambda: order(4, colour="red"),
    "retyped": lambda: order(4, amount="a lot"),
    "missing": lambda: {name: value for name, value in order(4).items() if name != "amount"},
}


@sources("jsonl")
@pytest.mark.parametrize("policy", list(SchemaPolicy))
@pytest.mark.parametrize("drift", list(DRIFTS))
def test_columns_follow_the_policy(
    drift: str, policy: SchemaPolicy, rig: Rig, connection: snowmelt.Connection, tmp_path: Path
) -> None:
    rig.add(order(1), order(2))
    assert run(connection, rig.extractor(), FollowSchema(FIELDS, policy)).rows == 2
    rig.add(DRIFTS[drift]())
    follow = FollowSchema(FIELDS, policy)
    if policy is SchemaPolicy.FREEZE:
        with pytest.raises(SchemaDriftError, match=r"colour|amount"):
            run(connection, rig.extractor(), follow)
        assert ids(tmp_path) == [1, 2]
        return
    result = run(connection, rig.extractor(), follow)
    if policy is SchemaPolicy.DISCARD_ROW:
        assert (result.rows, result.rejected) == (0, 1)
        (letter,) = rows(tmp_path / "data", "letters")
        assert ("colour" if drift == "new" else "amount") in letter["REASON"]
        return
    (made,) = [record for record in records(tmp_path / "data") if int(record["id"]) == 4]
    evolves = policy is SchemaPolicy.EVOLVE
    assert made.get("colour") == ("red" if drift == "new" and evolves else None)
    assert made.get("amount") == ("1.50" if drift == "new" else None)
    assert made.get("amount__varchar") == ("a lot" if drift == "retyped" and evolves else None)
    assert result.discarded_values == (0 if evolves or drift == "missing" else 1)
