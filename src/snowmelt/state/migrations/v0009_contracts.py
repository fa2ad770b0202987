"""Version 9: which tables and views are held to which contracts."""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENTS = (
    """
    CREATE TABLE contract_links (
        object_id {text} NOT NULL PRIMARY KEY,
        contract_id {text} NOT NULL,
        major INTEGER NOT NULL,
        described {text} NOT NULL
    )
    """,
    "CREATE INDEX contract_links_by_contract ON contract_links (contract_id)",
)


def apply(connection: Connection) -> None:
    # Names sort by code point everywhere, as SQLite does it, whatever the server's locale.
    text = 'TEXT COLLATE "C"' if connection.dialect.name == "postgresql" else "TEXT"
    for statement in _STATEMENTS:
        connection.exec_driver_sql(statement.format(text=text))
