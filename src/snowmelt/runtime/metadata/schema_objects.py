"""Sequences, and what SHOW tells of every object of a schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from snowmelt.runtime.metadata.catalog import objects
from snowmelt.runtime.metadata.columns import Row, yes
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.metadata.scopes import schema_scope
from snowmelt.runtime.sequences import COUNTER
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.model import (
    CatalogObject,
    ObjectKind,
    SequenceDefinition,
)
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def sequences(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    for item in of_kind(run, state, statement, ObjectKind.SEQUENCE):
        yield sequence(state, item)


def sequence(state: StateReader, item: CatalogObject) -> Row:
    """A sequence as SHOW and DESCRIBE print it."""
    definition = item.definition
    assert isinstance(definition, SequenceDefinition)
    return {
        **named(item),
        "next_value": next_value(state, item),
        "interval": definition.step,
        "ordered": yes(definition.ordered),
    }


def next_value(state: StateReader, item: CatalogObject) -> int:
    definition = item.definition
    assert isinstance(definition, SequenceDefinition)
    following = state.counters.peek(item.id, COUNTER)
    return definition.start if following is None else following


def of_kind(run: Run, state: StateReader, statement: ShowStatement, kind: ObjectKind) -> list[CatalogObject]:
    scope = schema_scope(run, state, statement)
    return objects(run, state, [kind], scope.database, scope.schema)


def named(item: CatalogObject) -> dict[str, Any]:
    """What SHOW tells of every object of a schema."""
    return {
        "created_on": item.created_on,
        "name": item.name.name,
        "database_name": item.name.database,
        "schema_name": item.name.schema,
        "owner": item.owner,
        "comment": item.comment or "",
        "owner_role_type": "ROLE",
    }


LISTINGS = {
    "SEQUENCES": Listing(sequences, paged=False),
}
