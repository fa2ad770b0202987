"""Version 3: which objects a project of definitions looks after."""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENTS = (
    """
    CREATE TABLE project_objects (
        project {text} NOT NULL,
        kind {text} NOT NULL,
        name {text} NOT NULL,
        record {text} NOT NULL,
        PRIMARY KEY (project, kind, name)
    )
    """,
)


def apply(connection: Connection) -> None:
    # Names sort by code point everywhere, as SQLite does it, whatever the server's locale.
    text = 'TEXT COLLATE "C"' if connection.dialect.name == "postgresql" else "TEXT"
    for statement in _STATEMENTS:
        connection.exec_driver_sql(statement.format(text=text))
