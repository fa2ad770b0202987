"""DATABASES, SCHEMATA, and what belongs to the account."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from snowmelt.service.metadata.account import inherited
from snowmelt.service.metadata.catalog import INFORMATION_SCHEMA
from snowmelt.service.metadata.columns import Row, long_yes
from snowmelt.service.metadata.containers import INFORMATION_SCHEMA_COMMENT
from snowmelt.state.model import Database
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.service.run import Run


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


def _applicable_roles(run: Run, _: StateReader, __: Database) -> Iterator[Row]:
    yield {"GRANTEE": run.session.user, "ROLE_NAME": run.session.role, "ROLE_OWNER": "", "IS_GRANTABLE": "NO"}
    for role in sorted(inherited(run.session.role)):
        yield {"GRANTEE": run.session.role, "ROLE_NAME": role, "ROLE_OWNER": "", "IS_GRANTABLE": "NO"}


def _enabled_roles(run: Run, _: StateReader, __: Database) -> Iterator[Row]:
    for role in sorted({run.session.role, *inherited(run.session.role)}):
        yield {"ROLE_NAME": role, "ROLE_OWNER": ""}


ROWS = {
    "DATABASES": _databases,
    "SCHEMATA": _schemata,
    "INFORMATION_SCHEMA_CATALOG_NAME": _catalog_name,
    "APPLICABLE_ROLES": _applicable_roles,
    "ENABLED_ROLES": _enabled_roles,
}
