"""DATA_RETENTION_TIME_IN_DAYS: set on a database, a schema or a table, inherited from the container otherwise.

What was set explicitly is a parameter in the state store. The value in force is kept with each object as well, so that
reading it needs no walk; a change of a container's value is carried on to what inherits it, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from snowmelt.core import errors
from snowmelt.core.names import SchemaName
from snowmelt.runtime import errors as statement_errors
from snowmelt.state.model import CatalogObject, Database, ObjectKind, ParameterLevel, Schema, TableDefinition
from snowmelt.state.store import StateReader, StateTransaction

KEY = "DATA_RETENTION_TIME_IN_DAYS"
MAX_DAYS = 90
EXTENSION_KEY = "MAX_DATA_EXTENSION_TIME_IN_DAYS"
_DEFAULT = 1
_EXTENSION = 14


def check(days: int | None, *, transient: bool = False) -> None:
    """Raises unless the value may be set."""
    if days is None:
        return
    if days < 0 or (transient and days > 1):
        raise errors.invalid_value(str(days), KEY)
    if days > MAX_DAYS:
        raise statement_errors.retention_too_long()


def expires(dropped_on: datetime, days: int) -> datetime:
    """Until when something dropped can be brought back."""
    return dropped_on + timedelta(days=days)


def _own(state: StateReader, level: ParameterLevel, id: str) -> int | None:
    value = state.parameters.get(level, id, KEY)
    return None if value is None else int(value)


def of_database(state: StateReader, id: str) -> int:
    own = _own(state, ParameterLevel.DATABASE, id)
    return _DEFAULT if own is None else own


def of_schema(state: StateReader, schema: Schema) -> int:
    own = _own(state, ParameterLevel.SCHEMA, schema.id)
    if own is None:
        database = state.whole_catalog.database(schema.database)
        own = database.retention_days if database is not None else _DEFAULT
    return min(own, 1) if schema.transient else own


def of_table(state: StateReader, table: CatalogObject, *, transient: bool) -> int:
    own = _own(state, ParameterLevel.TABLE, table.id)
    if own is None:
        schema = state.whole_catalog.schema(SchemaName(table.name.database, table.name.schema))
        own = schema.retention_days if schema is not None else _DEFAULT
    return min(own, 1) if transient or table.session_id is not None else own


def extension_days(state: StateReader, table: CatalogObject, account: Mapping[str, str | int | bool]) -> int:
    """The most days by which retention is extended for readers that have not taken the changes yet.

    `account`: what ALTER ACCOUNT has set.
    """
    schema = state.whole_catalog.schema(table.name.parent)
    database = state.whole_catalog.database(table.name.database)
    holders = [(ParameterLevel.TABLE, table.id)]
    holders += [(ParameterLevel.SCHEMA, schema.id)] if schema is not None else []
    holders += [(ParameterLevel.DATABASE, database.id)] if database is not None else []
    for level, id in holders:
        own = state.parameters.get(level, id, EXTENSION_KEY)
        if own is not None:
            return int(own)
    return int(account.get(EXTENSION_KEY, _EXTENSION))


def extended(state: StateReader, table_ids: Iterable[str], account: Mapping[str, str | int | bool]) -> timedelta:
    """For how long changes of all these tables are kept for readers that have not taken them yet."""
    days = [
        max(table.definition.retention_days, extension_days(state, table, account))
        for id in table_ids
        if (table := state.catalog.by_id(id)) is not None and isinstance(table.definition, TableDefinition)
    ]
    return timedelta(days=min(days, default=0))


def set_extension(state: StateTransaction, table_id: str, days: int | None) -> None:
    """Set or, with None, unset MAX_DATA_EXTENSION_TIME_IN_DAYS of a table."""
    if days is None:
        state.parameters.unset(ParameterLevel.TABLE, table_id, EXTENSION_KEY)
        return
    if not 0 <= days <= MAX_DAYS:
        raise errors.invalid_value(str(days), EXTENSION_KEY)
    state.parameters.set(ParameterLevel.TABLE, table_id, EXTENSION_KEY, str(days))


def extend(state: StateTransaction, table_id: str, days: int | None) -> None:
    """As a statement that makes a table says, if it does."""
    if days is not None:
        set_extension(state, table_id, days)


def set_database(state: StateTransaction, database: Database, days: int | None) -> Database:
    """Set or, with None, unset the value of a database, and carry it on."""
    _store(state, ParameterLevel.DATABASE, database.id, days)
    changed = database.model_copy(update={"retention_days": of_database(state, database.id)})
    state.whole_catalog.update_database(changed)
    for schema in state.whole_catalog.schemas(database.name):
        _refresh_schema(state, schema)
    return changed


def set_schema(state: StateTransaction, schema: Schema, days: int | None) -> Schema:
    _store(state, ParameterLevel.SCHEMA, schema.id, days)
    return _refresh_schema(state, schema)


def set_table(state: StateTransaction, table: CatalogObject, days: int | None) -> CatalogObject:
    """The table with the value in force; the caller stores it."""
    _store(state, ParameterLevel.TABLE, table.id, days)
    return in_force(state, table)


def copy(state: StateTransaction, level: ParameterLevel, source_id: str, target_id: str) -> None:
    """A clone keeps what was set on its source."""
    own = _own(state, level, source_id)
    if own is not None:
        _store(state, level, target_id, own)


def _refresh_schema(state: StateTransaction, schema: Schema) -> Schema:
    changed = schema.model_copy(update={"retention_days": of_schema(state, schema)})
    state.whole_catalog.update_schema(changed)
    for table in state.whole_catalog.objects([ObjectKind.TABLE], schema.database, schema.name, all_sessions=True):
        refreshed = in_force(state, table)
        if refreshed.definition != table.definition:
            state.whole_catalog.update(refreshed)
    return changed


def in_force(state: StateReader, table: CatalogObject) -> CatalogObject:
    """The table with the value that counts for it."""
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    days = of_table(state, table, transient=definition.transient)
    return table.model_copy(update={"definition": definition.model_copy(update={"retention_days": days})})


def _store(state: StateTransaction, level: ParameterLevel, id: str, days: int | None) -> None:
    if days is None:
        state.parameters.unset(level, id, KEY)
    else:
        state.parameters.set(level, id, KEY, str(days))
