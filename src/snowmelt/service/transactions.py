"""Transactions: Delta commits first, then one flip in the state store that makes them all visible.

See `docs/design/transactions.md`. What a transaction wrote lies in the Delta log beyond the visible version, where
only the transaction itself reads it. COMMIT flips every table in one state-store transaction; ROLLBACK restores each
table to its visible version, which is a change of metadata only.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from snowmelt.core.errors import SnowmeltError
from snowmelt.core import errors
from snowmelt.service.faults import reached
from snowmelt.service.locks import TableLocks
from snowmelt.state.model import CatalogObject, TableDefinition, TableVersion
from snowmelt.state.store import StateStore, StateTransaction
from snowmelt.storage.commits import CommitResult, CommitTag
from snowmelt.storage.table import DeltaStore


@dataclass(slots=True)
class PendingTable:
    """A table that the transaction has written."""

    table: CatalogObject
    base: TableVersion
    version: int
    rows: int
    bytes: int
    operation: str = ""
    query_id: str | None = None

    @property
    def definition(self) -> TableDefinition:
        assert isinstance(self.table.definition, TableDefinition)
        return self.table.definition


@dataclass(slots=True)
class Transaction:
    id: str
    """A number, as text."""
    explicit: bool
    """Begun with BEGIN: lasts until COMMIT or ROLLBACK. Otherwise it is one statement long."""
    pending: dict[str, PendingTable] = field(default_factory=dict)
    at_commit: list[Callable[[StateTransaction], None]] = field(default_factory=list)
    """Everything else that must become true at the same moment, such as stream offsets and load history."""
    name: str = field(default_factory=lambda: str(uuid.uuid4()))
    started_at: datetime | None = None

    def tag(self, query_id: str | None) -> CommitTag:
        return CommitTag(self.id, query_id)


class TransactionManager:
    """Begins, commits and undoes. One for an account."""

    def __init__(self, state: StateStore, store: DeltaStore, locks: TableLocks, lock_timeout: float) -> None:
        self._state = state
        self._store = store
        self._locks = locks
        self._lock_timeout = lock_timeout

    def begin(self, *, explicit: bool, at: datetime | None = None, name: str | None = None) -> Transaction:
        # Snowflake's ids are 64-bit numbers; SHOW TRANSACTIONS declares them so.
        number = str(uuid.uuid4().int >> 65)
        return Transaction(number, explicit, name=name or str(uuid.uuid4()), started_at=at)

    def open_for_write(
        self, transaction: Transaction, table: CatalogObject, timeout: float | None = None
    ) -> PendingTable:
        """Takes the table for this transaction and says which version it stands on."""
        held = transaction.pending.get(table.id)
        if held is not None:
            return held
        self._locks.acquire(
            table.id, str(table.name), transaction.id, self._lock_timeout if timeout is None else timeout
        )
        definition = table.definition
        assert isinstance(definition, TableDefinition)
        base = self.adopt(table, definition)
        pending = PendingTable(table, base, base.version, base.rows, base.bytes)
        transaction.pending[table.id] = pending
        return pending

    def adopt(self, table: CatalogObject, definition: TableDefinition) -> TableVersion:
        self._check_unchanged(table)
        """The visible version, after taking in what other tools wrote. The caller holds the table's lock."""
        with self._state.read() as state:
            visible = state.versions.visible(table.id)
        assert visible is not None, f"table {table.name} has no version"
        if not self._store.has_version(definition.location, visible.version + 1):
    def _check_unchanged(self, table: CatalogObject) -> None:
        """Raises when another statement altered or dropped the table since its name was looked up."""
        with self._state.read() as state:
            current = state.catalog.by_id(table.id)
        if current is None or current.dropped_on is not None:
            raise errors.not_found("Table", str(table.name))
        if current.definition != table.definition:
            raise errors.TableChanged(str(table.name))

            return visible
        latest = self._store.latest_version(definition.location)
        files = self._store.files(definition.location, latest)
        with self._state.begin() as state:
            adopted = TableVersion(
                table_id=table.id, version=latest, committed_at=state.now, transaction_id="", query_id=None,
                operation="FOREIGN", rows=self._store.row_count(definition.location, latest), bytes=files.total_bytes,
                foreign=True,
            )  # fmt: skip
            state.versions.flip(adopted)
        return adopted

    def wrote(self, pending: PendingTable, result: CommitResult, operation: str, query_id: str | None) -> None:
        """Notes a commit that the transaction just made to a table it holds."""
        pending.version = result.version
        pending.rows += result.rows_inserted - result.rows_deleted
        pending.bytes += result.bytes_delta
        pending.operation = operation
        pending.query_id = query_id

    def commit(self, transaction: Transaction) -> None:
        """Makes everything visible in one step, then lets the tables go."""
        try:
            changed = [item for item in transaction.pending.values() if item.version != item.base.version]
            for item in changed:
                for version in range(item.base.version + 1, item.version + 1):
                    self._store.sync(item.definition.location, version)
            reached("before-flip")
            if changed or transaction.at_commit:
                with self._state.begin() as state:
                    for item in changed:
                        state.versions.flip(
                            TableVersion(
                                table_id=item.table.id,
                                version=item.version,
                                committed_at=state.now,
                                transaction_id=transaction.id,
                                query_id=item.query_id,
                                operation=item.operation,
                                rows=item.rows,
                                bytes=max(item.bytes, 0),
                            )
                        )
                    for action in transaction.at_commit:
                        action(state)
                    reached("inside-flip")
            reached("after-flip")
        except BaseException:
            self.rollback(transaction)
            raise
        self._locks.release_all(transaction.id)
        transaction.pending.clear()
        transaction.at_commit.clear()

    def rollback(self, transaction: Transaction) -> None:
        """Undoes what the transaction wrote, then lets the tables go."""
        failures: list[SnowmeltError] = []
        for item in transaction.pending.values():
            try:
                self._undo(item)
            except SnowmeltError as error:
                failures.append(error)
        transaction.pending.clear()
        transaction.at_commit.clear()
        self._locks.release_all(transaction.id)
        if failures:
            raise failures[0]

    def rollback_statement(self, transaction: Transaction, marks: dict[str, tuple[int, int, int]]) -> None:
        """Undoes the last statement of a transaction that stays open.

        `marks` are version, rows and bytes of the tables it had written before that statement. Tables that the
        statement took for the first time stay locked, as in Snowflake.
        """
        for table_id, item in transaction.pending.items():
            version, rows, size = marks.get(table_id, (item.base.version, item.base.rows, item.base.bytes))
            if self._store.latest_version(item.definition.location) > version:
                version = self._store.restore(item.definition.location, version, transaction.tag(None))
            item.version, item.rows, item.bytes = version, rows, size

    def _undo(self, item: PendingTable) -> None:
        latest = self._store.latest_version(item.definition.location)
        if latest > item.base.version:
            restore_visible(self._state, self._store, item.table, item.definition, item.base, latest)


def restore_visible(
    state_store: StateStore, store: DeltaStore, table: CatalogObject, definition: TableDefinition,
    visible: TableVersion, latest: int,
) -> None:  # fmt: skip
    """Puts the table back to its visible version: a new commit with the old content, marked as undone."""
    reached("before-restore")
    restored = store.restore(definition.location, visible.version, CommitTag("undo"))
    reached("after-restore")
    with state_store.begin() as state:
        state.versions.mark_undone(table.id, visible.version + 1, restored)
        state.versions.flip(
            TableVersion(
                table_id=table.id,
                version=restored,
                committed_at=state.now,
                transaction_id="undo",
                query_id=None,
                operation="UNDO",
                rows=visible.rows,
                bytes=visible.bytes,
            )
        )
