"""Version 7: channels and their history."""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENTS = (
    """
    CREATE TABLE channels (
        id {text} NOT NULL PRIMARY KEY,
        table_id {text} NOT NULL,
        name {text} NOT NULL,
        record {text} NOT NULL
    )
    """,
    "CREATE UNIQUE INDEX channels_by_name ON channels (table_id, name)",
    # One row a minute in which a channel committed: one a commit would be 86,400 a day.
    """
    CREATE TABLE channel_minutes (
        channel_id {text} NOT NULL,
        minute BIGINT NOT NULL,
        table_id {text} NOT NULL,
        record {text} NOT NULL,
        PRIMARY KEY (channel_id, minute)
    )
    """,
    "CREATE INDEX channel_minutes_of_table ON channel_minutes (table_id, minute)",
    "CREATE INDEX channel_minutes_by_time ON channel_minutes (minute)",
)


def apply(connection: Connection) -> None:
    # Names sort by code point everywhere, as SQLite does it, whatever the server's locale.
    text = 'TEXT COLLATE "C"' if connection.dialect.name == "postgresql" else "TEXT"
    for statement in _STATEMENTS:
        connection.exec_driver_sql(statement.format(text=text))
