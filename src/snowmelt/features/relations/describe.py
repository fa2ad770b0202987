"""DESCRIBE: one object in detail. Answered from the state store alone, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, quote
from snowmelt.runtime.kinds import KindDescription, TableKind, all_kinds
from snowmelt.runtime.metadata import layouts
from snowmelt.runtime.metadata.catalog import INFORMATION_SCHEMA, find_object, find_relation, objects
from snowmelt.runtime.metadata.columns import Columns, Row, result, yes
from snowmelt.runtime.metadata.ddl_scripts import matching_routine
from snowmelt.runtime.metadata.schema_objects import sequence
from snowmelt.runtime.metadata.scopes import existing_schema
from snowmelt.runtime.metadata.stages import stage_properties
from snowmelt.runtime.metadata.table_columns import columns_of, identity_text
from snowmelt.runtime.results import Result
from snowmelt.runtime.rights.enforcement import is_hidden
from snowmelt.sql.statements.base import NameRef
from snowmelt.sql.statements.describe import DescribeStatement
from snowmelt.sql.tokens import SqlText
from snowmelt.state import definitions
from snowmelt.state.model import (
    CatalogObject,
    Column,
    ObjectKind,
    StageDefinition,
    TableDefinition,
)
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_RELATIONS = {
    "TABLE": "Table", "VIEW": "View", "MATERIALIZED VIEW": "Materialized view",
    "EXTERNAL TABLE": "External table", "EVENT TABLE": "Event table",
}  # fmt: skip
"""Interchangeable words: each describes any table or view. The noun is for the error."""


def describe(run: Run, statement: DescribeStatement) -> Result:
    with run.state.read() as state:
        layout, rows = _described(run, state, statement)
        return result(layout, list(rows), "DESCRIBE")


def _described(run: Run, state: StateReader, statement: DescribeStatement) -> tuple[Columns, Iterator[Row]]:
    kind, name = statement.kind, statement.name
    if kind == "RESULT":
        return layouts.DESCRIBE_RESULT, _result(run, statement)
    assert name is not None, "only RESULT has no name"
    noun = _relation_noun(kind)
    if noun is not None:
        found = _relation(run, state, name, noun)
        if statement.type == "STAGE":
            return layouts.DESCRIBE_STAGE, _table_stage(found)
        return _table_layout(found), _columns(run, state, found)
    match kind:
        case "DATABASE":
            return layouts.DESCRIBE_CONTAINER, _database(run, state, name)
        case "SCHEMA":
            return layouts.DESCRIBE_CONTAINER, _schema(run, state, name)
        case "WAREHOUSE":
            return layouts.DESCRIBE_CONTAINER, _warehouse(run, state, name)
    of_account = all_kinds().of_account.get(ObjectKind(kind))
    if of_account is not None and of_account.describe is not None:
        layout, rows = of_account.describe(run, state, run.parts(name)[-1])
        return layout, iter(rows)
    own = all_kinds().by_name.get(ObjectKind(kind))
    if own is not None and own.describe is not None:
        found = _find(run, state, name, own, statement.arguments)
        layout, rows = own.describe(run, state, found)
        return layout, iter(rows)
    if kind == "SEQUENCE":
        full = run.object_name(name, "DESCRIBE SEQUENCE")
        item = _existing(state, full, find_object(run, state, full, [ObjectKind.SEQUENCE]), "Sequence")
        return layouts.SHOW["SEQUENCES"], iter([sequence(state, item)])
    # Pipes can't exist here, so whatever the name is, it is not there.
    full = run.object_name(name, f"DESCRIBE {kind}")
    existing_schema(state, full)
    raise errors.not_found(kind.capitalize(), str(full))


# -- tables and views -------------------------------------------------------------------------------------------------


def _relation_noun(kind: str) -> str | None:
    own = next((own for own in all_kinds().all if own.name == kind and isinstance(own, TableKind)), None)
    return own.noun if own is not None else _RELATIONS.get(kind)


def _relation(run: Run, state: StateReader, name: NameRef, noun: str) -> CatalogObject:
    full = run.object_name(name, "DESCRIBE")
    return _existing(state, full, find_relation(run, state, full), noun)


def _table_layout(item: CatalogObject) -> Columns:
    definition = item.definition
    if isinstance(definition, TableDefinition) and definition.schema_evolution:
        return layouts.DESCRIBE_EVOLVING_TABLE
    return layouts.DESCRIBE_TABLE


def _columns(run: Run, state: StateReader, item: CatalogObject) -> Iterator[Row]:
    definition = item.definition
    policies = _policies(run, state, item)
    primary: tuple[str, ...] = ()
    unique: set[str] = set()
    if isinstance(definition, TableDefinition):
        primary = definition.primary_key.columns if definition.primary_key is not None else ()
        unique = {column for key in definition.unique_keys for column in key.columns}
    for column in columns_of(item):
        yield {
            "name": column.name,
            "type": str(column.type),
            "kind": "COLUMN",
            "null?": yes(column.nullable),
            "default": _default(column),
            "primary key": yes(column.name in primary),
            "unique key": yes(column.name in unique),
            "comment": column.comment,
            "policy name": policies.get(column.name),
        }


def _policies(run: Run, state: StateReader, item: CatalogObject) -> dict[str, str]:
    """The names of the policies that stand before columns, as far as the role may know of them."""
    found: dict[str, str] = {}
    for reference in run.account.policies.references(state, item):
        policy = state.whole_catalog.by_id(reference.policy_id)
        if reference.column and policy is not None and not is_hidden(state, policy, run.session.id):
            found[reference.column] = str(policy.name)
    return found


def _default(column: Column) -> str | None:
    return identity_text(column.identity) if column.identity is not None else column.default


def _table_stage(item: CatalogObject) -> Iterator[Row]:
    if not isinstance(item.definition, TableDefinition):
        raise errors.unsupported("DESCRIBE VIEW … TYPE = STAGE", hint="A view has no stage.")
    return stage_properties(StageDefinition())


def _result(run: Run, statement: DescribeStatement) -> Iterator[Row]:
    assert statement.query_id is not None, "DESCRIBE RESULT has a query id"
    query_id = str(run.evaluate(statement.query_id).value)
    found = run.account.results.get(query_id, run.session.user, run.authority.roles)
    if found is None:
        raise errors.statement_not_found(query_id)
    for column in found.columns:
        yield {
            "name": column.name,
            "type": str(column.type),
            "kind": "COLUMN",
            "null?": yes(column.nullable),
            "primary key": "N",
            "unique key": "N",
        }


# -- containers -------------------------------------------------------------------------------------------------------


def _database(run: Run, state: StateReader, name: NameRef) -> Iterator[Row]:
    database = state.catalog.database(run.parts(name)[-1])
    if database is None:
        raise errors.not_found("Database", quote(run.parts(name)[-1]))
    rows = [(schema.name, schema.created_on) for schema in state.catalog.schemas(database.name)]
    for schema_name, created_on in sorted([*rows, (INFORMATION_SCHEMA, database.created_on)]):
        yield {"created_on": created_on, "name": schema_name, "kind": "SCHEMA"}


def _schema(run: Run, state: StateReader, name: NameRef) -> Iterator[Row]:
    full = run.schema_name(name)
    existing_schema(state, ObjectName(full.database, full.name, ""))
    for item in objects(run, state, definitions.kinds(), full.database, full.name):
        yield {"created_on": item.created_on, "name": item.name.name, "kind": item.kind.value}


def _warehouse(run: Run, state: StateReader, name: NameRef) -> Iterator[Row]:
    warehouse = state.warehouses.get(run.parts(name)[-1])
    if warehouse is None:
        raise errors.not_found("Warehouse", quote(run.parts(name)[-1]))
    yield {"created_on": warehouse.created_on, "name": warehouse.name, "kind": "WAREHOUSE"}


# -- objects in schemas -----------------------------------------------------------------------------------------------


def _find(
    run: Run, state: StateReader, name: NameRef, kind: KindDescription, arguments: tuple[SqlText, ...] | None
) -> CatalogObject:
    full = run.object_name(name, f"DESCRIBE {kind.name}")
    if arguments is not None:
        existing_schema(state, full)
        return matching_routine(run, state, kind.name, full, [argument.text for argument in arguments])
    return _existing(state, full, find_object(run, state, full, [kind.name]), kind.noun)


def _existing(state: StateReader, full: ObjectName, found: CatalogObject | None, noun: str) -> CatalogObject:
    if found is None:
        existing_schema(state, full)
        raise errors.not_found(noun, str(full))
    return found
