"""Streams as SHOW, DESCRIBE and GET_DDL print them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from snowmelt.features.streams.definitions import STREAM, StreamMode
from snowmelt.features.streams.offsets import definition_of, invalid_reason, stale_after
from snowmelt.runtime.metadata.columns import Row, columns, word
from snowmelt.runtime.metadata.ddl_words import comment, object_name
from snowmelt.runtime.metadata.schema_objects import named, of_kind
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.model import RELATIONS, CatalogObject
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

COLUMNS = columns(
    "created_on:ts, name, database_name, schema_name, owner, comment, table_name, source_type, base_tables, type, "
    "stale, mode, stale_after:ts, invalid_reason, owner_role_type"
)
TERSE = columns("created_on:ts, name, kind, database_name, schema_name, tableOn")


def streams(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    for item in of_kind(run, state, statement, STREAM):
        yield described(run, state, item)


def described(run: Run, state: StateReader, item: CatalogObject) -> Row:
    """One stream, with all columns."""
    definition = definition_of(item)
    standing = state.streams.require(item.id)
    gone = invalid_reason(state, item)
    source = state.catalog.by_id(definition.source_id)
    limited = run.authority.sight is not None
    unseen = limited and (source is None or state.catalog.find(source.name, RELATIONS, run.session.id) is None)
    until = stale_after(run.account.parameters, state, standing)
    bases = [table.name for id in standing.offsets if (table := state.catalog.by_id(id)) is not None]
    if limited:
        bases = [name for name in bases if state.catalog.find(name, RELATIONS, run.session.id) is not None]
    read = source.name if source is not None else definition.source_name
    missing = f"Base {gone[0]} '{read}' was dropped, or there is no permission to see it." if gone else None
    if unseen:
        missing = "No privilege or table dropped"
    return {
        **named(item),
        "table_name": missing or str(read),
        "tableOn": missing or read.name,
        "kind": "DELTA",
        "source_type": definition.source_type,
        "base_tables": ", ".join(str(name) for name in bases),
        "type": "DELTA",
        "stale": word(gone is not None or run.now >= until),
        "mode": definition.mode.value,
        "stale_after": until,
        "invalid_reason": missing or "N/A",
    }


def ddl(item: CatalogObject, qualified: bool) -> str:
    definition, name = definition_of(item), object_name(item.name, qualified=qualified)
    elsewhere = definition.source_name.parent != item.name.parent
    source = object_name(definition.source_name, qualified=qualified or elsewhere)
    options = ""
    if definition.mode is not StreamMode.DEFAULT:
        options += f" {definition.mode.value.lower()} = true"
    if definition.show_initial_rows:
        options += " show_initial_rows = true"
    kind = definition.source_type.lower()
    return f"create or replace stream {name} on {kind} {source}{options}{comment(item.comment)};"
