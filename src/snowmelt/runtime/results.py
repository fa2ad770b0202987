"""Results: columns with Snowflake's types, rows as Arrow, and what was run last for RESULT_SCAN."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, Protocol
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from snowmelt.core import types
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import quote
from snowmelt.core.types import TZ_INSTANT, TZ_OFFSET, DataType, Kind
from snowmelt.runtime.render import indented_json

_BESIDE_ROWS = 4096
"""Bytes that a result takes beside its rows, roughly."""
COUNTED = "number of rows "
"""What columns of DML's answers begin with; a verb follows."""


@dataclass(frozen=True, slots=True)
class ResultColumn:
    name: str
    type: DataType
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class SpilledRows:
    """Rows in Parquet files, in their order, with columns named by position."""

    files: tuple[str, ...]
    rows: int
    bytes: int

    def batches(self, size: int) -> Iterator[pa.Table]:
        """The first `rows` of them: the files may have more."""
        left = self.rows
        for file in self.files:
            if left <= 0:
                return
            with pq.ParquetFile(file) as opened:
                for batch in opened.iter_batches(batch_size=size):
                    yield pa.Table.from_batches([batch.slice(0, left)])
                    left -= batch.num_rows
                    if left <= 0:
                        break

    def values(self, index: int) -> Iterator[pa.Array]:
        """The values of one column, piece by piece."""
        for file in self.files:
            with pq.ParquetFile(file) as opened:
                for batch in opened.iter_batches(columns=[opened.schema_arrow.names[index]]):
                    yield batch.column(0)


@dataclass(frozen=True, slots=True)
class Result:
    """What a statement gave back. VARIANT, OBJECT and ARRAY values are JSON text in `data`."""

    columns: tuple[ResultColumn, ...]
    data: pa.Table
    query_id: str = ""
    statement_type: str = "UNKNOWN"
    rows_affected: int | None = None
    """Rows inserted, updated and deleted by a DML statement."""
    time_zone: str = "UTC"
    json_indent: int = 2
    """How far a client indents the text of semi-structured values; in `data` it is on one line."""
    spilled: SpilledRows | None = None
    """Where the rows are when there are too many to be held: `data` has none of them then."""

    @property
    def row_count(self) -> int:
        if self.spilled is not None:
            return self.spilled.rows
        return int(self.data.num_rows)

    @property
    def changes(self) -> dict[str, int]:
        """How many rows a DML statement `inserted`, `updated`, `deleted`, as far as it says so."""
        if self.rows_affected is None:
            return {}
        if self.statement_type == "COPY":
            return {"inserted": self.rows_affected}
        numbers = zip(self.columns, self.rows()[0], strict=True)
        return {column.name.removeprefix(COUNTED): n for column, n in numbers if column.name.startswith(COUNTED)}

    @property
    def bytes(self) -> int:
        """How much memory the rows take, or would take."""
        if self.spilled is not None:
            return self.spilled.bytes
        return int(self.data.nbytes)

    def limited(self, most: int) -> Result:
        """The first rows of it, at most so many."""
        if self.row_count <= most:
            return self
        if self.spilled is not None:
            return replace(self, spilled=replace(self.spilled, rows=most))
        return replace(self, data=self.data.slice(0, most))

    def slices(self, first: int, size: int) -> Iterator[pa.Table]:
        """The rows piece by piece: at most `first` of them, perhaps none, then at most `size` at a time."""
        if self.spilled is not None:
            yield self.data
            for batch in self.spilled.batches(size):
                yield batch.cast(self.data.schema)
            return
        yield self.data.slice(0, first)
        for start in range(first, self.data.num_rows, size):
            yield self.data.slice(start, size)

    def extremes(self, index: int) -> Iterator[tuple[Any, Any]]:
        """The least and the largest value of a column's pieces; of pieces that have any."""
        pieces = [self.data.column(index)] if self.spilled is None else self.spilled.values(index)
        for piece in pieces:
            found = pc.min_max(piece).as_py()
            if found["min"] is not None:
                yield found["min"], found["max"]

    def shown(self) -> Result:
        """The result as a client sees it: the text of semi-structured values is indented, as Snowflake sends it."""
        data = self.data
        for index, column in enumerate(self.columns):
            if column.type.is_semi_structured:
                texts = pa.array(indented_texts(data.column(index), self.json_indent), pa.string())
                data = data.set_column(index, data.schema.field(index), texts)
        return replace(self, data=data)

    def rows(self) -> list[tuple[Any, ...]]:
        """The rows as Python values: int, Decimal, float, str, bool, bytes, date, time, datetime, None.

        Raises for a date or timestamp that Python has no value for.
        """
        columns = [self._values(index, column) for index, column in enumerate(self.columns)]
        return list(zip(*columns, strict=True)) if columns else []

    def _values(self, index: int, column: ResultColumn) -> list[Any]:
        zone = ZoneInfo(self.time_zone)
        try:
            return [_python(value, column.type, zone) for value in self.data.column(index).to_pylist()]
        except (OverflowError, ValueError):
            raise SnowmeltError(
                "100035", "22007", f"Column {quote(column.name)} has a value beyond the years 1 to 9999, which clients "
                "can't hold.", hint="Cast it to VARCHAR, or leave such rows out.",
            ) from None  # fmt: skip


def indented_texts(values: pa.ChunkedArray, spaces: int) -> list[str | None]:
    """JSON texts of a column as clients get them."""
    return [None if text is None else indented_json(text, spaces) for text in values.to_pylist()]


def _python(value: Any, type_: DataType, zone: ZoneInfo) -> Any:
    if value is None:
        return None
    match type_.kind:
        case Kind.NUMBER:
            return int(value) if type_.scale == 0 else Decimal(value)
        case Kind.TIMESTAMP_LTZ:
            return value.astimezone(zone)
        case Kind.TIMESTAMP_TZ:
            offset = timezone(timedelta(minutes=value[TZ_OFFSET]))
            instant: datetime = value[TZ_INSTANT]
            return instant.astimezone(offset)
        case _:
            return value


_ARROW = {
    Kind.FLOAT: pa.float64(), Kind.VARCHAR: pa.string(), Kind.BINARY: pa.binary(), Kind.BOOLEAN: pa.bool_(),
    Kind.DATE: pa.date32(), Kind.TIME: pa.time64("us"), Kind.TIMESTAMP_NTZ: pa.timestamp("us"),
    Kind.TIMESTAMP_LTZ: pa.timestamp("us", "UTC"), Kind.VARIANT: pa.string(), Kind.OBJECT: pa.string(),
    Kind.ARRAY: pa.string(), Kind.NULL: pa.null(),
    Kind.TIMESTAMP_TZ: pa.struct([(TZ_INSTANT, pa.timestamp("us", "UTC")), (TZ_OFFSET, pa.int32())]),
}  # fmt: skip


def arrow_type(type_: DataType) -> pa.DataType:
    """The Arrow type of a result column."""
    if type_.kind is Kind.NUMBER:
        return pa.int64() if type_.int64 else pa.decimal128(type_.precision or 38, type_.scale or 0)
    return _ARROW[type_.kind]


def table_result(
    columns: Sequence[ResultColumn], rows: Iterable[Sequence[Any]], *, statement_type: str = "SHOW"
) -> Result:
    """A result from Python rows, for statements that need no Spark."""
    materialised = list(rows)
    arrays = [
        pa.array([row[index] for row in materialised], type=arrow_type(column.type))
        for index, column in enumerate(columns)
    ]
    names = [f"{index}" for index in range(len(columns))]
    return Result(tuple(columns), pa.table(arrays, names=names), statement_type=statement_type)


DONE = "Statement executed successfully."
"""The answer of statements that have nothing else to say."""


def status(text: str, statement_type: str) -> Result:
    """The one row that DDL answers with."""
    return table_result([ResultColumn("status", types.VARCHAR)], [[text]], statement_type=statement_type)


def kept(name: str, statement_type: str) -> Result:
    """The answer of CREATE … IF NOT EXISTS for a name that is taken."""
    return status(f"{quote(name)} already exists, statement succeeded.", statement_type)


def counts(statement_type: str, **numbers: int) -> Result:
    """DML's answer: one row with a number for each kind of change. Underscores in the names become spaces."""
    columns = [ResultColumn(name.replace("_", " "), types.int64()) for name in numbers]
    result = table_result(columns, [list(numbers.values())], statement_type=statement_type)
    changed = sum(value for name, value in numbers.items() if "multi" not in name)
    return Result(result.columns, result.data, statement_type=statement_type, rows_affected=changed)


_WRITES = {"INSERT": f"{COUNTED}inserted", "UPDATE": f"{COUNTED}updated", "MERGE": None, "COPY": None}
"""What writes rows that a quality check may quarantine, and the column that counts them where there is only one."""


def without_quarantined(result: Result, rows: int) -> Result:
    """DML's answer, once the gate has taken rows out: it counts those that are in the table, and says the others."""
    if not rows or result.rows_affected is None or result.statement_type not in _WRITES:
        return result
    left = result.rows_affected - rows
    if result.statement_type == "COPY":
        return replace(result, rows_affected=left)
    counted = _WRITES[result.statement_type] or _only_written(result)
    values = [
        number - rows if column.name == counted else number
        for column, number in zip(result.columns, result.rows()[0], strict=True)
    ]
    columns = (*result.columns, ResultColumn(f"{COUNTED}quarantined", types.int64()))
    made = table_result(columns, [[*values, rows]], statement_type=result.statement_type)
    return replace(made, rows_affected=left)


def _only_written(result: Result) -> str | None:
    """The one column of MERGE's answer that rows are counted in which a gate can take, if it is one."""
    found = [verb for verb in ("inserted", "updated") if result.changes.get(verb)]
    return f"{COUNTED}{found[0]}" if len(found) == 1 else None


@dataclass(slots=True)
class ResultCache:
    """The last results by query id, newest kept, within a budget of bytes."""

    budget: int = 256 * 1024 * 1024
    _results: OrderedDict[str, Result] = field(default_factory=OrderedDict)
    _askers: dict[str, tuple[str, frozenset[str]]] = field(default_factory=dict)
    """Who ran the query, and with the rights of which roles."""
    _bytes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, result: Result, user: str, roles: frozenset[str]) -> None:
        size = _held(result)
        if size > self.budget:
            return
        with self._lock:
            self._results[result.query_id] = result
            self._askers[result.query_id] = user, roles
            self._bytes += size
            while self._bytes > self.budget:
                query_id, dropped = self._results.popitem(last=False)
                del self._askers[query_id]
                self._bytes -= _held(dropped)

    def get(self, query_id: str, user: str, roles: Collection[str]) -> Result | None:
        """The result, for the user who asked for it, if these roles have all those that it was computed with."""
        with self._lock:
            asker, used = self._askers.get(query_id, (None, frozenset()))
            return self._results.get(query_id) if asker == user and used <= frozenset(roles) else None

    def roles_of(self, query_id: str) -> frozenset[str]:
        """The roles that a result was computed with; none for one that is not kept."""
        with self._lock:
            return self._askers.get(query_id, ("", frozenset()))[1]


def _held(result: Result) -> int:
    """Bytes of memory. A result of one row takes little for its rows, and there are hundreds of them in a second."""
    return int(result.data.nbytes) + _BESIDE_ROWS


class Executes(Protocol):
    """What runs a statement: a session, or a connection to a server."""

    def execute(self, text: str, /) -> Result: ...
