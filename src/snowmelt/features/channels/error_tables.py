"""The error table of a table: what it is called and how it is made and read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, quote
from snowmelt.runtime import inputs
from snowmelt.runtime.metadata.columns import columns
from snowmelt.sql.bound import fold_identifier
from snowmelt.sql.relations import Relation
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.resolver import StatementCatalog
    from snowmelt.runtime.session import Session

_SUFFIX = "_CHANNEL_ERRORS"
COLUMNS = columns(
    "REJECTED_AT:TIMESTAMP_LTZ(9), CHANNEL_NAME, OFFSET_TOKEN, ROW_NUMBER:n, COLUMN_NAME, ERROR_CODE, ERROR_MESSAGE, "
    "ROW_DATA:VARIANT"
)


def name_of(table: ObjectName) -> ObjectName:
    return ObjectName(table.database, table.schema, table.name + _SUFFIX)


def ensure(owner: Session, table: CatalogObject) -> CatalogObject:
    """The error table of a table, made on first use. Raises when another table has its name."""
    name = name_of(table.name)
    found = _find(owner, name)
    if found is None:
        declared = ", ".join(f"{quote(column.name)} {column.type}" for column in COLUMNS)
        owner.execute(f"CREATE TABLE IF NOT EXISTS {name} ({declared})")
        found = _find(owner, name)
    definition = found.definition if found is not None else None
    if found is None or not isinstance(definition, TableDefinition):
        raise errors.already_exists(str(name))
    if [column.name for column in definition.columns] != [column.name for column in COLUMNS]:
        raise errors.already_exists(str(name))
    return found


def base_of(state: StateReader, item: CatalogObject) -> CatalogObject | None:
    """The table whose rejected rows these are."""
    definition = item.definition
    if not item.name.name.endswith(_SUFFIX) or not isinstance(definition, TableDefinition):
        return None
    if [column.name for column in definition.columns] != [column.name for column in COLUMNS]:
        return None
    name = replace(item.name, name=item.name.name.removesuffix(_SUFFIX))
    return state.whole_catalog.find(name, [ObjectKind.TABLE])


def _find(owner: Session, name: ObjectName) -> CatalogObject | None:
    with owner.account.state.read() as state:
        return state.catalog.find(name, [ObjectKind.TABLE, ObjectKind.VIEW])


def relation(catalog: StatementCatalog, arguments: Mapping[str, exp.Expr]) -> Relation:
    """ERROR_TABLE(t): the rejected rows of t. Without any there is no table yet, and the result is empty."""
    argument = arguments.get("0")
    if not isinstance(argument, exp.Column | exp.Dot):
        raise errors.not_enough_arguments("ERROR_TABLE", 1, 0)
    parts = tuple(fold_identifier(part) for part in argument.parts if isinstance(part, exp.Identifier))
    table = catalog.full_name(parts)
    if catalog.state.catalog.find(table, [ObjectKind.TABLE], catalog.run.session.id) is None:
        raise errors.not_found("Table", str(table))
    name = name_of(table)
    if catalog.state.catalog.find(name, [ObjectKind.TABLE]) is not None:
        return catalog.relation((name.database, name.schema, name.name), None)
    reference = inputs.attach(catalog.run, f"ERROR_TABLE {table}", lambda: inputs.rows_table(COLUMNS, ()))
    return inputs.table_relation("ERROR_TABLE", COLUMNS, reference)
