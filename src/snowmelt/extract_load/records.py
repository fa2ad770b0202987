"""Records on their way: batches with the place behind them, and what could not be understood with its reason."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from snowmelt.extract_load.columns import (
    column_of,
    documents_field,
    documents_of,
    objects_of,
    records_of,
    simplified,
    values_of,
)

Record = dict[str, Any]
"""A record as JSON holds it."""
_WHOLE_RECORDS = {b"snowmelt.records": b"json"}
"""Metadata of a table whose only column has whole records."""


class RejectedRecordError(Exception):
    """The record is set aside as a dead letter, and the rest goes on."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A dead letter: what could not be understood is kept with why, and where in the source it stands."""

    reason: str
    record: Record
    position: str
    readable: bool = True
    """False for what is no record at all: it is under `text`, as it stands in the source."""


@dataclass(frozen=True, slots=True)
class Whole:
    """Batches that together are all that a source holds."""

    number: int
    """1, 2, 3, …"""
    last: bool
    reading: int = 1
    """How often the source was read as a whole, with this time: those of one reading belong together."""


class Rows:
    """Records as an Arrow table.

    Sources with columns give one, and `records` are then made of it when somebody asks for them. Where each record may
    have names and types of its own (JSON, and what a person's code gives), a table is made when it is asked for: one
    column of documents.
    """

    __slots__ = ("_records", "_table", "columnar")

    def __init__(self, given: pa.Table | Sequence[Record]) -> None:
        table = simplified(given) if isinstance(given, pa.Table) else None
        self._table: pa.Table | None = table
        self._records: Sequence[Record] | None = given if table is None else None
        self.columnar = table is not None and not _WHOLE_RECORDS.items() <= (table.schema.metadata or {}).items()
        """Whether the table's columns are those of the records."""

    @property
    def table(self) -> pa.Table:
        if self._table is None:
            schema = pa.schema([documents_field("record")], metadata=_WHOLE_RECORDS)
            self._table = pa.Table.from_arrays([self.documents()], schema=schema)
        return self._table

    @property
    def records(self) -> Sequence[Record]:
        if self._records is None:
            self._records = records_of(self.table) if self.columnar else values_of(*self._only())
        return self._records

    def record(self, index: int) -> Record:
        if self._records is not None:
            return self._records[index]
        return Rows(self.table.slice(index, 1)).records[0]

    def values(self, name: str) -> list[Any]:
        """Of one column, as JSON holds them; None where a record has no such name."""
        if not self.columnar:
            return [record.get(name) for record in self.records]
        if name not in self.table.column_names:
            return [None] * len(self)
        return values_of(self.table.column(name), self.table.schema.field(name))

    def documents(self) -> Any:
        """Each record as JSON."""
        if self._table is None:
            return pa.array(list(map(json.dumps, self.records)), pa.string())
        return documents_of(self._table) if self.columnar else self._table.column(0).combine_chunks()

    def objects(self) -> Any:
        """Each record as a column of VARIANT takes it: an object of Arrow, or JSON."""
        return objects_of(self.table) if self.columnar and self.table.num_columns else self.documents()

    def take(self, indices: Sequence[int]) -> Rows:
        if self._table is not None:
            return Rows(self._table.take(pa.array(indices, pa.int64())))
        return Rows([self.records[index] for index in indices])

    def slice(self, start: int, size: int) -> Rows:
        if self._table is not None:
            return Rows(self._table.slice(start, size))
        return Rows(self.records[start : start + size])

    def __len__(self) -> int:
        return int(self._table.num_rows) if self._table is not None else len(self.records)

    def _only(self) -> tuple[Any, pa.Field]:
        return self.table.column(0), self.table.schema.field(0)


def rows_of(given: Rows | pa.Table | Sequence[Record]) -> Rows:
    return given if isinstance(given, Rows) else Rows(given)


def together(parts: Sequence[Rows]) -> Rows:
    """All of them as one."""
    if len(parts) == 1:
        return parts[0]
    if parts and all(part.columnar for part in parts):
        first = parts[0].table.schema
        if all(part.table.schema.equals(first, check_metadata=True) for part in parts):
            return Rows(pa.concat_tables([part.table for part in parts]))
    return Rows([record for part in parts for record in part.records])


def table_of_values(columns: dict[str, tuple[Sequence[Any], pa.DataType | None]]) -> pa.Table:
    """Columns of Python values, each with the type that it should have, if it is known."""
    made = [column_of(name, values, wanted) for name, (values, wanted) in columns.items()]
    return pa.Table.from_arrays([array for _, array in made], schema=pa.schema([field for field, _ in made]))


@dataclass(frozen=True, slots=True, init=False)
class Batch:
    """Rows, which may be given as an Arrow table or as records, and the place behind them."""

    rows: Rows
    place: str
    """Behind the last record. It commits with the records: whoever starts anew is given the newest one."""
    origin: str
    """Where they come from, for people: a file, a table."""
    positions: Sequence[str] | Callable[[int], str]
    """Of each record within its origin, for people: a row of a file, a key, an offset. Else they are numbered."""
    rejected: Sequence[Rejected]
    """What the extractor itself could not read."""
    whole: Whole | None
    """Which part of everything there is; None for what is new alone. Only all of them may replace what there was."""

    def __init__(
        self, rows: Rows | pa.Table | Sequence[Record], place: str, origin: str,
        positions: Sequence[str] | Callable[[int], str] = (), rejected: Sequence[Rejected] = (),
        whole: Whole | None = None,
    ) -> None:  # fmt: skip
        values = (rows_of(rows), place, origin, positions, rejected, whole)
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)

    @property
    def table(self) -> pa.Table:
        """The rows as an Arrow table."""
        return self.rows.table

    @property
    def records(self) -> Sequence[Record]:
        """As Python's own. Made when it is asked for: a loader that can take the table is quicker."""
        return self.rows.records

    def position(self, index: int) -> str:
        if callable(self.positions):
            return self.positions(index)
        return self.positions[index] if self.positions else f"record {index + 1}"


def cut(tables: Iterator[pa.Table], size: int) -> Iterator[pa.Table]:
    """The same rows in tables of exactly that size, but for the last. What came before an error is given first."""
    held: list[pa.Table] = []
    count = 0
    failure: Exception | None = None
    while True:
        try:
            table = next(tables, None)
        except Exception as error:
            table, failure = None, error
        if table is None:
            break
        start = 0
        while table.num_rows - start >= size - count:
            end = start + size - count
            yield pa.concat_tables([*held, table.slice(start, end - start)])
            held, count, start = [], 0, end
        if start < table.num_rows:
            held.append(table.slice(start))
            count += table.num_rows - start
    if held:
        yield pa.concat_tables(held)
    if failure is not None:
        raise failure
