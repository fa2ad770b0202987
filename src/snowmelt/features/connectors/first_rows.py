"""Rows that a first snapshot read, as mirrors and raw tables keep them: the same as if Debezium had told of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from snowmelt.core.types import DataType, Kind
from snowmelt.ingest.cdc.envelope import Operation, SnapshotMark
from snowmelt.ingest.cdc.mirror_columns import CHANGED_AT, DELETED, POSITION
from snowmelt.ingest.cdc.quick.asking import AskedColumn
from snowmelt.ingest.cdc.quick.tables import NotQuickError, QuickTable
from snowmelt.ingest.cdc.values import UnfitError, array_of
from snowmelt.state.model import TableDefinition
from snowmelt.storage.schema import arrow_type
from snowmelt.storage.variant_rows import encode_objects

_FEW_DIGITS = 18


@dataclass(frozen=True, slots=True)
class ReadAt:
    """What rows of a snapshot have in common."""

    lsn: int
    transaction: int
    at: datetime

    @property
    def ts_ms(self) -> int:
        return int(self.at.timestamp() * 1000)

    @property
    def sequence(self) -> str:
        """The sequence as Debezium writes it: no commit is known before the snapshot."""
        return json.dumps([None, str(self.lsn)], separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class RowMarks:
    """What the first and the last of some rows are in their snapshot; all others are in the middle."""

    first: SnapshotMark = SnapshotMark.MIDDLE
    last: SnapshotMark = SnapshotMark.MIDDLE

    def of(self, count: int) -> list[str]:
        found = [SnapshotMark.MIDDLE.value] * count
        if found and self.first is not SnapshotMark.MIDDLE:
            found[0] = self.first.value
        if found and self.last is not SnapshotMark.MIDDLE:
            found[-1] = self.last.value
        return found


def mirror_rows(rows: pa.Table, table: QuickTable, definition: TableDefinition, read: ReadAt) -> pa.Table:
    """Raises `NotQuickError` for a value that its column can't hold."""
    indexes = {column.target_name: index for index, column in enumerate(table.shape.columns)}
    arrays: list[Any] = []
    for column in definition.columns:
        if column.name == POSITION:
            arrays.append(pa.repeat(pa.scalar(read.lsn, pa.int64()), rows.num_rows))
        elif column.name == CHANGED_AT:
            arrays.append(pa.repeat(pa.scalar(read.ts_ms * 1000, pa.timestamp("us", tz="UTC")), rows.num_rows))
        elif column.name == DELETED:
            arrays.append(pa.repeat(pa.scalar(False), rows.num_rows))
        else:
            index = indexes[column.name]
            arrays.append(_typed(rows.column(index), table, index, column.type))
    return pa.Table.from_arrays(arrays, names=[column.name for column in definition.columns])


def _typed(values: pa.ChunkedArray, table: QuickTable, index: int, type_: DataType) -> Any:
    asked = table.asked[index]
    try:
        if asked.column_sql is None:
            return array_of(_documents(values, asked), type_)
        _check_length(values, type_)
        return values.cast(arrow_type(type_))
    except (UnfitError, pa.ArrowInvalid) as error:
        column = table.shape.columns[index].name
        raise NotQuickError(f"{table.name}.{column} has a value that its mirror can't hold: {error}") from None


def _check_length(values: pa.ChunkedArray, type_: DataType) -> None:
    if type_.kind is not Kind.VARCHAR or type_.length is None:
        return
    # No text has more characters than bytes, which are quicker to count.
    if (pc.max(pc.binary_length(values)).as_py() or 0) > type_.length:
        longest = pc.max(pc.utf8_length(values)).as_py()
        if longest > type_.length:
            raise UnfitError(f"a text of {longest} characters is too long for {type_}")


def _documents(values: pa.ChunkedArray, asked: AskedColumn) -> list[Any]:
    clean = asked.clean
    plain = values.to_pylist()
    return plain if clean is None else [None if value is None else clean(value) for value in plain]


def _document_column(values: pa.ChunkedArray, asked: AskedColumn) -> Any:
    """The same, as Arrow where nothing has to be done to the values, or they are numbers of few digits."""
    if asked.clean is None or (asked.usual is not None and _all_match(values, asked.usual)):
        return values.combine_chunks()
    if asked.type.kind is Kind.NUMBER and (asked.type.precision or 0) <= _FEW_DIGITS:
        try:
            return values.cast(arrow_type(asked.type)).combine_chunks()
        except pa.ArrowInvalid:
            pass  # NaN is none
    return _documents(values, asked)


def _all_match(values: pa.ChunkedArray, pattern: str) -> bool:
    return pc.all(pc.match_substring_regex(values, pattern)).as_py() is not False


# -- raw tables -------------------------------------------------------------------------------------------------------


def raw_reads(
    rows: pa.Table, table: QuickTable, definition: TableDefinition, read: ReadAt, first_number: int, marks: RowMarks
) -> pa.Table:
    """Each row as a change, numbered from `first_number` on."""
    names = [column.name for column in table.shape.columns]
    nested = any(item.type.kind is Kind.VARIANT for item in table.asked)
    columns = [_document_column(rows.column(at), item) for at, item in enumerate(table.asked)]
    known: dict[str, Any] = {
        "OPERATION": Operation.READ.value,
        "TABLE_NAME": table.name,
        "BEFORE": None,
        "TS_MS": read.ts_ms,
        "SOURCE_LSN": read.lsn,
        "SOURCE_TRANSACTION": read.transaction,
        "SOURCE_SEQUENCE": read.sequence,
    }
    lists = {
        "AFTER": lambda: encode_objects(names, columns, nested=nested),
        "RECORD_KEY": lambda: encode_objects(
            table.shape.key, [columns[names.index(name)] for name in table.shape.key], nested=False
        ),
        "CHANGE_NUMBER": lambda: pa.array(range(first_number, first_number + rows.num_rows), pa.int64()),
        "SNAPSHOT": lambda: pa.array(marks.of(rows.num_rows)),
        "INGESTED_AT": lambda: pa.repeat(pa.scalar(read.at, pa.timestamp("us", tz="UTC")), rows.num_rows),
    }
    arrays: dict[str, Any] = {}
    for column in definition.columns:
        if column.name in lists:
            arrays[column.name] = _stored(lists[column.name](), column.type)
        elif column.name in known:
            arrays[column.name] = _repeated(known[column.name], column.type, rows.num_rows)
    return pa.table(arrays)


def _stored(array: pa.Array, type_: DataType) -> pa.Array:
    wanted = arrow_type(type_)
    return array if array.type == wanted else array.cast(wanted)


def _repeated(value: Any, type_: DataType, count: int) -> pa.Array:
    one: Sequence[Any] = array_of([value], type_)
    return pa.repeat(one[0], count)
