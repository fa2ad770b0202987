"""Transactions: Delta commits first, then one flip in the state store that makes them all visible.

See `docs/design/transactions.md`. What a transaction wrote lies in the Delta log beyond the visible version, where
only the transaction itself reads it. COMMIT flips every table in one state-store transaction; ROLLBACK takes the
transaction's own commits back, which is a change of metadata only. The state store alone says what is visible, so
that an undo that fails or never happens changes nothing for readers: whoever takes the table next does it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from datetime import datetime

import structlog

from snowmelt.core import errors
from snowmelt.core.faults import reached
from snowmelt.runtime.locks import TableLocks
from snowmelt.runtime.pending import PendingMark, PendingTable, Savepoint, Transaction
from snowmelt.runtime.settling import report_lost, settle
from snowmelt.runtime.table_events import TableEvents
from snowmelt.state.model import CatalogObject, TableVersion
from snowmelt.state.store import StateStore
from snowmelt.storage.commits import CommitResult
from snowmelt.storage.table import DeltaStore

_log = structlog.get_logger(__name__)


class TransactionManager:
    """Begins, commits and undoes. One for an account."""

    def __init__(
        self, state: StateStore, store: DeltaStore, locks: TableLocks, events: TableEvents, lock_timeout: float
    ) -> None:
        self._state = state
        self._store = store
        self._locks = locks
        self._lock_timeout = lock_timeout
        self._events = events
        self.gate: Callable[[Transaction, Sequence[PendingTable]], None] = _open_gate
        """Looks at what a transaction wrote to tables with quality checks, before it becomes visible, and may raise."""

    def begin(self, *, explicit: bool, at: datetime | None = None, name: str | None = None) -> Transaction:
        # Snowflake's ids are 64-bit numbers; SHOW TRANSACTIONS declares them so.
        number = str(uuid.uuid4().int >> 65)
        seen = self._state.last_instant() if explicit else None
        return Transaction(number, explicit, name=name or str(uuid.uuid4()), started_at=at, snapshot_at=seen)

    # -- taking tables --------------------------------------------------------------------------------------------

    def open_for_write(
        self,
        transaction: Transaction,
        table: CatalogObject,
        timeout: float | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> PendingTable:
        """Takes the table for this transaction and says which version it stands on.

        `check` may end the wait for another transaction by raising; see `TableLocks.acquire`.
        """
        held = transaction.pending.get(table.id)
        if held is not None:
            held.opened += 1
            self._catch_up(transaction, held)
            return held
        patience = self._lock_timeout if timeout is None else timeout
        self._locks.acquire(table.id, str(table.name), transaction.id, patience, check)
        self._check_unchanged(table)
        base = self._settled(table)
        if base is None:
            raise errors.not_found("Table", str(table.name))
        pending = PendingTable(table, base, base.version, base.rows, base.bytes)
        transaction.pending[table.id] = pending
        return pending

    def _check_unchanged(self, table: CatalogObject) -> None:
        """Raises when another statement altered or dropped the table since its name was looked up."""
        with self._state.read() as state:
            current = state.catalog.by_id(table.id)
        if current is None or current.dropped_on is not None or current.definition != table.definition:
            raise errors.TableChangedError(str(table.name))

    def _settled(self, table: CatalogObject) -> TableVersion | None:
        with self._state.read() as state:
            visible = state.versions.visible(table.id)
        return settle(self._state, self._store, table, visible).visible if visible is not None else None

    def adopt(self, table: CatalogObject, seen: TableVersion) -> TableVersion:
        """What a reader sees who found `seen` visible: also what other tools wrote behind it, if nothing of ours is.

        Readers of several tables need one state of them all: a version that a transaction made visible after the
        reader looked is not for it. Never waits, and never fails: at worst the reader gets `seen`.
        """
        reader = f"adopt-{uuid.uuid4()}"
        if not self._locks.try_acquire(table.id, reader):
            return seen
        try:
            with self._state.read() as state:
                current = state.versions.visible(table.id)
            if current is None or current.version != seen.version:
                return seen
            return settle(self._state, self._store, table, current).visible
        except Exception as error:
            _log.warning("adopting_failed", table=str(table.name), error=str(error))
            return seen
        finally:
            self._locks.release_all(reader)

    def _catch_up(self, transaction: Transaction, item: PendingTable) -> None:
        """Brings a table that the transaction holds to its newest version, which other tools may have written.

        What is tagged there is to be undone: a statement of the transaction that failed, or a write that Spark finished
        after the process that asked for it had died.
        """
        location = item.definition.location
        if not self._store.has_version(location, item.version + 1):
            return
        undone = self._store.undo(location, item.version, transaction.tag(None))
        if undone is not None:
            report_lost(item.table, undone)
            item.undone.append((undone.first, undone.restored))
        item.version = self._store.latest_version(location) if undone is None else undone.version
        if undone is None or undone.kept:
            self._count(item)

    def _count(self, item: PendingTable) -> None:
        location = item.definition.location
        item.rows, item.bytes = self._store.row_count(location, item.version), self._store.size(location, item.version)

    def wrote(self, pending: PendingTable, result: CommitResult, operation: str, query_id: str | None) -> None:
        """Notes a commit that the transaction just made to a table it holds."""
        if result.version == pending.version:
            return
        self._events.table_written(query_id, pending.table, pending.version, result)
        between = result.version - pending.version > 1
        if between and self._strangers(pending, result.version):
            raise errors.WriteConflictError(str(pending.table.name))
        pending.version = result.version
        pending.replaced = pending.replaced or 0 < pending.rows <= result.rows_deleted
        pending.rows += result.rows_inserted - result.rows_deleted
        pending.bytes += result.bytes_delta
        if between:
            self._count(pending)
        pending.operation = operation
        pending.query_id = query_id

    def take_back(self, transaction: Transaction, item: PendingTable) -> None:
        """Undoes all that the transaction wrote to the table, which it holds on to."""
        item.version, item.rows, item.bytes = item.base.version, item.base.rows, item.base.bytes
        self._events.table_reverted(item.query_id, item.table)
        self._catch_up(transaction, item)

    def _strangers(self, pending: PendingTable, version: int) -> bool:
        """Whether a process that died wrote between the transaction's last commit and its newest, `version`."""
        commits = self._store.commits(pending.definition.location, pending.version, version)
        own = commits[-1].tag
        return any(commit.tag is not None and commit.tag != own for commit in commits)

    # -- ending ---------------------------------------------------------------------------------------------------

    def commit(self, transaction: Transaction) -> None:
        """Makes everything visible in one step, then lets the tables go."""
        visible_since: datetime | None = None
        try:
            checked = [item for item in _changed(transaction) if item.definition.quality]
            if checked:
                self.gate(transaction, checked)
            changed = _changed(transaction)
            written = [(item.definition.location, item.base.version, item.version) for item in changed]
            self._store.sync_together(written, transaction.unflushed)
            if changed or transaction.at_commit:
                reached("before-flip")
                visible_since = self._flip(transaction, changed)
                reached("after-flip")
        except BaseException as error:
            self.rollback(transaction, error)
            raise
        following = tuple(transaction.after_commit)
        self._end(transaction)
        for follow in following:
            follow()
        if changed and visible_since is not None:
            self._events.rows_committed(frozenset(item.table.id for item in changed), visible_since)

    def _flip(self, transaction: Transaction, changed: list[PendingTable]) -> datetime:
        with self._state.begin() as state:
            for item in changed:
                for first, last in item.undone:
                    state.versions.mark_undone(item.table.id, first, last)
                state.versions.flip(
                    TableVersion(
                        table_id=item.table.id,
                        version=item.version,
                        committed_at=state.now,
                        transaction_id=transaction.id,
                        query_id=item.query_id,
                        operation=item.operation or "UNDO",
                        rows=item.rows,
                        bytes=max(item.bytes, 0),
                    )
                )
            for action in transaction.at_commit:
                action(state)
            reached("inside-flip")
        return state.now

    def rollback(self, transaction: Transaction, cause: BaseException | None = None) -> None:
        """Undoes what the transaction wrote, then lets the tables go.

        What can't be undone now, on a full disk for instance, is undone by whoever takes the table next: nobody reads
        it meanwhile.
        """
        try:
            for item in transaction.pending.values():
                try:
                    # What is visible decides, not what the transaction remembers: its flip may have been the last
                    # thing to succeed.
                    self._settled(item.table)
                except Exception as error:
                    _log.warning("undo_postponed", table=str(item.table.name), error=str(error))
        finally:
            following = tuple(transaction.after_rollback)
            self._end(transaction)
            for follow in following:
                follow(cause)

    def abort(self, transaction: Transaction) -> None:
        """Undoes the transaction at once; it stays open, but only to be ended."""
        self.rollback(transaction)
        transaction.aborted = True

    def rollback_to(self, transaction: Transaction, savepoint: Savepoint) -> None:
        """Undoes the last statement of a transaction that stays open.

        Tables that the statement took for the first time stay locked, as in Snowflake. Those that it did not take stay
        as the transaction saw them: only a write takes in what other tools wrote meanwhile.
        """
        del transaction.at_commit[savepoint.at_commit :]
        for table_id, item in transaction.pending.items():
            base = item.base
            mark = savepoint.tables.get(table_id, PendingMark(base.version, base.rows, base.bytes))
            if mark.opened == item.opened:
                continue
            item.version, item.rows, item.bytes = mark.version, mark.rows, mark.bytes
            try:
                self._catch_up(transaction, item)
            except Exception as error:
                # The transaction does not see what is left of the statement, and the next one undoes it.
                _log.warning("undo_postponed", table=str(item.table.name), error=str(error))

    def _end(self, transaction: Transaction) -> None:
        transaction.pending.clear()
        transaction.at_commit.clear()
        transaction.after_commit.clear()
        transaction.after_rollback.clear()
        self._locks.release_all(transaction.id)


def _changed(transaction: Transaction) -> list[PendingTable]:
    return [item for item in transaction.pending.values() if item.version != item.base.version]


def _open_gate(transaction: Transaction, items: Sequence[PendingTable]) -> None:
    """Nobody looks."""
