"""For random runs of changes: batches, duplicates and the order of different rows make no difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from snowmelt.ingest.cdc.envelope import UNAVAILABLE, CapturedChange, Operation
from snowmelt.ingest.cdc.folding import Folded, fold
from tests.features.connectors.envelopes import TABLE

Rows = dict[int, dict[str, Any]]


def change(operation: Operation, key: int | None, lsn: int, after: dict[str, Any] | None = None) -> CapturedChange:
    return CapturedChange(
        operation, TABLE, key={"id": key} if key is not None else None, before=None, after=after, ts_ms=lsn, lsn=lsn
    )


@st.composite
def histories(draw: st.DrawFn, *, moves: bool = False) -> list[CapturedChange]:
    """What a source could have done: inserts of what is not there, updates and deletes of what is, other keys."""
    present: set[int] = set()
    history: list[CapturedChange] = []
    for lsn in range(1, draw(st.integers(1, 40))):
        what = draw(st.sampled_from(["put", "put", "put", "delete", "truncate", "partial", "move"]))
        key = draw(st.integers(0, 5))
        if what == "truncate" and draw(st.booleans()):
            present.clear()
            history.append(change(Operation.TRUNCATE, None, lsn))
        elif what == "delete" and key in present:
            present.remove(key)
            history.append(change(Operation.DELETE, key, lsn))
        elif what == "partial" and key in present:
            row = {"id": key, "small": lsn, "large": UNAVAILABLE}
            history.append(change(Operation.UPDATE, key, lsn, row))
        elif moves and what == "move" and key in present and (key + 1) % 6 not in present:
            present ^= {key, (key + 1) % 6}
            history.append(change(Operation.DELETE, key, lsn))
            row = {"id": (key + 1) % 6, "small": lsn, "large": UNAVAILABLE}
            history.append(change(Operation.INSERT, (key + 1) % 6, lsn, row))
        elif what != "delete":
            operation = Operation.UPDATE if key in present else Operation.INSERT
            present.add(key)
            history.append(change(operation, key, lsn, {"id": key, "small": lsn, "large": f"large-{lsn}"}))
    return history


def oracle(history: Sequence[CapturedChange]) -> Rows:
    """One change after the other."""
    rows: Rows = {}
    gone: tuple[int | None, dict[str, Any]] = (None, {})
    for item in history:
        if item.operation is Operation.TRUNCATE:
            rows.clear()
            continue
        assert item.key is not None
        if item.operation is Operation.DELETE:
            gone = item.lsn, rows.pop(item.key["id"], {})
        else:
            assert item.after is not None
            old = gone[1] if gone[0] == item.lsn else rows.get(item.key["id"], {})
            rows[item.key["id"]] = {k: old.get(k) if v == UNAVAILABLE else v for k, v in item.after.items()}
    return rows


def applied(rows: Rows, folded: Folded) -> Rows:
    """What a mirror does with it."""
    result = {} if folded.emptied_by is not None else dict(rows)
    for (key,), final in folded.rows.items():
        if final.values is None:
            result.pop(key, None)
        else:
            known = final.moved_from[0] if final.moved_from is not None else key
            old = rows.get(known, {}) if folded.emptied_by is None else {}
            result[key] = {k: old.get(k) if v == UNAVAILABLE else v for k, v in final.values.items()}
    return result


@given(histories(moves=True), st.data())
def test_any_split_into_batches_gives_the_same_rows(history: list[CapturedChange], data: st.DataObject) -> None:
    """But none between the two halves of a change of the key, which asks for the row anew."""
    drawn = sorted(data.draw(st.lists(st.integers(0, len(history)), max_size=5)))
    cuts = [cut for cut in drawn if not 0 < cut < len(history) or history[cut - 1].lsn != history[cut].lsn]
    rows: Rows = {}
    for start, end in zip([0, *cuts], [*cuts, len(history)], strict=True):
        rows = applied(rows, fold(history[start:end], ["id"]))
    assert rows == oracle(history)


@given(histories(), st.data())
def test_changes_that_come_again_in_their_order_change_nothing(
    history: list[CapturedChange], data: st.DataObject
) -> None:
    """As after a restart: from some change on, all come once more."""
    start = data.draw(st.integers(0, len(history)))
    rows = applied({}, fold([*history, *history[start:]], ["id"]))
    assert rows == oracle([*history, *history[start:]])
    assert {key: row["small"] for key, row in rows.items()} == {
        key: row["small"] for key, row in oracle(history).items()
    }


@given(histories(), st.randoms(use_true_random=False))
def test_rows_may_overtake_each_other(history: list[CapturedChange], random: Any) -> None:
    """Between two truncates, only the order of changes of one row counts."""
    shuffled: list[CapturedChange] = []
    part: list[CapturedChange] = []
    for item in [*history, change(Operation.TRUNCATE, None, 10_000)]:
        if item.operation is not Operation.TRUNCATE:
            part.append(item)
            continue
        queues: dict[int, list[CapturedChange]] = {}
        for own in part:
            assert own.key is not None
            queues.setdefault(own.key["id"], []).append(own)
        while queues:
            key = random.choice(sorted(queues))
            shuffled.append(queues[key].pop(0))
            if not queues[key]:
                del queues[key]
        part = []
        shuffled.append(item)
    assert applied({}, fold(shuffled[:-1], ["id"])) == oracle(history)


def test_an_update_that_changes_the_key_moves_the_row() -> None:
    insert = change(Operation.INSERT, 1, 1, {"id": 1, "small": 1})
    moved = CapturedChange(Operation.UPDATE, TABLE, {"id": 2}, {"id": 1, "small": 1}, {"id": 2, "small": 1}, 2, lsn=2)
    assert applied({}, fold([insert, moved], ["id"])) == {2: {"id": 2, "small": 1}}
