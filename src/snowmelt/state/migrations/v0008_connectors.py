"""Version 8: how far connectors are."""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENTS = (
    """
    CREATE TABLE connectors (
        connector_id {text} NOT NULL PRIMARY KEY,
        record {text} NOT NULL
    )
    """,
)


def apply(connection: Connection) -> None:
    # Names sort by code point everywhere, as SQLite does it, whatever the server's locale.
    text = 'TEXT COLLATE "C"' if connection.dialect.name == "postgresql" else "TEXT"
    for statement in _STATEMENTS:
        connection.exec_driver_sql(statement.format(text=text))
