"""Catalog look-ups that know INFORMATION_SCHEMA, which no stored schema holds."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from snowmelt.core.names import ObjectName
from snowmelt.service.metadata.information_schema import VIEWS
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
    from snowmelt.service.run import Run

INFORMATION_SCHEMA = "INFORMATION_SCHEMA"
_COLUMNS = {
    name: tuple(Column(name=column.name, type=column.type) for column in columns) for name, columns in VIEWS.items()
}


def find_relation(run: Run, state: StateReader, name: ObjectName) -> CatalogObject | None:
    """The table or view of that name, as the session sees it."""
    if name.schema == INFORMATION_SCHEMA:
        database = state.catalog.database(name.database)
        return _view(database, name.name) if database is not None and name.name in VIEWS else None
    return state.catalog.find(name, RELATIONS, run.session.id)


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
    found = state.catalog.objects(kinds, database, schema, session_id=run.session.id, include_dropped=include_dropped)
    if ObjectKind.VIEW in kinds and schema in (None, INFORMATION_SCHEMA):
        found.extend(
            _view(item, name) for item in state.catalog.databases() if database in (None, item.name) for name in VIEWS
        )
        found.sort(key=lambda item: (item.name, item.created_on))
    return found


def is_builtin(item: CatalogObject) -> bool:
    """Whether this is one of INFORMATION_SCHEMA's views, which nobody owns or created."""
    return item.name.schema == INFORMATION_SCHEMA


def _view(database: Database, name: str) -> CatalogObject:
    return CatalogObject.model_construct(
        id=f"{database.id} {name}",
        name=ObjectName(database.name, INFORMATION_SCHEMA, name),
        owner="",
        created_on=database.created_on,
        altered_on=database.created_on,
        definition=ViewDefinition.model_construct(
            columns=_COLUMNS[name],
            query="",
            database=database.name,
            schema_=INFORMATION_SCHEMA,
            text="",
        ),
    )
