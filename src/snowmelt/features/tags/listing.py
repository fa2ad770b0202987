"""Tags as SHOW and GET_DDL print them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from snowmelt.core.names import literal
from snowmelt.features.tags.definitions import TAG, TagDefinition
from snowmelt.runtime.metadata.columns import Row, columns
from snowmelt.runtime.metadata.ddl_words import comment, object_name
from snowmelt.runtime.metadata.schema_objects import named, of_kind
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

COLUMNS = columns(
    "created_on:ts, name, database_name, schema_name, owner, comment, allowed_values, owner_role_type, propagate, "
    "on_conflict, multi_value"
)


def tags(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    for item in of_kind(run, state, statement, TAG):
        allowed = _definition(item).allowed_values
        yield {**named(item), "allowed_values": json.dumps(list(allowed)) if allowed is not None else None}


def ddl(item: CatalogObject, qualified: bool) -> str:
    name, allowed = object_name(item.name, qualified=qualified), _definition(item).allowed_values
    values = f" allowed_values {', '.join(map(literal, allowed))}" if allowed else ""
    return f"create or replace tag {name}{values}{comment(item.comment)};"


def _definition(item: CatalogObject) -> TagDefinition:
    assert isinstance(item.definition, TagDefinition)
    return item.definition
