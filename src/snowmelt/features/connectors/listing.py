"""Connectors as SHOW and DESCRIBE print them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from snowmelt.features.connectors.definitions import CONNECTOR, definition_of
from snowmelt.features.connectors.standings import ConnectorStandings
from snowmelt.runtime.metadata.columns import Row, columns
from snowmelt.runtime.metadata.schema_objects import named, of_kind
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

COLUMNS = columns(
    "created_on:ts, name, database_name, schema_name, owner, comment, type, host, port:n, database, tables, slot, "
    "publication, snapshot_mode, target, target_name, state, error, warning, changes:n, dead_letters:n, "
    "last_change_at:ts, last_landed_at:ts, slot_bytes:n, position, snapshot_by, owner_role_type"
)


def connectors(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    for item in of_kind(run, state, statement, CONNECTOR):
        yield described(state, item)


def described(state: StateReader, item: CatalogObject) -> Row:
    """One connector, with all columns. There is no password to show."""
    definition = definition_of(item)
    standing = state[ConnectorStandings].require(item.id)
    position = standing.position
    return {
        **named(item),
        "type": definition.type.value,
        "host": definition.host,
        "port": definition.port,
        "database": definition.database,
        "tables": ", ".join(definition.tables),
        "slot": definition.slot or None,
        "publication": definition.publication or None,
        "snapshot_mode": definition.snapshot_mode,
        "target": definition.target.value,
        "target_name": str(definition.raw_table or definition.mirror_schema),
        "state": "PAUSED" if standing.paused else standing.phase.value,
        "error": standing.error,
        "warning": standing.warning,
        "changes": standing.changes,
        "dead_letters": standing.dead_letters,
        "last_change_at": standing.last_change_at,
        "last_landed_at": standing.last_landed_at,
        "slot_bytes": standing.slot_bytes,
        "position": str(position) if position is not None else None,
        "snapshot_by": standing.snapshot_by,
    }
