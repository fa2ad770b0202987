"""The planner's choices change the work, never the rows: by key or row by row, restricted early or late, with the
shortcuts for inserts or without, from kept sums or from the rows. Each way is compared with the query, and so with the
others.
"""

from __future__ import annotations

import pytest

from snowmelt.ivm import plan
from tests.ivm.cases import run_seeds
from tests.ivm.duck import View
from tests.ivm.views import BagView, GeneralView, StatefulView, UnpushedRenderer

_FIRST = 5_000_000


def check(make: type[View], number: int) -> dict[str, int]:
    tally, failures = run_seeds(range(_FIRST, _FIRST + number), make=make)
    assert not failures, f"{len(failures)} failed, the shortest: {min(failures, key=len)}"
    assert tally.queries > 0.85 * number
    return dict(tally.applied)


def check_all(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = check(View, number)
    assert chosen["REPLACE"]
    bags = check(BagView, number)
    assert bags.get("REPLACE", 0) < chosen["REPLACE"] / 2
    general = check(GeneralView, number)
    assert "APPEND" not in general
    check(StatefulView, number)
    monkeypatch.setattr(plan, "PlanRenderer", UnpushedRenderer)
    check(View, number)


def test_every_way_gives_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    check_all(16, monkeypatch)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_way_gives_the_same_rows_for_many_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    check_all(600, monkeypatch)
