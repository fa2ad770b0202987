"""Streams as SHOW, DESCRIBE and GET_DDL print them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from snowmelt.service.metadata.catalog import objects
from snowmelt.service.metadata.columns import Row, word
from snowmelt.service.metadata.listing import Listing
from snowmelt.service.metadata.scopes import schema_scope
from snowmelt.service.streams.offsets import definition_of, invalid_reason, stale_after
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.model import RELATIONS, CatalogObject, ObjectKind
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.service.run import Run


def streams(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    scope = schema_scope(run, state, statement)
    for item in objects(run, state, [ObjectKind.STREAM], scope.database, scope.schema):
        yield described(run, state, item)


def described(run: Run, state: StateReader, item: CatalogObject) -> Row:
    """One stream, with all columns."""
    definition = definition_of(item)
    standing = state.streams.require(item.id)
    gone = invalid_reason(state, item)
    source = state.catalog.by_id(definition.source_id)
    limited = run.authority.sight is not None
    unseen = limited and (source is None or state.catalog.find(source.name, RELATIONS, run.session.id) is None)
    until = stale_after(run, state, standing)
    bases = [table.name for id in standing.offsets if (table := state.catalog.by_id(id)) is not None]
    if limited:
        bases = [name for name in bases if state.catalog.find(name, RELATIONS, run.session.id) is not None]
    named = source.name if source is not None else definition.source_name
    missing = f"Base {gone[0]} '{named}' was dropped, or there is no permission to see it." if gone else None
    if unseen:
        missing = "No privilege or table dropped"
    return {
        "created_on": item.created_on,
        "name": item.name.name,
        "database_name": item.name.database,
        "schema_name": item.name.schema,
        "owner": item.owner,
        "comment": item.comment or "",
        "table_name": missing or str(named),
        "tableOn": missing or named.name,
        "kind": "DELTA",
        "source_type": definition.source_type,
        "base_tables": ", ".join(str(name) for name in bases),
        "type": "DELTA",
        "stale": word(gone is not None or run.now >= until),
        "mode": definition.mode.value,
        "stale_after": until,
        "invalid_reason": missing or "N/A",
        "owner_role_type": "ROLE",
    }


LISTINGS = {"STREAMS": Listing(streams)}
