"""SET TAG and UNSET TAG, and where the values are kept: beside what has them, under the id of the tag."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.features.tags.definitions import TAG, TagDefinition
from snowmelt.features.tags.statements import SetTags, UnsetTags
from snowmelt.runtime import schema_objects
from snowmelt.runtime.rights import enforcement
from snowmelt.sql.statements.base import NameRef
from snowmelt.state.model import CatalogObject, ParameterLevel, TableDefinition, ViewDefinition
from snowmelt.state.store import StateReader, StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_PREFIX = "tag:"
_LONGEST = 256


@dataclass(frozen=True, slots=True)
class Tagged:
    """One value: of the object itself, or of one of its columns."""

    tag_id: str
    column: str | None
    value: str


def tags_on(state: StateReader, level: ParameterLevel, id: str) -> Iterator[Tagged]:
    """All that was set on an object and its columns, also of tags that are gone."""
    for key, value in sorted(state.parameters.all(level, id).items()):
        if key.startswith(_PREFIX):
            tag_id, _, column = key.removeprefix(_PREFIX).partition(":")
            yield Tagged(tag_id, column or None, value)


def set_on_relation(run: Run, item: CatalogObject, actions: Sequence[SetTags | UnsetTags]) -> None:
    """What ALTER … SET TAG does to a table or view, or to columns of it."""
    definition = item.definition
    assert isinstance(definition, TableDefinition | ViewDefinition)
    names = {column.name for column in definition.columns}
    for action in actions:
        if action.column is not None and action.column not in names:
            raise errors.invalid_identifier(quote(action.column), 0, 0)
    with run.state.read() as reader:
        found = [(action, _found(run, reader, action)) for action in actions]
    with run.state.begin() as state:
        for action, tags in found:
            _store(state, ParameterLevel.TABLE, item.id, action, tags)


def set_on_container(
    run: Run, state: StateTransaction, level: ParameterLevel, id: str, action: SetTags | UnsetTags
) -> None:
    _store(state, level, id, action, _found(run, state, action))


def tag_created(run: Run, state: StateTransaction, item: CatalogObject, action: SetTags) -> None:
    """`WITH TAG` in CREATE of a table or view."""
    _store(state, ParameterLevel.TABLE, item.id, action, _found(run, state, action))


def _found(run: Run, state: StateReader, action: SetTags | UnsetTags) -> list[CatalogObject]:
    """The tags that are named, which whoever sets them may use, and whose values they are."""
    if isinstance(action, UnsetTags):
        return [_usable(run, state, name) for name in action.tags]
    found = [_usable(run, state, name) for name, _ in action.tags]
    for tag, (_, value) in zip(found, action.tags, strict=True):
        assert isinstance(tag.definition, TagDefinition)
        allowed = tag.definition.allowed_values
        if len(value) > _LONGEST or (allowed is not None and value not in allowed):
            why = f"Allowed are: {', '.join(allowed)}." if allowed else f"It may have {_LONGEST} characters."
            raise errors.SnowmeltError(
                "391801", "0A000", f"Tag value '{value}' is not an allowed value for tag '{tag.name}'.", hint=why
            )
    return found


def _usable(run: Run, state: StateReader, name: NameRef) -> CatalogObject:
    tag = schema_objects.require(run, state, TAG, name)
    enforcement.require_object(run, "APPLY", tag)
    return tag


def _store(
    state: StateTransaction, level: ParameterLevel, id: str, action: SetTags | UnsetTags, tags: Sequence[CatalogObject]
) -> None:
    for index, tag in enumerate(tags):
        key = f"{_PREFIX}{tag.id}" + (f":{action.column}" if action.column is not None else "")
        if isinstance(action, SetTags):
            state.parameters.set(level, id, key, action.tags[index][1])
        else:
            state.parameters.unset(level, id, key)


# -- when a table changes ---------------------------------------------------------------------------------------------


def column_renamed(state: StateTransaction, table_id: str, old: str, new: str) -> None:
    for tagged in tags_on(state, ParameterLevel.TABLE, table_id):
        if tagged.column == old:
            state.parameters.unset(ParameterLevel.TABLE, table_id, f"{_PREFIX}{tagged.tag_id}:{old}")
            state.parameters.set(ParameterLevel.TABLE, table_id, f"{_PREFIX}{tagged.tag_id}:{new}", tagged.value)


def copy_tags(state: StateTransaction, source_id: str, table_id: str) -> None:
    """A clone is what its source is said to be."""
    for key, value in state.parameters.all(ParameterLevel.TABLE, source_id).items():
        if key.startswith(_PREFIX):
            state.parameters.set(ParameterLevel.TABLE, table_id, key, value)
