"""What a run of changes amounts to: for each row that it touches, how the row is in the end.

Changes of one row come in the order in which they happened; those of different rows may come in any. A change that
comes once more, in its place, makes no difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from snowmelt.ingest.cdc.envelope import UNAVAILABLE, CapturedChange, Operation

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class FinalRow:
    """A row after the run; `values` is None when it is gone."""

    change: CapturedChange
    """The last one, which says when and where in the log."""
    values: dict[str, Any] | None
    moved_from: Key | None = None
    """The key under which the row was before the run, where values that the source did not send are to be found."""

    @property
    def lacks(self) -> frozenset[str]:
        """The columns whose values the source did not send."""
        return frozenset(name for name, value in (self.values or {}).items() if value == UNAVAILABLE)


@dataclass(slots=True)
class Folded:
    emptied_by: CapturedChange | None = None
    """The TRUNCATE that took all rows which were there before."""
    rows: dict[Key, FinalRow] = field(default_factory=dict)


def key_of(change: CapturedChange, columns: Sequence[str]) -> Key | None:
    """The values that identify the row; None when the change does not have them all."""
    row = change.key or change.after or change.before or {}
    key = tuple(row.get(column) for column in columns)
    return None if not columns or any(value is None for value in key) else key


def fold(changes: Iterable[CapturedChange], columns: Sequence[str]) -> Folded:
    """The changes are of one table, and all of them have keys."""
    folded = Folded()
    gone: _Gone | None = None
    for change in changes:
        if change.operation is Operation.TRUNCATE:
            folded.emptied_by = change
            folded.rows.clear()
            gone = None
            continue
        key = key_of(change, columns)
        assert key is not None, "changes without a key are dead letters"
        if change.operation is Operation.DELETE:
            gone = _Gone(change, key, folded.rows.get(key))
            folded.rows[key] = FinalRow(change, None)
            continue
        _move(folded, change, columns, key)
        moved = gone if gone is not None and gone.moves_to(change) else None
        folded.rows[key] = _completed(change, folded.rows.get(key), moved)
        gone = None
    return folded


@dataclass(frozen=True, slots=True)
class _Gone:
    """A deletion, and what the run had made of the row by then."""

    change: CapturedChange
    key: Key
    before: FinalRow | None

    def moves_to(self, change: CapturedChange) -> bool:
        """Whether the row is not gone but has another key: Debezium tells one update as a deletion and an insertion."""
        same_position = change.lsn is not None and (change.lsn, change.transaction) == (
            self.change.lsn,
            self.change.transaction,
        )
        return same_position and change.operation is Operation.INSERT


def _move(folded: Folded, change: CapturedChange, columns: Sequence[str], key: Key) -> None:
    """An update that changes the key itself, when it comes as one change, removes the row under its old key."""
    if change.operation is not Operation.UPDATE or change.before is None:
        return
    old = tuple(change.before.get(column) for column in columns)
    if old != key and all(value is not None for value in old):
        folded.rows[old] = FinalRow(change, None)


def _completed(change: CapturedChange, before: FinalRow | None, moved: _Gone | None) -> FinalRow:
    """The new values; those that the source did not send are the ones of the change before, if there is one."""
    assert change.after is not None
    values = dict(change.after)
    moved_from = None
    if moved is not None:
        before = moved.before
        moved_from = moved.key
    if before is not None and before.values is not None:
        moved_from = before.moved_from or moved_from
        for name, value in values.items():
            if value == UNAVAILABLE:
                values[name] = before.values.get(name, UNAVAILABLE)
    return FinalRow(change, values, moved_from)
