"""CREATE and DROP of databases and schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.service.objects import create_database, create_schema
from snowmelt.service.results import Result, status
from snowmelt.sql.statements.databases_schemas import CreateDatabase, CreateSchema

if TYPE_CHECKING:
    from snowmelt.service.run import Run


def create_database_(run: Run, statement: CreateDatabase) -> Result:
    name = run.parts(statement.name)[-1]
    with run.account.state.begin() as state:
        existing = state.catalog.database(name)
        if existing is not None:
            if statement.if_not_exists:
                return status(f"{quote(name)} already exists, statement succeeded.", "CREATE_DATABASE")
            if not statement.or_replace:
                raise errors.already_exists(quote(name))
            state.catalog.drop_database(name, state.now)
        create_database(
            state, name, owner=run.session.role, comment=statement.options.comment, transient=statement.transient,
            retention_days=_days(statement.options.data_retention_time_in_days),
        )  # fmt: skip
    run.session.database, run.session.schema = name, "PUBLIC"
    return status(f"Database {quote(name)} successfully created.", "CREATE_DATABASE")


def create_schema_(run: Run, statement: CreateSchema) -> Result:
    name = run.schema_name(statement.name)
    with run.account.state.begin() as state:
        if state.catalog.database(name.database) is None:
            raise errors.not_found("Database", quote(name.database))
        if state.catalog.schema(name) is not None:
            if statement.if_not_exists:
                return status(f"{quote(name.name)} already exists, statement succeeded.", "CREATE_SCHEMA")
            if not statement.or_replace:
                raise errors.already_exists(str(name))
            state.catalog.drop_schema(name, state.now)
        create_schema(
            state, name, owner=run.session.role, comment=statement.options.comment, transient=statement.transient,
            managed_access=statement.managed_access, retention_days=_days(statement.options.data_retention_time_in_days),
        )  # fmt: skip
    run.session.database, run.session.schema = name.database, name.name
    return status(f"Schema {quote(name.name)} successfully created.", "CREATE_SCHEMA")


def _days(value: int | None) -> int:
    return 1 if value is None else value


HANDLERS = {CreateDatabase: create_database_, CreateSchema: create_schema_}
