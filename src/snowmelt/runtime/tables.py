"""Making tables: from a statement to a definition, to a Delta table, to a name in the catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.faults import reached
from snowmelt.core.names import ObjectName, quote
from snowmelt.runtime import declaring, retention
from snowmelt.runtime.kinds import annotate_created
from snowmelt.runtime.sequences import numbered
from snowmelt.runtime.writing import RowWriter
from snowmelt.sql.bound import BoundQuery
from snowmelt.sql.dialect import to_spark_sql
from snowmelt.sql.statements.tables import CreateTable
from snowmelt.state.contract_model import ContractLink
from snowmelt.state.ids import new_id
from snowmelt.state.model import RELATIONS, CatalogObject, ObjectKind, TableDefinition, TableVersion
from snowmelt.state.quality_model import QualityResult
from snowmelt.state.store import StateTransaction
from snowmelt.storage.commits import CommitResult, CommitTag

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


@dataclass(frozen=True, slots=True)
class FirstVersion:
    """The first version of a new table."""

    version: int
    rows: int = 0
    bytes: int = 0


def already_there(run: Run, name: ObjectName, statement: CreateTable) -> bool:
    """True when IF NOT EXISTS has nothing to do; raises when the name is taken, or its schema is not there."""
    with run.state.read() as state:
        if state.catalog.database(name.database) is None:
            raise errors.not_found("Database", quote(name.database))
        if state.catalog.schema(name.parent) is None:
            raise errors.not_found("Schema", str(name.parent))
        found = state.catalog.find(name, RELATIONS, run.session.id if statement.temporary else None)
    # A temporary table may take the name of a permanent one, which it hides.
    if found is None or (statement.temporary and found.session_id is None):
        return False
    if found.kind is not ObjectKind.TABLE:
        raise errors.exists_as(quote(name.name), found.kind)
    if isinstance(found.definition, TableDefinition) and found.definition.dynamic is not None:
        raise errors.exists_as(quote(name.name), "DYNAMIC_TABLE")
    if statement.if_not_exists:
        return True
    if not statement.or_replace:
        raise errors.already_exists(run.written(statement.name))
    return False


def definition_of(
    run: Run, name: ObjectName, statement: CreateTable, query: BoundQuery | None = None
) -> TableDefinition:
    """What the statement declares; with AS, the query's columns fill in names and types."""
    specs = statement.columns
    columns = declaring.columns_of_query(run, specs, query) if query else [declaring.column_of(run, s) for s in specs]
    declaring.check_names(columns)
    options = statement.options
    retention.check(options.data_retention_time_in_days, transient=statement.transient or statement.temporary)
    definition = TableDefinition(
        columns=tuple(columns),
        location="",
        transient=statement.transient,
        cluster_by=declaring.clustering_key(run, name, columns, statement.cluster_by),
        change_tracking=bool(options.change_tracking),
        change_feed=options.change_tracking is not False,
        schema_evolution=bool(options.enable_schema_evolution),
    )
    constraints = [*(item for spec in specs for item in spec.constraints), *statement.constraints]
    return declaring.constrained(run, name, definition, constraints)


def like_definition(run: Run, source: CatalogObject, statement: CreateTable) -> TableDefinition:
    """An empty table of the same shape. Foreign keys stay with the source."""
    assert isinstance(source.definition, TableDefinition)
    options = statement.options
    retention.check(options.data_retention_time_in_days, transient=statement.transient or statement.temporary)
    own_key = declaring.clustering_key(run, source.name, source.definition.columns, statement.cluster_by)
    return source.definition.model_copy(
        update={
            "spark_only": False,
            "dynamic": None,
            "change_tracking": bool(options.change_tracking),
            "change_feed": options.change_tracking is not False,
            "foreign_keys": (),
            "transient": statement.transient,
            "cluster_by": own_key or source.definition.cluster_by,
        }
    )


def new_table(
    run: Run, name: ObjectName, statement: CreateTable, definition: TableDefinition, comment: str | None = None
) -> CatalogObject:
    """The catalog object with a place of its own; nothing exists on disk yet. `comment`: what a clone inherits.

    Raises when it would take the place of a table whose contract it breaks, or whose checks it can't have.
    """
    if not statement.temporary:
        run.account.lifecycle.replacing(run, name, definition.columns)
        definition = run.account.gate.with_kept_checks(run, name, definition)
    location = run.account.store.root.new_location(name.database, name.schema, name.name)
    return CatalogObject(
        id=new_id(),
        name=name,
        owner=run.session.role,
        comment=statement.options.comment if statement.options.comment is not None else comment,
        session_id=run.session.id if statement.temporary else None,
        created_on=run.now,
        altered_on=run.now,
        definition=definition.model_copy(update={"location": location}),
    )


def create_storage(run: Run, table: CatalogObject) -> FirstVersion:
    """The empty Delta table."""
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    tag = CommitTag(run.transaction.id, run.query_id)
    with removed_on_failure(run, table):
        version = run.account.store.create(
            definition.location, definition.columns, change_feed=definition.change_feed, tag=tag
        )
    return FirstVersion(version)


@contextmanager
def removed_on_failure(run: Run, table: CatalogObject) -> Iterator[None]:
    """Steps of making a table: when one fails, nothing stays on disk."""
    assert isinstance(table.definition, TableDefinition)
    try:
        yield
    except BaseException:
        with run.state.read() as state:
            published = state.catalog.by_id(table.id) is not None
        if not published:
            run.account.store.remove(table.definition.location)
        raise


def create_filled(run: Run, table: CatalogObject, rows: exp.Select) -> FirstVersion:
    """The Delta table with the rows of a query, complete before anybody can see its name."""
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    store = run.account.store
    rows = numbered(run, rows)
    with removed_on_failure(run, table):
        create_storage(run, table)
        reached("table-created")
        data = RowWriter(run, table).few_rows(rows)
        tag = CommitTag(run.transaction.id, run.query_id)
        if data is None:
            run.account.engine.append(
                to_spark_sql(rows), list(run.tables.values()), store.root.uri_of(definition.location),
                user_metadata=tag.user_metadata(), tag=run.tag, pool=run.pool, inputs=run.inputs,
            )  # fmt: skip
        elif data.num_rows:
            store.append(definition.location, data, tag)
        reached("table-filled")
    version = store.latest_version(definition.location)
    return FirstVersion(
        version,
        store.row_count(definition.location, version),
        store.files(definition.location, version).total_bytes,
    )


def publish(
    run: Run,
    table: CatalogObject,
    written: FirstVersion,
    *,
    replacing: bool,
    retention_days: int | None = None,
    contract: ContractLink | None = None,
    also: Callable[[StateTransaction], None] | None = None,
) -> None:
    """Gives the table its name and its visible version in one step; an old one of that name is dropped in the same.

    `retention_days` is what the statement says; without it the schema's counts. `also` happens in the same step.
    `contract`: what the table is held to from the start; without it, what the old one was held to.
    """
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    with removed_on_failure(run, table):
        run.account.store.sync(definition.location, written.version, after=-1)
        reached("before-publish")
        looked_at: list[QualityResult] = []
        if replacing and definition.quality and written.rows and table.session_id is None:
            looked_at = run.account.gate.check_new(run, table, written.version, written.rows)
        with run.state.begin() as state:
            existing = state.catalog.find(table.name, RELATIONS, table.session_id)
            if existing is not None and existing.session_id == table.session_id:
                if not replacing:
                    raise errors.already_exists(str(table.name))
                state.catalog.drop(existing.id, state.now)
                run.account.lifecycle.replaced(state, existing, definition.columns, table.id)
                state.quality.move(existing.id, table.id)
            if contract is not None:
                state.contracts.put(contract)
            if also is not None:
                also(state)
            add_table(run, state, table, written, retention_days)
            annotate_created(run, state, table)
            state.quality.record(looked_at)
            reached("inside-publish")
    made = CommitResult(written.version, rows_inserted=written.rows)
    run.account.events.table_written(run.query_id, table, -1, made)
    reached("after-publish")


def add_table(
    run: Run, state: StateTransaction, table: CatalogObject, written: FirstVersion, retention_days: int | None = None
) -> None:
    """The table with its first version, in a transaction of the caller's."""
    table = table.model_copy(update={"created_on": state.now, "altered_on": state.now})
    if retention_days is not None:
        retention.set_table(state, table, retention_days)
    state.catalog.create(retention.in_force(state, table))
    state.versions.flip(
        TableVersion(
            table_id=table.id,
            version=written.version,
            committed_at=state.now,
            transaction_id=run.transaction.id,
            query_id=run.query_id,
            operation="CREATE TABLE",
            rows=written.rows,
            bytes=written.bytes,
        )
    )


def copy_counters(state: StateTransaction, source: CatalogObject, table: CatalogObject) -> None:
    """A clone goes on counting where its source stands."""
    assert isinstance(source.definition, TableDefinition)
    for column in source.definition.columns:
        if column.identity is not None:
            following = state.counters.peek(source.id, column.name)
            if following is not None:
                state.counters.set(table.id, column.name, following)
