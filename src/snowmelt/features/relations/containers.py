"""CREATE and ALTER of databases and schemas, clones included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, SchemaName, quote
from snowmelt.features.relations.drops import refuse_information_schema
from snowmelt.runtime import contexts, kinds, references, retention
from snowmelt.runtime.container_clones import Contents
from snowmelt.runtime.objects import create_database, create_schema
from snowmelt.runtime.references import Rename
from snowmelt.runtime.results import DONE, Result, kept, status
from snowmelt.sql.statements.base import Action, Annotation, NameRef
from snowmelt.sql.statements.changes import RenameTo, SetOptions, SwapWith, UnsetOptions
from snowmelt.sql.statements.databases_schemas import (
    AlterDatabase,
    AlterSchema,
    ContainerOptions,
    CreateDatabase,
    CreateSchema,
    SetManagedAccess,
)
from snowmelt.state.model import Database, ParameterLevel, Schema
from snowmelt.state.store import StateReader, StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_RECORDED = frozenset({"MAX_DATA_EXTENSION_TIME_IN_DAYS", "REPLACE_INVALID_CHARACTERS", "LOG_LEVEL", "TRACE_LEVEL"})
"""Options that are kept as parameters of the container; which of them mean nothing here, `ContainerOptions` says."""
Container = TypeVar("Container", Database, Schema)


# -- CREATE -------------------------------------------------------------------------------------------------------


def create_database_(run: Run, statement: CreateDatabase) -> Result:
    name = run.parts(statement.name)[-1]
    retention.check(statement.options.data_retention_time_in_days, transient=statement.transient)
    with run.state.read() as state:
        taken = state.catalog.database(name) is not None
    if taken and statement.if_not_exists:
        return kept(name, "CREATE_DATABASE")
    if taken and not statement.or_replace:
        raise errors.already_exists(quote(name))
    contents = Contents(run)
    if statement.clone is not None:
        contents.of_database(statement.clone, name)
    with contents.published(), run.state.begin() as state:
        if state.catalog.database(name) is not None:
            if not statement.or_replace:
                raise errors.already_exists(quote(name))
            _refuse_if_promised(run, state, {name}, "CREATE OR REPLACE DATABASE")
            state.catalog.drop_database(name, state.now)
        source = contents.database
        created = create_database(
            state,
            name,
            owner=run.session.role,
            comment=_comment(statement.options, source),
            transient=statement.transient or (source is not None and source.transient),
            public=source is None,
        )
        if source is not None:
            retention.copy(state, ParameterLevel.DATABASE, source.id, created.id)
        _record(state, ParameterLevel.DATABASE, created.id, statement.options)
        for said in statement.said:
            kinds.annotate_container(run, state, ParameterLevel.DATABASE, created.id, said)
        retention.set_database(state, created, _own(state, ParameterLevel.DATABASE, created.id, statement.options))
        contents.add(state)
    contexts_moved(run, name, "PUBLIC")
    return status(f"Database {quote(name)} successfully created.", "CREATE_DATABASE")


def create_schema_(run: Run, statement: CreateSchema) -> Result:
    name = run.schema_name(statement.name)
    retention.check(statement.options.data_retention_time_in_days, transient=statement.transient)
    with run.state.read() as state:
        if state.catalog.database(name.database) is None:
            raise errors.not_found("Database", quote(name.database))
        taken = state.catalog.schema(name) is not None or name.name == "INFORMATION_SCHEMA"
    if taken and statement.if_not_exists:
        return kept(name.name, "CREATE_SCHEMA")
    if taken and not statement.or_replace:
        raise errors.already_exists(run.written(statement.name))
    refuse_information_schema(name.name)
    contents = Contents(run)
    if statement.clone is not None:
        contents.of_schema(statement.clone, name)
    with contents.published(), run.state.begin() as state:
        if state.catalog.schema(name) is not None:
            if not statement.or_replace:
                raise errors.already_exists(run.written(statement.name))
            _refuse_if_promised(run, state, {name}, "CREATE OR REPLACE SCHEMA")
            state.catalog.drop_schema(name, state.now)
        source = contents.schema
        created = create_schema(
            state,
            name,
            owner=run.session.role,
            comment=_comment(statement.options, source),
            transient=statement.transient or (source is not None and source.transient),
            managed_access=statement.managed_access or (source is not None and source.managed_access),
        )
        if source is not None:
            retention.copy(state, ParameterLevel.SCHEMA, source.id, created.id)
        _record(state, ParameterLevel.SCHEMA, created.id, statement.options)
        for said in statement.said:
            kinds.annotate_container(run, state, ParameterLevel.SCHEMA, created.id, said)
        retention.set_schema(state, created, _own(state, ParameterLevel.SCHEMA, created.id, statement.options))
        contents.add(state)
    contexts_moved(run, name.database, name.name)
    return status(f"Schema {quote(name.name)} successfully created.", "CREATE_SCHEMA")


def contexts_moved(run: Run, database: str, schema: str) -> None:
    """Creating a database or schema moves the session into it."""
    run.session.database, run.session.schema = database, schema


def _comment(options: ContainerOptions, source: Database | Schema | None) -> str | None:
    if options.comment is not None:
        return options.comment
    return source.comment if source is not None else None


def _own(state: StateReader, level: ParameterLevel, id: str, options: ContainerOptions) -> int | None:
    """What is set on the container itself: by the statement, or inherited from what it is a clone of."""
    if options.data_retention_time_in_days is not None:
        return options.data_retention_time_in_days
    inherited = state.parameters.get(level, id, retention.KEY)
    return None if inherited is None else int(inherited)


def _record(state: StateTransaction, level: ParameterLevel, id: str, options: ContainerOptions) -> None:
    for key, value in options.given().items():
        if key in _RECORDED:
            state.parameters.set(level, id, key, str(value))


# -- ALTER --------------------------------------------------------------------------------------------------------


def alter_database(run: Run, statement: AlterDatabase) -> Result:
    name = run.parts(statement.name)[-1]
    with run.state.begin() as state:
        database = state.catalog.database(name)
        if database is None:
            if statement.if_exists:
                return status(DONE, "ALTER_DATABASE")
            raise errors.not_found("Database", quote(name))
        followed = _alter_database(run, state, database, statement.action)
    followed()
    return status(DONE, "ALTER_DATABASE")


def _alter_database(run: Run, state: StateTransaction, database: Database, action: Action) -> Callable[[], None]:
    """What sessions must know once the change is made."""
    name = database.name
    match action:
        case RenameTo(new_name=ref):
            new = run.parts(ref)[-1]
            if new != name:
                _refuse_if_promised(run, state, {name}, "ALTER DATABASE … RENAME")
                state.catalog.rename_database(name, new)
                references.container_renamed(state, _database_renamer({name: new}))
            return lambda: contexts.database_renamed(run.account, name, new)
        case SwapWith(other=ref):
            other = run.parts(ref)[-1]
            if state.catalog.database(other) is None:
                raise errors.not_found("Database", quote(other))
            if other != name:
                _refuse_if_promised(run, state, {name, other}, "ALTER DATABASE … SWAP")
                state.catalog.swap_databases(name, other)
                references.container_renamed(state, _database_renamer({name: other, other: name}))
        case Annotation():
            kinds.annotate_container(run, state, ParameterLevel.DATABASE, database.id, action)
        case SetOptions() | UnsetOptions():
            _set(
                state, ParameterLevel.DATABASE, database, action, state.catalog.update_database, retention.set_database
            )
        case _:
            raise errors.unsupported_action("DATABASE", action)
    return lambda: None


def alter_schema(run: Run, statement: AlterSchema) -> Result:
    name = run.schema_name(statement.name)
    refuse_information_schema(name.name)
    with run.state.begin() as state:
        schema = state.catalog.schema(name)
        if schema is None:
            if statement.if_exists:
                return status(DONE, "ALTER_SCHEMA")
            raise errors.not_found("Schema", str(name))
        followed = _alter_schema(run, state, schema, statement.action)
    followed()
    return status(DONE, "ALTER_SCHEMA")


def _alter_schema(run: Run, state: StateTransaction, schema: Schema, action: Action) -> Callable[[], None]:
    name = SchemaName(schema.database, schema.name)
    match action:
        case RenameTo(new_name=ref):
            new = run.schema_name(ref)
            refuse_information_schema(new.name)
            if new != name:
                _refuse_if_promised(run, state, {name}, "ALTER SCHEMA … RENAME")
                _rename_schema(run, state, name, new, ref)
            return lambda: contexts.schema_renamed(run.account, name, new)
        case SwapWith(other=ref):
            other = run.schema_name(ref)
            if state.catalog.schema(other) is None:
                raise errors.not_found("Schema", str(other))
            if other != name:
                _refuse_if_promised(run, state, {name, other}, "ALTER SCHEMA … SWAP")
                state.catalog.swap_schemas(name, other)
                references.container_renamed(state, _schema_renamer({name: other, other: name}))
        case SetManagedAccess(managed=managed):
            state.catalog.update_schema(schema.model_copy(update={"managed_access": managed, "altered_on": state.now}))
        case Annotation():
            kinds.annotate_container(run, state, ParameterLevel.SCHEMA, schema.id, action)
        case SetOptions() | UnsetOptions():
            _set(state, ParameterLevel.SCHEMA, schema, action, state.catalog.update_schema, retention.set_schema)
        case _:
            raise errors.unsupported_action("SCHEMA", action)
    return lambda: None


def _refuse_if_promised(run: Run, state: StateTransaction, containers: set[str] | set[SchemaName], verb: str) -> None:
    """What lies in databases or schemas that lose their names loses its own."""
    run.account.lifecycle.all_leaving(
        run, state, lambda key: key.database in containers or key.parent in containers, verb
    )


def _rename_schema(run: Run, state: StateTransaction, name: SchemaName, new: SchemaName, ref: NameRef) -> None:
    try:
        state.catalog.rename_schema(name, new)
    except errors.SnowmeltError as error:
        if error.code == "002002":
            raise errors.already_exists(run.written(ref)) from None
        raise
    references.container_renamed(state, _schema_renamer({name: new}))


def _options(action: Action) -> tuple[ContainerOptions, tuple[str, ...]]:
    if isinstance(action, UnsetOptions):
        return ContainerOptions(), action.names
    assert isinstance(action, SetOptions)
    assert isinstance(action.options, ContainerOptions)
    return action.options, ()


def _set(
    state: StateTransaction, level: ParameterLevel, container: Container, action: Action,
    update: Callable[[Container], None], set_retention: Callable[[StateTransaction, Container, int | None], Container],
) -> None:  # fmt: skip
    options, unset = _options(action)
    days = options.data_retention_time_in_days
    retention.check(days, transient=container.transient)
    if options.comment is not None or "COMMENT" in unset:
        container = container.model_copy(update={"comment": options.comment})
    container = container.model_copy(update={"altered_on": state.now})
    update(container)
    if days is not None or retention.KEY in unset:
        set_retention(state, container, days)
    _record(state, level, container.id, options)
    for key in _RECORDED.intersection(unset):
        state.parameters.unset(level, container.id, key)


def _database_renamer(names: dict[str, str]) -> Rename:
    return lambda item: replace(item, database=names.get(item.database, item.database))


def _schema_renamer(names: dict[SchemaName, SchemaName]) -> Rename:
    def rename(item: ObjectName) -> ObjectName:
        found = names.get(item.parent)
        return item if found is None else ObjectName(found.database, found.name, item.name)

    return rename
