"""Bringing a mirror to where its source is: the rows that changes touch are found by their keys and replaced."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from snowmelt.core import errors
from snowmelt.core.types import DataType
from snowmelt.features.connectors.definitions import Deletes
from snowmelt.ingest.cdc.envelope import UNAVAILABLE, CapturedChange
from snowmelt.ingest.cdc.folding import FinalRow, Folded, Key
from snowmelt.ingest.cdc.mirror_columns import CHANGED_AT, DELETED, POSITION
from snowmelt.ingest.cdc.shapes import CapturedColumn, CapturedShape, folded
from snowmelt.ingest.cdc.values import array_of
from snowmelt.runtime.pending import PendingTable, Transaction
from snowmelt.runtime.transactions import TransactionManager
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.storage.append import AppendedPart
from snowmelt.storage.commits import CommitResult
from snowmelt.storage.probe import Among, Compared, Condition, find_rows
from snowmelt.storage.rewrite import FILE, ROW, RowChanges
from snowmelt.storage.snapshot import FileList
from snowmelt.storage.table import DeltaStore

_LIMIT = 50_000_000


@dataclass(frozen=True, slots=True)
class _Kept:
    """A row that is there in the end, and its positions among those that are there now."""

    final: FinalRow
    index: int | None
    """Its own; None when it is new."""
    origin: int | None
    """The one it had under another key."""

    @classmethod
    def of(cls, row: FinalRow, index: int | None, indexes: Mapping[Key, int | None]) -> _Kept:
        return cls(row, index, indexes.get(row.moved_from) if row.moved_from is not None else None)

    @property
    def keeps(self) -> frozenset[str]:
        """The columns whose values stay what they are."""
        return self.final.lacks if self.final.moved_from is None else frozenset()

    @property
    def is_incomplete(self) -> bool:
        """Whether values are lacking that no row here has."""
        has_none = self.index is None if self.final.moved_from is None else self.origin is None
        return has_none and bool(self.final.lacks)


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

    def apply(self, changed: Folded, shape: CapturedShape) -> bool:
        """Everything that the changes amount to.

        Whether the mirror is complete then; if not, a row lacks values that nobody has but the source.
        """
        if changed.emptied_by is not None:
            self._empty(changed.emptied_by)
        return self._replace(changed.rows, shape) if changed.rows else True

    def fill(self, parts: Sequence[AppendedPart]) -> None:
        """Has these rows and no others from now on. Nothing of a mirror with soft deletes may be there before."""
        assert self.deletes is Deletes.HARD or not self.pending.rows
        location, tag = self.definition.location, self.transaction.tag(None)
        if self.pending.rows:
            self._check_rewritable()
            self._wrote(self.store.clear(location, self.pending.version, tag, "TRUNCATE"))
        if parts:
            self._wrote(self.store.append_parts(location, parts, tag))

    def remove_unread(self, position: int, by: CapturedChange) -> None:
        """What a snapshot taken at this position did not find is not in the source any more."""
        at = pa.scalar(position, pa.int64())
        before, behind = Compared(POSITION, "less", at), Compared(POSITION, "greater", at)
        stale = pa.concat_tables([self._found([before], []), self._found([behind], [])])
        self._commit(self._deletion(stale, [(by, index) for index in range(stale.num_rows)]))

    def _empty(self, by: CapturedChange) -> None:
        if self.deletes is Deletes.SOFT:
            rows = self._found([], [])
            self._commit(self._deletion(rows, [(by, index) for index in range(rows.num_rows)]))
        elif self.pending.rows:
            self._check_rewritable()
            tag = self.transaction.tag(None)
            self._wrote(self.store.clear(self.definition.location, self.pending.version, tag, "TRUNCATE"))

    def _replace(self, rows: Mapping[Key, FinalRow], shape: CapturedShape) -> bool:
        keys = [folded(name) for name in shape.key]
        stored = self._stored_keys(list(rows), keys)
        moved = {
            folded(name) for row in rows.values() if row.moved_from is not None for name in row.lacks
        } & self.types.keys()
        existing = self._existing(stored, keys, moved)
        by_stored = {key: index for index, key in enumerate(_keys(existing, keys))}
        indexes = dict(zip(rows, map(by_stored.get, stored), strict=True))
        gone = [(row.change, indexes[key]) for key, row in rows.items() if row.values is None]
        kept = [_Kept.of(row, indexes[key], indexes) for key, row in rows.items() if row.values is not None]
        deletion = self._deletion(existing, [(change, index) for change, index in gone if index is not None])
        known = [row for row in kept if row.index is not None]
        inserted = [row for row in kept if row.index is None]
        self._commit(
            RowChanges(
                deleted=deletion.deleted,
                updated=[*deletion.updated, *self._updated(known, shape, existing)],
                inserted=self._rows(inserted, shape, existing) if inserted else None,
            )
        )
        return not any(row.is_incomplete for row in kept)

    def _updated(self, rows: Sequence[_Kept], shape: CapturedShape, existing: pa.Table) -> Iterator[pa.Table]:
        """Rows with their positions, together where they have new values in the same columns.

        What the source did not send stays where it is, however large: it is not read here.
        """
        together: defaultdict[frozenset[str], list[_Kept]] = defaultdict(list)
        for row in rows:
            together[row.keeps].append(row)
        for kept, alike in together.items():
            table = self._rows(alike, shape, existing)
            table = table.drop_columns([name for name in map(folded, kept) if name in table.column_names])
            positions = _taken(existing, [row.index for row in alike if row.index is not None])
            for name in (FILE, ROW):
                table = table.append_column(name, positions.column(name))
            yield table

    def _deletion(self, existing: pa.Table, gone: Sequence[tuple[CapturedChange, int]]) -> RowChanges:
        """Rows that are gone from the source: for each the change that says so, and its position."""
        if not gone:
            return RowChanges()
        by = [change for change, _ in gone]
        rows = _taken(existing, [index for _, index in gone])
        if self.deletes is Deletes.HARD:
            return RowChanges(deleted=rows)
        marked = rows.append_column(DELETED, pa.repeat(pa.scalar(True), rows.num_rows))
        return RowChanges(updated=[marked.append_column(POSITION, _lsns(by)).append_column(CHANGED_AT, _instants(by))])

    # -- rows -----------------------------------------------------------------------------------------------------

    def _rows(self, rows: Sequence[_Kept], shape: CapturedShape, existing: pa.Table) -> pa.Table:
        """The rows as the table keeps them; NULL where the source did not send a value and no other row has it."""
        columns = {column.target_name: column for column in shape.columns}
        arrays: list[pa.Array] = []
        for column in self.definition.columns:
            if column.name == POSITION:
                arrays.append(_lsns([row.final.change for row in rows]))
            elif column.name == CHANGED_AT:
                arrays.append(_instants([row.final.change for row in rows]))
            elif column.name == DELETED:
                arrays.append(pa.array([False] * len(rows), pa.bool_()))
            else:
                arrays.append(self._column(columns[column.name], column.type, rows, existing))
        return pa.Table.from_arrays(arrays, names=[column.name for column in self.definition.columns])

    def _column(self, source: CapturedColumn, type_: DataType, rows: Sequence[_Kept], existing: pa.Table) -> pa.Array:
        # A change from before the column was there has what the source gave all rows then.
        values = [(row.final.values or {}).get(source.name, source.default) for row in rows]
        absent = [value == UNAVAILABLE for value in values]
        array = array_of([None if gap else value for value, gap in zip(values, absent, strict=True)], type_)
        if source.target_name not in existing.column_names or not any(absent):
            return array
        # Positions in the new values first, then in what is there.
        both = pa.concat_arrays([array, existing.column(source.target_name).combine_chunks().cast(array.type)])
        chosen = [
            len(array) + row.origin if gap and row.origin is not None else index
            for index, (gap, row) in enumerate(zip(absent, rows, strict=True))
        ]
        return both.take(pa.array(chosen, pa.int64()))

    def _existing(self, stored: Sequence[Key], keys: Sequence[str], moved: Iterable[str]) -> pa.Table:
        """Rows that have one of the keys, with their positions, and the values that go with a row to another key."""
        conditions: list[Condition] = []
        for index, name in enumerate(keys):
            values = pa.chunked_array([pa.array([key[index] for key in stored], self._arrow(name))])
            conditions.append(Among.of(name, values))
        found = self._found(conditions, list(dict.fromkeys([*keys, *moved])))
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
            raise errors.connector_stopped(f"Too many rows of {self.table.name} change at once.")
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


def _taken(rows: pa.Table, indexes: Sequence[int]) -> pa.Table:
    return rows.select([FILE, ROW]).take(pa.array(indexes, pa.int64()))


def _lsns(changes: Sequence[CapturedChange]) -> pa.Array:
    """Zero for what an incremental snapshot read, which has no position in the log."""
    return pa.array([change.lsn or 0 for change in changes], pa.int64())


def _instants(changes: Sequence[CapturedChange]) -> pa.Array:
    """When the source committed them."""
    instants = [None if change.ts_ms is None else change.ts_ms * 1000 for change in changes]
    return pa.array(instants, pa.timestamp("us", tz="UTC"))
