"""OBJECT_PRIVILEGES, TABLE_PRIVILEGES and the audit log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from snowmelt.runtime.information_schema.rows import Rows
from snowmelt.runtime.metadata.columns import Row, long_yes
from snowmelt.runtime.rights import history
from snowmelt.runtime.rights.enforcement import found_object
from snowmelt.state.access_model import Grant
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


ROWS: dict[str, Rows] = {
    "OBJECT_PRIVILEGES": _object_privileges,
    "TABLE_PRIVILEGES": _table_privileges,
    "AUDIT_LOG": _audit_log,
}
