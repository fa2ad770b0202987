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
from snowmelt.core.faults import reached
from snowmelt.features.channels.service import Channels
from snowmelt.features.connectors.definitions import (
    ConnectorDefinition,
    ConnectorPhase,
    ConnectorState,
    ConnectorTarget,
    MirroredTable,
    Route,
)
from snowmelt.features.connectors.events import ConnectorEvents
from snowmelt.features.connectors.mirror_rows import Mirror
from snowmelt.features.connectors.protecting import SourceProtection
from snowmelt.features.connectors.raw_rows import raw_rows
from snowmelt.features.connectors.standings import ConnectorStandings
from snowmelt.features.connectors.target_tables import TargetTables
from snowmelt.ingest.cdc.debezium import HEARTBEATS
from snowmelt.ingest.cdc.envelope import CapturedChange, Operation, PoisonError, SnapshotMark, parse
from snowmelt.ingest.cdc.feed import FeedBatch, FeedEvent, TopicSchema
from snowmelt.ingest.cdc.folding import fold, key_of
from snowmelt.ingest.cdc.redelivery import Deliveries
from snowmelt.ingest.cdc.shapes import CapturedShape, shape_of
from snowmelt.ingest.cdc.snapshots import cut_behind, emptied
from snowmelt.ingest.cdc.values import UnfitError, array_of
from snowmelt.runtime.pending import Transaction
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.state.store import StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account

_log = structlog.get_logger(__name__)
_ATTEMPTS = 5
LOCK_SECONDS = 15.0
"""How long a table is waited for at a time: in between somebody looks at how the source's log grows."""
_RECORD_LENGTH = 1_000_000
"""Characters of a poisonous record that are kept."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that is no change, or one that its table can't take, and why."""

    event: FeedEvent
    reason: str


@dataclass(frozen=True, slots=True)
class _Read:
    """A change with the record it came in."""

    event: FeedEvent
    change: CapturedChange


@dataclass(frozen=True, slots=True)
class _Understood:
    """What a batch says."""

    read: list[_Read]
    letters: list[DeadLetter]
    deliveries: Deliveries


class Landing:
    """Lands the batches of one connector, one after the other."""

    def __init__(self, account: Account, connector: CatalogObject) -> None:
        assert isinstance(connector.definition, ConnectorDefinition)
        self._account = account
        self._connector = connector
        self._definition = connector.definition
        self._tables = TargetTables(account, connector)
        self._protection = SourceProtection(connector.definition, account.token_key)
        self._shapes: dict[int, CapturedShape] = {}
        self._latest: dict[str, CapturedShape] = {}
        """By table, the shape of its newest changes."""
        self._prefix = f"{connector.definition.topic_prefix}."

    @property
    def _mirrors(self) -> bool:
        return self._definition.target is ConnectorTarget.MIRROR

    def land(self, batch: FeedBatch) -> ConnectorState:
        """Makes the batch's changes visible; where the connector stands then. Raises, and nothing has happened."""
        for schema in batch.schemas:
            self._learn(schema)
        with self._account.state.read() as state:
            standing = state[ConnectorStandings].require(self._connector.id)
        understood = self._read(batch.events, standing)
        for _ in range(_ATTEMPTS):
            try:
                return self._land_batch(batch, understood)
            except UnfitError:
                fitting, unfit = self._sorted_out(understood.read)
                understood = replace(understood, read=fitting, letters=[*understood.letters, *unfit])
            except errors.StatementConflictError:
                _log.info("landing_again", connector=str(self._connector.name))
        return self._land_batch(batch, understood)

    # -- reading --------------------------------------------------------------------------------------------------

    def _learn(self, schema: TopicSchema) -> None:
        """Topics are named after the table: prefix.schema.table."""
        shape = shape_of(schema.topic.removeprefix(self._prefix), schema.key, schema.value)
        if shape is not None:
            self._shapes[schema.number] = self._protection.of(shape)

    def _read(self, events: Iterable[FeedEvent], standing: ConnectorState) -> _Understood:
        read: list[_Read] = []
        letters: list[DeadLetter] = []
        deliveries = Deliveries(standing.progress, standing.recent)
        landed = dict.fromkeys(standing.landed)
        for event in events:
            if event.topic.startswith(HEARTBEATS):
                continue
            try:
                change = self._understood(event)
            except (PoisonError, UnfitError) as error:
                letters.append(DeadLetter(event, str(error)))
                continue
            if change is None:
                continue
            if change.operation is Operation.READ:
                anew = deliveries.begun_snapshot(change, [t for t in landed if self._in_order or t == change.table])
                if not self._mirrors:
                    read += [_Read(event, empty) for empty in emptied(change, anew)]
            if deliveries.is_new(change):
                read.append(_Read(event, change))
                landed[change.table] = None
        return _Understood(read, letters, deliveries)

    @property
    def _in_order(self) -> bool:
        """Whether the changes of all tables come in the order in which they happened; topics know only their own."""
        return self._definition.route is Route.EMBEDDED

    def _understood(self, event: FeedEvent) -> CapturedChange | None:
        """The change, with clean values; None for what is not about a captured table."""
        change = parse(event.key or None, event.value, event.schema)
        if change is None or change.table not in self._definition.tables:
            return None  # the signal table, for one
        shape = self._shapes.get(event.schema)
        if shape is None:
            if self._mirrors or self._protection:
                raise PoisonError("the record has no schema, which mirrors and PII strategies need")
            return change
        if self._mirrors and change.operation is not Operation.TRUNCATE and key_of(change, shape.key) is None:
            raise PoisonError(f"{change.table} has no primary key, so a mirror can't tell its rows apart")
        clean = shape.cleaned_and_known if self._protection else shape.cleaned
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
            raise errors.internal(f"changes of {self._connector.name} can be written one by one, but not as a batch.")
        return fitting, letters

    # -- writing --------------------------------------------------------------------------------------------------

    def _land_batch(self, batch: FeedBatch, understood: _Understood) -> ConnectorState:
        with self._account.state.read() as state:
            standing = state[ConnectorStandings].require(self._connector.id)
        changes = [item.change for item in understood.read]
        standing = self._prepared(standing, changes)
        transaction = self._account.transactions.begin(explicit=False)
        touched = {change.table for change in changes}
        with self._account.services[ConnectorEvents].landing(transaction.name, self._connector, standing, touched):
            after = self._write(transaction, standing, batch, understood)
        name = str(self._connector.name)
        _log.info("changes landed", connector=name, changes=len(changes), correlation_id=transaction.id)
        return after

    def _write(
        self, transaction: Transaction, standing: ConnectorState, batch: FeedBatch, understood: _Understood
    ) -> ConnectorState:
        changes = [item.change for item in understood.read]
        transactions = self._account.transactions
        try:
            if self._mirrors:
                lacking = self._write_mirrors(transaction, standing, changes)
                standing = _with_order(standing, lacking)
            else:
                standing = self._write_raw(transaction, standing, changes)
            self._write_letters(transaction, understood.letters)
            after = self._standing(standing, batch, changes, understood)
            transaction.at_commit.append(lambda state: put_standing(state, after))
        except BaseException:
            transactions.rollback(transaction)
            raise
        reached("connector-before-commit")
        transactions.commit(transaction)
        reached("connector-after-commit")
        return after

    def _prepared(self, standing: ConnectorState, changes: Sequence[CapturedChange]) -> ConnectorState:
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
        return _with_order(standing, requested).model_copy(update={"mirrors": mirrors})

    def _write_raw(
        self, transaction: Transaction, standing: ConnectorState, changes: Sequence[CapturedChange]
    ) -> ConnectorState:
        reads = self._definition.capture_reads
        kept = [change for change in changes if reads or change.snapshot is SnapshotMark.NONE]
        if kept:
            table = self._tables.raw()
            rows = raw_rows(table, kept, standing.raw_rows + 1, self._account.clock.now())
            self._append(transaction, table, rows)
        return standing.model_copy(update={"raw_rows": standing.raw_rows + len(kept)})

    def _write_mirrors(
        self, transaction: Transaction, standing: ConnectorState, changes: Sequence[CapturedChange]
    ) -> list[str]:
        """The tables of which a row lacks values that only the source has."""
        lacking: list[str] = []
        for part in cut_behind(changes, self._ends_snapshot):
            by_table: defaultdict[str, list[CapturedChange]] = defaultdict(list)
            for change in part:
                by_table[change.table].append(change)
            for table, own in by_table.items():
                shape = self._latest[table]
                if not self._mirror(transaction, standing, table).apply(fold(own, shape.key), shape):
                    lacking.append(table)
            last = part[-1]
            if last.lsn is not None and self._ends_snapshot(last):
                for table in standing.mirrors if self._in_order else [last.table]:
                    self._mirror(transaction, standing, table).remove_unread(last.lsn, last)
        return lacking

    def _ends_snapshot(self, change: CapturedChange) -> bool:
        """Behind it, what a snapshot did not find is not in the source: in any table, or in the one of a topic."""
        if change.snapshot is SnapshotMark.LAST_OF_TABLE:
            return not self._in_order
        return change.snapshot is SnapshotMark.LAST

    def _mirror(self, transaction: Transaction, standing: ConnectorState, table: str) -> Mirror:
        account = self._account
        found = self._tables.mirror(standing.mirrors[table].table_id)
        pending = account.transactions.open_for_write(transaction, found, LOCK_SECONDS)
        return Mirror(account.store, account.transactions, transaction, found, pending, self._definition.deletes)

    def _write_letters(self, transaction: Transaction, letters: Sequence[DeadLetter]) -> None:
        if not letters:
            return
        table = self._tables.dead_letters()
        columns = {
            "CONNECTOR": [str(self._connector.name)] * len(letters),
            "REASON": [letter.reason for letter in letters],
            "TOPIC": [letter.event.topic for letter in letters],
            "RECORD_KEY": [self._kept(letter.event.key) for letter in letters],
            "RECORD": [self._kept(letter.event.value) for letter in letters],
            "INGESTED_AT": [self._account.clock.now()] * len(letters),
        }
        _log.warning("dead_letters", connector=str(self._connector.name), count=len(letters))
        self._append(transaction, table, pa.table(columns))

    def _kept(self, text: str) -> str | None:
        """The text of a record that could not be read, unless it may hold personal data that must not be kept."""
        return None if self._protection else text[:_RECORD_LENGTH] or None

    def _append(self, transaction: Transaction, table: CatalogObject, rows: pa.Table) -> None:
        assert isinstance(table.definition, TableDefinition)
        account = self._account
        pending = account.transactions.open_for_write(transaction, table, LOCK_SECONDS)
        result = account.store.append(table.definition.location, rows, transaction.tag(None))
        account.transactions.wrote(pending, result, "INSERT", None)
        transaction.after_commit.append(lambda: account.services[Channels].added_file(table))

    def _standing(
        self, standing: ConnectorState, batch: FeedBatch, changes: Sequence[CapturedChange], understood: _Understood
    ) -> ConnectorState:
        instants = [change.ts_ms for change in changes if change.ts_ms is not None]
        ordered = any(change.snapshot is SnapshotMark.INCREMENTAL for change in changes) or any(
            name.startswith("incremental_snapshot") and value for name, value in batch.offset.items()
        )
        landed = dict.fromkeys((*standing.landed, *(change.table for change in changes)))
        update = {
            "offset": batch.offset,
            "recent": understood.deliveries.recent,
            "progress": understood.deliveries.progress,
            "landed": tuple(landed),
            "phase": ConnectorPhase.SNAPSHOT if self._is_reading(batch, changes) else ConnectorPhase.STREAMING,
            "error": None,
            "snapshot_done": standing.snapshot_request if ordered else standing.snapshot_done,
            "changes": standing.changes + len(changes),
            "dead_letters": standing.dead_letters + len(understood.letters),
            "last_change_at": datetime.fromtimestamp(max(instants) / 1000, UTC)
            if instants
            else standing.last_change_at,
            "last_landed_at": self._account.clock.now() if changes else standing.last_landed_at,
        }
        return standing.model_copy(update=update)

    def _is_reading(self, batch: FeedBatch, changes: Sequence[CapturedChange]) -> bool:
        """Whether there is more to come of a snapshot."""
        if self._in_order:
            return "snapshot" in batch.offset and not any(change.snapshot is SnapshotMark.LAST for change in changes)
        return bool(changes) and changes[-1].snapshot in (SnapshotMark.FIRST, SnapshotMark.MIDDLE)


def _with_order(standing: ConnectorState, tables: Sequence[str]) -> ConnectorState:
    """With an order that these tables be read anew beside their changes, if there are any."""
    if not tables:
        return standing
    waits = standing.snapshot_request > standing.snapshot_done
    # One that is waiting may be for all tables, which an empty list says.
    for_all = waits and not standing.requested_tables
    known = standing.requested_tables if waits else ()
    requested = () if for_all else tuple(dict.fromkeys((*known, *tables)))
    return standing.model_copy(
        update={"snapshot_request": standing.snapshot_request + 1, "requested_tables": requested}
    )


def put_standing(state: StateTransaction, after: ConnectorState) -> None:
    """What others may have changed meanwhile, which is whether it is paused, stays theirs."""
    current = state[ConnectorStandings].require(after.connector_id)
    request = max(current.snapshot_request, after.snapshot_request)
    asked = current.requested_tables if current.snapshot_request >= after.snapshot_request else after.requested_tables
    state[ConnectorStandings].put(
        after.model_copy(
            update={"paused": current.paused, "snapshot_request": request, "requested_tables": asked,
                    "slot_bytes": current.slot_bytes, "warning": current.warning}
        )
    )  # fmt: skip
