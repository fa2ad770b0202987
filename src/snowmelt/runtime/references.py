"""Names that the catalog keeps inside definitions, and that must follow when what they name is renamed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from snowmelt.core.names import ObjectName
from snowmelt.runtime import defaults
from snowmelt.runtime.kinds import all_kinds
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.state.model import (
    CatalogObject,
    Column,
    ForeignKey,
    ObjectKind,
    RoutineDefinition,
    TableDefinition,
    ViewDefinition,
)
from snowmelt.state.quality_model import QualityCheck
from snowmelt.state.store import StateTransaction

Rename = Callable[[ObjectName], ObjectName]
Referring = TypeVar("Referring", ForeignKey, QualityCheck)


def follow_rename(state: StateTransaction, item: CatalogObject, new: ObjectName) -> None:
    """After one object got another name: foreign keys and quality checks that refer to a table, and defaults from a
    sequence, follow."""

    def follow(name: ObjectName) -> ObjectName:
        return new if name == item.name else name

    _follow(state, follow)
    if item.kind is ObjectKind.TABLE:
        _each_table(state, lambda definition: _with_keys(definition, follow))
    elif item.kind is ObjectKind.SEQUENCE:
        _each_table(state, lambda definition: _with_defaults(definition, follow))
    elif isinstance(item.definition, ViewDefinition | RoutineDefinition):
        moved = state.catalog.by_id(item.id)
        assert moved is not None
        home = {"database": new.database, "schema_": new.schema}
        state.catalog.update(moved.model_copy(update={"definition": item.definition.model_copy(update=home)}))


def container_renamed(state: StateTransaction, rename: Rename) -> None:
    """After a schema or database got another name: everything inside is called differently.

    `rename` gives the new name of every object; the catalog has the new names already.
    """

    def follow(definition: TableDefinition) -> TableDefinition:
        return _with_home(_with_defaults(_with_keys(definition, rename), rename), rename)

    _each_table(state, follow)
    _follow(state, rename)
    kinds = [ObjectKind.VIEW, ObjectKind.FUNCTION, ObjectKind.PROCEDURE]
    for item in state.whole_catalog.objects(kinds, include_dropped=True, all_sessions=True):
        definition = item.definition
        assert isinstance(definition, ViewDefinition | RoutineDefinition)
        moved = rename(ObjectName(definition.database, definition.schema_, ""))
        if (moved.database, moved.schema) != (definition.database, definition.schema_):
            home = {"database": moved.database, "schema_": moved.schema}
            state.catalog.update(item.model_copy(update={"definition": definition.model_copy(update=home)}))


def column_renamed(state: StateTransaction, table: CatalogObject, old: str, new: str) -> None:
    """After a column got another name: foreign keys and quality checks of other tables follow."""

    def following(item: Referring) -> Referring:
        if item.references != table.name or old not in item.referenced_columns:
            return item
        columns = tuple(new if name == old else name for name in item.referenced_columns)
        return item.model_copy(update={"referenced_columns": columns})

    _each_table(
        state,
        lambda definition: definition.model_copy(
            update={
                "foreign_keys": tuple(following(item) for item in definition.foreign_keys),
                "quality": tuple(following(item) for item in definition.quality),
            }
        ),
        but=table.id,
    )


def referring_tables(state: StateTransaction, referred: Callable[[ObjectName], bool]) -> list[CatalogObject]:
    """Tables with a foreign key to one of those tables."""
    return [
        item
        for item in state.whole_catalog.objects([ObjectKind.TABLE])
        if isinstance(item.definition, TableDefinition)
        and any(referred(key.references) for key in item.definition.foreign_keys)
    ]


def _each_table(
    state: StateTransaction, follow: Callable[[TableDefinition], TableDefinition], but: str | None = None
) -> None:
    for item in state.whole_catalog.objects([ObjectKind.TABLE], all_sessions=True):
        assert isinstance(item.definition, TableDefinition)
        changed = follow(item.definition)
        if changed != item.definition and item.id != but:
            state.catalog.update(item.model_copy(update={"definition": changed}))


def _follow(state: StateTransaction, rename: Rename) -> None:
    """Objects of features that remember names of others."""
    for kind in all_kinds().descriptions:
        if kind.follow is not None:
            kind.follow(state, rename)


def _with_keys(definition: TableDefinition, rename: Rename) -> TableDefinition:
    if not definition.foreign_keys and not definition.quality:
        return definition
    keys = tuple(key.model_copy(update={"references": rename(key.references)}) for key in definition.foreign_keys)
    checks = tuple(
        check if check.references is None else check.model_copy(update={"references": rename(check.references)})
        for check in definition.quality
    )
    return definition.model_copy(update={"foreign_keys": keys, "quality": checks})


def _with_defaults(definition: TableDefinition, rename: Rename) -> TableDefinition:
    def column(item: Column) -> Column:
        # Parsing every default of every table would be slow; only these can name a sequence.
        if item.default is None or not item.default.endswith(".NEXTVAL"):
            return item
        parts = defaults.sequence_of(parse_snowflake(item.default))
        if parts is None or len(parts) != 3:
            return item
        return item.model_copy(update={"default": defaults.sequence_text(rename(ObjectName(*parts)))})

    return definition.model_copy(update={"columns": tuple(column(item) for item in definition.columns)})


def renamed_definition(definition: TableDefinition, rename: Rename) -> TableDefinition:
    """The definition with all its references renamed, for a clone."""
    moved = _with_home(_with_defaults(_with_keys(definition, rename), rename), rename)
    if moved.dynamic is None:
        return moved
    return moved.model_copy(update={"dynamic": moved.dynamic.model_copy(update={"is_clone": True})})


def _with_home(definition: TableDefinition, rename: Rename) -> TableDefinition:
    """The names in a dynamic table's query resolve where its schema is called now."""
    dynamic = definition.dynamic
    if dynamic is None:
        return definition
    moved = rename(ObjectName(dynamic.database, dynamic.schema_, ""))
    home = {"database": moved.database, "schema_": moved.schema}
    return definition.model_copy(update={"dynamic": dynamic.model_copy(update=home)})
