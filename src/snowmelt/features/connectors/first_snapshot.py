"""The first snapshot of a PostgreSQL, without Debezium: read by COPY, each table landed in one transaction.

What is read is written to files that no version of a table names. When a table is read to its end, they become visible
together with the fact that it is done; with the last table goes the offset at which Debezium begins. So a kill leaves a
table as it was, or done. The tables that were not are read at a later snapshot, and of the changes that the slot tells
since its beginning those are left out which that snapshot saw.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import structlog

from snowmelt.core.backoff import Backoff
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.faults import reached
from snowmelt.features.channels.service import Channels
from snowmelt.features.connectors.definitions import (
    ConnectorDefinition,
    ConnectorPhase,
    ConnectorState,
    ConnectorTarget,
    Deletes,
    FirstSnapshot,
    SnapshotReader,
)
from snowmelt.features.connectors.events import ConnectorEvents
from snowmelt.features.connectors.landing import LOCK_SECONDS, put_standing
from snowmelt.features.connectors.mirror_rows import Mirror
from snowmelt.features.connectors.snapshot_reading import TableReading
from snowmelt.features.connectors.standings import ConnectorStandings
from snowmelt.features.connectors.target_tables import TargetTables
from snowmelt.ingest.cdc.kinds import kind_of
from snowmelt.ingest.cdc.quick.reading import check_driver, read_table
from snowmelt.ingest.cdc.quick.snapshot import (
    OpenSnapshot,
    SlotStart,
    StoppedError,
    Stopping,
    at_later_point,
    at_new_slot,
    check_server,
    connected,
    engine_errors,
    ensure_publication,
    slot_exists,
)
from snowmelt.ingest.cdc.quick.tables import NotQuickError, QuickTable, describe_tables
from snowmelt.ingest.cdc.redelivery import TableProgress
from snowmelt.ingest.cdc.sources import CapturedSource, SourceType
from snowmelt.runtime.pending import PendingTable, Transaction
from snowmelt.state.model import CatalogObject

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account

_log = structlog.get_logger(__name__)
_READERS = 2
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0


class FirstSnapshots:
    """Takes the first snapshot of one connector."""

    def __init__(self, account: Account, connector: CatalogObject, source: CapturedSource) -> None:
        assert isinstance(connector.definition, ConnectorDefinition)
        self._account = account
        self._connector = connector
        self._definition = connector.definition
        self._source = source
        self._tables = TargetTables(account, connector)
        self.stopping = Stopping()

    def take(self) -> ConnectorState:
        """How the connector stands when all tables have landed: with the offset at which their changes begin.

        Raises `NotQuickError` when only Debezium can do it, and nothing is left of the attempt then; `StoppedError`
        when it was told to stop; `EngineFailedError` when the source failed, and then another attempt goes on.
        """
        self._check()
        try:
            with engine_errors(), self._opened() as (snapshot, later):
                snapshot.lock(self._source.tables, self.stopping)
                tables = describe_tables(snapshot.connection, self._source.tables)
                return self._read(snapshot, tables, later=later)
        except NotQuickError:
            self._give_up()
            raise

    # -- whether it can be done -----------------------------------------------------------------------------------

    def _check(self) -> None:
        definition = self._definition
        if definition.snapshot_reader is not SnapshotReader.AUTO:
            raise NotQuickError(f"SNAPSHOT_READER is {definition.snapshot_reader}")
        if definition.type is not SourceType.POSTGRES:
            raise NotQuickError(f"the source is a {definition.type}")
        if definition.pii:
            raise NotQuickError("columns are hidden by PII")
        if self._source.extra:
            raise NotQuickError("Debezium has settings of its own")
        if self._raw and not definition.capture_reads:
            raise NotQuickError("CAPTURE_READS is FALSE")
        check_driver()

    def _check_target(self, table: QuickTable) -> None:
        """Rows that stay in a mirror, marked as deleted, are found one by one, as Debezium's are."""
        if self._raw or self._definition.deletes is Deletes.HARD:
            return
        found = self._tables.find_mirror(table.name)
        if found is None:
            return
        with self._account.state.read() as state:
            version = state.versions.visible(found.id)
        if version is not None and version.rows:
            raise NotQuickError(f"{found.name} has rows already, and deletes are soft")

    @property
    def _raw(self) -> bool:
        return self._definition.target is ConnectorTarget.RAW

    @property
    def _follows(self) -> bool:
        """Whether changes are captured behind the snapshot."""
        return self._definition.snapshot_mode != "INITIAL_ONLY"

    # -- the snapshot ---------------------------------------------------------------------------------------------

    @contextmanager
    def _opened(self) -> Iterator[tuple[OpenSnapshot, bool]]:
        """The snapshot, and whether it was taken behind the beginning of the slot."""
        begun = self._standing().first_snapshot
        with connected(self._source) as connection:
            check_server(connection)
            if self._follows:
                ensure_publication(connection, self._source)
            there = slot_exists(connection, self._source)
        if not self._follows:
            self._begin(FirstSnapshot())
            with at_later_point(self._source, None, self.stopping) as snapshot:
                yield snapshot, False
            return
        usable = there and kind_of(self._source).log_status(self._source, None).usable
        start = _start(begun) if usable else None
        if start is not None:
            with at_later_point(self._source, start, self.stopping) as snapshot:
                yield snapshot, True
            return
        if begun is None and there:
            raise NotQuickError(f"the slot {self._source.slot} was there before")
        # Kept before the slot is made: whoever comes after a kill knows whose it is.
        self._begin(FirstSnapshot())
        if there:
            kind_of(self._source).forget_log(self._source)
        reached("connector-before-slot")
        with at_new_slot(self._source, self.stopping) as (made, snapshot):
            reached("connector-after-slot")
            self._note(first_snapshot=FirstSnapshot(slot_lsn=made.lsn, slot_sees=made.sees))
            yield snapshot, False

    def _begin(self, first: FirstSnapshot) -> None:
        """An offset from before is of no use: changes are missing behind it."""
        self._note(first_snapshot=first, offset=None, phase=ConnectorPhase.SNAPSHOT)

    def _give_up(self) -> None:
        """Debezium makes a slot of its own, at which its own snapshot begins."""
        if self._standing().first_snapshot is not None:
            kind_of(self._source).forget_log(self._source)
            self._note(first_snapshot=None)

    # -- reading --------------------------------------------------------------------------------------------------

    def _read(self, snapshot: OpenSnapshot, tables: list[QuickTable], *, later: bool) -> ConnectorState:
        begun = self._standing().first_snapshot
        assert begun is not None
        left = [table for table in tables if table.name not in begun.done]
        if not left:
            return self._ended(snapshot)
        for table in left:
            self._check_target(table)
        self._note(phase=ConnectorPhase.SNAPSHOT, snapshot_by="Snowmelt")
        standing = self._standing()
        for number, table in enumerate(left, 1):
            reading = TableReading(self._account, self._tables, table, snapshot, self._definition, standing)
            reading.is_first, reading.is_last = not begun.done and number == 1, number == len(left)
            try:
                rest = read_table(
                    self._source, snapshot, table,
                    documents=self._raw, readers=_READERS, take=partial(self._take, reading),
                    stopping=self.stopping,
                )  # fmt: skip
                reading.finish(rest)
            except BaseException:
                reading.discard()
                raise
            standing = self._land(reading, self._offset(snapshot), later=later)
        return standing

    def _take(self, reading: TableReading, rows: pa.Table) -> None:
        reading.take(rows)
        read = f"Snowmelt: {reading.table.name}, {reading.rows:,} rows"
        self._note(snapshot_by=read)
        _log.info("snapshot_read", connector=str(self._connector.name), table=reading.table.name, rows=reading.rows)

    def _offset(self, snapshot: OpenSnapshot) -> dict[str, Any]:
        """The offset as Debezium keeps it: everything that commits behind the slot's beginning is still to come."""
        begun = self._standing().first_snapshot
        lsn = begun.slot_lsn if begun is not None and begun.slot_lsn is not None else snapshot.lsn
        now = int(self._account.clock.now().timestamp() * 1_000_000)
        return {"lsn": lsn, "txId": snapshot.next_transaction, "ts_usec": now}

    # -- landing --------------------------------------------------------------------------------------------------

    def _land(self, reading: TableReading, offset: dict[str, Any], *, later: bool) -> ConnectorState:
        transaction, pending = self._locked(reading)
        transactions, name = self._account.transactions, reading.table.name
        standing = reading.prepared(self._standing())
        with self._account.services[ConnectorEvents].landing(transaction.name, self._connector, standing, {name}):
            try:
                self._write(transaction, pending, reading)
                after = self._after(standing, reading, offset, later=later)
                transaction.at_commit.append(lambda state: put_standing(state, after))
            except BaseException:
                transactions.rollback(transaction)
                raise
            reached("connector-before-commit")
            transactions.commit(transaction)
            reached("connector-after-commit")
        _log.info("snapshot_landed", connector=str(self._connector.name), table=name, rows=reading.rows)
        return after

    def _locked(self, reading: TableReading) -> tuple[Transaction, PendingTable]:
        """However long others hold the table: what was read is kept."""
        transactions, backoff = self._account.transactions, Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        while True:
            transaction = transactions.begin(explicit=False)
            try:
                return transaction, transactions.open_for_write(transaction, reading.target, LOCK_SECONDS)
            except BaseException as error:
                transactions.rollback(transaction)
                if not isinstance(error, SnowmeltError) or not error.transient:
                    raise
                self._note(warning=f"Landing waits: {error.message}")
            if self.stopping.wait(backoff.seconds):
                raise StoppedError
            backoff.lengthen()

    def _write(self, transaction: Transaction, pending: PendingTable, reading: TableReading) -> None:
        account = self._account
        if not self._raw:
            deletes = self._definition.deletes
            Mirror(account.store, account.transactions, transaction, reading.target, pending, deletes).fill(
                reading.parts
            )
        elif reading.parts:
            result = account.store.append_parts(reading.location, reading.parts, transaction.tag(None))
            account.transactions.wrote(pending, result, "INSERT", None)
            transaction.after_commit.append(lambda: account.services[Channels].added_file(reading.target))

    def _after(
        self, standing: ConnectorState, reading: TableReading, offset: dict[str, Any], *, later: bool
    ) -> ConnectorState:
        name, snapshot = reading.table.name, reading.snapshot
        progress = TableProgress(snapshot_lsn=snapshot.lsn, snapshot_sees=snapshot.sees if later else None)
        begun = standing.first_snapshot or FirstSnapshot()
        update: dict[str, Any] = {
            "progress": {**standing.progress, name: progress},
            "landed": tuple(dict.fromkeys((*standing.landed, name))),
            "first_snapshot": begun.model_copy(update={"done": (*begun.done, name)}),
            "changes": standing.changes + reading.rows,
            "raw_rows": reading.last_number if self._raw else standing.raw_rows,
            "last_change_at": datetime.fromtimestamp(reading.read.ts_ms / 1000, UTC)
            if reading.rows
            else standing.last_change_at,
            "last_landed_at": self._account.clock.now(),
            "phase": ConnectorPhase.SNAPSHOT,
            "error": None,
            "snapshot_by": f"Snowmelt: {name}, {reading.rows:,} rows",
        }
        if reading.is_last:
            update |= self._end(offset)
        return standing.model_copy(update=update)

    def _end(self, offset: dict[str, Any]) -> dict[str, Any]:
        return {
            "offset": offset,
            "recent": (),
            "first_snapshot": None,
            "phase": ConnectorPhase.STREAMING if self._follows else ConnectorPhase.COMPLETED,
            "snapshot_by": "Snowmelt",
        }

    def _ended(self, snapshot: OpenSnapshot) -> ConnectorState:
        """All tables were done before, and those that were not are captured no more."""
        self._note(**self._end(self._offset(snapshot)))
        return self._standing()

    # -- state ----------------------------------------------------------------------------------------------------

    def _standing(self) -> ConnectorState:
        with self._account.state.read() as state:
            return state[ConnectorStandings].require(self._connector.id)

    def _note(self, **values: Any) -> None:
        with self._account.state.begin() as state:
            standing = state[ConnectorStandings].get(self._connector.id)
            if standing is not None:
                state[ConnectorStandings].put(standing.model_copy(update=values))


def _start(begun: FirstSnapshot | None) -> SlotStart | None:
    if begun is None or begun.slot_lsn is None or begun.slot_sees is None:
        return None
    return SlotStart(begun.slot_lsn, begun.slot_sees)
