"""CREATE TABLE in its forms: with columns, AS a query, LIKE, CLONE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.core.names import quote
from snowmelt.service import tables
from snowmelt.service.resolver import StatementCatalog
from snowmelt.service.results import Result, status
from snowmelt.service.writing import RowWriter
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.relations import TimeTravel
from snowmelt.sql.statements.base import CloneSource
from snowmelt.sql.statements.tables import CreateTable
from snowmelt.state.model import CatalogObject, TableDefinition

if TYPE_CHECKING:
    from snowmelt.service.run import Run


def create_table(run: Run, statement: CreateTable) -> Result:
    name = run.object_name(statement.name, "CREATE TABLE")
    if tables.already_there(run, name, statement):
        return status(f"{quote(name.name)} already exists, statement succeeded.", "CREATE_TABLE")
    if statement.clone is not None:
        _create_clone(run, statement, statement.clone)
    elif statement.like is not None:
        source = run.find_table(statement.like)
        table = tables.new_table(run, name, statement, tables.like_definition(source))
        tables.publish(run, table, tables.create_storage(run, table), replacing=statement.or_replace)
    elif statement.query is not None:
        _create_as(run, statement)
    else:
        table = tables.new_table(run, name, statement, tables.definition_of(run, name, statement))
        tables.publish(run, table, tables.create_storage(run, table), replacing=statement.or_replace)
    return status(f"Table {quote(name.name)} successfully created.", "CREATE_TABLE")


def _create_as(run: Run, statement: CreateTable) -> None:
    assert statement.query is not None
    name = run.object_name(statement.name)
    tree = parse_snowflake(statement.query.text, line=statement.query.line, column=statement.query.column)
    with run.environment() as environment:
        query = QueryBinder(environment).bind(tree)
        definition = tables.definition_of(run, name, statement, query)
        table = tables.new_table(run, name, statement, definition)
        rows = RowWriter(run, table).matched(
            environment, query, [column.name for column in definition.columns]
        )
    written = tables.create_filled(run, table, rows)
    tables.publish(run, table, written, replacing=statement.or_replace)


def _create_clone(run: Run, statement: CreateTable, clone: CloneSource) -> None:
    source = run.find_table(clone.name)
    assert isinstance(source.definition, TableDefinition)
    point = clone.point
    when = None
    if point is not None:
        expression = parse_snowflake(point.value.text, line=point.value.line, column=point.value.column)
        when = TimeTravel(before=point.when == "BEFORE", kind=point.kind, expression=expression)
    with run.account.state.read() as state:
        catalog = StatementCatalog(run, state, run.session.database, run.session.schema)
        version = catalog.version(source, source.definition, when)
    clone_table(run, statement, source, version)


def clone_table(run: Run, statement: CreateTable, source: CatalogObject, version: int) -> None:
    """A table with the rows of one version of another; the files are shared, not copied."""
    assert isinstance(source.definition, TableDefinition)
    name = run.object_name(statement.name)
    definition = source.definition.model_copy(
        update={"transient": statement.transient or source.definition.transient}
    )
    table = tables.new_table(run, name, statement, definition)
    assert isinstance(table.definition, TableDefinition)
    store = run.account.store
    tag = run.transaction.tag(run.query_id)
    cloned = store.clone(source.definition.location, version, table.definition.location, tag)
    written = tables.Written(
        cloned,
        store.row_count(table.definition.location, cloned),
        store.files(table.definition.location, cloned).total_bytes,
    )
    if any(column.identity is not None for column in definition.columns):
        tables.copy_counters(run, source, table)
    tables.publish(run, table, written, replacing=statement.or_replace)


HANDLERS = {CreateTable: create_table}
