"""Objects put straight into the catalog: tests of SHOW must not depend on CREATE."""

from __future__ import annotations

from typing import Any

from snowmelt.core import types
from snowmelt.core.names import ObjectName
from snowmelt.features.loading.definitions import FileFormatDefinition
from snowmelt.runtime.session import Session
from snowmelt.state.ids import new_id
from snowmelt.state.model import (
    Argument,
    CatalogObject,
    Column,
    Definition,
    RoutineDefinition,
    SequenceDefinition,
    StageDefinition,
    TableDefinition,
    ViewDefinition,
)


def put(session: Session, name: str, definition: Definition, **more: Any) -> CatalogObject:
    """Creates the object in the session's schema and returns it."""
    assert session.database is not None
    assert session.schema is not None
    with session.account.state.begin() as state:
        item = CatalogObject(
            id=new_id(),
            name=ObjectName(session.database, more.pop("schema", session.schema), name),
            owner=session.role,
            created_on=state.now,
            altered_on=state.now,
            definition=definition,
            **more,
        )
        state.catalog.create(item)
    return item


def table(*names: str) -> TableDefinition:
    return TableDefinition(columns=tuple(Column(name=name, type=types.INTEGER) for name in names), location="x")


def view(session: Session, query: str, *names: str, **more: Any) -> ViewDefinition:
    assert session.database is not None
    assert session.schema is not None
    return ViewDefinition(
        columns=tuple(Column(name=name, type=types.VARCHAR) for name in names),
        query=query,
        database=session.database,
        schema=session.schema,
        text=f"CREATE VIEW v AS {query}",
        **more,
    )


def function(session: Session, body: str, *arguments: str, **more: Any) -> RoutineDefinition:
    assert session.database is not None
    assert session.schema is not None
    return RoutineDefinition(
        kind=more.pop("kind", "FUNCTION"),
        arguments=tuple(Argument(name=name, type=types.INTEGER) for name in arguments),
        returns=more.pop("returns", types.INTEGER),
        body=body,
        database=session.database,
        schema=session.schema,
        **more,
    )


def fill(session: Session) -> None:
    """One object of every kind."""
    put(session, "T", table("A", "B"), comment="a table")
    put(session, "V", view(session, "select a from t", "A"))
    put(session, "SEQ", SequenceDefinition(start=5, step=2))
    put(session, "ST", StageDefinition(url="s3://bucket/x/"))
    put(session, "FF", FileFormatDefinition(type="CSV", options={"SKIP_HEADER": 1, "FIELD_DELIMITER": "|"}))
    put(session, "F", function(session, "x + 1", "X"))
    put(session, "P", function(session, "begin return 1; end", kind="PROCEDURE"))
