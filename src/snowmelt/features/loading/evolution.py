"""ENABLE_SCHEMA_EVOLUTION: a COPY by column name adds the columns that its files bring.

The table changes in the transaction that loads the rows: both are there afterwards, or neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.types import DataType
from snowmelt.features.loading.compression import UnreadableError
from snowmelt.features.loading.file_columns import columns_of
from snowmelt.features.loading.file_formats import CsvFormat
from snowmelt.features.loading.requests import CopyRequest, matching
from snowmelt.features.loading.stage_folders import StagedFile
from snowmelt.features.relations.alter_tables import alter_columns
from snowmelt.runtime.new_columns import common_type, declared_type
from snowmelt.runtime.rights.enforcement import may_evolve
from snowmelt.sql.statements.alter_table import AddColumn, DropNotNull
from snowmelt.sql.statements.base import Action
from snowmelt.sql.statements.columns import ColumnSpec
from snowmelt.sql.tokens import SqlText
from snowmelt.state.model import CatalogObject, Column, TableDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

MOST_COLUMNS = 100
"""The most columns that one COPY may add."""


@dataclass(slots=True)
class _Found:
    """What the files have and the table does not, and the other way round."""

    added: dict[str, DataType] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)


def evolved(run: Run, table: CatalogObject, request: CopyRequest, files: Sequence[StagedFile]) -> CatalogObject:
    """The table with the columns of the files. The caller holds it for writing.

    Whoever may not evolve it loads what it has columns for, as in Snowflake.
    """
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    if request.match is None or request.listed or not may_evolve(run, table):
        return table
    found = _Found()
    for file in files:
        try:
            _compare(definition, request, columns_of(run, request, file), found)
        except UnreadableError:
            # The load meets the same file, and ON_ERROR says what becomes of it.
            continue
    actions = list(_actions(definition, found))
    if not actions:
        return table
    _check(request, found)
    return table.model_copy(update={"definition": alter_columns(run, table, actions)})


def _compare(definition: TableDefinition, request: CopyRequest, columns: dict[str, DataType], found: _Found) -> None:
    names = list(columns)
    taken = {matching(column.name, names, request.match) for column in definition.columns}
    for index, (name, type_) in enumerate(columns.items()):
        if index not in taken:
            new = name.upper() if request.match == "CASE_INSENSITIVE" else name
            found.added[new] = common_type(found.added.get(new), declared_type(type_))
    for column in definition.columns:
        if _must_be_given(column) and matching(column.name, names, request.match) is None:
            found.missing.add(column.name)


def _must_be_given(column: Column) -> bool:
    """COPY by name loads NULL where a file has no such column, whatever its default."""
    return not column.nullable and column.identity is None


def _actions(definition: TableDefinition, found: _Found) -> Iterator[Action]:
    for name, type_ in found.added.items():
        yield AddColumn(ColumnSpec(name, SqlText(str(type_))))
    yield from (DropNotNull(column.name) for column in definition.columns if column.name in found.missing)


def _check(request: CopyRequest, found: _Found) -> None:
    if len(found.added) > MOST_COLUMNS:
        raise errors.compilation(
            "001492", "42601",
            f"Schema evolution adds at most {MOST_COLUMNS} columns in one COPY; these files bring {len(found.added)}.",
            hint="Add the columns with ALTER TABLE … ADD COLUMN, or load the files in several COPY statements.",
        )  # fmt: skip
    if found.added and isinstance(request.format, CsvFormat) and request.format.error_on_count:
        raise errors.compilation(
            "001492", "42601",
            f"The files have columns that the table lacks: {', '.join(found.added)}. Schema evolution with CSV files "
            "needs ERROR_ON_COLUMN_COUNT_MISMATCH = FALSE in the file format.",
        )  # fmt: skip
