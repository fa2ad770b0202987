"""Pipes as SHOW, DESCRIBE and GET_DDL print them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from snowmelt.core.names import literal
from snowmelt.features.pipes.definitions import PIPE, definition_of
from snowmelt.features.pipes.loading import copy_of
from snowmelt.runtime.metadata.columns import Columns, Row, columns
from snowmelt.runtime.metadata.ddl_words import object_name
from snowmelt.runtime.metadata.schema_objects import named, of_kind
from snowmelt.runtime.rights.enforcement import may_read_definition
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

COLUMNS = columns(
    "created_on:ts, name, database_name, schema_name, definition, owner, notification_channel, comment, integration, "
    "pattern, error_integration, owner_role_type, invalid_reason, kind, is_snowflake_managed"
)


def pipes(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    for item in of_kind(run, state, statement, PIPE):
        yield _row(run, item)


def described(run: Run, _: StateReader, item: CatalogObject) -> tuple[Columns, list[Row]]:
    return COLUMNS, [_row(run, item)]


def _row(run: Run, item: CatalogObject) -> Row:
    readable = may_read_definition(run, item)
    return {
        **named(item),
        "definition": definition_of(item).copy_text if readable else None,
        "pattern": copy_of(item).options.pattern if readable else None,
        "kind": "STAGE",
        "is_snowflake_managed": "N",
    }


def ddl(item: CatalogObject, qualified: bool) -> str:
    definition = definition_of(item)
    flag = " auto_ingest=true" if definition.auto_ingest else ""
    comment = f" comment={literal(item.comment)}" if item.comment is not None else ""
    return (
        f"create or replace pipe {object_name(item.name, qualified=qualified)}{flag}{comment} as "
        f"{definition.copy_text};"
    )
