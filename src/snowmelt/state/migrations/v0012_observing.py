"""Version 12: how fresh things were, how sources changed their columns, which alerts fire and who was told."""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENTS = (
    """
    CREATE TABLE freshness_spans (
        object_id {text} NOT NULL,
        since BIGINT NOT NULL,
        until BIGINT,
        record {text} NOT NULL,
        PRIMARY KEY (object_id, since)
    )
    """,
    "CREATE INDEX freshness_spans_by_time ON freshness_spans (since)",
    "CREATE INDEX freshness_spans_open ON freshness_spans (object_id) WHERE until IS NULL",
    """
    CREATE TABLE schema_drifts (
        id {text} NOT NULL PRIMARY KEY,
        object_id {text} NOT NULL,
        found_at BIGINT NOT NULL,
        record {text} NOT NULL
    )
    """,
    "CREATE INDEX schema_drifts_by_time ON schema_drifts (found_at)",
    """
    CREATE TABLE alert_standings (
        alert_key {text} NOT NULL PRIMARY KEY,
        record {text} NOT NULL
    )
    """,
    """
    CREATE TABLE notifications (
        id {text} NOT NULL PRIMARY KEY,
        sent_at BIGINT NOT NULL,
        record {text} NOT NULL
    )
    """,
    "CREATE INDEX notifications_by_time ON notifications (sent_at)",
)


def apply(connection: Connection) -> None:
    # Names sort by code point everywhere, as SQLite does it, whatever the server's locale.
    text = 'TEXT COLLATE "C"' if connection.dialect.name == "postgresql" else "TEXT"
    for statement in _STATEMENTS:
        connection.exec_driver_sql(statement.format(text=text))
