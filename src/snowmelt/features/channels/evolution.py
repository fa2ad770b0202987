"""Channels that add to the table the columns that their rows bring, and let columns be NULL that they leave out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import structlog

from snowmelt.core import errors
from snowmelt.core.types import DataType
from snowmelt.features.channels.checking import folded, is_required, match_column, source_type, unknown_columns
from snowmelt.ingest.channels.ports import BatchPart, ChannelBatch
from snowmelt.runtime.metadata.ddl_words import object_name
from snowmelt.runtime.new_columns import common_type, declared_type
from snowmelt.runtime.rights.enforcement import found_object, require
from snowmelt.runtime.rights.privileges import EVOLVING
from snowmelt.runtime.run import Run
from snowmelt.sql.statements.spelling import spelled
from snowmelt.state.model import CatalogObject, TableDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.session import Session

_log = structlog.get_logger(__name__)


def without_empty_columns(table: CatalogObject, batch: ChannelBatch) -> ChannelBatch:
    """The batch without columns that the table lacks and that have no value: nothing says what type they are of."""
    parts = tuple(_without_empty(_definition(table), part) for part in batch.parts)
    return ChannelBatch(batch.number, parts, batch.start_token, batch.end_token)


def new_columns(table: CatalogObject, batch: ChannelBatch) -> dict[str, DataType]:
    """The columns that rows of the batch have values for and the table lacks, by name."""
    found: dict[str, DataType] = {}
    for part in batch.parts:
        wanted = set(unknown_columns(_definition(table), part))
        for entry in part.rows.schema:
            name = folded(entry.name)
            if name in wanted and not pa.types.is_null(entry.type):
                found[name] = common_type(found.get(name), declared_type(source_type(entry)))
    return found


def add_columns(run: Run, owner: Session, table: CatalogObject, columns: dict[str, DataType]) -> None:
    """ALTER TABLE … ADD COLUMN, by whoever owns the table, for a role that may evolve its schema."""
    require(run, EVOLVING, found_object(table))
    target = object_name(table.name, qualified=True)
    for name, type_ in columns.items():
        try:
            owner.execute(f"ALTER TABLE {target} ADD COLUMN {spelled(name)} {type_}")
        except errors.SnowmeltError as error:
            # Another channel may have been quicker.
            if error.code != errors.duplicate_column(name).code:
                raise


def missing_values(table: CatalogObject, batch: ChannelBatch) -> list[str]:
    """The columns that must have a value and that rows of the batch have none for."""
    columns = {column.name: column for column in _definition(table).columns}
    found: set[str] = set()
    for part in batch.parts:
        given = {match_column(entry, set(columns)): part.rows.column(entry) for entry in part.rows.column_names}
        for name, column in columns.items():
            if name in given:
                empty = not column.nullable and column.identity is None and given[name].null_count > 0
            else:
                empty = is_required(column)
            if empty:
                found.add(name)
    return sorted(found)


def drop_not_null(owner: Session, table: CatalogObject, columns: Iterable[str]) -> None:
    """ALTER TABLE … DROP NOT NULL, by whoever owns the table."""
    target = object_name(table.name, qualified=True)
    for name in columns:
        try:
            owner.execute(f"ALTER TABLE {target} ALTER COLUMN {spelled(name)} DROP NOT NULL")
        except errors.SnowmeltError as error:
            if error.transient:
                raise
            # A primary key or a contract holds the column. Its rows are refused one by one, with the reason.
            _log.info("column_not_evolved", table=str(table.name), column=name, code=error.code)


def _definition(table: CatalogObject) -> TableDefinition:
    assert isinstance(table.definition, TableDefinition)
    return table.definition


def _without_empty(definition: TableDefinition, part: BatchPart) -> BatchPart:
    unknown = set(unknown_columns(definition, part))
    empty = [entry.name for entry in part.rows.schema if pa.types.is_null(entry.type) and folded(entry.name) in unknown]
    return replace(part, rows=part.rows.drop_columns(empty)) if empty else part
