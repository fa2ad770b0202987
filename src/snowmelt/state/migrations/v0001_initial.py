"""Version 1: catalog, table versions, transactions, counters, warehouses, parameters, histories."""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENTS = (
    # The store's clock and the catalog's generation: one row, which every writer locks first.
    """
    CREATE TABLE ledger (
        id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
        last_instant BIGINT NOT NULL,
        generation BIGINT NOT NULL
    )
    """,
    "INSERT INTO ledger (id, last_instant, generation) VALUES (1, 0, 0)",
    """
    CREATE TABLE databases (
        id {text} NOT NULL PRIMARY KEY,
        name {text} NOT NULL,
        owner {text} NOT NULL,
        comment {text},
        transient BOOLEAN NOT NULL,
        retention_days INTEGER NOT NULL,
        created_on BIGINT NOT NULL,
        altered_on BIGINT NOT NULL,
        dropped_on BIGINT
    )
    """,
    "CREATE UNIQUE INDEX databases_live ON databases (name) WHERE dropped_on IS NULL",
    # dropped_with: the id of the database whose DROP took this schema along, so that UNDROP brings it back.
    """
    CREATE TABLE schemas (
        id {text} NOT NULL PRIMARY KEY,
        database_id {text} NOT NULL REFERENCES databases (id),
        name {text} NOT NULL,
        owner {text} NOT NULL,
        comment {text},
        transient BOOLEAN NOT NULL,
        managed_access BOOLEAN NOT NULL,
        retention_days INTEGER NOT NULL,
        created_on BIGINT NOT NULL,
        altered_on BIGINT NOT NULL,
        dropped_on BIGINT,
        dropped_with {text}
    )
    """,
    "CREATE UNIQUE INDEX schemas_live ON schemas (database_id, name) WHERE dropped_on IS NULL",
    # slot: the place the object takes in its schema's namespaces; one live object per slot.
    """
    CREATE TABLE objects (
        id {text} NOT NULL PRIMARY KEY,
        schema_id {text} NOT NULL REFERENCES schemas (id),
        kind {text} NOT NULL,
        name {text} NOT NULL,
        slot {text} NOT NULL,
        owner {text} NOT NULL,
        comment {text},
        session_id {text},
        created_on BIGINT NOT NULL,
        altered_on BIGINT NOT NULL,
        dropped_on BIGINT,
        dropped_with {text},
        definition {text} NOT NULL
    )
    """,
    "CREATE UNIQUE INDEX objects_live ON objects (schema_id, slot) WHERE dropped_on IS NULL",
    "CREATE INDEX objects_by_name ON objects (schema_id, name)",
    "CREATE INDEX objects_by_session ON objects (session_id) WHERE session_id IS NOT NULL",
    # superseded_by: the next visible version; the one row of a table without it is the visible version.
    """
    CREATE TABLE table_versions (
        table_id {text} NOT NULL,
        version BIGINT NOT NULL,
        committed_at BIGINT NOT NULL,
        transaction_id {text} NOT NULL,
        query_id {text},
        operation {text} NOT NULL,
        row_count BIGINT NOT NULL,
        byte_count BIGINT NOT NULL,
        is_foreign BOOLEAN NOT NULL,
        superseded_by BIGINT,
        PRIMARY KEY (table_id, version)
    )
    """,
    "CREATE UNIQUE INDEX table_versions_visible ON table_versions (table_id) WHERE superseded_by IS NULL",
    "CREATE INDEX table_versions_by_instant ON table_versions (table_id, committed_at, version)",
    "CREATE INDEX table_versions_by_query ON table_versions (query_id) WHERE query_id IS NOT NULL",
    """
    CREATE TABLE undone_ranges (
        table_id {text} NOT NULL,
        first_version BIGINT NOT NULL,
        last_version BIGINT NOT NULL,
        PRIMARY KEY (table_id, first_version, last_version)
    )
    """,
    """
    CREATE TABLE transactions (
        id {text} NOT NULL PRIMARY KEY,
        state {text} NOT NULL,
        opened_at BIGINT NOT NULL,
        finished_at BIGINT
    )
    """,
    "CREATE INDEX transactions_open ON transactions (opened_at) WHERE finished_at IS NULL",
    "CREATE INDEX transactions_finished ON transactions (finished_at) WHERE finished_at IS NOT NULL",
    """
    CREATE TABLE transaction_tables (
        transaction_id {text} NOT NULL REFERENCES transactions (id),
        table_id {text} NOT NULL,
        PRIMARY KEY (transaction_id, table_id)
    )
    """,
    """
    CREATE TABLE counters (
        owner_id {text} NOT NULL,
        name {text} NOT NULL,
        next_value BIGINT NOT NULL,
        PRIMARY KEY (owner_id, name)
    )
    """,
    """
    CREATE TABLE warehouses (
        id {text} NOT NULL PRIMARY KEY,
        name {text} NOT NULL UNIQUE,
        record {text} NOT NULL
    )
    """,
    """
    CREATE TABLE parameters (
        level {text} NOT NULL,
        owner {text} NOT NULL,
        key {text} NOT NULL,
        value {text} NOT NULL,
        PRIMARY KEY (level, owner, key)
    )
    """,
    """
    CREATE TABLE queries (
        query_id {text} NOT NULL PRIMARY KEY,
        session_id {text} NOT NULL,
        user_name {text} NOT NULL,
        status {text} NOT NULL,
        start_time BIGINT NOT NULL,
        record {text} NOT NULL
    )
    """,
    "CREATE INDEX queries_by_start ON queries (start_time)",
    "CREATE INDEX queries_by_session ON queries (session_id, start_time)",
    "CREATE INDEX queries_running ON queries (query_id) WHERE status = 'running'",
    """
    CREATE TABLE file_loads (
        table_id {text} NOT NULL,
        file {text} NOT NULL,
        loaded_at BIGINT NOT NULL,
        record {text} NOT NULL,
        PRIMARY KEY (table_id, file, loaded_at)
    )
    """,
    "CREATE INDEX file_loads_by_instant ON file_loads (table_id, loaded_at)",
    # One row for every time a table's columns changed: how its versions up to last_version are to be read.
    """
    CREATE TABLE table_shapes (
        table_id {text} NOT NULL,
        last_version BIGINT NOT NULL,
        definition {text} NOT NULL,
        columns {text} NOT NULL,
        PRIMARY KEY (table_id, last_version)
    )
    """,
    # One row for every span of time in which a warehouse was up at one size.
    """
    CREATE TABLE warehouse_usage (
        id {text} NOT NULL PRIMARY KEY,
        warehouse_id {text} NOT NULL,
        started_at BIGINT NOT NULL,
        ended_at BIGINT,
        record {text} NOT NULL
    )
    """,
    "CREATE INDEX warehouse_usage_by_start ON warehouse_usage (started_at)",
    "CREATE INDEX warehouse_usage_open ON warehouse_usage (warehouse_id) WHERE ended_at IS NULL",
)


def apply(connection: Connection) -> None:
    # Names sort by code point everywhere, as SQLite does it, whatever the server's locale.
    text = 'TEXT COLLATE "C"' if connection.dialect.name == "postgresql" else "TEXT"
    for statement in _STATEMENTS:
        connection.exec_driver_sql(statement.format(text=text))
