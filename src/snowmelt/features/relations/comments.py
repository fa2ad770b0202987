"""COMMENT ON everything that can have one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.features.relations.alter_tables import alter_columns
from snowmelt.features.relations.views import comment_column
from snowmelt.runtime import schema_objects
from snowmelt.runtime.kinds import all_kinds
from snowmelt.runtime.results import DONE, Result, status
from snowmelt.sql.statements.base import NameRef, ObjectType
from snowmelt.sql.statements.changes import CommentOn, SetColumnComment
from snowmelt.state.model import RELATIONS, ObjectKind

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def comment_on(run: Run, statement: CommentOn) -> Result:
    text = statement.comment or None
    missing = _comment(run, statement, text)
    if missing is not None and not statement.if_exists:
        raise missing
    return status(DONE, "COMMENT")


def _comment(run: Run, statement: CommentOn, text: str | None) -> errors.SnowmeltError | None:
    """The error when there is nothing to put the comment on."""
    kind = statement.kind
    if kind is None:
        return _comment_column(run, statement.name, text)
    if kind in (ObjectType.DATABASE, ObjectType.SCHEMA, ObjectType.WAREHOUSE):
        return _comment_container(run, kind, statement.name, text)
    of_account = all_kinds().of_account.get(kind)
    if of_account is not None:
        called = run.parts(statement.name)[-1]
        with run.state.begin() as state:
            found_one = of_account.change(state, called, {"comment": text})
        return None if found_one else errors.not_found(of_account.noun, quote(called))
    with run.state.read() as state:
        found = schema_objects.find(run, state, kind, statement.name, statement.arguments)
    if found is None:
        return schema_objects.missing(run, kind, statement.name, statement.arguments)
    schema_objects.alter(run, found, {}, comment=text, uncomment=text is None)
    return None


def _comment_container(run: Run, kind: ObjectType, name: NameRef, text: str | None) -> errors.SnowmeltError | None:
    with run.state.begin() as state:
        if kind is ObjectType.SCHEMA:
            full = run.schema_name(name)
            schema = state.catalog.schema(full)
            if schema is None:
                return errors.not_found("Schema", str(full))
            state.catalog.update_schema(schema.model_copy(update={"comment": text, "altered_on": state.now}))
            return None
        called = run.parts(name)[-1]
        if kind is ObjectType.DATABASE:
            database = state.catalog.database(called)
            if database is None:
                return errors.not_found("Database", quote(called))
            state.catalog.update_database(database.model_copy(update={"comment": text, "altered_on": state.now}))
            return None
        warehouse = state.warehouses.get(called)
        if warehouse is None:
            return errors.not_found("Warehouse", quote(called))
        state.warehouses.update(warehouse.model_copy(update={"comment": text, "altered_on": state.now}))
    return None


def _comment_column(run: Run, name: NameRef, text: str | None) -> errors.SnowmeltError | None:
    *parts, column = run.parts(name)
    relation = run.object_name(tuple(parts))
    with run.state.read() as state:
        found = state.catalog.find(relation, RELATIONS, run.session.id)
    if found is None:
        return errors.not_found("Object", str(relation))
    if found.kind is ObjectKind.VIEW:
        comment_column(run, found, column, text)
    else:
        alter_columns(run, found, (SetColumnComment(column, text),))
    return None
