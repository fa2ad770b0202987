"""Which changes have landed before: Debezium delivers at least once, and what it delivers again is to land once.

A source's log is read in the order of commits, and whoever has to begin anew begins somewhere earlier and goes through
everything behind it in the same order. So for each table the last change that landed tells old from new:

- within its transaction, positions in the log only grow; rows in one record of the log are known by identity;
- of other transactions, those are older that came behind an earlier commit.

The first transaction after a snapshot does not say behind which commit it came. Of those, the latest are known by
identity. What is not known so is taken for new, and then so is everything behind it: a mirror that goes back must come
forward again by the same changes.

A table that was read at a snapshot behind the slot's beginning has changes in the log which that snapshot saw. Those
are known by their transaction, exactly: PostgreSQL says which ones a snapshot sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from snowmelt.core.lazy import lazy_imports
from snowmelt.ingest.cdc.envelope import CapturedChange, Operation, SnapshotMark
from snowmelt.state.record import Record

with lazy_imports():
    from snowmelt.ingest.cdc.quick import visibility

REMEMBERED = 4096
"""Identities that are kept: as many as the embedded engine hands over at once."""


class TableProgress(Record):
    """The last change of a source's table that landed: what comes again is not behind it in the source's log."""

    behind_commit: int | None = None
    """The position of the commit that came before its transaction."""
    transaction: int | None = None
    lsn: int | None = None
    identities: tuple[str, ...] = ()
    """Which changes at exactly this position have landed: one record of the log can hold many rows."""
    snapshot_lsn: int | None = None
    """Where in the log the snapshot was taken whose rows came last."""
    snapshot_sees: str | None = None
    """Which transactions that snapshot saw, when the log tells of some of them: those have landed with it."""


_NOTHING = TableProgress()


class Deliveries:
    """Looks at changes one after the other. What it knows in the end is kept together with the changes that landed."""

    def __init__(self, progress: Mapping[str, TableProgress], recent: Iterable[str]) -> None:
        self.progress = dict(progress)
        self._recent = dict.fromkeys(recent)

    @property
    def recent(self) -> tuple[str, ...]:
        return tuple(self._recent)[-REMEMBERED:]

    def is_new(self, change: CapturedChange) -> bool:
        """Whether the change has not landed yet, and remembers it. What snapshots read is never the same twice."""
        last = self.progress.get(change.table, _NOTHING)
        if change.operation is Operation.READ:
            return True
        if _was_read(change, last):
            return False
        identity = change.identity
        if identity in self._recent or identity in last.identities or _is_older(change, last):
            return False
        commit = change.behind_commit
        if commit is None and last.behind_commit is not None:
            self._recent.clear()
        same_position = change.transaction == last.transaction and change.lsn == last.lsn
        self._recent[identity] = None
        # Once for each change: values that were read before need no validation.
        self.progress[change.table] = TableProgress.model_construct(
            behind_commit=commit,
            transaction=change.transaction,
            lsn=change.lsn,
            identities=(*last.identities, identity) if same_position else (identity,),
            snapshot_lsn=last.snapshot_lsn,
            snapshot_sees=last.snapshot_sees,
        )
        return True

    def begun_snapshot(self, change: CapturedChange, tables: Iterable[str]) -> list[str]:
        """Which of the tables are read anew from this change on: nothing of them that follows is old.

        All rows of a snapshot have its position in the log, so that another position is another snapshot.
        """
        if change.operation is not Operation.READ or change.snapshot is SnapshotMark.INCREMENTAL:
            return []
        anew = [table for table in tables if self.progress.get(table, _NOTHING).snapshot_lsn != change.lsn]
        begun = TableProgress.model_construct(snapshot_lsn=change.lsn)
        if anew or self.progress.get(change.table) != begun:
            self.progress |= dict.fromkeys((*anew, change.table), begun)
        return anew


def _was_read(change: CapturedChange, last: TableProgress) -> bool:
    """Whether a snapshot that was taken behind the beginning of the log saw the change."""
    if last.snapshot_sees is None or change.transaction is None:
        return False
    commit = change.behind_commit
    if commit is not None and last.snapshot_lsn is not None and commit >= last.snapshot_lsn:
        return False  # it was committed behind the snapshot
    return visibility.Visibility.parse(last.snapshot_sees).sees(change.transaction)


def _is_older(change: CapturedChange, last: TableProgress) -> bool:
    if change.lsn is None or last.lsn is None:
        return False
    if change.transaction == last.transaction:
        return change.lsn < last.lsn
    commit = change.behind_commit
    return commit is not None and last.behind_commit is not None and commit < last.behind_commit
