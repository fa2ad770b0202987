"""Bringing a table to what a refresh plan says: the rows that differ are deleted and inserted, all others stay.

Rows are compared before they are written: a group that was computed again and came out the same is no change, neither
on disk nor for whoever reads the table's changes.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from snowmelt.core.faults import reached
from snowmelt.core.types import Kind
from snowmelt.ivm.algebra import WEIGHT
from snowmelt.ivm.plan import Apply, ApplyKind
from snowmelt.runtime.pending import PendingTable
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.state.quality_model import FailureAction
from snowmelt.storage import variant
from snowmelt.storage.append import conform
from snowmelt.storage.commits import CommitResult
from snowmelt.storage.probe import Among, Condition, find_rows
from snowmelt.storage.rewrite import FILE, ROW, RowChanges
from snowmelt.storage.snapshot import FileList

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

Row = tuple[Any, ...]
_PROBED_BYTES = 1024 * 1024 * 1024
_REWRITTEN_BYTES = 512 * 1024 * 1024


class TooLargeError(Exception):
    """More than is written from here: recomputing the table is the better way."""


class DivergedError(Exception):
    """The table does not hold a row that it must hold: what is on disk is not what the query gave."""


@dataclass(frozen=True, slots=True)
class Target:
    """A dynamic table, held for writing."""

    run: Run
    table: CatalogObject
    pending: PendingTable
    outside: Callable[[pa.Table], pa.Table] | None = None
    """Those of the table's rows that are not frozen; None where none is."""

    @property
    def definition(self) -> TableDefinition:
        assert isinstance(self.table.definition, TableDefinition)
        return self.table.definition

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.definition.columns]

    @property
    def _quarantines(self) -> bool:
        """Whether rows that the query gave may be in quarantine instead of in the table."""
        return any(check.action is FailureAction.QUARANTINE for check in self.definition.quality)

    @property
    def limit(self) -> int:
        return self.run.account.settings.small_write_rows

    def files(self) -> FileList:
        return self.run.account.store.files(self.definition.location, self.pending.version)

    def check_writable(self) -> None:
        store = self.run.account.store
        if self.definition.spark_only or not store.rewritable(self.definition.location, self.pending.version):
            raise TooLargeError("the table can only be written by Spark")

    def rows(self) -> pa.Table:
        return self._existing([]).select(self.names)

    # -- what the plan says ---------------------------------------------------------------------------------------

    def apply(self, apply: Apply, rows: pa.Table, keys: pa.Table | None) -> CommitResult:
        """`rows` are in stored form, with the weight where the plan gives one; `keys` has the columns of the table."""
        self.check_writable()
        if rows.num_rows > self.limit:
            raise TooLargeError(f"{rows.num_rows} rows")
        match apply.kind:
            case ApplyKind.APPEND | ApplyKind.BAG:
                changes = self._weighted(rows)
            case ApplyKind.REPLACE:
                assert keys is not None
                changes = self._replaced(rows, keys)
            case _:
                changes = self._difference(self._present(self._existing([])), rows)
        return self._commit(changes)

    def _weighted(self, rows: pa.Table) -> RowChanges:
        weights = rows.column(WEIGHT)
        plain = self._conformed(rows.drop_columns([WEIGHT]))
        going = plain.filter(pc.less(weights, 0))
        inserted = _repeated(plain, weights.to_pylist())
        if not going.num_rows:
            return RowChanges(inserted=inserted)
        wanted: Counter[Row] = Counter()
        for row, weight in zip(comparable_rows(going), _below(weights.to_pylist()), strict=True):
            wanted[row] -= weight
        existing = self._existing(self._conditions(going))
        indexes: list[int] = []
        for index, row in enumerate(comparable_rows(existing.select(self.names))):
            if wanted[row] > 0:
                wanted[row] -= 1
                indexes.append(index)
        missing = +wanted
        if missing and not self._quarantines:
            raise DivergedError(f"{sum(missing.values())} rows to delete are not there")
        return RowChanges(deleted=_positions(existing, indexes), inserted=inserted)

    def _replaced(self, rows: pa.Table, keys: pa.Table) -> RowChanges:
        schema = self.files().metadata.arrow_schema
        keys = conform(keys, pa.schema([schema.field(name) for name in keys.column_names]), self.definition.location)
        existing = self._existing(self._conditions(keys))
        chosen = set(comparable_rows(keys))
        inside = [
            index for index, key in enumerate(comparable_rows(existing.select(keys.column_names))) if key in chosen
        ]
        present = self._present(existing.take(pa.array(inside, pa.int64())))
        return self._difference(present, rows, keys.column_names)

    def _difference(self, existing: pa.Table, rows: pa.Table, keys: Sequence[str] = ()) -> RowChanges:
        """The rows there are less those there should be, and the other way round.

        Where a key has one row before and one after, that is the same row with other values: an update.
        """
        new = self._conformed(rows)
        wanted: defaultdict[Row, list[int]] = defaultdict(list)
        for index, row in enumerate(comparable_rows(new)):
            wanted[row].append(index)
        gone: list[int] = []
        for index, row in enumerate(comparable_rows(existing.select(self.names))):
            if wanted[row]:
                wanted[row].pop()
            else:
                gone.append(index)
        follows = _same_keys(existing.select(keys), new.select(keys))
        updates = {index: follows[index] for index in gone if index in follows}
        gone = [index for index in gone if index not in updates]
        came = sorted({index for indexes in wanted.values() for index in indexes} - set(updates.values()))
        return RowChanges(
            deleted=_positions(existing, gone) if gone else None,
            updated=[_updated(existing, new, updates, keys)] if updates else (),
            inserted=new.take(pa.array(came, pa.int64())) if came else None,
        )

    # -- the table ------------------------------------------------------------------------------------------------

    def _conformed(self, rows: pa.Table) -> pa.Table:
        return conform(rows, self.files().metadata.arrow_schema, self.definition.location)

    def _existing(self, conditions: Sequence[Condition]) -> pa.Table:
        """Rows of the table that meet the conditions, with their positions."""
        files = self.files()
        if sum(file.size for file in files.files) > _PROBED_BYTES:
            raise TooLargeError("the table is too large to be searched from here")
        found = find_rows(files, conditions, self.names, self.limit * 4)
        if found is None:
            raise TooLargeError("too many rows of the table are concerned")
        return found

    def _present(self, rows: pa.Table) -> pa.Table:
        """What of these rows of the table is there to be replaced."""
        return self.outside(rows) if self.outside is not None else rows

    def _conditions(self, rows: pa.Table) -> list[Condition]:
        """What rows of the table must fulfil to equal one of these in the columns that can be searched."""
        conditions: list[Condition] = []
        for column in self.definition.columns:
            if column.name not in rows.column_names or column.type.kind in (Kind.FLOAT, Kind.TIMESTAMP_TZ):
                continue
            if column.type.is_semi_structured:
                continue
            conditions.append(Among.of(column.name, rows.column(column.name)))
        return conditions

    def _commit(self, changes: RowChanges) -> CommitResult:
        run, pending = self.run, self.pending
        if not (changes.inserted_rows or changes.updated_rows or changes.deleted_rows):
            return CommitResult(version=pending.version, committed=False)
        files = self.files()
        touched = changes.files()
        if sum(file.size for file in files.files if file.path.rsplit("/", 1)[-1] in touched) > _REWRITTEN_BYTES:
            raise TooLargeError("too many files of the table are concerned")
        run.check_cancelled()
        tag = run.transaction.tag(run.query_id)
        reached("before-commit")
        store, location = run.account.store, self.definition.location
        if changes.updated_rows or changes.deleted_rows:
            result = store.rewrite(
                location, pending.version, changes, tag, "MERGE", origins=self.definition.change_tracking
            )
        else:
            assert changes.inserted is not None
            result = store.append(location, changes.inserted, tag)
        reached("after-commit")
        run.account.transactions.wrote(pending, result, "REFRESH", run.query_id)
        return result


def _positions(existing: pa.Table, indexes: Sequence[int]) -> pa.Table:
    return existing.select([FILE, ROW]).take(pa.array(indexes, pa.int64()))


def _updated(existing: pa.Table, new: pa.Table, updates: Mapping[int, int], keys: Sequence[str]) -> pa.Table:
    """New rows with the positions of those whose place they take. What has the same key keeps it."""
    # Equal ones may not be the same: 0 and -0, or a document's 1 and 1.0.
    loose = (pa.types.is_floating, pa.types.is_nested)
    same = [name for name in keys if not any(test(new.schema.field(name).type) for test in loose)]
    values = new.drop_columns(same).take(pa.array(updates.values(), pa.int64()))
    positions = _positions(existing, list(updates))
    return values.append_column(FILE, positions.column(FILE)).append_column(ROW, positions.column(ROW))


def _same_keys(before: pa.Table, after: pa.Table) -> dict[int, int]:
    """From the indexes of rows before to those of rows after, for keys that have one of each."""
    old, new = _unique_indexes(before), _unique_indexes(after)
    return {index: new[key] for key, index in old.items() if key in new}


def _unique_indexes(keys: pa.Table) -> dict[Row, int]:
    """The indexes of keys that occur once."""
    rows = comparable_rows(keys)
    counts = Counter(rows)
    return {key: index for index, key in enumerate(rows) if counts[key] == 1}


def _repeated(rows: pa.Table, weights: Sequence[int]) -> pa.Table | None:
    """Rows that come, as often as their weight says."""
    indexes = [index for index, weight in enumerate(weights) for _ in range(max(weight, 0))]
    return rows.take(pa.array(indexes, pa.int64())) if indexes else None


def _below(weights: Iterable[int]) -> list[int]:
    return [weight for weight in weights if weight < 0]


def comparable_rows(table: pa.Table) -> list[Row]:
    """The rows as values that are equal when they are equal in SQL, NULLs included."""
    columns = [_values(table.column(index)) for index in range(table.num_columns)]
    return list(zip(*columns, strict=True)) if columns else [() for _ in range(table.num_rows)]


def _values(column: pa.ChunkedArray) -> list[Any]:
    values: list[Any] = column.to_pylist()
    read = _reader(column.type)
    return values if read is None else [None if value is None else read(value) for value in values]


def _reader(type_: pa.DataType) -> Callable[[Any], Any] | None:
    if pa.types.is_floating(type_):
        return lambda value: "NaN" if math.isnan(value) else value
    if pa.types.is_struct(type_):
        names = {type_.field(index).name for index in range(type_.num_fields)}
        if names == {"metadata", "value"}:
            return lambda value: variant.to_json(variant.decode(value["metadata"], value["value"]))
        return lambda value: tuple(sorted(value.items()))
    return None


def weight_column() -> exp.Expr:
    return exp.column(exp.Identifier(this=WEIGHT, quoted=True), table=exp.Identifier(this="__in", quoted=True))
