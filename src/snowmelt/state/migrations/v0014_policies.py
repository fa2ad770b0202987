"""Version 14: which policies hold for what."""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENTS = (
    """
    CREATE TABLE policy_references (
        object_id {text} NOT NULL,
        kind {text} NOT NULL,
        column_name {text} NOT NULL,
        policy_id {text} NOT NULL,
        record {text} NOT NULL,
        PRIMARY KEY (object_id, kind, column_name)
    )
    """,
    "CREATE INDEX policy_references_by_policy ON policy_references (policy_id)",
)


def apply(connection: Connection) -> None:
    # Names sort by code point everywhere, as SQLite does it, whatever the server's locale.
    text = 'TEXT COLLATE "C"' if connection.dialect.name == "postgresql" else "TEXT"
    for statement in _STATEMENTS:
        connection.exec_driver_sql(statement.format(text=text))
