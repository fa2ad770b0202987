"""The rights that a new object has from the start: future grants, and those of what it replaces."""

from __future__ import annotations

from typing import Any

from sqlalchemy import or_, select

from snowmelt.state.model import TableDefinition
from snowmelt.state.record import Definition
from snowmelt.state.repository import WriteScope
from snowmelt.state.tables import FUTURE_GRANTS, GRANTS, OBJECTS, SCHEMAS

_F, _G = FUTURE_GRANTS.c, GRANTS.c
OWNERSHIP = "OWNERSHIP"

Rows = list[dict[str, Any]]


def granted_as(definition: Definition) -> str:
    """The kind in the words of GRANT: a dynamic table is one of its own."""
    dynamic = isinstance(definition, TableDefinition) and definition.dynamic is not None
    return "DYNAMIC TABLE" if dynamic else definition.kind


def future(scope: WriteScope, kind: str, schema_id: str | None, database_id: str) -> Rows:
    """The future grants for a kind. Those of the schema take the place of those of its database."""
    containers = [_F.container_id == database_id]
    if schema_id is not None:
        containers.append(_F.container_id == schema_id)
    query = select(FUTURE_GRANTS).where(_F.on_kind == kind, or_(*containers))
    found = [dict(row._mapping) for row in scope.connection.execute(query)]
    nearer = [row for row in found if row["container_id"] == schema_id]
    return nearer or found


def owner(found: Rows, otherwise: str) -> str:
    return next((str(row["grantee"]) for row in found if row["privilege"] == OWNERSHIP), otherwise)


def find_replaced(scope: WriteScope, schema_id: str, slot: str) -> str | None:
    """The object whose place is taken in this transaction."""
    query = select(OBJECTS.c.id).where(
        OBJECTS.c.schema_id == schema_id, OBJECTS.c.slot == slot, OBJECTS.c.dropped_on == scope.now
    )
    return scope.connection.execute(query).scalar()


def give(scope: WriteScope, id: str, kind: str, found: Rows, copied_from: str | None) -> None:
    """Grants on the new object what future grants say, and what is granted on the one that it replaces."""
    grants = {
        (row["grantee"], row["privilege"]): {
            "grantee_kind": "ROLE", "grantee": row["grantee"], "on_kind": kind, "on_id": id,
            "privilege": row["privilege"], "grant_option": row["grant_option"], "granted_by": row["granted_by"],
            "created_on": scope.now,
        }
        for row in found
        if row["privilege"] != OWNERSHIP
    }  # fmt: skip
    if copied_from is not None:
        for row in scope.connection.execute(select(GRANTS).where(_G.on_id == copied_from)):
            grants[row.grantee, row.privilege] = dict(row._mapping) | {"on_id": id, "on_kind": kind}
    if grants:
        scope.rights_changed = True
        scope.connection.execute(GRANTS.insert(), list(grants.values()))


def database_of(scope: WriteScope, schema_id: str) -> str:
    return str(scope.connection.execute(select(SCHEMAS.c.database_id).where(SCHEMAS.c.id == schema_id)).scalar_one())
