"""Roles, privileges and the audit log in INFORMATION_SCHEMA."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from snowmelt.runtime.kinds import InformationView
from snowmelt.runtime.metadata.columns import Row, long_yes
from snowmelt.runtime.rights import history
from snowmelt.runtime.rights.enforcement import found_object
from snowmelt.state.access_model import Grant, GranteeKind
from snowmelt.state.model import RELATIONS, CatalogObject, Database
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def _granted(run: Run, state: StateReader, items: list[CatalogObject]) -> Iterator[tuple[CatalogObject, Row]]:
    """Every privilege on these objects, ownership first."""
    grants: dict[str, list[Grant]] = {}
    for grant in state.access.granted_on_any([item.id for item in items]):
        grants.setdefault(grant.on_id, []).append(grant)
    for item in items:
        yield item, _row(item.owner, item.owner, "OWNERSHIP", grantable=True) | {"CREATED": item.created_on}
        for grant in grants.get(item.id, []):
            row = _row(grant.granted_by, grant.grantee, grant.privilege, grantable=grant.grant_option)
            yield item, row | {"CREATED": grant.created_on}


def _row(grantor: str, grantee: str, privilege: str, *, grantable: bool) -> dict[str, object]:
    return {
        "GRANTOR": grantor,
        "GRANTEE": grantee,
        "GRANTED_TO": "ROLE",
        "PRIVILEGE_TYPE": privilege,
        "IS_GRANTABLE": long_yes(grantable),
    }


def _object_privileges(run: Run, state: StateReader, database: Database) -> Iterator[Row]:
    found = state.catalog.objects(database=database.name, session_id=run.session.id)
    for item, row in _granted(run, state, found):
        yield {
            **row,
            "OBJECT_CATALOG": item.name.database,
            "OBJECT_SCHEMA": item.name.schema,
            "OBJECT_NAME": item.name.name,
            "OBJECT_TYPE": found_object(item).kind,
        }


def _table_privileges(run: Run, state: StateReader, database: Database) -> Iterator[Row]:
    found = state.catalog.objects(RELATIONS, database=database.name, session_id=run.session.id)
    for item, row in _granted(run, state, found):
        yield {
            **row,
            "TABLE_CATALOG": item.name.database,
            "TABLE_SCHEMA": item.name.schema,
            "TABLE_NAME": item.name.name,
            "WITH_HIERARCHY": "NO",
        }


def _audit_log(run: Run, _: StateReader, __: Database) -> Iterator[Row]:
    """All of the account, whichever database is asked."""
    yield from history.audit(run)


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


VIEWS = (
    InformationView(
        name="APPLICABLE_ROLES", columns="GRANTEE, ROLE_NAME, ROLE_OWNER, IS_GRANTABLE:flag", rows=_applicable_roles
    ),
    InformationView(
        name="AUDIT_LOG",
        columns=(
            "EVENT_ID, EVENT_TIMESTAMP:ts, EVENT_TYPE, USER_NAME, ROLE_NAME, IS_SUCCESS:flag, OBJECT, DETAIL, "
            "ERROR_CODE, ERROR_MESSAGE, CLIENT_IP, QUERY_ID"
        ),
        rows=_audit_log,
    ),
    InformationView(name="ENABLED_ROLES", columns="ROLE_NAME, ROLE_OWNER", rows=_enabled_roles),
    InformationView(
        name="OBJECT_PRIVILEGES",
        columns=(
            "GRANTOR, GRANTEE, GRANTED_TO, OBJECT_CATALOG, OBJECT_SCHEMA, OBJECT_NAME, OBJECT_TYPE, PRIVILEGE_TYPE, "
            "IS_GRANTABLE:flag, CREATED:ts"
        ),
        rows=_object_privileges,
    ),
    InformationView(
        name="TABLE_PRIVILEGES",
        columns=(
            "GRANTOR, GRANTEE, GRANTED_TO, TABLE_CATALOG, TABLE_SCHEMA, TABLE_NAME, PRIVILEGE_TYPE, "
            "IS_GRANTABLE:flag, WITH_HIERARCHY:flag, CREATED:ts"
        ),
        rows=_table_privileges,
    ),
)
