"""Records become rows of the table: in Arrow where nothing is in doubt, through the SQL casts elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from snowmelt.core.errors import SnowmeltError
from snowmelt.features.loading import arrow_casts
from snowmelt.features.loading.attempts import TextRules
from snowmelt.features.loading.batches import SegmentBatch
from snowmelt.features.loading.row_queries import ROW, ColumnMapping, RowQueries
from snowmelt.features.loading.typed_records import object_texts
from snowmelt.runtime import constants
from snowmelt.runtime.defaults import sequence_default
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.state.model import CatalogObject, Column, TableDefinition
from snowmelt.storage.schema import arrow_schema, as_type

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_ERROR = re.compile(r"SNOWMELT:([0-9]{6}):([0-9A-Z]{5}):(.*)\Z", re.DOTALL)
_PREFIX = re.compile(r"DML operation to table .+? failed on column .+? with error: ")
_TOO_LONG = re.compile(r"String '(.*)' is too long and would be truncated\Z", re.DOTALL)
_FEW = 5_000
"""So few doubtful rows are looked at for errors at once; of many, only when one of them fails."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a row can't be loaded: the value of its first bad column."""

    row: int
    column: int | None
    """The table's column, from 0. None if the whole row is refused."""
    code: str
    sqlstate: str
    message: str


@dataclass(frozen=True, slots=True)
class Converted:
    rows: pa.Table
    """In stored form, without the columns that are numbered."""
    origins: Any
    """The batch row that each row came from."""
    failures: Sequence[Failure] = ()


class Converter:
    """Converts the batches of one statement."""

    def __init__(self, run: Run, table: CatalogObject, plan: ColumnMapping) -> None:
        self._run = run
        self._table = table
        assert isinstance(table.definition, TableDefinition)
        self._definition = table.definition
        self._plan = plan
        context = run.context
        parameters = {**context.parameters, **plan.parameters}
        self._rules = TextRules(parameters, context.time_zone, plan.truncate, plan.reads_json, plan.encodes_documents)
        self._columns = [column for column in self._definition.columns if column not in self.numbered]
        self._queries = RowQueries(run, table, plan, self._columns)
        self._schema = arrow_schema([column.model_copy(update={"nullable": True}) for column in self._columns])

    @cached_property
    def numbered(self) -> tuple[Column, ...]:
        """Columns that get the next numbers of AUTOINCREMENT or of a sequence when the rows are written."""
        return tuple(
            column
            for column in self._definition.columns
            if column.name not in self._plan.given
            and (
                column.identity is not None
                or (column.default is not None and sequence_default(self._run, column.default) is not None)
            )
        )

    def convert(self, batch: SegmentBatch, metadata: Mapping[str, Any]) -> Converted:
        """The rows of a batch, and why some can't be loaded. `metadata` are columns that a transformation reads."""
        data = batch.table()
        arrays, doubt = self._attempts(data)
        if arrays is None:
            return self._by_spark(data, metadata, None)
        if doubt is None:
            return Converted(self._as_table(arrays), _numbers(data.num_rows))
        sure = pc.indices_nonzero(pc.invert(doubt)).cast(pa.int64())
        unsure = pc.indices_nonzero(doubt).cast(pa.int64())
        slow = self._by_spark(data.take(unsure), {k: v.take(unsure) for k, v in metadata.items()}, unsure)
        fast = self._as_table([array.take(sure) for array in arrays])
        rows = pa.concat_tables([fast, slow.rows]) if fast.num_rows else slow.rows
        origins = pa.concat_arrays([_flat(sure), _flat(slow.origins)])
        return Converted(rows, origins, slow.failures)

    def nothing(self) -> Converted:
        return Converted(self._schema.empty_table(), pa.array([], pa.int64()))

    # -- in Arrow -------------------------------------------------------------------------------------------------

    def _attempts(self, data: pa.Table) -> tuple[list[Any] | None, Any]:
        """Every column in stored form and a mask of the rows in doubt; no columns when only Spark will do."""
        if self._plan.query is not None or self._plan.expressions or self._definition.checks:
            return None, None
        arrays: list[Any] = []
        doubt: Any = None
        for column in self._columns:
            if column.name not in self._plan.direct:
                constant = self._constants[column.name]
                if constant is None:
                    return None, None
                arrays.append(pa.repeat(constant, data.num_rows))
                continue
            index = self._plan.direct[column.name]
            tried = arrow_casts.attempt(data.column(index), self._plan.fields[index].type, column, self._rules)
            if tried is None:
                return None, None
            arrays.append(tried.values)
            if tried.doubt is not None:
                doubt = tried.doubt if doubt is None else pc.or_(doubt, tried.doubt)
        return arrays, doubt

    @cached_property
    def _constants(self) -> dict[str, Any]:
        """The columns that no field fills: an Arrow scalar, or None where every row needs a value of its own."""
        return {column.name: self._constant(column) for column in self._columns if column.name not in self._plan.given}

    def _constant(self, column: Column) -> Any:
        type_ = self._schema.field(column.name).type
        if column.default is None:
            return pa.scalar(None, type_) if column.nullable else None
        with self._queries.binder() as binder:
            bound = binder.bind(parse_snowflake(column.default))
            folded = constants.fold(bound)
            if folded is constants.UNKNOWN:
                folded = constants.instant(bound)
            if folded is not constants.UNKNOWN and not isinstance(folded, bool):
                tried = arrow_casts.attempt(pa.array([folded]), bound.type, column, self._rules)
                if tried is not None and tried.doubt is None:
                    return tried.values[0]
            return None if bound.volatile else self._queries.evaluated(binder, column, bound)

    def _as_table(self, arrays: Sequence[Any]) -> pa.Table:
        columns = [
            pa.chunked_array([as_type(chunk, entry.type) for chunk in _chunks(array)], entry.type)
            for array, entry in zip(arrays, self._schema, strict=True)
        ]
        return pa.table(columns, schema=self._schema)

    # -- through Spark --------------------------------------------------------------------------------------------

    def _by_spark(self, data: pa.Table, metadata: Mapping[str, Any], numbers: Any) -> Converted:
        """Converts by the SQL casts. `numbers` are the rows' numbers in the batch, if they are not all of it."""
        if data.num_rows == 0:
            return self.nothing()
        rows = _flat(numbers) if numbers is not None else _numbers(data.num_rows)
        given = {nth: _as_text(data.column(nth)) for nth in data.column_names} | dict(metadata) | {ROW: rows}
        if data.num_rows > _FEW:
            try:
                found = self._queries.rows(pa.table(given))
            except SnowmeltError as error:
                if not _is_about_values(error):
                    raise
            else:
                return self._ordered(found)
        found = self._queries.rows_and_errors(pa.table(given))
        return self._separated(found)

    def _ordered(self, found: pa.Table) -> Converted:
        return Converted(self._as_table([found.column(c.name) for c in self._columns]), _flat(found.column(ROW)))

    def _separated(self, found: pa.Table) -> Converted:
        """Good rows, and the first error of each of the others."""
        good = pc.is_null(found.column(self._queries.first_error(found)))
        failures = [self._failure(row, errors) for row, errors in self._queries.errors(found.filter(pc.invert(good)))]
        kept = self._ordered(found.filter(good))
        return Converted(kept.rows, kept.origins, sorted(failures, key=lambda failure: failure.row))

    def _failure(self, row: int, error: tuple[int | None, str]) -> Failure:
        column, text = error
        match = _ERROR.search(text)
        code, sqlstate, message = match.groups() if match is not None else ("100000", "22000", text)
        message = _PREFIX.sub("", message)
        long = _TOO_LONG.match(message)
        if long is not None and column is not None:
            return too_long(row, column, self._definition.columns[column].type.length, long[1])
        return Failure(row, column, code, sqlstate, message)


def too_long(row: int, column: int, length: int | None, text: str) -> Failure:
    message = f"User character length limit ({length}) exceeded by string '{text}'"
    return Failure(row, column, "100074", "54000", message)


def _is_about_values(error: SnowmeltError) -> bool:
    """Whether the error may come from a value that the split query can report; a compilation error can't."""
    return error.code.startswith("100")


def _numbers(count: int) -> Any:
    """0, 1, 2, …: Arrow takes its time over a Python range."""
    return pc.subtract(pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), count)), 1)


def _as_text(column: Any) -> Any:
    """Objects as JSON, which is how queries take them."""
    return object_texts(column) if pa.types.is_struct(column.type) else column


def _chunks(array: Any) -> list[Any]:
    return array.chunks if isinstance(array, pa.ChunkedArray) else [array]


def _flat(array: Any) -> Any:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
