"""Declared keys: primary, unique and foreign, from both ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from snowmelt.runtime.metadata.catalog import objects
from snowmelt.runtime.metadata.columns import Row, word
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.metadata.scopes import ListingScope, relation_scope
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.model import CatalogObject, ForeignKey, Key, ObjectKind, TableDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def primary_keys(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    for item, definition in _tables(run, state, relation_scope(run, state, statement)):
        if definition.primary_key is not None:
            yield from _key(item, definition.primary_key)


def unique_keys(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    for item, definition in _tables(run, state, relation_scope(run, state, statement)):
        for key in definition.unique_keys:
            yield from _key(item, key)


def imported_keys(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    """The foreign keys that tables in scope declare."""
    for item, definition in _tables(run, state, relation_scope(run, state, statement)):
        for key in definition.foreign_keys:
            yield from _foreign_key(run, state, item, key)


def exported_keys(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    """The foreign keys, of any table in the account, that refer to tables in scope."""
    scope = relation_scope(run, state, statement)
    for item, definition in _tables(run, state, ListingScope()):
        for key in definition.foreign_keys:
            if _refers_into(key, scope):
                yield from _foreign_key(run, state, item, key)


def _tables(run: Run, state: StateReader, scope: ListingScope) -> Iterator[tuple[CatalogObject, TableDefinition]]:
    found: Iterable[CatalogObject] = (
        [scope.relation]
        if scope.relation is not None
        else objects(run, state, [ObjectKind.TABLE], scope.database, scope.schema)
    )
    for item in found:
        # A view named with IN has no keys.
        if isinstance(item.definition, TableDefinition):
            yield item, item.definition


def _refers_into(key: ForeignKey, scope: ListingScope) -> bool:
    target = key.references
    if scope.relation is not None:
        return target == scope.relation.name
    return scope.database in (None, target.database) and scope.schema in (None, target.schema)


def _key(item: CatalogObject, key: Key) -> Iterator[Row]:
    for sequence, column in enumerate(key.columns, start=1):
        yield {
            "created_on": item.created_on,
            "database_name": item.name.database,
            "schema_name": item.name.schema,
            "table_name": item.name.name,
            "column_name": column,
            "key_sequence": sequence,
            "constraint_name": key.name,
            "rely": word(_is_derived(item)),
        }


def _is_derived(item: CatalogObject) -> bool:
    """The keys of a dynamic table follow from its query: they hold without being enforced."""
    return isinstance(item.definition, TableDefinition) and item.definition.dynamic is not None


def _foreign_key(run: Run, state: StateReader, item: CatalogObject, key: ForeignKey) -> Iterator[Row]:
    target = key.references
    referred = referenced_key(run, state, key)
    columns = key.referenced_columns or (referred.columns if referred is not None else ())
    for index, column in enumerate(key.columns):
        yield {
            "created_on": item.created_on,
            "pk_database_name": target.database,
            "pk_schema_name": target.schema,
            "pk_table_name": target.name,
            "pk_column_name": columns[index] if index < len(columns) else None,
            "fk_database_name": item.name.database,
            "fk_schema_name": item.name.schema,
            "fk_table_name": item.name.name,
            "fk_column_name": column,
            "key_sequence": index + 1,
            "update_rule": "NO ACTION",
            "delete_rule": "NO ACTION",
            "fk_name": key.name,
            "pk_name": referred.name if referred is not None else None,
            "deferrability": "NOT DEFERRABLE",
            "rely": "false",
        }


def referenced_key(run: Run, state: StateReader, key: ForeignKey) -> Key | None:
    """The primary or unique key that a foreign key refers to; None when there is none any more."""
    target = state.catalog.find(key.references, [ObjectKind.TABLE], run.session.id)
    if target is None or not isinstance(target.definition, TableDefinition):
        return None
    primary = target.definition.primary_key
    candidates = [*([primary] if primary is not None else []), *target.definition.unique_keys]
    if not key.referenced_columns:
        return primary
    return next((item for item in candidates if set(item.columns) == set(key.referenced_columns)), None)


LISTINGS = {
    "PRIMARY KEYS": Listing(primary_keys, named="table_name", paged=False),
    "UNIQUE KEYS": Listing(unique_keys, named="table_name", paged=False),
    "IMPORTED KEYS": Listing(imported_keys, named="fk_table_name", paged=False),
    "EXPORTED KEYS": Listing(exported_keys, named="pk_table_name", paged=False),
}
