"""Bringing a mirror to where its source is: the rows that changes touch are found by their keys and replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from snowmelt.core import errors
from snowmelt.core.types import DataType
from snowmelt.ingest.cdc.envelope import UNAVAILABLE, Change
from snowmelt.ingest.cdc.folding import FinalRow, Folded, Key
from snowmelt.ingest.cdc.shapes import Shape, folded
from snowmelt.ingest.cdc.values import array_of
from snowmelt.service.connectors.target_tables import CHANGED_AT, DELETED, POSITION
from snowmelt.service.transactions import PendingTable, Transaction, TransactionManager
from snowmelt.state.connector_model import Deletes
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.storage.commits import CommitResult
from snowmelt.storage.probe import Among, Compared, Condition, find_rows
from snowmelt.storage.rewrite import FILE, ROW, RowChanges
from snowmelt.storage.snapshot import FileList
from snowmelt.storage.table import DeltaStore

_LIMIT = 50_000_000


@dataclass(frozen=True, slots=True)
class Mirror:
    """A mirror that a transaction holds for writing."""

    store: DeltaStore
    transactions: TransactionManager
    transaction: Transaction
    table: CatalogObject
    pending: PendingTable
    deletes: Deletes

    @property
    def definition(self) -> TableDefinition:
        assert isinstance(self.table.definition, TableDefinition)
        return self.table.definition

    @property
    def types(self) -> dict[str, DataType]:
        return {column.name: column.type for column in self.definition.columns}

    # -- what happens to it ---------------------------------------------------------------------------------------

    def apply(self, changed: Folded, shape: Shape) -> None:
        """Everything that the changes amount to."""
        if changed.emptied_by is not None:
            self._empty(changed.emptied_by)
        if changed.rows:
            self._replace(changed.rows, shape)

    def remove_unread(self, position: int, by: Change) -> None:
        """What a snapshot taken at this position did not find is not in the source any more."""
        at = pa.scalar(position, pa.int64())
        before, behind = Compared(POSITION, "less", at), Compared(POSITION, "greater", at)
        stale = pa.concat_tables([self._found([before], []), self._found([behind], [])])
        self._commit(self._deletion(stale, [by] * stale.num_rows))

    def _empty(self, by: Change) -> None:
        if self.deletes is Deletes.SOFT:
            rows = self._found([], [])
            self._commit(self._deletion(rows, [by] * rows.num_rows))
        elif self.pending.rows:
            self._check_rewritable()
            tag = self.transaction.tag(None)
            self._wrote(self.store.clear(self.definition.location, self.pending.version, tag, "TRUNCATE"))

    def _replace(self, rows: Mapping[Key, FinalRow], shape: Shape) -> None:
        keys = [folded(name) for name in shape.key]
        stored = self._stored_keys(list(rows), keys)
        existing = self._existing(rows.values(), stored, keys)
        places = {key: place for place, key in enumerate(_keys(existing, keys))}
        final = list(zip(rows.values(), map(places.get, stored), strict=True))
        gone = [(row.change, place) for row, place in final if row.values is None and place is not None]
        kept = [(row, place) for row, place in final if row.values is not None]
        fresh = self._rows([row for row, _ in kept], shape, existing, [place for _, place in kept])
        known = pa.array([place is not None for _, place in kept], pa.bool_())
        changed = fresh.filter(known)
        positions = _taken(existing, [place for _, place in kept if place is not None])
        for name in (FILE, ROW):
            changed = changed.append_column(name, positions.column(name))
        deletion = self._deletion(_taken(existing, [place for _, place in gone]), [change for change, _ in gone])
        inserted = fresh.filter(pc.invert(known))
        self._commit(
            RowChanges(
                deleted=deletion.deleted,
                updated=[*deletion.updated, *([changed] if changed.num_rows else [])],
                inserted=inserted if inserted.num_rows else None,
            )
        )

    def _deletion(self, rows: pa.Table, by: Sequence[Change]) -> RowChanges:
        """Rows that are gone from the source, each with the change that says so."""
        if not rows.num_rows:
            return RowChanges()
        rows = rows.select([FILE, ROW])
        if self.deletes is Deletes.HARD:
            return RowChanges(deleted=rows)
        marked = rows.append_column(DELETED, pa.repeat(pa.scalar(True), rows.num_rows))
        return RowChanges(updated=[marked.append_column(POSITION, _lsns(by)).append_column(CHANGED_AT, _instants(by))])

    # -- rows -----------------------------------------------------------------------------------------------------

    def _rows(
        self, rows: Sequence[FinalRow], shape: Shape, existing: pa.Table, places: Sequence[int | None]
    ) -> pa.Table:
        """The rows as the table keeps them; values that the source did not send stay what they are."""
        columns = {column.target_name: column for column in shape.columns}
        arrays: list[pa.Array] = []
        for column in self.definition.columns:
            if column.name == POSITION:
                arrays.append(_lsns([row.change for row in rows]))
            elif column.name == CHANGED_AT:
                arrays.append(_instants([row.change for row in rows]))
            elif column.name == DELETED:
                arrays.append(pa.array([False] * len(rows), pa.bool_()))
            else:
                source = columns[column.name]
                # A change from before the column was there has what the source gave all rows then.
                values = [(row.values or {}).get(source.name, source.default) for row in rows]
                arrays.append(self._column(column.name, column.type, values, existing, places))
        return pa.Table.from_arrays(arrays, names=[column.name for column in self.definition.columns])

    def _column(
        self, name: str, type_: DataType, values: Sequence[Any], existing: pa.Table, places: Sequence[int | None]
    ) -> pa.Array:
        absent = [value == UNAVAILABLE for value in values]
        array = array_of([None if gap else value for value, gap in zip(values, absent, strict=True)], type_)
        if not any(absent):
            return array
        # Positions in the new values first, then in what is there.
        both = pa.concat_arrays([array, existing.column(name).combine_chunks().cast(array.type)])
        chosen = [
            len(array) + place if gap and place is not None else index
            for index, (gap, place) in enumerate(zip(absent, places, strict=True))
        ]
        return both.take(pa.array(chosen, pa.int64()))

    def _existing(self, rows: Iterable[FinalRow], stored: Sequence[Key], keys: Sequence[str]) -> pa.Table:
        """The rows that have one of the keys, with their positions, and their values where some are needed."""
        needs_values = any(UNAVAILABLE in (row.values or {}).values() for row in rows)
        columns = [column.name for column in self.definition.columns] if needs_values else list(keys)
        conditions: list[Condition] = []
        for index, name in enumerate(keys):
            values = pa.chunked_array([pa.array([key[index] for key in stored], self._arrow(name))])
            conditions.append(Among.of(name, values))
        found = self._found(conditions, columns)
        if len(keys) == 1:
            return found
        wanted = set(stored)
        return found.take(pa.array([at for at, key in enumerate(_keys(found, keys)) if key in wanted], pa.int64()))

    def _stored_keys(self, keys: Sequence[Key], names: Sequence[str]) -> list[Key]:
        """Keys as the table has them: `2024-01-31` in the change is a date here."""
        types = self.types
        columns = [array_of([key[index] for key in keys], types[name]).to_pylist() for index, name in enumerate(names)]
        return list(zip(*columns, strict=True))

    def _arrow(self, name: str) -> pa.DataType:
        return self._files().metadata.arrow_schema.field(name).type

    def _found(self, conditions: Sequence[Condition], columns: Sequence[str]) -> pa.Table:
        found = find_rows(self._files(), conditions, columns, _LIMIT)
        if found is None:
            raise errors.connector_stopped(f"Too many rows of {self.table.name} are concerned at once.")
        return found

    def _files(self) -> FileList:
        return self.store.files(self.definition.location, self.pending.version)

    # -- writing --------------------------------------------------------------------------------------------------

    def _commit(self, changes: RowChanges) -> None:
        location, tag = self.definition.location, self.transaction.tag(None)
        if changes.updated_rows or changes.deleted_rows:
            self._check_rewritable()
            origins = self.definition.change_tracking
            self._wrote(self.store.rewrite(location, self.pending.version, changes, tag, "MERGE", origins=origins))
        elif changes.inserted is not None:
            self._wrote(self.store.append(location, changes.inserted, tag))

    def _wrote(self, result: CommitResult) -> None:
        self.transactions.wrote(self.pending, result, "MERGE", None)

    def _check_rewritable(self) -> None:
        location = self.definition.location
        if self.definition.spark_only or not self.store.rewritable(location, self.pending.version):
            raise errors.connector_stopped(
                f"The mirror {self.table.name} can only be written by Spark.",
                hint="Mirrors are kept on local disks, and must not use features that other tools switched on.",
            )


def _keys(rows: pa.Table, names: Sequence[str]) -> list[Key]:
    columns = [rows.column(name).to_pylist() for name in names]
    return list(zip(*columns, strict=True))


def _taken(rows: pa.Table, places: Sequence[int]) -> pa.Table:
    return rows.select([FILE, ROW]).take(pa.array(places, pa.int64()))


def _lsns(changes: Sequence[Change]) -> pa.Array:
    """Zero for what an incremental snapshot read, which has no place in the log."""
    return pa.array([change.lsn or 0 for change in changes], pa.int64())


def _instants(changes: Sequence[Change]) -> pa.Array:
    """When the source committed them."""
    instants = [None if change.ts_ms is None else change.ts_ms * 1000 for change in changes]
    return pa.array(instants, pa.timestamp("us", tz="UTC"))
