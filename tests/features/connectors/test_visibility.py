"""Which transactions a snapshot sees, and which changes therefore have landed with its rows."""

from __future__ import annotations

import json

import pytest

from snowmelt.ingest.cdc.envelope import CapturedChange, Operation
from snowmelt.ingest.cdc.quick.visibility import Visibility
from snowmelt.ingest.cdc.redelivery import Deliveries, TableProgress

_EPOCH = 1 << 32


@pytest.mark.parametrize(
    ("transaction", "seen"), [(9, True), (10, False), (11, True), (12, False), (13, True), (14, False), (500, False)]
)
@pytest.mark.parametrize("epoch", [0, 1, 7])
def test_what_a_snapshot_sees(transaction: int, seen: bool, epoch: int) -> None:
    """The log has the lower half of a transaction's number."""
    before = epoch * _EPOCH
    snapshot = Visibility.parse(f"{before + 10}:{before + 14}:{before + 10},{before + 12}")
    assert snapshot.sees(transaction) is seen


def test_numbers_that_ran_over() -> None:
    snapshot = Visibility.parse(f"{_EPOCH - 2}:{_EPOCH + 3}:{_EPOCH - 2},{_EPOCH + 1}")
    assert [snapshot.sees(number) for number in (_EPOCH - 3, _EPOCH - 2, _EPOCH - 1, 0, 1, 2, 3)] == [
        True, False, True, True, False, True, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("later", "lacks"),
    [("20:20:", False), ("12:20:12,17", False), ("11:20:11,12", True), ("9:20:9", True), ("16:20:16,18", False)],
)
def test_a_commit_that_is_in_the_log_and_not_visible(later: str, lacks: bool) -> None:
    """The first snapshot saw 11 and all before 10; 10, 12 and 14 were running, and 15 was the next."""
    first = Visibility.parse("10:15:10,12,14")
    assert Visibility.parse(later).lacks_ended(first) is lacks


def _update(transaction: int, behind: int | None, lsn: int) -> CapturedChange:
    sequence = json.dumps([None if behind is None else str(behind), str(lsn)])
    row = {"id": transaction}
    return CapturedChange(Operation.UPDATE, "public.items", row, None, row, 1, lsn, transaction, sequence)


def test_changes_that_a_later_snapshot_saw() -> None:
    """They are left out, though they are behind the slot's beginning; what it did not see is not."""
    progress = {"public.items": TableProgress(snapshot_lsn=1000, snapshot_sees="10:14:10,12")}
    deliveries = Deliveries(progress, ())
    told = [(9, None, 500), (11, 500, 600), (10, 600, 400), (13, 700, 710), (12, 900, 450), (20, 1100, 1200)]
    found = [transaction for transaction, behind, lsn in told if deliveries.is_new(_update(transaction, behind, lsn))]
    assert found == [10, 12, 20]
    kept = deliveries.progress["public.items"]
    assert (kept.snapshot_lsn, kept.snapshot_sees) == (1000, "10:14:10,12")


def test_what_is_committed_behind_the_snapshot_is_new_whatever_its_number() -> None:
    """Two billion transactions later, numbers come again."""
    progress = {"public.items": TableProgress(snapshot_lsn=1000, snapshot_sees="10:14:")}
    assert Deliveries(progress, ()).is_new(_update(11, 1000, 2000))
    assert not Deliveries(progress, ()).is_new(_update(11, 999, 2000))
