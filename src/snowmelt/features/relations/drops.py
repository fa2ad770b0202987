"""DROP and UNDROP."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, SchemaName, quote
from snowmelt.runtime import contexts, references, retention, schema_objects
from snowmelt.runtime.kinds import all_kinds
from snowmelt.runtime.results import Result, status
from snowmelt.runtime.schema_objects import noun
from snowmelt.sql.statements.base import NameRef, ObjectType
from snowmelt.sql.statements.changes import Drop, Undrop
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition
from snowmelt.state.store import StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

INFORMATION_SCHEMA = "INFORMATION_SCHEMA"


def drop(run: Run, statement: Drop) -> Result:
    name = run.account.features.drops.get(statement.kind, _drop_object)(run, statement)
    query_type = f"DROP_{statement.kind.replace(' ', '_')}"
    shown = quote(run.parts(statement.name)[-1])
    if name is None:
        return status(f"Drop statement executed successfully ({shown} already dropped).", query_type)
    return status(f"{shown} successfully dropped.", query_type)


def drop_database(run: Run, statement: Drop) -> str | None:
    name = run.parts(statement.name)[-1]
    with run.state.begin() as state:
        if state.catalog.database(name) is None:
            _check_absent(statement, errors.not_found("Database", quote(name)))
            return None
        _leave(run, state, statement, lambda key: key.database == name)
        state.catalog.drop_database(name, state.now)
    contexts.database_dropped(run.account, name)
    return name


def drop_schema(run: Run, statement: Drop) -> str | None:
    name = run.schema_name(statement.name)
    refuse_information_schema(name.name)
    with run.state.begin() as state:
        if state.catalog.schema(name) is None:
            _check_absent(statement, errors.not_found("Schema", str(name)))
            return None
        _leave(run, state, statement, lambda key: key.parent == name)
        state.catalog.drop_schema(name, state.now)
    contexts.schema_dropped(run.account, name)
    return name.name


def _leave(run: Run, state: StateTransaction, statement: Drop, inside: Callable[[ObjectName], bool]) -> None:
    """What is inside a database or schema goes with it, unless somebody refuses that."""
    if statement.restrict:
        _refuse_if_referred(state, inside)
    run.account.lifecycle.all_leaving(run, state, inside, f"DROP {statement.kind}")


def drop_warehouse(run: Run, statement: Drop) -> str | None:
    name = run.parts(statement.name)[-1]
    metering = run.account.metering
    with metering.changing(run.authority.sight) as state:
        warehouse = state.warehouses.get(name)
        if warehouse is None:
            _check_absent(statement, errors.not_found("Warehouse", quote(name)))
            return None
        metering.dropped(state, warehouse)
        state.warehouses.drop(name)
    contexts.warehouse_renamed(run.account, name, None)
    return name


def _drop_object(run: Run, statement: Drop) -> str | None:
    with run.state.begin() as state:
        found = _found(run, state, statement)
        if found is None:
            missing = schema_objects.missing(run, statement.kind, statement.name, statement.arguments)
            _check_absent(statement, missing)
            return None
        if statement.restrict and found.kind is ObjectKind.TABLE:
            _refuse_if_referred(state, lambda key: key == found.name)
        run.account.lifecycle.leaving(run, state, found, "DROP")
        own = all_kinds().by_name.get(found.kind)
        if own is not None and own.before_drop is not None:
            own.before_drop(state, found)
        state.catalog.drop(found.id, state.now)
        run.account.lifecycle.dropped(state, found)
    if own is not None and own.after_drop is not None:
        own.after_drop(run, found)
    return found.name.name


def _found(run: Run, state: StateTransaction, statement: Drop) -> CatalogObject | None:
    """DROP TABLE drops dynamic tables, too, as clients do that know nothing of them."""
    if statement.kind is ObjectType.TABLE:
        found = state.catalog.find(run.object_name(statement.name), [ObjectKind.TABLE], run.session.id)
        if found is not None:
            return found
    return schema_objects.find(run, state, statement.kind, statement.name, statement.arguments)


def _check_absent(statement: Drop, missing: errors.SnowmeltError) -> None:
    """Only IF EXISTS lets a name be missing."""
    if not statement.if_exists:
        raise missing


def refuse_information_schema(name: str) -> None:
    if name == INFORMATION_SCHEMA:
        raise errors.insufficient_privileges("schema", name)


def _refuse_if_referred(state: StateTransaction, inside: Callable[[ObjectName], bool]) -> None:
    """RESTRICT: a foreign key from elsewhere keeps what it refers to."""
    others = [item for item in references.referring_tables(state, inside) if not inside(item.name)]
    if others:
        raise errors.compilation(
            "002231", "2BP01", f"Cannot drop because a foreign key of table '{others[0].name}' refers to it.",
            hint="Drop the foreign key first, or write CASCADE.",
        )  # fmt: skip


def undrop(run: Run, statement: Undrop) -> Result:
    kind, shown = statement.kind, quote(run.parts(statement.name)[-1])
    with run.state.begin() as state:
        done = _undrop(run, state, kind, statement.name)
    if not done:
        word = noun(kind).replace(" ", "_")
        raise errors.SnowmeltError("090025", "02000", f"{word} {shown} did not exist or was purged.")
    return status(f"{noun(kind)} {shown} successfully restored.", f"UNDROP_{kind.replace(' ', '_')}")


def _undrop(run: Run, state: StateTransaction, kind: ObjectType, ref: NameRef) -> bool:
    """Whether something was brought back."""
    if kind is ObjectType.DATABASE:
        name = run.parts(ref)[-1]
        if state.catalog.database(name) is not None:
            raise errors.already_exists(run.written(ref))
        database = state.catalog.dropped_database(name)
        if database is None or _expired(run, database.dropped_on, database.retention_days):
            return False
        return state.catalog.undrop_database(name) is not None
    if kind is ObjectType.SCHEMA:
        schema_name = run.schema_name(ref)
        if state.catalog.schema(schema_name) is not None:
            raise errors.already_exists(run.written(ref))
        schema = state.catalog.dropped_schema(schema_name)
        if schema is None or _expired(run, schema.dropped_on, schema.retention_days):
            return False
        return state.catalog.undrop_schema(schema_name) is not None
    full = run.object_name(ref, f"UNDROP {kind}")
    if schema_objects.find(run, state, kind, ref) is not None:
        raise errors.already_exists(run.written(ref))
    kept_as = schema_objects.kept_as(kind)
    found = state.catalog.dropped(full, kept_as, run.session.id)
    if found is None or schema_objects.is_dynamic(found) != (kind is ObjectType.DYNAMIC_TABLE):
        return False
    if isinstance(found.definition, TableDefinition):
        days = found.definition.retention_days
    else:
        parent = state.catalog.schema(SchemaName(full.database, full.schema))
        days = parent.retention_days if parent is not None else 1
    if _expired(run, found.dropped_on, days):
        return False
    restored = state.catalog.undrop(full, kept_as, run.session.id)
    if restored is not None:
        run.account.lifecycle.restored(state, restored)
    return restored is not None


def _expired(run: Run, dropped_on: datetime | None, days: int) -> bool:
    return dropped_on is not None and run.now >= retention.expires(dropped_on, days)
