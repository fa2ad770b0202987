"""Records with everything a test does not care about filled in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

from snowmelt.core.names import ObjectName
from snowmelt.core.types import INTEGER, VARCHAR, DataType
from snowmelt.state.ids import new_id
from snowmelt.state.model import (
    Argument,
    CatalogObject,
    Column,
    Database,
    Definition,
    FileLoad,
    QueryRecord,
    RoutineDefinition,
    Schema,
    StageDefinition,
    TableDefinition,
    TableVersion,
    ViewDefinition,
    Warehouse,
)
from snowmelt.state.store import StateStore

T0 = datetime(2026, 1, 1, tzinfo=UTC)
COLUMNS = (Column(name="ID", type=INTEGER, nullable=False), Column(name="V", type=VARCHAR))


def name(text: str) -> ObjectName:
    """`T` is DB.PUBLIC.T; a dotted name is taken as it is."""
    parts = text.split(".")
    return ObjectName(*parts) if len(parts) == 3 else ObjectName("DB", "PUBLIC", text)


def database(called: str) -> Database:
    return Database(id=new_id(), name=called, owner="ADMIN", created_on=T0, altered_on=T0)


def schema(of: str, called: str) -> Schema:
    return Schema(id=new_id(), database=of, name=called, owner="ADMIN", created_on=T0, altered_on=T0)


def thing(called: str, definition: Definition, session: str | None = None) -> CatalogObject:
    return CatalogObject(
        id=new_id(),
        name=name(called),
        owner="ADMIN",
        session_id=session,
        created_on=T0,
        altered_on=T0,
        definition=definition,
    )


def table(called: str, session: str | None = None) -> CatalogObject:
    return thing(called, TableDefinition(columns=COLUMNS, location=f"tables/{called}"), session)


def view(called: str) -> CatalogObject:
    definition = ViewDefinition(columns=COLUMNS, query="SELECT 1", database="DB", schema="PUBLIC", text="CREATE VIEW")
    return thing(called, definition)


def stage(called: str) -> CatalogObject:
    return thing(called, StageDefinition(location="stages/x"))


def routine(
    called: str, types: Sequence[DataType], kind: Literal["FUNCTION", "PROCEDURE"] = "FUNCTION"
) -> CatalogObject:
    arguments = tuple(Argument(name=f"A{index}", type=type_) for index, type_ in enumerate(types))
    definition = RoutineDefinition(
        kind=kind, arguments=arguments, returns=INTEGER, body="1", database="DB", schema="PUBLIC"
    )
    return thing(called, definition)


def version(
    table_id: str, number: int, at: datetime, query_id: str | None = None, transaction_id: str = "tx"
) -> TableVersion:
    return TableVersion(
        table_id=table_id,
        version=number,
        committed_at=at,
        transaction_id=transaction_id,
        query_id=query_id,
        operation="INSERT",
        rows=number,
        bytes=10 * number,
    )


def query(id: str, start: datetime = T0, session: str = "s1") -> QueryRecord:
    return QueryRecord(
        query_id=id,
        session_id=session,
        text="SELECT 1",
        query_type="SELECT",
        database="DB",
        schema_name="PUBLIC",
        user="ALICE",
        role="PUBLIC",
        warehouse=None,
        status="running",
        start_time=start,
    )


def load(table_id: str, file: str, at: datetime) -> FileLoad:
    return FileLoad(
        table_id=table_id,
        file=file,
        etag="e",
        size=1,
        loaded_at=at,
        status="LOADED",
        rows_parsed=1,
        rows_loaded=1,
    )


def warehouse(called: str) -> Warehouse:
    return Warehouse(id=new_id(), name=called, owner="ADMIN", created_on=T0, resumed_on=T0, altered_on=T0)


def with_public(store: StateStore) -> StateStore:
    """The store with a database DB that has a schema PUBLIC."""
    with store.begin() as transaction:
        transaction.catalog.create_database(database("DB"))
        transaction.catalog.create_schema(schema("DB", "PUBLIC"))
    return store
