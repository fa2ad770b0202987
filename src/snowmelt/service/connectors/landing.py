"""One batch of changes, landed in one transaction: rows, dead letters, mirrors, and how far the connector is.

All of it is visible at once or not at all, and the source hears of it afterwards. So whatever is killed at whatever
instruction, the next engine begins behind the last change that landed; of those that the source delivers again all the
same, the ones that landed last are recognised.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import structlog

from snowmelt.core import errors
from snowmelt.ingest.cdc.debezium import HEARTBEATS, Batch, Event, Schema
from snowmelt.ingest.cdc.envelope import Change, Operation, PoisonError, Snapshot, parse
from snowmelt.ingest.cdc.folding import fold, key_of
from snowmelt.ingest.cdc.shapes import Shape, shape_of
from snowmelt.ingest.cdc.values import UnfitError, array_of
from snowmelt.service.connectors.mirror_rows import Mirror
from snowmelt.service.connectors.raw_rows import raw_rows
from snowmelt.service.connectors.target_tables import TargetTables
from snowmelt.service.faults import reached
from snowmelt.service.transactions import Transaction
from snowmelt.state.connector_model import (
    ConnectorDefinition,
    ConnectorPhase,
    ConnectorState,
    ConnectorTarget,
    MirroredTable,
)
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.state.store import StateTransaction

if TYPE_CHECKING:
    from snowmelt.service.account import Account

_log = structlog.get_logger(__name__)
_ATTEMPTS = 5
_REMEMBERED = 4096
"""Of this many changes it is known that they landed: as many as the engine hands over at once."""
_RECORD_LENGTH = 1_000_000
"""Characters of a poisonous record that are kept."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that is no change, or one that its table can't take, and why."""

    event: Event
    reason: str


@dataclass(frozen=True, slots=True)
class _Read:
    """A change with the record it came in."""

    event: Event
    change: Change


class Landing:
    """Lands the batches of one connector, one after the other."""

    def __init__(self, account: Account, connector: CatalogObject) -> None:
        assert isinstance(connector.definition, ConnectorDefinition)
        self._account = account
        self._connector = connector
        self._definition = connector.definition
        self._tables = TargetTables(account, connector)
        self._shapes: dict[int, Shape] = {}
        self._latest: dict[str, Shape] = {}
        """By table, the shape of its newest changes."""
        with account.state.read() as state:
            self._remember(state.connectors.require(connector.id))

    @property
    def _mirrors(self) -> bool:
        return self._definition.target is ConnectorTarget.MIRROR

    def land(self, batch: Batch) -> ConnectorState:
        """Makes the batch's changes visible; where the connector stands then. Raises, and nothing has happened."""
        for schema in batch.schemas:
            self._learn(schema)
        read, letters = self._read(batch.events)
        for _ in range(_ATTEMPTS):
            try:
                return self._landed(batch, read, letters)
            except UnfitError:
                read, unfit = self._sorted_out(read)
                letters = [*letters, *unfit]
            except errors.StatementConflictError:
                _log.info("landing_again", connector=str(self._connector.name))
        return self._landed(batch, read, letters)

    # -- reading --------------------------------------------------------------------------------------------------

    def _learn(self, schema: Schema) -> None:
        """Topics are named after the table: prefix.schema.table."""
        table = schema.topic.partition(".")[2]
        shape = shape_of(table, schema.key, schema.value)
        if shape is not None:
            self._shapes[schema.number] = shape

    def _read(self, events: Iterable[Event]) -> tuple[list[_Read], list[DeadLetter]]:
        read: list[_Read] = []
        letters: list[DeadLetter] = []
        for event in events:
            if event.topic.startswith(HEARTBEATS):
                continue
            try:
                change = self._understood(event)
            except (PoisonError, UnfitError) as error:
                letters.append(DeadLetter(event, str(error)))
                continue
            if change is not None and not self._has_landed(change):
                read.append(_Read(event, change))
        return read, letters

    def _has_landed(self, change: Change) -> bool:
        """Whether it is one that the source delivers once more. What snapshots read is never the same twice."""
        if change.operation is Operation.READ:
            return False
        transaction, lsn = self._within
        if lsn is not None and change.lsn is not None and change.transaction == transaction and change.lsn < lsn:
            # Changes of one transaction come in the order of the log.
            return True
        return change.identity in self._seen

    def _remember(self, standing: ConnectorState) -> None:
        self._seen = set(standing.recent)
        self._within = (standing.transaction, standing.transaction_lsn)

    def _understood(self, event: Event) -> Change | None:
        """The change, with clean values; None for what is not about a captured table."""
        change = parse(event.key or None, event.value, event.schema)
        if change is None or change.table not in self._definition.tables:
            return None  # the signal table, for one
        shape = self._shapes.get(event.schema)
        if shape is None:
            if self._mirrors:
                raise PoisonError("it came without a schema, which a mirror needs")
            return change
        if self._mirrors and change.operation is not Operation.TRUNCATE and key_of(change, shape.key) is None:
            raise PoisonError(f"{change.table} has no primary key, so that a mirror can't tell its rows apart")
        clean = shape.cleaned
        return replace(change, key=clean(change.key), before=clean(change.before), after=clean(change.after))

    def _sorted_out(self, read: Sequence[_Read]) -> tuple[list[_Read], list[DeadLetter]]:
        """The changes that fit into their columns, and those that do not."""
        fitting: list[_Read] = []
        letters: list[DeadLetter] = []
        for item in read:
            shape = self._latest.get(item.change.table) or self._shapes.get(item.event.schema)
            try:
                for column in shape.columns if shape is not None else ():
                    array_of([(item.change.after or {}).get(column.name)], column.type)
                fitting.append(item)
            except UnfitError as error:
                letters.append(DeadLetter(item.event, str(error)))
        if not letters:
            raise errors.internal(f"changes of {self._connector.name} fit one by one, but not together.")
        return fitting, letters

    # -- writing --------------------------------------------------------------------------------------------------

    def _landed(self, batch: Batch, read: Sequence[_Read], letters: Sequence[DeadLetter]) -> ConnectorState:
        with self._account.state.read() as state:
            standing = state.connectors.require(self._connector.id)
        changes = [item.change for item in read]
        standing = self._prepared(standing, changes)
        transactions = self._account.transactions
        transaction = transactions.begin(explicit=False)
        try:
            if self._mirrors:
                self._write_mirrors(transaction, standing, changes)
            else:
                standing = self._write_raw(transaction, standing, changes)
            self._write_letters(transaction, letters)
            after = self._standing(standing, batch, changes, len(letters))
            transaction.at_commit.append(lambda state: _put(state, after))
        except BaseException:
            transactions.rollback(transaction)
            raise
        reached("connector-before-commit")
        transactions.commit(transaction)
        reached("connector-after-commit")
        self._remember(after)
        return after

    def _prepared(self, standing: ConnectorState, changes: Sequence[Change]) -> ConnectorState:
        """Mirrors for the tables that have none yet, and the source's columns for those that have one."""
        if not self._mirrors:
            return standing
        mirrors = dict(standing.mirrors)
        requested: list[str] = []
        for change in changes:
            shape = self._shapes[change.schema]
            known = mirrors.get(change.table)
            if not shape.key and known is not None:
                # The schema of a TRUNCATE has no key; the table still has one.
                shape = self._shapes[change.schema] = replace(shape, key=known.key)
            if known is not None and self._latest.get(change.table) is shape:
                continue
            self._latest[change.table] = shape
            table = self._tables.mirror(known.table_id) if known is not None else self._tables.new_mirror(shape)
            table, again = self._tables.follow(table, shape)
            mirrors[change.table] = MirroredTable(table_id=table.id, key=shape.key)
            if again:
                requested.append(change.table)
        if requested:
            request = standing.snapshot_request + 1
            standing = standing.model_copy(
                update={"snapshot_request": request, "requested_tables": tuple(dict.fromkeys(requested))}
            )
        return standing.model_copy(update={"mirrors": mirrors})

    def _write_raw(
        self, transaction: Transaction, standing: ConnectorState, changes: Sequence[Change]
    ) -> ConnectorState:
        kept: list[Change] = []
        for change in changes:
            if change.snapshot is Snapshot.FIRST and self._definition.capture_reads:
                kept += _emptied(change, standing.landed)
            if change.operation is not Operation.READ or self._definition.capture_reads:
                kept.append(change)
        if kept:
            table = self._tables.raw()
            rows = raw_rows(table, kept, standing.raw_rows + 1, self._account.clock.now())
            self._append(transaction, table, rows)
        return standing.model_copy(update={"raw_rows": standing.raw_rows + len(kept)})

    def _write_mirrors(self, transaction: Transaction, standing: ConnectorState, changes: Sequence[Change]) -> None:
        by_table: defaultdict[str, list[Change]] = defaultdict(list)
        for change in changes:
            by_table[change.table].append(change)
        for table, own in by_table.items():
            shape = self._latest[table]
            self._mirror(transaction, standing, table).apply(fold(own, shape.key), shape)
        last = next((change for change in changes if change.snapshot is Snapshot.LAST), None)
        if last is not None and last.lsn is not None and standing.landed:
            for table in standing.mirrors:
                self._mirror(transaction, standing, table).remove_unread(last.lsn, last)

    def _mirror(self, transaction: Transaction, standing: ConnectorState, table: str) -> Mirror:
        account = self._account
        found = self._tables.mirror(standing.mirrors[table].table_id)
        pending = account.transactions.open_for_write(transaction, found)
        return Mirror(account.store, account.transactions, transaction, found, pending, self._definition.deletes)

    def _write_letters(self, transaction: Transaction, letters: Sequence[DeadLetter]) -> None:
        if not letters:
            return
        table = self._tables.dead_letters()
        columns = {
            "CONNECTOR": [str(self._connector.name)] * len(letters),
            "REASON": [letter.reason for letter in letters],
            "TOPIC": [letter.event.topic for letter in letters],
            "RECORD_KEY": [letter.event.key or None for letter in letters],
            "RECORD": [letter.event.value[:_RECORD_LENGTH] for letter in letters],
            "INGESTED_AT": [self._account.clock.now()] * len(letters),
        }
        _log.warning("dead_letters", connector=str(self._connector.name), count=len(letters))
        self._append(transaction, table, pa.table(columns))

    def _append(self, transaction: Transaction, table: CatalogObject, rows: pa.Table) -> None:
        assert isinstance(table.definition, TableDefinition)
        account = self._account
        pending = account.transactions.open_for_write(transaction, table)
        result = account.store.append(table.definition.location, rows, transaction.tag(None))
        account.transactions.wrote(pending, result, "INSERT", None)
        transaction.after_commit.append(lambda: account.channels.added_file(table))

    def _standing(
        self, standing: ConnectorState, batch: Batch, changes: Sequence[Change], letters: int
    ) -> ConnectorState:
        streamed = [change for change in changes if change.operation is not Operation.READ]
        recent = (*standing.recent, *(change.identity for change in streamed))[-_REMEMBERED:]
        instants = [change.ts_ms for change in changes if change.ts_ms is not None]
        finished = any(change.snapshot is Snapshot.LAST for change in changes)
        reading = "snapshot" in batch.offset and not finished
        ordered = any(change.snapshot is Snapshot.INCREMENTAL for change in changes) or any(
            name.startswith("incremental_snapshot") and value for name, value in batch.offset.items()
        )
        landed = dict.fromkeys((*standing.landed, *(change.table for change in changes)))
        update = {
            "offset": batch.offset,
            "recent": recent,
            "transaction": streamed[-1].transaction if streamed else standing.transaction,
            "transaction_lsn": streamed[-1].lsn if streamed else standing.transaction_lsn,
            "landed": tuple(landed),
            "phase": ConnectorPhase.SNAPSHOT if reading else ConnectorPhase.STREAMING,
            "error": None,
            "snapshot_done": standing.snapshot_request if ordered else standing.snapshot_done,
            "changes": standing.changes + len(changes),
            "dead_letters": standing.dead_letters + letters,
            "last_change_at": datetime.fromtimestamp(max(instants) / 1000, UTC)
            if instants
            else standing.last_change_at,
            "last_landed_at": self._account.clock.now() if changes else standing.last_landed_at,
        }
        return standing.model_copy(update=update)


def _emptied(first: Change, landed: Iterable[str]) -> list[Change]:
    """A snapshot that is taken once more begins with empty tables: what it does not find is gone."""
    return [
        replace(
            first, operation=Operation.TRUNCATE, table=table, key=None, before=None, after=None, snapshot=Snapshot.FIRST
        )
        for table in landed
    ]


def _put(state: StateTransaction, after: ConnectorState) -> None:
    """What others may have changed meanwhile, which is whether it is paused, stays theirs."""
    current = state.connectors.require(after.connector_id)
    request = max(current.snapshot_request, after.snapshot_request)
    asked = current.requested_tables if current.snapshot_request >= after.snapshot_request else after.requested_tables
    state.connectors.put(
        after.model_copy(
            update={"paused": current.paused, "snapshot_request": request, "requested_tables": asked,
                    "slot_bytes": current.slot_bytes, "warning": current.warning}
        )
    )  # fmt: skip
