"""BACKFILL FROM: the frozen rows of a new dynamic table are those of another table, taken over as they are."""

from __future__ import annotations

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, split_name
from snowmelt.core.types import Kind
from snowmelt.runtime.incremental import filling
from snowmelt.runtime.incremental.definitions import BoundDefinition, DefinitionCatalog
from snowmelt.runtime.run import Run
from snowmelt.sql.dialect import identifier
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
    frozen = _cast(filling.frozen_rows(bound.environment, catalog, begun, visible.version), definition)
    return filling.together(definition, filling.thawed(bound.environment, table, rows), frozen)


def _cast(rows: exp.Select, definition: TableDefinition) -> exp.Select:
    """A type has more than one form on disk: whole numbers may be 64-bit integers or decimals."""
    values = [
        exp.alias_(
            exp.cast(exp.column(identifier(c.name)), exp.DataType.build(c.type.stored, dialect="spark")),
            identifier(c.name),
        )
        for c in definition.columns
        if not c.type.is_semi_structured and c.type.kind is not Kind.TIMESTAMP_TZ
    ]
    done = {value.alias for value in values}
    kept = {c.name: exp.column(identifier(c.name)) for c in definition.columns if c.name not in done}
    by_name = {**{value.alias: value for value in values}, **kept}
    alias = exp.TableAlias(this=identifier("__b"))
    return exp.select(*(by_name[c.name] for c in definition.columns)).from_(exp.Subquery(this=rows, alias=alias))


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
    wanted = [(column.name, str(column.type)) for column in table.definition.columns]
    given = [(column.name, str(column.type)) for column in source.definition.columns]
    if wanted != given:
        raise errors.compilation(
            "002781", "22023", f"The columns of '{source.name}' are not those of dynamic table '{table.name}'."
        )
