"""What every account has: the system's roles, their privileges, and the administrator."""

from __future__ import annotations

from snowmelt.runtime.rights.privileges import (
    ACCOUNT,
    ACCOUNTADMIN,
    HIERARCHY,
    SYSADMIN,
    SYSTEM_ROLES,
    account_privileges,
)
from snowmelt.state.access_model import Grant, GranteeKind, Role, User
from snowmelt.state.store import StateStore, StateTransaction

ADMIN = "ADMIN"


def found(state: StateTransaction, namespace: str, warehouse: str) -> None:
    """Makes what is missing. In a data directory of an older Snowmelt, everything belongs to the role whose name is
    on it: mostly ACCOUNTADMIN. Other names that were used as roles become roles, granted to SYSADMIN."""
    if state.access.role(ACCOUNTADMIN) is not None:
        return
    for name, comment in SYSTEM_ROLES.items():
        state.access.put_role(Role(name=name, owner="", comment=comment, created_on=state.now))
    grants = [_membership(state, role, GranteeKind.ROLE, to) for role, to in HIERARCHY]
    grants += [
        Grant(
            privilege=privilege, on_kind=ACCOUNT, on_id="", grantee_kind=GranteeKind.ROLE, grantee=role,
            granted_by="", created_on=state.now,
        )
        for privilege, role in account_privileges().items()
    ]  # fmt: skip
    for name in sorted(_owners(state) - set(SYSTEM_ROLES)):
        state.access.put_role(Role(name=name, owner=ACCOUNTADMIN, created_on=state.now))
        grants.append(_membership(state, name, GranteeKind.ROLE, SYSADMIN))
    state.access.put_user(
        User(
            name=ADMIN, login_name=ADMIN, display_name=ADMIN, owner=ACCOUNTADMIN, default_role=ACCOUNTADMIN,
            default_warehouse=warehouse, default_namespace=namespace, created_on=state.now,
        )
    )  # fmt: skip
    grants.append(_membership(state, ACCOUNTADMIN, GranteeKind.USER, ADMIN))
    state.access.grant(grants)


def forget_admin_password(store: StateStore) -> None:
    """The administrator's password is the one of the data directory again, not one that ALTER USER has set."""
    with store.begin() as state:
        admin = state.access.user(ADMIN)
        if admin is not None and (admin.password_hash is not None or admin.locked_until is not None):
            values = {"password_hash": None, "locked_until": None, "failed_logins": 0}
            state.access.put_user(admin.model_copy(update=values))


def _membership(state: StateTransaction, role: str, kind: GranteeKind, grantee: str) -> Grant:
    return Grant(
        privilege="USAGE", on_kind="ROLE", on_id=role, grantee_kind=kind, grantee=grantee, granted_by="",
        created_on=state.now,
    )  # fmt: skip


def _owners(state: StateTransaction) -> set[str]:
    """The roles that own something."""
    found = {item.owner for item in state.catalog.databases(include_dropped=True)}
    found |= {item.owner for item in state.catalog.schemas(include_dropped=True)}
    found |= {item.owner for item in state.catalog.objects(include_dropped=True, all_sessions=True)}
    return found | {item.owner for item in state.warehouses.list()}
