"""What a COPY INTO statement asks for: from where, in which format, and which field goes to which column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.features.loading import stage_folders
from snowmelt.features.loading.copy_statements import CopyIntoTable
from snowmelt.features.loading.csv_records import CsvLayout
from snowmelt.features.loading.file_formats import CsvFormat, FileFormat, effective, named
from snowmelt.features.loading.records import SourceField, TargetNames, nth
from snowmelt.features.loading.row_queries import ColumnMapping
from snowmelt.features.loading.stage_folders import StageFolder
from snowmelt.features.loading.stage_statements import StageLocation
from snowmelt.features.loading.transformation import CopyTransformation, understood
from snowmelt.sql.dialect import string
from snowmelt.state.model import CatalogObject, Column, TableDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


@dataclass(frozen=True, slots=True)
class CopyRequest:
    """A COPY INTO, understood."""

    stage: StageFolder
    format: FileFormat
    pattern: str | None
    columns: tuple[Column, ...]
    """The table's columns, in the order of the files' fields."""
    names: TargetNames
    transformation: CopyTransformation | None
    match: str | None
    """CASE_SENSITIVE or CASE_INSENSITIVE: fields go to the columns of their name."""
    truncate: bool
    listed: bool
    """The statement names the columns."""

    # -- CSV ------------------------------------------------------------------------------------------------------

    @property
    def csv(self) -> CsvLayout | None:
        """How CSV records are read; None for other formats."""
        if not isinstance(self.format, CsvFormat):
            return None
        if self.transformation is not None:
            return CsvLayout(self.format, self.transformation.width, False, self.names)
        if self.match is not None:
            return CsvLayout(self.format, len(self.columns), False, self.names, header=self._header)
        checked = self.format.error_on_count and not self.listed
        return CsvLayout(self.format, len(self.columns), checked, self.names)

    def _header(self, found: list[str]) -> Sequence[int | None]:
        return [matching(column.name, found, self.match) for column in self.columns]

    # -- plans ----------------------------------------------------------------------------------------------------

    def plan(self, fields: tuple[SourceField, ...]) -> ColumnMapping:
        """How records with these fields become rows."""
        parameters, truncate = self.format.parameters, self.truncate
        columns = tuple(column.name for column in self.columns)
        typed = self.format.type in ("PARQUET", "AVRO")
        if self.transformation is not None:
            query = self.transformation.text
            return ColumnMapping(
                fields, parameters=parameters, truncate=truncate, query=query, whole=typed, columns=columns
            )
        if self.format.type == "CSV":
            direct = {name: index for index, name in enumerate(columns)}
            return ColumnMapping(fields, direct=direct, parameters=parameters, truncate=truncate, reads_json=True)
        if self.match is None:
            if typed:
                return ColumnMapping(fields, query="SELECT $1 FROM @staged", whole=True, columns=columns)
            return ColumnMapping(fields, direct={columns[0]: 0}, parameters=parameters)
        if not typed:
            expressions = {column.name: self._key(column) for column in self.columns}
            return ColumnMapping(fields, expressions=expressions, parameters=parameters, truncate=truncate)
        found = [entry.name for entry in fields]
        indexes = {column.name: matching(column.name, found, self.match) for column in self.columns}
        direct = {name: index for name, index in indexes.items() if index is not None}
        return ColumnMapping(fields, direct=direct, parameters=parameters, truncate=truncate)

    def _key(self, column: Column) -> exp.Expr:
        """The value of the document's key that has the column's name."""
        function = "GET" if self.match == "CASE_SENSITIVE" else "GET_IGNORE_CASE"
        value: exp.Expr = exp.Anonymous(this=function, expressions=[exp.column(nth(0)), string(column.name)])
        if column.type.is_semi_structured or not (self.format.null_if or self.format.trim_space):
            return value
        text: exp.Expr = exp.Cast(this=value, to=exp.DataType.build("VARCHAR"))
        if self.format.trim_space:
            text = exp.Anonymous(this="TRIM", expressions=[text])
        for word in self.format.null_if:
            text = exp.Anonymous(this="NULLIF", expressions=[text, string(word)])
        return text


def matching(name: str, found: Sequence[str], match: str | None) -> int | None:
    """Which of a file's fields goes to a column."""
    if name in found:
        return found.index(name)
    if match != "CASE_INSENSITIVE":
        return None
    return next((index for index, other in enumerate(found) if other.upper() == name.upper()), None)


def understand(run: Run, table: CatalogObject, statement: CopyIntoTable) -> CopyRequest:
    """Raises for options that contradict each other or the table."""
    options = statement.options
    transformation = understood(statement.query) if statement.query is not None else None
    location = statement.source or (transformation.location if transformation is not None else None)
    stage = stage_folders.resolve(run, location or StageLocation("TABLE", statement.target))
    if transformation is not None and transformation.format_name is not None and options.file_format is None:
        format_ = named(run, transformation.format_name)
    else:
        format_ = effective(run, options.file_format, stage.format)
    pattern = options.pattern
    if pattern is None and transformation is not None:
        pattern = transformation.pattern
    match = None if options.match_by_column_name == "NONE" else options.match_by_column_name
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    columns = _columns(definition, statement.columns)
    request = CopyRequest(
        stage, format_, pattern, columns,
        TargetNames(table.name.name, tuple(column.name for column in columns)), transformation, match,
        truncate=bool(options.truncatecolumns) or options.enforce_length is False, listed=statement.columns is not None,
    )  # fmt: skip
    _check(request, statement)
    return request


def _columns(definition: TableDefinition, names: tuple[str, ...] | None) -> tuple[Column, ...]:
    if names is None:
        return definition.columns
    known = {column.name: column for column in definition.columns}
    for name in names:
        if name not in known:
            raise errors.invalid_identifier(quote(name), 1, 0)
        if names.count(name) > 1:
            raise errors.duplicate_column(name)
    return tuple(known[name] for name in names)


def _check(request: CopyRequest, statement: CopyIntoTable) -> None:
    format_, match = request.format, request.match
    if match is not None and request.transformation is not None:
        raise errors.compilation("001492", "42601", "conflicting options MATCH_BY_COLUMN_NAME and a transformation")
    if match is not None and isinstance(format_, CsvFormat) and not format_.parse_header:
        raise errors.compilation(
            "001492", "42601", "MATCH_BY_COLUMN_NAME needs PARSE_HEADER = TRUE in a file format of type CSV."
        )
    if statement.options.validation_mode is not None and request.transformation is not None:
        raise errors.compilation("001492", "42601", "VALIDATION_MODE can't be used with a transformation in COPY INTO")
    if format_.type == "CSV" or match is not None or request.transformation is not None:
        return
    if len(request.columns) != 1 or not request.columns[0].type.is_semi_structured:
        raise errors.compilation(
            "002019", "0A000",
            f"{format_.type} file format can produce one and only one column of type variant, object, or array. Load "
            "data into separate columns using the MATCH_BY_COLUMN_NAME copy option or copy with transformation.",
        )  # fmt: skip
