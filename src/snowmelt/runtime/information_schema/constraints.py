"""TABLE_CONSTRAINTS, REFERENTIAL_CONSTRAINTS and CHECK_CONSTRAINTS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from snowmelt.runtime.information_schema.rows import Rows
from snowmelt.runtime.metadata.catalog import objects
from snowmelt.runtime.metadata.columns import Row
from snowmelt.runtime.metadata.keys import referenced_key
from snowmelt.state.model import CatalogObject, Database, ObjectKind, TableDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def _tables(run: Run, state: StateReader, database: Database) -> Iterator[tuple[CatalogObject, TableDefinition]]:
    for item in objects(run, state, [ObjectKind.TABLE], database.name):
        assert isinstance(item.definition, TableDefinition)
        yield item, item.definition


def _table_constraints(run: Run, state: StateReader, database: Database) -> Iterator[Row]:
    for item, definition in _tables(run, state, database):
        if definition.primary_key is not None:
            yield _constraint(item, definition.primary_key.name, "PRIMARY KEY")
        for unique in definition.unique_keys:
            yield _constraint(item, unique.name, "UNIQUE")
        for foreign in definition.foreign_keys:
            yield _constraint(item, foreign.name, "FOREIGN KEY")


def _constraint(item: CatalogObject, name: str, kind: str) -> Row:
    return {
        **_named(item, name),
        "TABLE_CATALOG": item.name.database,
        "TABLE_SCHEMA": item.name.schema,
        "TABLE_NAME": item.name.name,
        "CONSTRAINT_TYPE": kind,
        "IS_DEFERRABLE": "NO",
        "INITIALLY_DEFERRED": "YES",
        "ENFORCED": "NO",
        "CREATED": item.created_on,
        "LAST_ALTERED": item.altered_on,
        "RELY": "NO",
    }


def _named(item: CatalogObject, name: str) -> dict[str, Any]:
    return {
        "CONSTRAINT_CATALOG": item.name.database,
        "CONSTRAINT_SCHEMA": item.name.schema,
        "CONSTRAINT_NAME": name,
    }


def _referential_constraints(run: Run, state: StateReader, database: Database) -> Iterator[Row]:
    for item, definition in _tables(run, state, database):
        for foreign in definition.foreign_keys:
            referred = referenced_key(run, state, foreign)
            yield {
                **_named(item, foreign.name),
                "UNIQUE_CONSTRAINT_CATALOG": foreign.references.database,
                "UNIQUE_CONSTRAINT_SCHEMA": foreign.references.schema,
                "UNIQUE_CONSTRAINT_NAME": referred.name if referred is not None else None,
                "MATCH_OPTION": "FULL",
                "UPDATE_RULE": "NO ACTION",
                "DELETE_RULE": "NO ACTION",
                "CREATED": item.created_on,
                "LAST_ALTERED": item.altered_on,
            }


def _check_constraints(run: Run, state: StateReader, database: Database) -> Iterator[Row]:
    for item, definition in _tables(run, state, database):
        for check in definition.checks:
            yield {
                **_named(item, check.name),
                "CONSTRAINT_TABLE": item.name.name,
                "CHECK_CLAUSE": check.expression,
            }


ROWS: dict[str, Rows] = {
    "TABLE_CONSTRAINTS": _table_constraints,
    "REFERENTIAL_CONSTRAINTS": _referential_constraints,
    "CHECK_CONSTRAINTS": _check_constraints,
}
