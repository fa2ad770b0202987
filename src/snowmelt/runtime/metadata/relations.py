"""Tables, views, and both together as objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.runtime.metadata.catalog import is_builtin, objects
from snowmelt.runtime.metadata.columns import Row, switch, word, yes
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.metadata.scopes import schema_scope
from snowmelt.runtime.rights.enforcement import may_read_definition
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.model import (
    RELATIONS,
    CatalogObject,
    ObjectKind,
    TableDefinition,
    TableVersion,
    ViewDefinition,
)
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

Sizes = dict[str, TableVersion]


def tables(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    scope = schema_scope(run, state, statement)
    found = objects(run, state, [ObjectKind.TABLE], scope.database, scope.schema, include_dropped=statement.history)
    sizes = sizes_of(state, found)
    for item in found:
        assert isinstance(item.definition, TableDefinition)
        row = _table(item, item.definition, sizes)
        # The terse form does not tell temporary and transient tables apart.
        yield {**row, "kind": "TABLE"} if statement.terse else row


def sizes_of(state: StateReader, items: Iterable[CatalogObject]) -> Sizes:
    """The visible version of each table, by its id: it knows rows and bytes."""
    return state.versions.snapshot([item.id for item in items if item.kind is ObjectKind.TABLE])


def _table(item: CatalogObject, definition: TableDefinition, sizes: Sizes) -> Row:
    return {
        **_common(item, sizes),
        "kind": table_kind(item, definition),
        "dropped_on": item.dropped_on,
        "automatic_clustering": "OFF",
        "change_tracking": switch(definition.change_tracking),
        "search_optimization": "OFF",
        "is_external": "N",
        "enable_schema_evolution": yes(definition.schema_evolution),
        "is_event": "N",
        "is_immutable": "N",
    }


def _common(item: CatalogObject, sizes: Sizes) -> Row:
    """What SHOW TABLES and SHOW OBJECTS share."""
    version = sizes.get(item.id)
    definition = item.definition
    table = definition if isinstance(definition, TableDefinition) else None
    return {
        "created_on": item.created_on,
        "name": item.name.name,
        "database_name": item.name.database,
        "schema_name": item.name.schema,
        "comment": item.comment or "",
        "cluster_by": clustering_key(table) if table is not None else "",
        "rows": version.rows if version is not None else None,
        "bytes": version.bytes if version is not None else None,
        "owner": item.owner,
        "retention_time": str(table.retention_days) if table is not None else "",
        "owner_role_type": "" if is_builtin(item) else "ROLE",
        "is_hybrid": "N",
        "is_dynamic": yes(table is not None and table.dynamic is not None),
        "is_iceberg": "N",
    }


def table_kind(item: CatalogObject, definition: TableDefinition) -> str:
    if item.session_id is not None:
        return "TEMPORARY"
    return "TRANSIENT" if definition.transient else "TABLE"


def clustering_key(definition: TableDefinition) -> str:
    return f"LINEAR({', '.join(definition.cluster_by)})" if definition.cluster_by else ""


def views(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    if statement.history:
        raise errors.unsupported("SHOW VIEWS HISTORY")
    scope = schema_scope(run, state, statement)
    for item in objects(run, state, [ObjectKind.VIEW], scope.database, scope.schema):
        definition = item.definition
        assert isinstance(definition, ViewDefinition)
        yield {
            "created_on": item.created_on,
            "name": item.name.name,
            "kind": "VIEW",
            "reserved": "",
            "database_name": item.name.database,
            "schema_name": item.name.schema,
            "owner": item.owner,
            "comment": item.comment or "",
            "text": definition.text if may_read_definition(run, item) else "",
            "is_secure": word(definition.secure),
            "is_materialized": "false",
            "owner_role_type": "" if is_builtin(item) else "ROLE",
            "change_tracking": switch(definition.change_tracking),
        }


def all_objects(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    scope = schema_scope(run, state, statement)
    found = objects(run, state, RELATIONS, scope.database, scope.schema)
    sizes = sizes_of(state, found)
    for item in found:
        yield {**_common(item, sizes), "kind": item.kind.value, "is_interactive": "N"}


LISTINGS = {"TABLES": Listing(tables), "VIEWS": Listing(views), "OBJECTS": Listing(all_objects)}
