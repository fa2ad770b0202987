"""Version 11: results of quality checks."""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENTS = (
    """
    CREATE TABLE quality_results (
        id {text} NOT NULL PRIMARY KEY,
        table_id {text} NOT NULL,
        check_name {text} NOT NULL,
        measured_at BIGINT NOT NULL,
        record {text} NOT NULL
    )
    """,
    "CREATE INDEX quality_results_of_check ON quality_results (table_id, check_name, measured_at)",
    "CREATE INDEX quality_results_by_time ON quality_results (measured_at)",
)


def apply(connection: Connection) -> None:
    # Names sort by code point everywhere, as SQLite does it, whatever the server's locale.
    text = 'TEXT COLLATE "C"' if connection.dialect.name == "postgresql" else "TEXT"
    for statement in _STATEMENTS:
        connection.exec_driver_sql(statement.format(text=text))
