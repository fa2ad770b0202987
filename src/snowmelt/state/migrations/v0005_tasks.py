"""Version 5: where tasks stand, the runs of their graphs, and their own."""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENTS = (
    """
    CREATE TABLE tasks (
        task_id {text} NOT NULL PRIMARY KEY,
        record {text} NOT NULL
    )
    """,
    """
    CREATE TABLE task_graph_runs (
        id {text} NOT NULL PRIMARY KEY,
        group_id {text} NOT NULL,
        root_id {text} NOT NULL,
        state {text} NOT NULL,
        scheduled_time BIGINT NOT NULL,
        record {text} NOT NULL
    )
    """,
    "CREATE INDEX task_graph_runs_by_root ON task_graph_runs (root_id, scheduled_time)",
    "CREATE INDEX task_graph_runs_active ON task_graph_runs (scheduled_time) WHERE state IN ('SCHEDULED', 'EXECUTING')",
    """
    CREATE TABLE task_runs (
        id {text} NOT NULL PRIMARY KEY,
        graph_run_id {text} NOT NULL,
        task_id {text} NOT NULL,
        state {text} NOT NULL,
        scheduled_time BIGINT NOT NULL,
        record {text} NOT NULL
    )
    """,
    "CREATE INDEX task_runs_by_graph ON task_runs (graph_run_id)",
    "CREATE INDEX task_runs_by_task ON task_runs (task_id, scheduled_time)",
    "CREATE INDEX task_runs_by_time ON task_runs (scheduled_time)",
    "CREATE INDEX task_runs_executing ON task_runs (id) WHERE state = 'EXECUTING'",
)


def apply(connection: Connection) -> None:
    # Names sort by code point everywhere, as SQLite does it, whatever the server's locale.
    text = 'TEXT COLLATE "C"' if connection.dialect.name == "postgresql" else "TEXT"
    for statement in _STATEMENTS:
        connection.exec_driver_sql(statement.format(text=text))
