"""Version 15: from which addresses clients may come."""

from __future__ import annotations

from sqlalchemy import Connection


def apply(connection: Connection) -> None:
    text = 'TEXT COLLATE "C"' if connection.dialect.name == "postgresql" else "TEXT"
    connection.exec_driver_sql(
        f"CREATE TABLE network_policies (name {text} NOT NULL PRIMARY KEY, record {text} NOT NULL)"
    )
