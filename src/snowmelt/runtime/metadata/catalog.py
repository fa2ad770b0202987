"""Catalog look-ups for what is shown: with INFORMATION_SCHEMA, which no stored schema holds, and without secrets.

Whatever prints definitions finds them here, so that each has passed `as_shown`.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import TYPE_CHECKING

from snowmelt.core.names import ObjectName
from snowmelt.runtime.metadata.information_schema import view_columns
from snowmelt.runtime.rights.definitions import as_shown
from snowmelt.state.model import (
    RELATIONS,
    CatalogObject,
    Column,
    Database,
    ObjectKind,
    ViewDefinition,
)
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

INFORMATION_SCHEMA = "INFORMATION_SCHEMA"


def find_relation(run: Run, state: StateReader, name: ObjectName) -> CatalogObject | None:
    """The table or view of that name, as the session sees it."""
    if name.schema == INFORMATION_SCHEMA:
        database = state.catalog.database(name.database)
        return _view(database, name.name) if database is not None and name.name in view_columns() else None
    return find_object(run, state, name, RELATIONS)


def find_object(
    run: Run, state: StateReader, name: ObjectName, kinds: Collection[ObjectKind]
) -> CatalogObject | None:  # fmt: skip
    """The object of that name and one of the kinds, as the session sees it."""
    found = state.catalog.find(name, kinds, run.session.id)
    return None if found is None else as_shown(run, found)


def find_routines(run: Run, state: StateReader, name: ObjectName, kind: ObjectKind) -> list[CatalogObject]:
    """All overloads of a function or procedure."""
    return [as_shown(run, item) for item in state.catalog.routines(name, kind, run.session.id)]


def objects(
    run: Run,
    state: StateReader,
    kinds: Collection[ObjectKind],
    database: str | None = None,
    schema: str | None = None,
    *,
    include_dropped: bool = False,
) -> list[CatalogObject]:
    """Objects by database, schema and name, INFORMATION_SCHEMA's views among them."""
    stored = state.catalog.objects(kinds, database, schema, session_id=run.session.id, include_dropped=include_dropped)
    found = [as_shown(run, item) for item in stored]
    if ObjectKind.VIEW in kinds and schema in (None, INFORMATION_SCHEMA):
        databases = [item for item in state.catalog.databases() if database in (None, item.name)]
        found.extend(_view(item, name) for item in databases for name in view_columns())
        found.sort(key=lambda item: (item.name, item.created_on))
    return found


def is_builtin(item: CatalogObject) -> bool:
    """Whether this is one of INFORMATION_SCHEMA's views, which nobody owns or created."""
    return item.name.schema == INFORMATION_SCHEMA


@cache
def _columns(view: str) -> tuple[Column, ...]:
    return tuple(Column(name=column.name, type=column.type) for column in view_columns()[view])


def _view(database: Database, name: str) -> CatalogObject:
    return CatalogObject.model_construct(
        id=f"{database.id} {name}",
        name=ObjectName(database.name, INFORMATION_SCHEMA, name),
        owner="",
        created_on=database.created_on,
        altered_on=database.created_on,
        definition=ViewDefinition.model_construct(
            columns=_columns(name),
            query="",
            database=database.name,
            schema_=INFORMATION_SCHEMA,
            text="",
        ),
    )
