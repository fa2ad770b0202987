"""What GRANT and REVOKE are about: the objects meant, who may give rights on them, and their owners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.names import SchemaName, quote
from snowmelt.features.security import network_policies, principals
from snowmelt.features.security.grant_statements import Securable
from snowmelt.runtime import schema_objects
from snowmelt.runtime.rights import enforcement
from snowmelt.runtime.rights.asks import Named
from snowmelt.runtime.rights.enforcement import RightsTarget
from snowmelt.runtime.rights.privileges import ACCOUNT, MANAGE_GRANTS, OWNERSHIP, privileges
from snowmelt.sql.statements.base import ObjectType
from snowmelt.state.access_model import GranteeKind
from snowmelt.state.sight import Owned
from snowmelt.state.store import StateReader, StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


@dataclass(frozen=True, slots=True)
class Container:
    """The database or schema of ALL and FUTURE."""

    found: RightsTarget
    database: str
    schema: str | None


def objects(run: Run, state: StateReader, on: Securable) -> list[RightsTarget]:
    """The objects that a privilege is granted on or taken from. Raises when the one that is named is not there."""
    if on.scope == "ACCOUNT":
        return [RightsTarget(ACCOUNT, enforcement.ACCOUNT_NAME, Owned("", ""))]
    assert on.kind is not None and on.name is not None
    if on.scope == "OBJECT":
        return [named(run, state, Named(on.kind, on.name, on.arguments))]
    holder = container(run, state, on)
    if on.kind is ObjectType.SCHEMA:
        schemas = state.catalog.schemas(holder.database)
        return [RightsTarget("SCHEMA", schema.name, Owned(schema.id, schema.owner)) for schema in schemas]
    wanted = schema_objects.kept_as(on.kind)
    found = state.catalog.objects([wanted], holder.database, holder.schema, session_id=run.session.id)
    dynamic = on.kind is ObjectType.DYNAMIC_TABLE
    return [enforcement.found_object(item) for item in found if schema_objects.is_dynamic(item) == dynamic]


def named(run: Run, state: StateReader, item: Named) -> RightsTarget:
    found = enforcement.find(run, state, item)
    if found is None:
        word = schema_objects.noun(item.kind)
        raise errors.not_found(word, ".".join(quote(part) for part in run.parts(item.name)))
    return found


def container(run: Run, state: StateReader, on: Securable) -> Container:
    assert on.container is not None and on.name is not None
    found = named(run, state, Named(on.container, on.name))
    if on.container is ObjectType.DATABASE:
        return Container(found, found.name, None)
    full = run.schema_name(on.name)
    return Container(found, full.database, full.name)


def privileges_of(kind: str, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """The privileges meant, ALL spelled out. Raises for one that the kind does not have."""
    known = privileges()[kind]
    for privilege in wanted:
        if privilege not in known and privilege != "ALL":
            raise errors.compilation(
                "003008", "0A000", f"Privilege '{privilege}' can't be granted on a {kind.lower()}.",
                hint=f"Privileges on a {kind.lower()}: {', '.join(known) or 'none'}.",
            )  # fmt: skip
    return known if "ALL" in wanted else wanted


def may_grant(run: Run, state: StateReader, found: RightsTarget, privilege: str) -> bool:
    """The owner may, who holds it with the grant option, and whoever manages grants.

    In a schema with managed access, the schema's owner takes the place of the objects'.
    """
    authority = run.authority
    if authority.manages_grants:
        return True
    if any(
        grant.privilege == privilege and grant.grant_option and grant.grantee in authority.roles
        for grant in state.access.granted_on(found.kind, found.item.id)
        if grant.grantee_kind is GranteeKind.ROLE
    ):
        return True
    return authority.holds(OWNERSHIP, _manager(state, found))


def _manager(state: StateReader, found: RightsTarget) -> Owned:
    item = state.catalog.by_id(found.item.id)
    schema = state.catalog.schema(item.name.parent) if item is not None else None
    if schema is not None and schema.managed_access:
        return Owned(schema.id, schema.owner)
    return found.item


def require_may_grant(run: Run, state: StateReader, found: RightsTarget, privilege: str) -> None:
    if not may_grant(run, state, found, privilege):
        error = errors.insufficient_privileges(found.kind.lower(), found.name)
        run.account.audit.denied(run, (privilege,), f"{found.kind} {found.name}", error)
        raise error


def require_may_grant_future(run: Run, state: StateReader, holder: Container) -> None:
    schema = state.catalog.schema(SchemaName(holder.database, holder.schema)) if holder.schema is not None else None
    if schema is not None and schema.managed_access:
        require_may_grant(run, state, holder.found, MANAGE_GRANTS)
    elif not run.authority.manages_grants:
        error = errors.insufficient_privileges(holder.found.kind.lower(), holder.found.name)
        run.account.audit.denied(run, (MANAGE_GRANTS,), f"{holder.found.kind} {holder.found.name}", error)
        raise error


def set_owner(state: StateTransaction, found: RightsTarget, owner: str) -> None:
    """The object belongs to another role."""
    whole = state.without_limits()
    match found.kind:
        case "DATABASE":
            database = whole.catalog.database(found.name)
            assert database is not None
            whole.catalog.update_database(database.model_copy(update={"owner": owner}))
        case "SCHEMA":
            schema = next(item for item in whole.catalog.schemas() if item.id == found.item.id)
            whole.catalog.update_schema(schema.model_copy(update={"owner": owner}))
        case "WAREHOUSE":
            warehouse = whole.warehouses.get(found.name)
            assert warehouse is not None
            whole.warehouses.update(warehouse.model_copy(update={"owner": owner}))
        case "ROLE":
            principals.change_role(whole, found.name, {"owner": owner})
        case "USER":
            principals.change_user(whole, found.name, {"owner": owner})
        case "NETWORK POLICY":
            network_policies.change_network_policy(whole, found.name, {"owner": owner})
        case _:
            item = whole.catalog.by_id(found.item.id)
            assert item is not None
            whole.catalog.update(item.model_copy(update={"owner": owner}))


def shown_name(state: StateReader, kind: str, id: str) -> str | None:
    """How SHOW GRANTS calls it; None when it is gone."""
    match kind:
        case "ACCOUNT":
            return enforcement.ACCOUNT_NAME
        case "ROLE" | "USER":
            return quote(id)
        case "WAREHOUSE":
            return next((quote(item.name) for item in state.seen_by(None).warehouses.list() if item.id == id), None)
        case "DATABASE":
            return next((quote(item.name) for item in state.whole_catalog.databases() if item.id == id), None)
        case "SCHEMA":
            schemas = state.whole_catalog.schemas()
            return next((str(SchemaName(item.database, item.name)) for item in schemas if item.id == id), None)
    item = state.whole_catalog.by_id(id)
    return str(item.name) if item is not None and item.dropped_on is None else None
