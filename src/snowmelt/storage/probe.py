"""Finding a few rows in the files of a table by simple conditions, without an engine.

Row groups whose statistics rule them out are skipped; of the others only the columns in question are read. On a
million rows that takes some ten milliseconds, where a Spark job takes hundreds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snowmelt.storage.columns import COLUMNS, WHOLE, ColumnReader, Footer, local_path
from snowmelt.storage.key_filters import SoughtKeys
from snowmelt.storage.packing import KeptColumn, RowNumbers
from snowmelt.storage.rewrite import FILE, ROW
from snowmelt.storage.snapshot import DataFile, FileList

_THREADS = 2 * (os.cpu_count() or 2)
_SMALL_BYTES = 256 * 1024
"""A file of this size is decoded in less time than another thread needs to wake up."""
_WORTH_WHOLE = 4
"""A column is decoded as a whole, and stays in memory, where one of so many row groups is needed."""


@dataclass(frozen=True, slots=True)
class Among:
    """The column has one of these values, which have its stored type and are not NULL; or is NULL, if that counts."""

    column: str
    values: pa.Array
    nulls: bool = False

    @classmethod
    def of(cls, column: str, values: pa.ChunkedArray) -> Among:
        """One of the values there are, NULL included if it is among them."""
        known = pc.unique(values.drop_null())
        return cls(
            column,
            known.combine_chunks() if isinstance(known, pa.ChunkedArray) else known,
            nulls=bool(values.null_count),
        )

    @property
    def allows_null(self) -> bool:
        return self.nulls

    def holds(self, column: pa.Array) -> pa.Array:
        found = pc.is_in(column, value_set=self.values)
        return pc.or_(found, pc.is_null(column)) if self.nulls else found

    def possible(self, low: Any, high: Any) -> bool:
        if self.nulls:
            return True
        inside = pc.and_(pc.greater_equal(self.values, low), pc.less_equal(self.values, high))
        return bool(pc.any(inside).as_py())


@dataclass(frozen=True, slots=True)
class Compared:
    """The column compares so with a value of its stored type."""

    column: str
    operator: Literal["less", "less_equal", "greater", "greater_equal"]
    value: pa.Scalar

    @property
    def allows_null(self) -> bool:
        return False

    def holds(self, column: pa.Array) -> pa.Array:
        return pc.call_function(self.operator, [column, self.value]).fill_null(False)

    def possible(self, low: Any, high: Any) -> bool:
        bound = low if self.operator.startswith("less") else high
        return bool(pc.call_function(self.operator, [bound, self.value]).as_py())


Condition = Among | Compared


def find_rows(
    files: FileList,
    conditions: Sequence[Condition],
    columns: Sequence[str],
    limit: int,
    sought: SoughtKeys | None = None,
) -> pa.Table | None:
    """`__file`, `__row` and `columns` of the rows for which all conditions hold; None when they exceed `limit`.

    `sought`: the keys that the conditions are about, where files are worth a filter of theirs.
    """
    return search_files(files.files, files.metadata.arrow_schema, conditions, columns, limit, sought)


def search_files(
    files: Sequence[DataFile],
    schema: pa.Schema,
    conditions: Sequence[Condition],
    columns: Sequence[str],
    limit: int,
    sought: SoughtKeys | None = None,
) -> pa.Table | None:
    """Finds rows as `find_rows` does, in files that need not be a table's."""
    search = _Search(schema, conditions, [schema.field(name) for name in columns], sought)
    found: list[_Rows] = []
    count = 0
    for rows in search.all_of(files):
        found += rows
        count += sum(len(part.rows) for part in rows)
        if count > limit:
            return None
    return search.table(found)


@dataclass(frozen=True, slots=True)
class _Rows:
    """What was found in one row group, or in a file at once."""

    file: str
    start: int
    """The number in the file of the first row that row numbers count from."""
    rows: RowNumbers
    columns: Mapping[str, pa.Array]


@dataclass(frozen=True, slots=True)
class _Test:
    """A condition, and the integers it asks for in their order, if that is what it does."""

    condition: Condition
    keys: RowNumbers | None

    @classmethod
    def of(cls, condition: Condition) -> _Test:
        if isinstance(condition, Among) and not condition.nulls and pa.types.is_int64(condition.values.type):
            return cls(condition, np.unique(condition.values.to_numpy()))
        return cls(condition, None)

    def possible(self, bounds: tuple[Any, Any] | None, type_: pa.DataType) -> bool:
        """Whether it may hold somewhere, where a column has no values but those."""
        if bounds is None:
            return True
        if self.keys is not None:
            first, last = np.searchsorted(self.keys, bounds[0], "left"), np.searchsorted(self.keys, bounds[1], "right")
            return bool(first < last)
        try:
            low, high = (pa.scalar(bound, type_) for bound in bounds)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError, ValueError):
            return True
        return self.condition.possible(low, high)


class _Search:
    """One search through many files."""

    def __init__(
        self,
        schema: pa.Schema,
        conditions: Sequence[Condition],
        wanted: Sequence[pa.Field],
        sought: SoughtKeys | None = None,
    ) -> None:
        self._wanted = wanted
        self._sought = sought
        self._tests = [_Test.of(condition) for condition in conditions]
        self._tested = {test.condition.column: schema.field(test.condition.column) for test in self._tests}

    def all_of(self, files: Sequence[DataFile]) -> Iterator[list[_Rows]]:
        """What is in memory or small is searched here: threads would only take turns. Decoding runs side by side."""
        names = {*self._tested, *(field.name for field in self._wanted)}
        if self._sought is not None:
            files = [file for file in files if not self._sought.rules_out(local_path(file.uri))]
        for file in files[:1]:
            COLUMNS.ask(local_path(file.uri), names)
        here = [file.size <= _SMALL_BYTES or ColumnReader(file.uri).in_memory(names) for file in files]
        yield from (self._one(file) for file, near in zip(files, here, strict=True) if near)
        left = [file for file, near in zip(files, here, strict=True) if not near]
        if left:
            with ThreadPoolExecutor(min(_THREADS, len(left)), thread_name_prefix="snowmelt-probe") as workers:
                try:
                    yield from workers.map(self._one, left)
                finally:
                    workers.shutdown(cancel_futures=True)

    def table(self, found: Sequence[_Rows]) -> pa.Table:
        names = pa.chunked_array([pa.repeat(pa.scalar(part.file), len(part.rows)) for part in found], pa.string())
        rows = pa.chunked_array([pa.array(part.rows + part.start) for part in found], pa.int64())
        columns = [pa.chunked_array([part.columns[f.name] for part in found], f.type) for f in self._wanted]
        fields = [pa.field(FILE, pa.string()), pa.field(ROW, pa.int64()), *self._wanted]
        return pa.Table.from_arrays([names, rows, *columns], schema=pa.schema(fields)).combine_chunks()

    def _one(self, file: DataFile) -> list[_Rows]:
        found: list[_Rows] = []
        with ColumnReader(file.uri) as reader:
            present = reader.footer.names
            known = [test for test in self._tests if test.condition.column in present]
            absent = [test for test in self._tests if test.condition.column not in present]
            if any(not test.condition.allows_null for test in absent):
                return []  # NULL throughout
            for group in self._groups(reader, known):
                columns = reader.read(group, self._tested.values())
                if self._sought is not None and group == WHOLE:
                    self._sought.learn(local_path(file.uri), columns, reader.footer.total)
                rows = _matching_rows(
                    columns, known, reader.footer.total if group == WHOLE else reader.footer.rows[group]
                )
                if len(rows):
                    start = 0 if group == WHOLE else int(reader.footer.starts[group])
                    name = file.path.rsplit("/", 1)[-1]
                    found.append(_Rows(name, start, rows, self._taken(reader, group, rows)))
        return found

    def _groups(self, reader: ColumnReader, tests: Sequence[_Test]) -> list[int]:
        """The row groups that may have rows; the file at once, if it is in memory or much of it is needed anyway."""
        if reader.in_memory(self._tested):
            return [WHOLE]
        footer = reader.footer
        possible = [group for group in range(len(footer.rows)) if self._possible(footer, group, tests)]
        return [WHOLE] if _WORTH_WHOLE * len(possible) > len(footer.rows) else possible

    def _possible(self, footer: Footer, group: int, tests: Sequence[_Test]) -> bool:
        bounds = [(test, test.condition.column) for test in tests]
        return all(test.possible(footer.bounds(group, name), self._tested[name].type) for test, name in bounds)

    def _taken(self, reader: ColumnReader, group: int, rows: RowNumbers) -> dict[str, pa.Array]:
        """The wanted columns there; of a file, only the row groups that have such rows are read, if they are few."""
        names = [field.name for field in self._wanted]
        groups = np.searchsorted(reader.footer.starts, rows, "right") - 1 if group == WHOLE else rows[:0]
        hit = np.unique(groups)
        if group != WHOLE or _WORTH_WHOLE * len(hit) > len(reader.footer.rows) or reader.in_memory(names):
            columns = {name: column.take(rows) for name, column in reader.read(group, self._wanted).items()}
        else:
            parts = [
                (reader.read(one, self._wanted), rows[groups == one] - reader.footer.starts[one])
                for one in hit.tolist()
            ]
            present = [name for name in names if name in reader.footer.names]
            columns = {name: pa.concat_arrays([read[name].take(there) for read, there in parts]) for name in present}
        missing = {f.name: pa.nulls(len(rows), f.type) for f in self._wanted if f.name not in columns}
        return {**columns, **missing}


def _matching_rows(read: Mapping[str, KeptColumn], tests: Sequence[_Test], count: int) -> RowNumbers:
    """Where all tests hold among so many rows: first what is found fastest, the others only there."""
    rows: RowNumbers | None = None
    for test in sorted(tests, key=lambda one: (one.keys is None, not read[one.condition.column].in_order)):
        column = read[test.condition.column]
        if rows is not None:
            rows = rows[test.condition.holds(column.take(rows)).to_numpy(zero_copy_only=False)]
            continue
        rows = column.rows_with(test.keys) if test.keys is not None else None
        if rows is None:
            rows = column.rows_where(test.condition)
    return rows if rows is not None else np.arange(count)
