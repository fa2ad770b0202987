"""Version 13: what other tools wrote is found by an index. A vacuum asks for it, of tables with 100,000 versions."""

from __future__ import annotations

from sqlalchemy import Connection


def apply(connection: Connection) -> None:
    connection.exec_driver_sql(
        "CREATE INDEX table_versions_foreign ON table_versions (table_id, version) WHERE is_foreign"
    )
