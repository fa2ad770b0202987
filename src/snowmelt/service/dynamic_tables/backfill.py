"""BACKFILL FROM: the frozen rows of a new dynamic table are those of another table, taken over as they are."""

from __future__ import annotations

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, split_name
from snowmelt.service.dynamic_tables import filling
from snowmelt.service.dynamic_tables.definitions import BoundDefinition, DefinitionCatalog
from snowmelt.service.run import Run
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition
from snowmelt.state.store import StateReader


def backfilled(
    run: Run, state: StateReader, table: CatalogObject, bound: BoundDefinition, rows: exp.Select
) -> exp.Select:
    """The rows of the query that are not frozen, with the frozen rows of the table to begin with."""
    definition = table.definition
    assert isinstance(definition, TableDefinition) and definition.dynamic is not None
    source = _source(state, definition.dynamic.backfill_from)
    assert isinstance(source.definition, TableDefinition)
    _check(table, source)
    visible = state.versions.visible(source.id)
    catalog = bound.environment.relations
    assert visible is not None and isinstance(catalog, DefinitionCatalog)
    begun = source.model_copy(
        update={"definition": source.definition.model_copy(update={"dynamic": definition.dynamic})}
    )
    frozen = filling.frozen_rows(bound.environment, catalog, begun, visible.version)
    return filling.together(definition, filling.thawed(bound.environment, table, rows), frozen)


def _source(state: StateReader, name: str | None) -> CatalogObject:
    parts = split_name(name or "")
    assert parts is not None and len(parts) == 3
    found = state.catalog.find(ObjectName(*parts), [ObjectKind.TABLE])
    if found is None:
        raise errors.not_found("Table", str(name))
    return found


def _check(table: CatalogObject, source: CatalogObject) -> None:
    """The columns must be the same, by name, order and type."""
    assert isinstance(table.definition, TableDefinition) and isinstance(source.definition, TableDefinition)
    wanted = [(column.name, column.type) for column in table.definition.columns]
    given = [(column.name, column.type) for column in source.definition.columns]
    if wanted != given:
        raise errors.compilation(
            "002781", "22023", f"The columns of '{source.name}' are not those of dynamic table '{table.name}'."
        )
