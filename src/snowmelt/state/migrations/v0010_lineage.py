"""Version 10: what statements wrote, and from what."""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENTS = (
    """
    CREATE TABLE lineage (
        target_id {text} NOT NULL,
        digest {text} NOT NULL,
        target_name {text} NOT NULL,
        record {text} NOT NULL,
        PRIMARY KEY (target_id, digest)
    )
    """,
    "CREATE INDEX lineage_target_name ON lineage (target_name)",
)


def apply(connection: Connection) -> None:
    # Names sort by code point everywhere, as SQLite does it, whatever the server's locale.
    text = 'TEXT COLLATE "C"' if connection.dialect.name == "postgresql" else "TEXT"
    for statement in _STATEMENTS:
        connection.exec_driver_sql(statement.format(text=text))
