"""TABLES, VIEWS and COLUMNS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from snowmelt.core.types import DataType, Kind
from snowmelt.runtime.information_schema.rows import Rows
from snowmelt.runtime.metadata.catalog import is_builtin, objects
from snowmelt.runtime.metadata.columns import Row, long_yes
from snowmelt.runtime.metadata.relations import clustering_key, sizes_of
from snowmelt.runtime.metadata.table_columns import columns_of, octets
from snowmelt.runtime.rights.enforcement import may_read_definition
from snowmelt.state.model import (
    RELATIONS,
    CatalogObject,
    Column,
    Database,
    ObjectKind,
    TableDefinition,
    TableVersion,
    ViewDefinition,
)
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_WORDS = {Kind.VARCHAR: "TEXT", Kind.NULL: "TEXT"}


def _tables(run: Run, state: StateReader, database: Database) -> Iterator[Row]:
    found = objects(run, state, RELATIONS, database.name)
    sizes = sizes_of(state, found)
    for item in found:
        yield _table(item, sizes.get(item.id))


def _table(item: CatalogObject, version: TableVersion | None) -> Row:
    table = item.definition if isinstance(item.definition, TableDefinition) else None
    altered = max(item.altered_on, version.committed_at) if version is not None else item.altered_on
    return {
        "TABLE_CATALOG": item.name.database,
        "TABLE_SCHEMA": item.name.schema,
        "TABLE_NAME": item.name.name,
        "TABLE_OWNER": None if is_builtin(item) else item.owner,
        "TABLE_TYPE": _table_type(item),
        "IS_TRANSIENT": long_yes(table.transient) if table is not None else None,
        "CLUSTERING_KEY": (clustering_key(table) or None) if table is not None else None,
        "ROW_COUNT": version.rows if version is not None else None,
        "BYTES": version.bytes if version is not None else None,
        "RETENTION_TIME": table.retention_days if table is not None else None,
        "IS_INSERTABLE_INTO": long_yes(table is not None and table.dynamic is None),
        "IS_TYPED": "YES" if table is not None else "NO",
        "CREATED": item.created_on,
        "LAST_ALTERED": altered,
        "LAST_DDL": item.altered_on,
        "LAST_DDL_BY": None if is_builtin(item) else item.owner,
        "AUTO_CLUSTERING_ON": "NO",
        "COMMENT": item.comment,
        "IS_TEMPORARY": long_yes(item.session_id is not None),
        "IS_ICEBERG": "NO",
        "IS_DYNAMIC": long_yes(table is not None and table.dynamic is not None),
        "IS_IMMUTABLE": "NO",
        "IS_HYBRID": "NO",
    }


def _table_type(item: CatalogObject) -> str:
    if item.kind is ObjectKind.VIEW:
        return "VIEW"
    return "TEMPORARY TABLE" if item.session_id is not None else "BASE TABLE"


def _views(run: Run, state: StateReader, database: Database) -> Iterator[Row]:
    for item in objects(run, state, [ObjectKind.VIEW], database.name):
        definition = item.definition
        assert isinstance(definition, ViewDefinition)
        yield {
            "TABLE_CATALOG": item.name.database,
            "TABLE_SCHEMA": item.name.schema,
            "TABLE_NAME": item.name.name,
            "TABLE_OWNER": None if is_builtin(item) else item.owner,
            "VIEW_DEFINITION": (definition.text or None) if may_read_definition(run, item) else None,
            "CHECK_OPTION": "NONE",
            "IS_UPDATABLE": "NO",
            "INSERTABLE_INTO": "NO",
            "IS_SECURE": long_yes(definition.secure),
            "CREATED": item.created_on,
            "LAST_ALTERED": item.altered_on,
            "LAST_DDL": item.altered_on,
            "LAST_DDL_BY": None if is_builtin(item) else item.owner,
            "COMMENT": item.comment,
        }


def _columns(run: Run, state: StateReader, database: Database) -> Iterator[Row]:
    for item in objects(run, state, RELATIONS, database.name):
        for position, column in enumerate(columns_of(item), start=1):
            yield {
                "TABLE_CATALOG": item.name.database,
                "TABLE_SCHEMA": item.name.schema,
                "TABLE_NAME": item.name.name,
                "COLUMN_NAME": column.name,
                "ORDINAL_POSITION": position,
                "COLUMN_DEFAULT": column.default,
                "IS_NULLABLE": long_yes(column.nullable),
                **type_facts(column.type),
                "IS_SELF_REFERENCING": "NO",
                **_identity(column),
                "COMMENT": column.comment,
                "KIND": "COLUMN",
            }


def type_facts(type_: DataType) -> dict[str, Any]:
    """DATA_TYPE and the numbers that go with it, as COLUMNS, FUNCTIONS and PROCEDURES share them."""
    facts: dict[str, Any] = {"DATA_TYPE": _WORDS.get(type_.kind, type_.kind.value)}
    match type_.kind:
        case Kind.VARCHAR | Kind.NULL | Kind.BINARY:
            facts["CHARACTER_MAXIMUM_LENGTH"] = type_.length
            facts["CHARACTER_OCTET_LENGTH"] = octets(type_)
            facts["COLLATION_NAME"] = type_.collation
        case Kind.NUMBER:
            facts["NUMERIC_PRECISION"] = type_.precision
            facts["NUMERIC_PRECISION_RADIX"] = 10
            facts["NUMERIC_SCALE"] = type_.scale
        case Kind.TIME | Kind.TIMESTAMP_NTZ | Kind.TIMESTAMP_LTZ | Kind.TIMESTAMP_TZ:
            facts["DATETIME_PRECISION"] = type_.precision
    return facts


def _identity(column: Column) -> dict[str, Any]:
    identity = column.identity
    if identity is None:
        return {"IS_IDENTITY": "NO"}
    return {
        "IS_IDENTITY": "YES",
        "IDENTITY_GENERATION": "BY DEFAULT",
        "IDENTITY_START": str(identity.start),
        "IDENTITY_INCREMENT": str(identity.step),
        "IDENTITY_CYCLE": "NO",
        "IDENTITY_ORDERED": long_yes(identity.ordered),
    }


ROWS: dict[str, Rows] = {"TABLES": _tables, "VIEWS": _views, "COLUMNS": _columns}
