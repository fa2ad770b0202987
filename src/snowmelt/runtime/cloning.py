"""Zero-copy clones of tables, schemas and databases, now or as of a point in time.

A clone has the structure its source had at that point; what hangs on names inside a cloned schema or database (foreign
keys, sequences of defaults, unqualified names in views) means the cloned objects.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.runtime import references, retention, sequences, tables
from snowmelt.runtime.references import Rename
from snowmelt.runtime.resolver import StatementCatalog
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.relations import TimeTravel
from snowmelt.sql.statements.base import TimePoint
from snowmelt.state.ids import new_id
from snowmelt.state.model import (
    CatalogObject,
    ParameterLevel,
    RoutineDefinition,
    SequenceDefinition,
    StageDefinition,
    TableDefinition,
    ViewDefinition,
)
from snowmelt.state.store import StateReader, StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


@dataclass(frozen=True, slots=True)
class ClonedTable:
    """A table whose files are in place, and which has no name yet."""

    table: CatalogObject
    source: CatalogObject
    version: int
    """The source's version."""
    written: tables.FirstVersion


def time_travel(point: TimePoint) -> TimeTravel:
    expression = parse_snowflake(point.value.text, line=point.value.line, column=point.value.column)
    return TimeTravel(before=point.when == "BEFORE", kind=point.kind, expression=expression)


def version_and_shape(
    run: Run, state: StateReader, source: CatalogObject, when: TimeTravel | None
) -> tuple[int, TableDefinition]:
    """The version to clone, and the definition the table had then."""
    assert isinstance(source.definition, TableDefinition)
    catalog = StatementCatalog(run, state, run.session.database, run.session.schema)
    version = catalog.version(source, source.definition, when)
    return version, definition_at(state, source, version)


def definition_at(state: StateReader, source: CatalogObject, version: int) -> TableDefinition:
    assert isinstance(source.definition, TableDefinition)
    shape = state.shapes.at(source.id, version)
    return source.definition if shape is None else shape.definition


def link_files(run: Run, source: CatalogObject, version: int, table: CatalogObject) -> tables.FirstVersion:
    """The clone's Delta table, over the source's files."""
    assert isinstance(source.definition, TableDefinition)
    assert isinstance(table.definition, TableDefinition)
    store = run.account.store
    location = table.definition.location
    with tables.removed_on_failure(run, table):
        cloned = store.clone(source.definition.location, version, location, run.transaction.tag(run.query_id))
    return tables.FirstVersion(cloned, store.row_count(location, cloned), store.files(location, cloned).total_bytes)


def inherit(
    run: Run, state: StateTransaction, source: CatalogObject, version: int, table: CatalogObject
) -> None:  # fmt: skip
    """What a cloned table has from its source besides rows and definition."""
    tables.copy_counters(state, source, table)
    retention.copy(state, ParameterLevel.TABLE, source.id, table.id)
    run.account.lifecycle.cloned(state, source.id, table.id)
    run.account.policies.cloned(state, source, version, table)


def instant_of(run: Run, point: TimePoint) -> datetime:
    """The instant that a point in time means for all tables of a container."""
    when = time_travel(point)
    tick = timedelta(microseconds=1)
    if when.kind != "STATEMENT":
        with run.state.read() as state:
            instant = StatementCatalog(run, state, run.session.database, run.session.schema).instant(when)
        return instant - tick if when.before else instant
    query_id = str(run.evaluate(when.expression).value)
    record = run.account.journal.get(query_id)
    if record is None:
        raise errors.statement_not_found(query_id)
    with run.state.read() as state:
        commits = [version.committed_at for version in state.versions.of_query(query_id)]
    if when.before:
        return (min(commits) if commits else record.start_time) - tick
    return max(commits) if commits else record.end_time or record.start_time


def existed(item: CatalogObject, at: datetime | None) -> bool:
    if at is None:
        return item.dropped_on is None
    return item.created_on <= at and (item.dropped_on is None or item.dropped_on > at)


def clone_tables(run: Run, sources: list[CatalogObject], rename: Rename, at: datetime | None) -> list[ClonedTable]:
    """The files of all these tables, under new names; nothing is visible yet."""
    made: list[ClonedTable] = []
    try:
        for source in sources:
            assert isinstance(source.definition, TableDefinition)
            with run.state.read() as state:
                found = state.versions.visible(source.id) if at is None else state.versions.as_of(source.id, at)
                if found is None:
                    raise errors.time_travel_unavailable(source.name.name)
                definition = definition_at(state, source, found.version)
            name = rename(source.name)
            location = run.account.store.root.new_location(name.database, name.schema, name.name)
            definition = references.renamed_definition(definition, rename).model_copy(update={"location": location})
            table = source.model_copy(
                update={"id": new_id(), "name": name, "owner": run.session.role, "definition": definition,
                        "dropped_on": None},
            )  # fmt: skip
            made.append(ClonedTable(table, source, found.version, tables.FirstVersion(0)))
            made[-1] = ClonedTable(table, source, found.version, link_files(run, source, found.version, table))
            run.account.store.sync(location, made[-1].written.version, after=-1)
    except BaseException:
        discard(run, made)
        raise
    return made


def discard(run: Run, made: list[ClonedTable]) -> None:
    for item in made:
        assert isinstance(item.table.definition, TableDefinition)
        run.account.store.remove(item.table.definition.location)


def add_cloned(run: Run, state: StateTransaction, item: ClonedTable) -> None:
    inherit(run, state, item.source, item.version, item.table)
    tables.add_table(run, state, item.table, item.written)
    run.account.lifecycle.table_cloned(state, item.source, item.version, item.table, item.written.version)


def add_object(run: Run, state: StateTransaction, source: CatalogObject, rename: Rename) -> None:
    """A clone of anything but a table. Internal stages are left out, as Snowflake does."""
    definition = source.definition
    if isinstance(definition, StageDefinition) and definition.url is None:
        return
    name = rename(source.name)
    if isinstance(definition, ViewDefinition | RoutineDefinition):
        definition = definition.model_copy(update={"database": name.database, "schema_": name.schema})
    clone = source.model_copy(
        update={"id": new_id(), "name": name, "owner": run.session.role, "definition": definition,
                "created_on": state.now, "altered_on": state.now, "dropped_on": None},
    )  # fmt: skip
    state.catalog.create(clone)
    run.account.policies.cloned(state, source, None, clone)
    if isinstance(definition, SequenceDefinition):
        following = state.counters.peek(source.id, sequences.COUNTER)
        if following is not None:
            state.counters.set(clone.id, sequences.COUNTER, following)
