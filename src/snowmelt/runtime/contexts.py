"""The current database and schema of sessions, when what they name goes away or is called differently."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.core.names import SchemaName

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account

PUBLIC = "PUBLIC"


def database_dropped(account: Account, name: str) -> None:
    for session in account.sessions():
        if session.database == name:
            session.database = session.schema = None


def schema_dropped(account: Account, name: SchemaName) -> None:
    """Sessions in a dropped schema fall back to PUBLIC, as long as there is one."""
    with account.state.read() as state:
        public = state.catalog.schema(SchemaName(name.database, PUBLIC)) is not None
    for session in account.sessions():
        if (session.database, session.schema) == (name.database, name.name):
            session.schema = PUBLIC if public else None


def database_renamed(account: Account, old: str, new: str) -> None:
    for session in account.sessions():
        if session.database == old:
            session.database = new


def schema_renamed(account: Account, old: SchemaName, new: SchemaName) -> None:
    for session in account.sessions():
        if (session.database, session.schema) == (old.database, old.name):
            session.database, session.schema = new.database, new.name


def warehouse_renamed(account: Account, old: str, new: str | None) -> None:
    """`new` is None for a warehouse that was dropped."""
    for session in account.sessions():
        if session.warehouse == old:
            session.warehouse = new
