"""DATABASES, SCHEMATA, and what belongs to the account."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from snowmelt.runtime.information_schema.rows import Rows
from snowmelt.runtime.metadata.catalog import INFORMATION_SCHEMA
from snowmelt.runtime.metadata.columns import Row, long_yes
from snowmelt.runtime.metadata.containers import INFORMATION_SCHEMA_COMMENT
from snowmelt.state.access_model import GranteeKind
from snowmelt.state.model import Database
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


def _applicable_roles(run: Run, state: StateReader, _: Database) -> Iterator[Row]:
    """Who brings which role: those of the user, and those that these bring with them."""
    owners = {role.name: role.owner for role in state.access.roles()}
    mine = run.account.access.available(run.session.user) | {run.session.role}
    for grant in state.access.memberships():
        if grant.grantee == run.session.user if grant.grantee_kind is GranteeKind.USER else grant.grantee in mine:
            yield {
                "GRANTEE": grant.grantee, "ROLE_NAME": grant.on_id, "ROLE_OWNER": owners.get(grant.on_id, ""),
                "IS_GRANTABLE": long_yes(grant.grant_option),
            }  # fmt: skip


def _enabled_roles(run: Run, state: StateReader, _: Database) -> Iterator[Row]:
    owners = {role.name: role.owner for role in state.access.roles()}
    for role in sorted(run.authority.roles):
        yield {"ROLE_NAME": role, "ROLE_OWNER": owners.get(role, "")}


ROWS: dict[str, Rows] = {
    "DATABASES": _databases,
    "SCHEMATA": _schemata,
    "INFORMATION_SCHEMA_CATALOG_NAME": _catalog_name,
    "APPLICABLE_ROLES": _applicable_roles,
    "ENABLED_ROLES": _enabled_roles,
}
