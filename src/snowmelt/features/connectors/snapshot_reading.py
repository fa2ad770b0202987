"""One table of a first snapshot while it is read."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pyarrow as pa

from snowmelt.features.connectors.definitions import (
    ConnectorDefinition,
    ConnectorState,
    ConnectorTarget,
    MirroredTable,
)
from snowmelt.features.connectors.first_rows import ReadAt, RowMarks, mirror_rows, raw_reads
from snowmelt.features.connectors.raw_rows import raw_rows
from snowmelt.features.connectors.target_tables import TargetTables
from snowmelt.ingest.cdc.envelope import CapturedChange, Operation, SnapshotMark
from snowmelt.ingest.cdc.quick.snapshot import OpenSnapshot
from snowmelt.ingest.cdc.quick.tables import NotQuickError, QuickTable
from snowmelt.state.model import TableDefinition
from snowmelt.storage.append import AppendedPart

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account


class TableReading:
    """A table that is being read: files with its rows, until they land or are thrown away."""

    is_first = is_last = False

    def __init__(
        self,
        account: Account,
        tables: TargetTables,
        table: QuickTable,
        snapshot: OpenSnapshot,
        definition: ConnectorDefinition,
        standing: ConnectorState,
    ) -> None:
        self._store = account.store
        self.table = table
        self.snapshot = snapshot
        self._raw = definition.target is ConnectorTarget.RAW
        self.read = ReadAt(snapshot.lsn, snapshot.next_transaction, account.clock.now())
        self.target = tables.raw() if self._raw else tables.mirror_of(table.shape, standing.mirrors.get(table.name))
        assert isinstance(self.target.definition, TableDefinition)
        self._definition = self.target.definition
        self._guard = threading.Lock()
        self.parts: list[AppendedPart] = []
        self.rows = 0
        self.last_number = standing.raw_rows
        if self._raw and table.name in standing.landed:
            # Taken once more: what it does not find is gone.
            self.last_number += 1
            self._write(raw_rows(self.target, [self._emptied()], self.last_number, self.read.at))

    def _emptied(self) -> CapturedChange:
        read = self.read
        return CapturedChange(
            Operation.TRUNCATE, self.table.name, None, None, None, read.ts_ms, read.lsn, read.transaction,
            read.sequence, snapshot=SnapshotMark.FIRST,
        )  # fmt: skip

    @property
    def location(self) -> str:
        return self._definition.location

    def prepared(self, standing: ConnectorState) -> ConnectorState:
        if self._raw:
            return standing
        mirror = MirroredTable(table_id=self.target.id, key=self.table.shape.key)
        return standing.model_copy(update={"mirrors": {**standing.mirrors, self.table.name: mirror}})

    def take(self, rows: pa.Table, last: SnapshotMark = SnapshotMark.MIDDLE) -> None:
        with self._guard:
            first = SnapshotMark.FIRST if self.is_first and not self.rows else SnapshotMark.MIDDLE
            number = self.last_number + 1
            self.rows += rows.num_rows
            self.last_number += rows.num_rows
        if self._raw:
            marks = RowMarks(first, last)
            self._write(raw_reads(rows, self.table, self._definition, self.read, number, marks))
        else:
            self._write(mirror_rows(rows, self.table, self._definition, self.read))

    def finish(self, rest: pa.Table) -> None:
        if rest.num_rows:
            self.take(rest, SnapshotMark.LAST if self.is_last else SnapshotMark.LAST_OF_TABLE)

    def discard(self) -> None:
        for part in self.parts:
            self._store.drop_part(self.location, part)
        self.parts.clear()

    def _write(self, rows: pa.Table) -> None:
        part = self._store.write_part(self.location, rows)
        if part is None:
            raise NotQuickError(f"{self.target.name} is not on a local disk, or is written by Spark alone")
        with self._guard:
            self.parts.append(part)
