"""Databases and schemas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.runtime.metadata.catalog import INFORMATION_SCHEMA
from snowmelt.runtime.metadata.columns import Row, yes
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.metadata.scopes import database_scope
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.model import Database, Schema
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

INFORMATION_SCHEMA_COMMENT = "Views describing the contents of schemas in this database"


def databases(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    if statement.scope is not None and statement.scope.kind != "ACCOUNT":
        raise errors.cannot_operate()
    for item in state.catalog.databases(include_dropped=statement.history):
        yield _database(run, item)


def _database(run: Run, item: Database) -> Row:
    live = item.dropped_on is None
    return {
        "created_on": item.created_on,
        "name": item.name,
        "is_default": yes(live and item.name == run.account.settings.default_database),
        "is_current": yes(live and item.name == run.session.database),
        "origin": "",
        "owner": item.owner,
        "comment": item.comment or "",
        "options": "TRANSIENT" if item.transient else "",
        "retention_time": str(item.retention_days),
        "dropped_on": item.dropped_on,
        "kind": "STANDARD",
        "owner_role_type": "ROLE",
    }


def schemas(run: Run, state: StateReader, statement: ShowStatement) -> Iterable[Row]:
    scope = database_scope(run, state, statement)
    rows: list[dict[str, Any]] = [
        _schema(run, item) for item in state.catalog.schemas(scope.database, include_dropped=statement.history)
    ]
    rows.extend(
        _information_schema(run, item) for item in state.catalog.databases() if scope.database in (None, item.name)
    )
    return sorted(rows, key=lambda row: (row["database_name"], row["name"], row["created_on"]))


def _schema(run: Run, item: Schema) -> dict[str, Any]:
    session = run.session
    here = item.dropped_on is None and item.database == session.database
    return {
        "created_on": item.created_on,
        "name": item.name,
        "is_default": "N",
        "is_current": yes(here and item.name == session.schema),
        "database_name": item.database,
        "owner": item.owner,
        "comment": item.comment or "",
        "options": _options(item),
        "retention_time": str(item.retention_days),
        "dropped_on": item.dropped_on,
        "owner_role_type": "ROLE",
        "is_nested": "false",
    }


def _options(item: Schema) -> str:
    options = (("TRANSIENT", item.transient), ("MANAGED ACCESS", item.managed_access))
    return ", ".join(word for word, given in options if given)


def _information_schema(run: Run, item: Database) -> dict[str, Any]:
    current = (run.session.database, run.session.schema) == (item.name, INFORMATION_SCHEMA)
    return {
        "created_on": item.created_on,
        "name": INFORMATION_SCHEMA,
        "is_default": "N",
        "is_current": yes(current),
        "database_name": item.name,
        "owner": "",
        "comment": INFORMATION_SCHEMA_COMMENT,
        "options": "",
        "retention_time": str(item.retention_days),
        "owner_role_type": "",
        "is_nested": "false",
    }


LISTINGS = {"DATABASES": Listing(databases), "SCHEMAS": Listing(schemas)}
