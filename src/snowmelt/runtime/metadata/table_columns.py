"""Columns of tables and views, and how metadata spells their types and defaults."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from snowmelt.core.types import MAX_VARCHAR, DataType, Kind
from snowmelt.runtime.metadata.catalog import objects
from snowmelt.runtime.metadata.columns import Row
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.metadata.scopes import relation_scope
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.model import (
    RELATIONS,
    CatalogObject,
    Column,
    IdentityColumn,
    TableDefinition,
    ViewDefinition,
)
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def columns_of(item: CatalogObject) -> tuple[Column, ...]:
    """The columns of a table or view."""
    assert isinstance(item.definition, TableDefinition | ViewDefinition)
    return item.definition.columns


def columns(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    scope = relation_scope(run, state, statement)
    found = (
        [scope.relation] if scope.relation is not None else objects(run, state, RELATIONS, scope.database, scope.schema)
    )
    for item in found:
        for column in columns_of(item):
            yield {
                "table_name": item.name.name,
                "schema_name": item.name.schema,
                "column_name": column.name,
                "data_type": type_json(column.type, nullable=column.nullable),
                "null?": "true" if column.nullable else "NOT_NULL",
                "default": column.default or "",
                "kind": "COLUMN",
                "expression": "",
                "comment": column.comment or "",
                "database_name": item.name.database,
                "autoincrement": identity_text(column.identity) if column.identity is not None else "",
            }


@lru_cache(maxsize=4096)
def type_json(type_: DataType, *, nullable: bool) -> str:
    """A type as SHOW COLUMNS prints it: `{"type":"FIXED","precision":38,"scale":0,"nullable":true}`."""
    return json.dumps(_described(type_, nullable), separators=(",", ":"))


def _described(type_: DataType, nullable: bool) -> dict[str, Any]:
    match type_.kind:
        case Kind.NUMBER:
            return {
                "type": "FIXED",
                "precision": type_.precision,
                "scale": type_.scale,
                "nullable": nullable,
            }
        case Kind.FLOAT:
            return {"type": "REAL", "nullable": nullable}
        case Kind.VARCHAR | Kind.NULL:
            length = MAX_VARCHAR if type_.length is None else type_.length
            described = {
                "type": "TEXT",
                "length": length,
                "byteLength": octets(type_),
                "nullable": nullable,
                "fixed": False,
            }
            return described | ({"collation": type_.collation} if type_.collation else {})
        case Kind.BINARY:
            return {
                "type": "BINARY",
                "length": type_.length,
                "byteLength": type_.length,
                "nullable": nullable,
                "fixed": True,
            }
        case Kind.TIME | Kind.TIMESTAMP_NTZ | Kind.TIMESTAMP_LTZ | Kind.TIMESTAMP_TZ:
            return {
                "type": type_.kind.value,
                "precision": 0,
                "scale": type_.precision,
                "nullable": nullable,
            }
        case _:
            return {"type": type_.kind.value, "nullable": nullable}


def octets(type_: DataType) -> int:
    """The most bytes that a VARCHAR or BINARY may have: four a character, up to the largest value there is."""
    length = MAX_VARCHAR if type_.length is None else type_.length
    if type_.kind is Kind.BINARY:
        return length
    return max(length, min(4 * length, MAX_VARCHAR))


def identity_text(identity: IdentityColumn) -> str:
    """`IDENTITY START 1 INCREMENT 1 NOORDER`, as SHOW and DESCRIBE print AUTOINCREMENT."""
    order = "ORDER" if identity.ordered else "NOORDER"
    return f"IDENTITY START {identity.start} INCREMENT {identity.step} {order}"


LISTINGS = {"COLUMNS": Listing(columns, named="column_name", paged=False)}
