"""CREATE TABLE in its forms: with columns, AS a query, LIKE, CLONE. And TRUNCATE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.faults import reached
from snowmelt.core.names import ObjectName, quote
from snowmelt.features.relations.alter_tables import find_table
from snowmelt.features.relations.or_alter import or_alter_table
from snowmelt.runtime import cloning, declaring, retention, tables
from snowmelt.runtime.pending import PendingTable
from snowmelt.runtime.reshaping import delta_table
from snowmelt.runtime.results import DONE, Result, kept, status
from snowmelt.runtime.writing import RowWriter
from snowmelt.sql.dialect import parse_snowflake, to_spark_sql
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.statements.base import CloneSource, NameRef
from snowmelt.sql.statements.tables import CreateTable, Truncate
from snowmelt.sql.tokens import SqlText
from snowmelt.state.contract_model import ContractLink
from snowmelt.state.model import RELATIONS, CatalogObject, ObjectKind, TableDefinition
from snowmelt.state.store import StateTransaction
from snowmelt.storage.commits import CommitResult

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def create_table(run: Run, statement: CreateTable) -> Result:
    name = run.object_name(statement.name, "CREATE TABLE")
    if statement.or_alter:
        present = find_table(run, statement.name)
        if present is not None:
            or_alter_table(run, present, statement)
            return status(f"Table {quote(name.name)} successfully altered.", "CREATE_TABLE")
    if tables.already_there(run, name, statement):
        return kept(name.name, "CREATE_TABLE")
    if statement.clone is not None:
        _create_clone(run, name, statement, statement.clone)
    elif statement.query is not None:
        _create_as(run, name, statement, statement.query)
    elif statement.like is not None:
        _create_like(run, name, statement, statement.like)
    else:
        table = tables.new_table(run, name, statement, tables.definition_of(run, name, statement))
        _publish_empty(run, statement, table)
    return status(f"Table {quote(name.name)} successfully created.", "CREATE_TABLE")


def _contract(run: Run, statement: CreateTable, table: CatalogObject) -> ContractLink | None:
    """What the table is held to from the start; asked before anything is written."""
    assert isinstance(table.definition, TableDefinition)
    return run.account.contracts.wanted(run, statement.options, table, table.definition.columns)


def _publish_empty(run: Run, statement: CreateTable, table: CatalogObject) -> None:
    contract = _contract(run, statement, table)
    tables.publish(
        run,
        table,
        tables.create_storage(run, table),
        replacing=statement.or_replace,
        retention_days=statement.options.data_retention_time_in_days,
        contract=contract,
        also=lambda state: retention.extend(state, table.id, statement.options.max_data_extension_time_in_days),
    )


def _create_like(run: Run, name: ObjectName, statement: CreateTable, like: NameRef) -> None:
    source = run.find_table(like)
    table = tables.new_table(run, name, statement, tables.like_definition(run, source, statement))
    _publish_empty(run, statement, table)


def _create_as(run: Run, name: ObjectName, statement: CreateTable, text: SqlText) -> None:
    tree = parse_snowflake(text.text, line=text.line, column=text.column)
    if not statement.columns:
        declaring.require_names(tree)
    with run.environment() as environment:
        query = QueryBinder(environment).bind(tree)
        definition = tables.definition_of(run, name, statement, query)
        table = tables.new_table(run, name, statement, definition)
        rows = RowWriter(run, table).matched(environment, query, [column.name for column in definition.columns])
    contract = _contract(run, statement, table)
    written = tables.create_filled(run, table, rows)
    windows = tuple(run.streams.values())
    # The table's name and the offsets become true together, and not once more when the statement ends.
    run.consumes = False

    def finish(state: StateTransaction) -> None:
        run.account.changes.advance(state, windows)
        retention.extend(state, table.id, statement.options.max_data_extension_time_in_days)

    tables.publish(
        run,
        table,
        written,
        replacing=statement.or_replace,
        retention_days=statement.options.data_retention_time_in_days,
        contract=contract,
        also=finish,
    )


def _create_clone(run: Run, name: ObjectName, statement: CreateTable, clone: CloneSource) -> None:
    """A table with the rows of one version of another; the files are shared, not copied."""
    _refuse_what_a_clone_takes_over(statement)
    source = run.find_table(clone.name)
    _check_lifetime(source, statement)
    when = cloning.time_travel(clone.point) if clone.point is not None else None
    days = statement.options.data_retention_time_in_days
    retention.check(days, transient=statement.transient or statement.temporary)
    with run.state.read() as state:
        version, definition = cloning.version_and_shape(run, state, source, when)
    # CREATE TABLE … CLONE of a dynamic table is a plain table with its rows.
    definition = definition.model_copy(update={"transient": statement.transient, "dynamic": None})
    table = tables.new_table(run, name, statement, definition, source.comment)
    contract = _contract(run, statement, table)
    written = cloning.link_files(run, source, version, table)

    def finish(state: StateTransaction) -> None:
        cloning.inherit(run, state, source, version, table)
        retention.extend(state, table.id, statement.options.max_data_extension_time_in_days)

    tables.publish(
        run,
        table,
        written,
        replacing=statement.or_replace,
        retention_days=days,
        contract=contract,
        also=finish,
    )


def _refuse_what_a_clone_takes_over(statement: CreateTable) -> None:
    options = statement.options
    asked = {
        "CLUSTER BY": statement.cluster_by, "CHANGE_TRACKING": options.change_tracking is not None,
        "ENABLE_SCHEMA_EVOLUTION": options.enable_schema_evolution is not None,
    }  # fmt: skip
    word = next((word for word, given in asked.items() if given), None)
    if word is not None:
        raise errors.unsupported(
            f"{word} in CREATE TABLE … CLONE", hint="A clone is made as its source is. Use ALTER TABLE to change it."
        )


def _check_lifetime(source: CatalogObject, statement: CreateTable) -> None:
    """What is kept for a shorter time can't be cloned into what is kept for longer."""
    if statement.temporary:
        return
    if source.session_id is not None and not statement.transient:
        raise errors.compilation(
            "002119", "0A000",
            "Temp table cannot be cloned to a permanent table; clone to a transient table instead.",
        )  # fmt: skip
    assert isinstance(source.definition, TableDefinition)
    if source.definition.transient and not statement.transient:
        raise errors.compilation("002120", "0A000", "Transient object cannot be cloned to a permanent object.")


def truncate(run: Run, statement: Truncate) -> Result:
    """All rows go in one commit that reads none of them, and files loaded before may be loaded again."""
    name = run.object_name(statement.name, "TRUNCATE TABLE")
    with run.state.read() as state:
        table = state.catalog.find(name, RELATIONS, run.session.id)
    if table is None:
        if statement.if_exists:
            return status(DONE, "TRUNCATE_TABLE")
        raise errors.not_found("Table", str(name))
    if table.kind is not ObjectKind.TABLE:
        raise errors.wrong_kind(table.kind, "TABLE")
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    if definition.dynamic is not None:
        raise errors.dynamic_table_not_writable(str(table.name))
    pending = run.open_for_write(table)
    if pending.rows:
        _clear(run, definition, pending)
    run.account.lifecycle.emptied(run, table)
    return status(DONE, "TRUNCATE_TABLE")


def _clear(run: Run, definition: TableDefinition, pending: PendingTable) -> None:
    store, location = run.account.store, definition.location
    tag = run.transaction.tag(run.query_id)
    reached("before-commit")
    if definition.spark_only:
        run.account.engine.execute(
            to_spark_sql(exp.delete(delta_table(store.root.uri_of(location)))),
            user_metadata=tag.user_metadata(), tag=run.tag, pool=run.pool,
        )  # fmt: skip
        result = CommitResult(store.latest_version(location), rows_deleted=pending.rows, bytes_delta=-pending.bytes)
    elif store.rewritable(location, pending.version):
        result = store.clear(location, pending.version, tag, "TRUNCATE")
    else:
        result = store.delete(location, None, tag)
    reached("after-commit")
    run.account.transactions.wrote(pending, result, "TRUNCATE", run.query_id)
