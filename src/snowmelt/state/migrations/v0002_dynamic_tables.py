"""Version 2: where dynamic tables stand, their refreshes, and the definitions they had."""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENTS = (
    """
    CREATE TABLE dynamic_tables (
        table_id {text} NOT NULL PRIMARY KEY,
        record {text} NOT NULL
    )
    """,
    # version: the table's version that belongs to the data timestamp; set once the refresh succeeded.
    """
    CREATE TABLE dynamic_refreshes (
        id {text} NOT NULL PRIMARY KEY,
        table_id {text} NOT NULL,
        data_timestamp BIGINT NOT NULL,
        state {text} NOT NULL,
        version BIGINT,
        record {text} NOT NULL
    )
    """,
    "CREATE INDEX dynamic_refreshes_by_table ON dynamic_refreshes (table_id, data_timestamp)",
    "CREATE INDEX dynamic_refreshes_by_timestamp ON dynamic_refreshes (data_timestamp)",
    "CREATE INDEX dynamic_refreshes_running ON dynamic_refreshes (table_id) WHERE state = 'EXECUTING'",
    """
    CREATE TABLE dynamic_graph (
        table_id {text} NOT NULL,
        valid_from BIGINT NOT NULL,
        valid_to BIGINT,
        record {text} NOT NULL,
        PRIMARY KEY (table_id, valid_from)
    )
    """,
    "CREATE UNIQUE INDEX dynamic_graph_present ON dynamic_graph (table_id) WHERE valid_to IS NULL",
)


def apply(connection: Connection) -> None:
    # Names sort by code point everywhere, as SQLite does it, whatever the server's locale.
    text = 'TEXT COLLATE "C"' if connection.dialect.name == "postgresql" else "TEXT"
    for statement in _STATEMENTS:
        connection.exec_driver_sql(statement.format(text=text))
