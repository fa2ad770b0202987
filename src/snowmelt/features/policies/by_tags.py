"""Masking policies that tags bring: those of a tag hold for every column that has it, of a type that they take."""

from __future__ import annotations

from collections.abc import Iterator

from snowmelt.core.names import SchemaName
from snowmelt.features.policies.definitions import MASKING, TAGGED
from snowmelt.features.tags.setting import Tagged, tags_on
from snowmelt.state.model import CatalogObject, Column, ParameterLevel, TableDefinition, ViewDefinition
from snowmelt.state.policy_model import PolicyReference
from snowmelt.state.store import StateReader


def tagged_masks(state: StateReader, item: CatalogObject) -> Iterator[PolicyReference]:
    """The policies of the tags of an object's columns, the nearest tag first: a column's own, then the table's, the
    schema's, the database's."""
    masks = {(one.object_id, one.column): one for one in state.policies.of_kind(TAGGED)}
    if not masks:
        return
    definition = item.definition
    assert isinstance(definition, TableDefinition | ViewDefinition)
    near = list(_tags(state, item))
    for column in definition.columns:
        reference = _mask_of(column, near, masks)
        if reference is not None:
            values = {"object_id": item.id, "kind": MASKING.value, "column": column.name, "arguments": (column.name,)}
            yield reference.model_copy(update=values)


def _mask_of(
    column: Column, near: list[Tagged], masks: dict[tuple[str, str], PolicyReference]
) -> PolicyReference | None:
    for tagged in near:
        if tagged.column in (None, column.name):
            found = masks.get((tagged.tag_id, column.type.kind.value))
            if found is not None:
                return found
    return None


def _tags(state: StateReader, item: CatalogObject) -> Iterator[Tagged]:
    own = list(tags_on(state, ParameterLevel.TABLE, item.id))
    yield from (tagged for tagged in own if tagged.column is not None)
    yield from (tagged for tagged in own if tagged.column is None)
    schema = state.whole_catalog.schema(SchemaName(item.name.database, item.name.schema))
    if schema is not None:
        yield from tags_on(state, ParameterLevel.SCHEMA, schema.id)
    database = state.whole_catalog.database(item.name.database)
    if database is not None:
        yield from tags_on(state, ParameterLevel.DATABASE, database.id)
