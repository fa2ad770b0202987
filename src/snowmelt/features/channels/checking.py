"""Rows as a writer sent them become rows of the table, by the conversion that COPY INTO has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from snowmelt.core import errors, types
from snowmelt.core.types import DataType, Kind
from snowmelt.features.loading.batches import SegmentBatch as RecordBatch
from snowmelt.features.loading.compression import UnreadableError
from snowmelt.features.loading.conversion import Converter, Failure, too_long
from snowmelt.features.loading.records import Segment, SourceField, nth
from snowmelt.features.loading.row_queries import ColumnMapping
from snowmelt.features.loading.typed_records import in_query_form, type_of
from snowmelt.ingest.channels import errors as channel_errors
from snowmelt.ingest.channels.ports import BatchPart, ChannelBatch
from snowmelt.ingest.channels.rows import DOCUMENTS
from snowmelt.runtime.pii_at_ingest import HIDDEN, Protection
from snowmelt.state.model import CatalogObject, Column, TableDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_LIKE_JSON = (Kind.NUMBER, Kind.FLOAT, Kind.BOOLEAN)
"""Types whose values look as text as they do in JSON."""
_MISSING = ("100072", "22000", "NULL result in a non-nullable column")


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A row that can't go into the table, and why."""

    row: int
    """Its index in the batch, from 0."""
    column: str | None
    code: str
    sqlstate: str
    message: str
    offset_token: str | None
    data: Mapping[str, Any]
    """As it was sent."""


@dataclass(frozen=True, slots=True)
class CheckedRows:
    tables: tuple[pa.Table, ...]
    """Good rows in stored form, without the columns that are numbered when they are written."""
    rejected: tuple[RejectedRow, ...]

    @property
    def rows(self) -> int:
        return sum(table.num_rows for table in self.tables)

    @property
    def bytes(self) -> int:
        return sum(table.nbytes for table in self.tables)


def check(run: Run, table: CatalogObject, batch: ChannelBatch) -> CheckedRows:
    """Converts the rows of a batch. A row that does not fit is rejected with a reason, never an exception.

    Raises only for what is no row of Snowflake's values at all.
    """
    tables: list[pa.Table] = []
    rejected: list[RejectedRow] = []
    first = 0
    for part in batch.parts:
        checker = _PartChecker(run, table, part)
        try:
            converted, failures = checker.converted()
        except UnreadableError as unreadable:
            raise unreadable.error from None
        except (pa.ArrowException, OverflowError) as error:
            raise channel_errors.unreadable(str(error)) from None
        if converted is not None and converted.num_rows:
            tables.append(converted)
        rejected += [checker.rejected(failure, first, batch.end_token) for failure in failures]
        first += part.rows.num_rows
    protection = Protection.of(run.account, table)
    if protection:
        rejected = [_protected(item, protection) for item in rejected]
    return CheckedRows(tuple(tables), tuple(sorted(rejected, key=lambda item: item.row)))


def _protected(item: RejectedRow, protection: Protection) -> RejectedRow:
    """Rejected rows are kept, too, and messages quote values; what is about a whole row names columns alone."""
    quotes = item.column is not None and item.code != _MISSING[0]
    known = set(protection.columns)
    return replace(
        item,
        data=protection.document(item.data, lambda name: match_column(name, known)),
        message=HIDDEN if quotes else item.message,
    )


def unknown_columns(definition: TableDefinition, part: BatchPart) -> list[str]:
    """The columns, as the catalog would call them, that a part has and the table lacks."""
    known = {column.name for column in definition.columns}
    return [folded(name) for name in part.rows.column_names if match_column(name, known) is None]


def source_type(field: pa.Field) -> DataType:
    """The Snowflake type of the values in a column that was sent."""
    is_document = pa.types.is_string(field.type) and DOCUMENTS.items() <= (field.metadata or {}).items()
    return types.VARIANT if is_document else type_of(field.type)


def folded(name: str) -> str:
    """A column's name as the catalog has it: upper case, unless it stands in double quotes."""
    quoted = len(name) > 2 and name.startswith('"') and name.endswith('"')
    return name[1:-1].replace('""', '"') if quoted else name.upper()


def match_column(name: str, known: set[str]) -> str | None:
    """The table's column that a writer's name means."""
    if folded(name) in known:
        return folded(name)
    return name if name in known else None


class _PartChecker:
    def __init__(self, run: Run, table: CatalogObject, part: BatchPart) -> None:
        assert isinstance(table.definition, TableDefinition)
        self._run = run
        self._table = table
        self._columns = table.definition.columns
        self._part = part
        known = {column.name for column in self._columns}
        self._indexes: dict[str, int] = {}
        self._extra: list[str] = []
        self._repeated: list[str] = []
        for index, name in enumerate(part.rows.column_names):
            found = match_column(name, known)
            if found is None:
                self._extra.append(folded(name))
            elif found in self._indexes:
                self._repeated.append(found)
            else:
                self._indexes[found] = index

    def converted(self) -> tuple[pa.Table | None, Sequence[Failure]]:
        count = self._part.rows.num_rows
        whole = self._refusal()
        if whole is not None:
            return None, [Failure(row, *whole) for row in range(count)]
        fields, data = self._fields()
        failures, data, positions = self._without_certain(data)
        plan = ColumnMapping(fields, direct=self._direct, reads_json=True, encodes_documents=True)
        found = Converter(self._run, self._table, plan).convert(_one_batch(data), {})
        at = positions.to_pylist() if positions is not None and found.failures else None
        late = [
            Failure(at[f.row] if at is not None else f.row, f.column, f.code, f.sqlstate, f.message)
            for f in found.failures
        ]
        return found.rows, sorted([*failures, *late], key=lambda failure: failure.row)

    def rejected(self, failure: Failure, first: int, end_token: str | None) -> RejectedRow:
        data = self._part.rows.slice(failure.row, 1).to_pylist()[0]
        own = self._part.tokens[failure.row] if self._part.tokens is not None else None
        column = self._columns[failure.column].name if failure.column is not None else None
        index = self._part.positions[failure.row] if self._part.positions is not None else first + failure.row
        return RejectedRow(
            index, column, failure.code, failure.sqlstate, failure.message,
            own if own is not None else end_token, data,
        )  # fmt: skip

    # -- what is wrong with all rows ------------------------------------------------------------------------------

    def _refusal(self) -> tuple[int | None, str, str, str] | None:
        """Why no row of the part fits, if so: the column, the code, the SQLSTATE and the message."""
        if self._extra:
            return None, *_problem(channel_errors.extra_columns(self._extra))
        if self._repeated:
            return None, *_problem(errors.duplicate_column(self._repeated[0]))
        for index, column in enumerate(self._columns):
            if column.name not in self._indexes and is_required(column):
                return index, *_MISSING
        return None

    # -- what is wrong with single rows ---------------------------------------------------------------------------

    @property
    def _direct(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self._indexes)}

    def _fields(self) -> tuple[tuple[SourceField, ...], pa.Table]:
        rows = self._part.rows
        fields: list[SourceField] = []
        columns: list[Any] = []
        wanted = {column.name: column.type for column in self._columns}
        for name, index in self._indexes.items():
            type_, values = source_type(rows.schema.field(index)), rows.column(index)
            if wanted[name].is_semi_structured and type_.kind in _LIKE_JSON:
                type_, values = types.VARIANT, values.cast(pa.string())
            fields.append(SourceField(name, type_))
            is_json = type_.kind is Kind.VARIANT and values.type == pa.string()
            # An object is encoded as it is, if the column takes objects.
            is_object = pa.types.is_struct(values.type) and wanted[name].is_semi_structured
            columns.append(values if is_json or is_object else in_query_form(values, type_))
        if not columns:
            # Every column gets its default; the rows are there all the same.
            fields, columns = [SourceField("", type_of(pa.null()))], [pa.nulls(rows.num_rows, pa.string())]
        return tuple(fields), pa.table(columns, names=[nth(index) for index in range(len(columns))])

    def _without_certain(self, data: pa.Table) -> tuple[list[Failure], pa.Table, Any]:
        """Told apart here, since it needs no cast and so no Spark: NULL where the table takes none, text too long.

        Also the rows that are left, and their positions in the part; None when these are all.
        """
        bad: Any = None
        failures: dict[int, Failure] = {}
        for index, column in enumerate(self._columns):
            source = self._direct.get(column.name)
            if source is None:
                continue
            values = data.column(source)
            for mask, failed in ((_missing(values, column), _null_at), (_overlong(values, column), _long_at)):
                if mask is None:
                    continue
                for row in pc.indices_nonzero(mask).to_pylist():
                    failures.setdefault(row, failed(row, index, column, values))
                bad = mask if bad is None else pc.or_(bad, mask)
        if bad is None:
            return [], data, None
        kept = pc.indices_nonzero(pc.invert(bad))
        return list(failures.values()), data.take(kept), kept


def _missing(values: Any, column: Column) -> Any:
    return pc.is_null(values) if not column.nullable and values.null_count else None


def _null_at(row: int, index: int, _column: Column, _values: Any) -> Failure:
    return Failure(row, index, *_MISSING)


def _overlong(values: Any, column: Column) -> Any:
    length = column.type.length or types.MAX_VARCHAR
    if column.type.kind is not Kind.VARCHAR or length >= types.MAX_VARCHAR or values.type != pa.string():
        return None
    mask = pc.fill_null(pc.greater(pc.utf8_length(values), length), False)
    return mask if pc.any(mask).as_py() else None


def _long_at(row: int, index: int, column: Column, values: Any) -> Failure:
    return too_long(row, index, column.type.length, values[row].as_py())


def is_required(column: Column) -> bool:
    """Whether each row has to give a value."""
    return not column.nullable and column.default is None and column.identity is None


def _problem(error: errors.SnowmeltError) -> tuple[str, str, str]:
    return error.code, error.sqlstate, error.message


def _one_batch(data: pa.Table) -> RecordBatch:
    batch = RecordBatch()
    batch.add(0, Segment(data, range(data.num_rows), data.num_rows, bytes=data.nbytes))
    return batch
