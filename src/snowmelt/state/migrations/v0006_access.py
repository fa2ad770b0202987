"""Version 6: users, roles, privileges, access tokens, and the audit log."""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENTS = (
    """
    CREATE TABLE roles (
        name {text} NOT NULL PRIMARY KEY,
        record {text} NOT NULL
    )
    """,
    """
    CREATE TABLE users (
        name {text} NOT NULL PRIMARY KEY,
        login_name {text} NOT NULL UNIQUE,
        record {text} NOT NULL
    )
    """,
    """
    CREATE TABLE access_tokens (
        id {text} NOT NULL PRIMARY KEY,
        user_name {text} NOT NULL,
        name {text} NOT NULL,
        token_hash {text} NOT NULL UNIQUE,
        record {text} NOT NULL
    )
    """,
    "CREATE UNIQUE INDEX access_tokens_by_name ON access_tokens (user_name, name)",
    """
    CREATE TABLE grants (
        grantee_kind {text} NOT NULL,
        grantee {text} NOT NULL,
        on_kind {text} NOT NULL,
        on_id {text} NOT NULL,
        privilege {text} NOT NULL,
        grant_option BOOLEAN NOT NULL,
        granted_by {text} NOT NULL,
        created_on BIGINT NOT NULL,
        PRIMARY KEY (grantee_kind, grantee, on_kind, on_id, privilege)
    )
    """,
    "CREATE INDEX grants_by_object ON grants (on_id)",
    """
    CREATE TABLE future_grants (
        container_id {text} NOT NULL,
        on_kind {text} NOT NULL,
        privilege {text} NOT NULL,
        grantee {text} NOT NULL,
        grant_option BOOLEAN NOT NULL,
        granted_by {text} NOT NULL,
        created_on BIGINT NOT NULL,
        PRIMARY KEY (container_id, on_kind, privilege, grantee)
    )
    """,
    """
    CREATE TABLE audit_events (
        id {text} NOT NULL PRIMARY KEY,
        at BIGINT NOT NULL,
        kind {text} NOT NULL,
        user_name {text} NOT NULL,
        record {text} NOT NULL
    )
    """,
    "CREATE INDEX audit_events_by_time ON audit_events (at)",
)


def apply(connection: Connection) -> None:
    # Names sort by code point everywhere, as SQLite does it, whatever the server's locale.
    text = 'TEXT COLLATE "C"' if connection.dialect.name == "postgresql" else "TEXT"
    for statement in _STATEMENTS:
        connection.exec_driver_sql(statement.format(text=text))
