"""Columns that a source is known to have, and what happens when it has others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from snowmelt.core.errors import SnowmeltError
from snowmelt.extract_load.columns import is_documents, values_of
from snowmelt.extract_load.drift import ColumnChange, Field, SeenColumns
from snowmelt.extract_load.fitting import column_fits
from snowmelt.extract_load.kinds import fits, is_time, type_of
from snowmelt.extract_load.records import Record, RejectedRecordError, Rows
from snowmelt.extract_load.transforming import Chain, Transformed, Transformer


class SchemaPolicy(StrEnum):
    """For columns that are new, missing, or hold another type."""

    EVOLVE = "evolve"
    """New columns go on; missing ones are NULL; a value of another type goes on as `<column>__<type>`."""
    FREEZE = "freeze"
    """The run stops, before anything of the batch is loaded."""
    DISCARD_ROW = "discard_row"
    """The record becomes a dead letter."""
    DISCARD_VALUE = "discard_value"
    """The record goes on without the value; how many were left out is counted and logged."""


class SchemaDriftError(SnowmeltError):
    """The source has changed, and the policy is to stop."""

    def __init__(self, problem: str) -> None:
        super().__init__(
            "370021", "22000", f"The source is not as its columns say: {problem}.",
            hint="Change the columns in the configuration, or choose evolve, discard_row or discard_value.",
        )  # fmt: skip


class FollowSchema(Transformer):
    """Holds records to the columns that are known. A NULL where there must be none is a dead letter by any policy."""

    def __init__(self, fields: Sequence[Field], policy: SchemaPolicy = SchemaPolicy.EVOLVE) -> None:
        self.fields = {field.name.lower(): field for field in fields}
        self.policy = policy
        self.discarded = 0
        """Values that were left out."""
        self.seen = SeenColumns(fields)
        """How the columns that came differ from those that are known, under every policy."""

    def transform(self, record: Record) -> Record | None:
        made: Record = {}
        self.seen.records(record)
        for name, value in record.items():
            field = self.fields.get(name.lower())
            if field is None:
                self._take_new(made, name, value)
            elif value is not None and not fits(value, field.type):
                self._take_retyped(made, name, value, field)
            else:
                made[name] = value
        self._complete(made, {name.lower() for name in record})
        return made

    def transform_rows(self, rows: Rows) -> Transformed:
        """Checks whole columns if it is sure that all their values fit, else record by record."""
        if not self._by_columns(FollowSchema, rows) or not len(rows) or not self._is_as_known(rows.table):
            return super().transform_rows(rows)
        table = rows.table
        self.seen.records(table.column_names, table.num_rows)
        new = [name for name in table.column_names if name.lower() not in self.fields]
        for name in new:
            self.seen.new(name, _sample(table, name), table.num_rows)
        if self.policy is SchemaPolicy.DISCARD_VALUE:
            self.discarded += len(new) * table.num_rows
            table = table.drop_columns(new)
        rejected = self._without_value(table)
        if not rejected:
            return Transformed(Rows(table))
        kept = [index for index in range(table.num_rows) if index not in rejected]
        return Transformed(Rows(table).take(kept), kept, sorted(rejected.items()))

    def _is_as_known(self, table: pa.Table) -> bool:
        """Whether nothing is wrong but, perhaps, values that are NULL and columns that the policy lets pass."""
        strict = self.policy in (SchemaPolicy.FREEZE, SchemaPolicy.DISCARD_ROW)
        given = {name.lower() for name in table.column_names}
        if len(given) < table.num_columns or (strict and given != self.fields.keys()):
            return False
        return all(
            column_fits(table.column(index), field, known.type)
            for index, field in enumerate(table.schema)
            if (known := self.fields.get(field.name.lower())) is not None
        )

    def _without_value(self, table: pa.Table) -> dict[int, str]:
        """Rows that lack a value which they must have, with the reason."""
        columns = {name.lower(): table.column(index) for index, name in enumerate(table.column_names)}
        found: dict[int, str] = {}
        for name, field in self.fields.items():
            if not field.nullable:
                column = columns.get(name, pa.nulls(table.num_rows))
                for index in pc.indices_nonzero(pc.is_null(column)).to_pylist() if column.null_count else ():
                    found.setdefault(index, f"column {field.name} has no value")
        return found

    def _take_new(self, made: Record, name: str, value: Any) -> None:
        self.seen.new(name, value)
        if self._drifts(f"column {name} is new"):
            made[name] = value

    def _take_retyped(self, made: Record, name: str, value: Any, field: Field) -> None:
        kind = type_of(value)
        self.seen.retyped(field, kind)
        if self._drifts(f"column {name} holds {kind} instead of {field.type}"):
            made[f"{name}__{kind.partition('(')[0].lower()}"] = value
        made[name] = None

    def _complete(self, made: Record, given: set[str]) -> None:
        values = {name.lower(): value for name, value in made.items()}
        for name, field in self.fields.items():
            if name not in given and self.policy in (SchemaPolicy.FREEZE, SchemaPolicy.DISCARD_ROW):
                self._drifts(f"column {field.name} is missing")
            if values.get(name) is None and not field.nullable:
                raise RejectedRecordError(f"column {field.name} has no value")

    def _drifts(self, problem: str) -> bool:
        """Whether the value goes on."""
        match self.policy:
            case SchemaPolicy.EVOLVE:
                return True
            case SchemaPolicy.FREEZE:
                raise SchemaDriftError(problem)
            case SchemaPolicy.DISCARD_ROW:
                raise RejectedRecordError(problem)
            case SchemaPolicy.DISCARD_VALUE:
                self.discarded += 1
                return False


def discarded_values(transformer: Transformer | None) -> int:
    """How many values the schemas in a chain have left out."""
    if isinstance(transformer, Chain):
        return sum(discarded_values(step) for step in transformer.steps)
    return transformer.discarded if isinstance(transformer, FollowSchema) else 0


def column_changes(transformer: Transformer | None) -> list[ColumnChange]:
    """How the columns that came differ from those that the schemas in a chain know."""
    if isinstance(transformer, Chain):
        return [change for step in transformer.steps for change in column_changes(step)]
    return transformer.seen.changes() if isinstance(transformer, FollowSchema) else []


def saw_records(transformer: Transformer | None) -> bool:
    """Whether a schema in a chain has seen any record: only then something is known of the source's columns."""
    if isinstance(transformer, Chain):
        return any(map(saw_records, transformer.steps))
    return isinstance(transformer, FollowSchema) and transformer.seen.any


def _sample(table: pa.Table, name: str) -> Any:
    """A value of the column, if there is one that is not NULL."""
    index = table.column_names.index(name)
    values = table.column(index).drop_null()[:1]
    return next(iter(values_of(values, table.schema.field(index))), None)


# -- columns that nobody described ------------------------------------------------------------------------------------


def fields_of(rows: Rows) -> list[Field]:
    """The kinds of columns: of a table by its types, of records by their values."""
    if not rows.columnar:
        return infer_fields(rows.records)
    return [Field(field.name, _sql_type(field)) for field in rows.table.schema]


def _sql_type(field: pa.Field) -> str:
    kind = field.type
    if is_documents(field) or pa.types.is_nested(kind):
        return "VARIANT"
    if pa.types.is_decimal(kind):
        return f"NUMBER({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP_NTZ" if kind.tz is None else "TIMESTAMP_TZ"
    return next((name for is_kind, name in _SQL_TYPES if is_kind(kind)), "VARCHAR")


def infer_fields(records: Iterable[Record]) -> list[Field]:
    """Columns of records that nobody described: text that is a time in all of them is a time, mixed types VARIANT."""
    kinds: dict[str, set[str]] = {}
    for record in records:
        for name, value in record.items():
            found = kinds.setdefault(name, set())
            if value is not None:
                found.add(_narrow(value))
    return [Field(name, _common(found)) for name, found in kinds.items()]


def _narrow(value: Any) -> str:
    if isinstance(value, str):
        return next((kind for kind in ("DATE", "TIMESTAMP_NTZ", "TIMESTAMP_TZ") if is_time(value, kind)), "VARCHAR")
    return type_of(value)


def _common(kinds: set[str]) -> str:
    if not kinds:
        return "VARCHAR"
    if len(kinds) == 1:
        return next(iter(kinds))
    if kinds == {"NUMBER(38,0)", "FLOAT"}:
        return "FLOAT"
    if kinds <= {"VARCHAR", "DATE", "TIMESTAMP_NTZ", "TIMESTAMP_TZ"}:
        return "TIMESTAMP_NTZ" if kinds == {"DATE", "TIMESTAMP_NTZ"} else "VARCHAR"
    return "VARIANT"


_SQL_TYPES = (
    (pa.types.is_integer, "NUMBER(38,0)"), (pa.types.is_floating, "FLOAT"), (pa.types.is_boolean, "BOOLEAN"),
    (pa.types.is_date32, "DATE"), (pa.types.is_time, "TIME"), (pa.types.is_binary, "BINARY"),
)  # fmt: skip
