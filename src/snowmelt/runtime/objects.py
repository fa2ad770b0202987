"""Making catalog objects, with what each kind always comes with."""

from __future__ import annotations

from snowmelt.core.names import SchemaName
from snowmelt.state.ids import new_id
from snowmelt.state.model import Database, Schema
from snowmelt.state.store import StateTransaction

SYSTEM_ROLE = "ACCOUNTADMIN"


def create_database(
    state: StateTransaction, name: str, *, owner: str = SYSTEM_ROLE, comment: str | None = None,
    transient: bool = False, retention_days: int = 1, public: bool = True,
) -> Database:  # fmt: skip
    """A database, with the PUBLIC schema that every database has."""
    database = Database(
        id=new_id(), name=name, owner=owner, comment=comment, transient=transient, retention_days=retention_days,
        created_on=state.now, altered_on=state.now,
    )  # fmt: skip
    state.catalog.create_database(database)
    if public:
        create_schema(state, SchemaName(name, "PUBLIC"), owner=owner, retention_days=retention_days)
    return database


def create_schema(
    state: StateTransaction, name: SchemaName, *, owner: str = SYSTEM_ROLE, comment: str | None = None,
    transient: bool = False, managed_access: bool = False, retention_days: int = 1,
) -> Schema:  # fmt: skip
    schema = Schema(
        id=new_id(), database=name.database, name=name.name, owner=owner, comment=comment, transient=transient,
        managed_access=managed_access, retention_days=retention_days, created_on=state.now, altered_on=state.now,
    )  # fmt: skip
    state.catalog.create_schema(schema)
    return schema
