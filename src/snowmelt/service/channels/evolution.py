"""Channels that add to the table the columns that their rows bring."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from snowmelt.core import errors, types
from snowmelt.core.types import DataType, Kind
from snowmelt.ingest.channels.ports import Batch, Part
from snowmelt.service.channels.checking import folded, source_type, unknown_columns
from snowmelt.service.metadata.ddl_words import object_name
from snowmelt.service.run import Run
from snowmelt.service.security.enforcement import found_object, require
from snowmelt.service.security.privileges import OWNERSHIP
from snowmelt.sql.statements.spelling import spelled
from snowmelt.state.model import CatalogObject, TableDefinition

if TYPE_CHECKING:
    from snowmelt.service.session import Session

_EVOLVE = "EVOLVE SCHEMA"


def without_empty_columns(table: CatalogObject, batch: Batch) -> Batch:
    """The batch without columns that the table lacks and that have no value: nothing says what type they are of."""
    parts = tuple(_without_empty(_definition(table), part) for part in batch.parts)
    return Batch(batch.number, parts, batch.start_token, batch.end_token)


def new_columns(table: CatalogObject, batch: Batch) -> dict[str, DataType]:
    """By name, the columns that rows of the batch have values for and the table lacks."""
    found: dict[str, DataType] = {}
    for part in batch.parts:
        wanted = set(unknown_columns(_definition(table), part))
        for entry in part.rows.schema:
            name = folded(entry.name)
            if name in wanted and not pa.types.is_null(entry.type):
                found[name] = _common(found.get(name), _declared(source_type(entry)))
    return found


def add_columns(run: Run, owner: Session, table: CatalogObject, columns: dict[str, DataType]) -> None:
    """ALTER TABLE … ADD COLUMN, by whoever owns the table, for a role that may evolve its schema."""
    require(run, (_EVOLVE, OWNERSHIP), found_object(table))
    target = object_name(table.name, qualified=True)
    for name, type_ in columns.items():
        try:
            owner.execute(f"ALTER TABLE {target} ADD COLUMN {spelled(name)} {type_}")
        except errors.SnowmeltError as error:
            # Another channel may have been quicker.
            if error.code != errors.duplicate_column(name).code:
                raise


def _definition(table: CatalogObject) -> TableDefinition:
    assert isinstance(table.definition, TableDefinition)
    return table.definition


def _without_empty(definition: TableDefinition, part: Part) -> Part:
    unknown = set(unknown_columns(definition, part))
    empty = [entry.name for entry in part.rows.schema if pa.types.is_null(entry.type) and folded(entry.name) in unknown]
    return replace(part, rows=part.rows.drop_columns(empty)) if empty else part


def _declared(type_: DataType) -> DataType:
    """What a column is declared as for values of a type: as wide as can be, since the next row may be longer."""
    if type_.kind is Kind.NUMBER:
        return types.number(types.MAX_PRECISION, type_.scale or 0)
    return type_


def _common(one: DataType | None, other: DataType) -> DataType:
    if one is None or one == other:
        return other
    if one.kind is Kind.NUMBER and other.kind is Kind.NUMBER:
        return types.number(types.MAX_PRECISION, max(one.scale or 0, other.scale or 0))
    if {one.kind, other.kind} == {Kind.NUMBER, Kind.FLOAT}:
        return types.FLOAT
    return types.VARIANT if Kind.VARIANT in (one.kind, other.kind) else types.VARCHAR
