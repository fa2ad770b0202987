"""DATABASES, SCHEMATA and SEQUENCES."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from snowmelt.runtime.information_schema.rows import Rows, named
from snowmelt.runtime.metadata.catalog import INFORMATION_SCHEMA, objects
from snowmelt.runtime.metadata.columns import Row, long_yes
from snowmelt.runtime.metadata.containers import INFORMATION_SCHEMA_COMMENT
from snowmelt.runtime.metadata.schema_objects import next_value
from snowmelt.state.model import Database, ObjectKind, SequenceDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def _databases(_: Run, state: StateReader, __: Database) -> Iterator[Row]:
    """All of the account, whichever database is asked."""
    for item in state.catalog.databases():
        yield {
            "DATABASE_NAME": item.name,
            "DATABASE_OWNER": item.owner,
            "IS_TRANSIENT": long_yes(item.transient),
            "COMMENT": item.comment,
            "CREATED": item.created_on,
            "LAST_ALTERED": item.altered_on,
            "RETENTION_TIME": item.retention_days,
            "TYPE": "STANDARD",
            "OWNER_ROLE_TYPE": "ROLE",
        }


def _schemata(_: Run, state: StateReader, database: Database) -> Iterator[Row]:
    for item in state.catalog.schemas(database.name):
        yield {
            "CATALOG_NAME": item.database,
            "SCHEMA_NAME": item.name,
            "SCHEMA_OWNER": item.owner,
            "IS_TRANSIENT": long_yes(item.transient),
            "IS_MANAGED_ACCESS": long_yes(item.managed_access),
            "RETENTION_TIME": item.retention_days,
            "CREATED": item.created_on,
            "LAST_ALTERED": item.altered_on,
            "COMMENT": item.comment,
        }
    yield {
        "CATALOG_NAME": database.name,
        "SCHEMA_NAME": INFORMATION_SCHEMA,
        "IS_TRANSIENT": "NO",
        "IS_MANAGED_ACCESS": "NO",
        "RETENTION_TIME": database.retention_days,
        "CREATED": database.created_on,
        "LAST_ALTERED": database.created_on,
        "COMMENT": INFORMATION_SCHEMA_COMMENT,
    }


def _catalog_name(_: Run, __: StateReader, database: Database) -> Iterator[Row]:
    yield {"CATALOG_NAME": database.name}


def _sequences(run: Run, state: StateReader, database: Database) -> Iterator[Row]:
    for item in objects(run, state, [ObjectKind.SEQUENCE], database.name):
        definition = item.definition
        assert isinstance(definition, SequenceDefinition)
        yield {
            **named(item, "SEQUENCE"),
            "DATA_TYPE": "NUMBER",
            "NUMERIC_PRECISION": 38,
            "NUMERIC_PRECISION_RADIX": 10,
            "NUMERIC_SCALE": 0,
            "START_VALUE": str(definition.start),
            "NEXT_VALUE": str(next_value(state, item)),
            "INCREMENT": str(definition.step),
            "CYCLE_OPTION": "NO",
            "ORDERED": long_yes(definition.ordered),
        }


ROWS: dict[str, Rows] = {
    "DATABASES": _databases,
    "SCHEMATA": _schemata,
    "INFORMATION_SCHEMA_CATALOG_NAME": _catalog_name,
    "SEQUENCES": _sequences,
}
