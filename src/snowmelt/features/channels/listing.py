"""Channels as SHOW CHANNELS and the history function print them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from snowmelt.runtime.metadata.catalog import objects
from snowmelt.runtime.metadata.columns import Row, columns
from snowmelt.runtime.metadata.scopes import relation_scope, schema_scope
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.channel_model import ChannelMinute
from snowmelt.state.model import CatalogObject, ObjectKind
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run
    from snowmelt.runtime.table_functions import Arguments

HISTORY_ARGUMENTS = ("TABLE_NAME", "CHANNEL_NAME", "START_TIME", "END_TIME", "RESULT_LIMIT")
HISTORY_COLUMNS = columns(
    "CREATED_ON:ts, CHANNEL_ID, CHANNEL_NAME, DATABASE_NAME, SCHEMA_NAME, TABLE_NAME, END_OFFSET, ROWS_INSERTED:n, "
    "ROWS_PARSED:n, ROWS_ERROR_COUNT:n, BYTES_INSERTED:n, COMMITS:n, AVERAGE_LATENCY_MS:n, LAST_ERROR_MESSAGE"
)
_DAYS = 14
COLUMNS = columns(
    "created_on:ts, name, database_name, schema_name, table_name, client_sequencer, row_sequencer, "
    "offset_token, parent_name, parent_domain"
)


def channels(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    in_table = statement.scope is not None and statement.scope.kind == "TABLE"
    scope = (relation_scope if in_table else schema_scope)(run, state, statement)
    tables = [scope.relation] if scope.relation is not None else _tables(run, state, scope.database, scope.schema)
    by_id = {table.id: table for table in tables}
    for channel in state.channels.of_tables(list(by_id)):
        table = by_id[channel.table_id]
        yield {
            "created_on": channel.created_on,
            "name": channel.name,
            "database_name": table.name.database,
            "schema_name": table.name.schema,
            "table_name": table.name.name,
            "client_sequencer": str(channel.client_sequencer),
            "row_sequencer": str(channel.row_sequencer),
            "offset_token": channel.offset_token,
            "parent_name": table.name.name,
            "parent_domain": "TABLE",
        }


def history(run: Run, state: StateReader, arguments: Arguments) -> list[Row]:
    """What channels committed, a row for each minute in which they did, the latest first."""
    tables = {table.id: table for table in _tables(run, state, None, None)}
    since = arguments.instant("START_TIME") or run.now - timedelta(days=_DAYS)
    until = arguments.instant("END_TIME")
    table_name, channel = arguments.identifier("TABLE_NAME"), arguments.text("CHANNEL_NAME")
    # A minute counts from its beginning.
    found = state.channels.history(list(tables), since - timedelta(minutes=1))
    rows = [
        _minute(item, tables[item.table_id])
        for item in reversed(found)
        if (until is None or item.minute <= until)
        and table_name in (None, tables[item.table_id].name.name)
        and channel in (None, item.name)
    ]
    return rows[: arguments.limit(100)]


def _tables(run: Run, state: StateReader, database: str | None, schema: str | None) -> list[CatalogObject]:
    return objects(run, state, [ObjectKind.TABLE], database, schema)


def _minute(item: ChannelMinute, table: CatalogObject) -> Row:
    return {
        "CREATED_ON": item.minute,
        "CHANNEL_ID": item.channel_id,
        "CHANNEL_NAME": item.name,
        "DATABASE_NAME": table.name.database,
        "SCHEMA_NAME": table.name.schema,
        "TABLE_NAME": table.name.name,
        "END_OFFSET": item.end_offset,
        "ROWS_INSERTED": item.rows_inserted,
        "ROWS_PARSED": item.rows_inserted + item.rows_rejected,
        "ROWS_ERROR_COUNT": item.rows_rejected,
        "BYTES_INSERTED": item.bytes,
        "COMMITS": item.commits,
        "AVERAGE_LATENCY_MS": round(1000 * item.waited_seconds / item.batches) if item.batches else None,
        "LAST_ERROR_MESSAGE": item.last_error,
    }
