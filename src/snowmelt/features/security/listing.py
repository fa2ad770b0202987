"""SHOW GRANTS, FUTURE GRANTS, ROLES, USERS and tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.features.security import granting
from snowmelt.features.security.definitions import ROLE, USER
from snowmelt.features.security.grant_statements import parse_question
from snowmelt.runtime.metadata.columns import Columns, Row, columns, word, yes
from snowmelt.runtime.rights import credentials
from snowmelt.runtime.rights.asks import Named
from snowmelt.runtime.rights.enforcement import ACCOUNT_NAME, found_object
from snowmelt.runtime.rights.privileges import ACCOUNT
from snowmelt.sql.statements.base import NameRef, ObjectType
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.access_model import FutureGrant, Grant, GranteeKind, Role, User
from snowmelt.state.sight import Owned
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

USERS = columns(
    "name, created_on:ts, login_name, display_name, first_name, last_name, email, mins_to_unlock, "
    "days_to_expiry, comment, disabled, must_change_password, snowflake_lock, default_warehouse, "
    "default_namespace, default_role, default_secondary_roles, ext_authn_duo, ext_authn_uid, "
    "mins_to_bypass_mfa, owner, last_success_login:ts, expires_at_time:ts, locked_until_time:ts, "
    "has_password, has_rsa_public_key, type, has_mfa, has_pat, has_workload_identity, "
    "is_from_organization_user"
)
ROLES = columns(
    "created_on:ts, name, is_default, is_current, is_inherited, assigned_to_users:n, granted_to_roles:n, "
    "granted_roles:n, owner, comment, is_from_organization_user_group"
)
TOKENS = columns("name, user_name, role_restriction, expires_at:ts, status, comment, created_on:ts, created_by")
TERSE_USERS = columns(
    "name, created_on:ts, display_name, first_name, last_name, email, comment, has_password, "
    "has_rsa_public_key, type, has_mfa, has_pat, has_workload_identity, is_from_organization_user"
)
TERSE_ROLES = columns("name, is_default, is_current, is_inherited, is_from_organization_user_group")
FUTURE_GRANTS = columns("created_on:ts, privilege, grant_on, name, grant_to, grantee_name, grant_option")
DESCRIBED_USER = columns("property, value, default, description")
_GRANTS: dict[str, Columns] = {
    "ON": columns(
        "created_on:ts, privilege, granted_on, name, granted_to, grantee_name, grant_option, granted_by, "
        "granted_by_role_type"
    ),
    "TO ROLE": columns(
        "created_on:ts, privilege, granted_on, name, granted_to, grantee_name, grant_option, granted_by"
    ),
    "OF": columns("created_on:ts, role, granted_to, grantee_name, granted_by"),
    "": columns("created_on:ts, privilege, granted_on, name, role, granted_to, grantee_name, grant_option, granted_by"),
}
"""SHOW GRANTS by its form; the empty one is for the current user, or TO USER."""


def grant_columns(statement: ShowStatement) -> Columns:
    """Each form of SHOW GRANTS has columns of its own."""
    question = parse_question(statement.grants)
    form, kind = question.form, question.kind
    if form == "IN" or (form == "TO" and kind not in (ROLE, USER)):
        raise errors.unsupported(f"SHOW GRANTS {form} {kind}")
    if form == "OWN" or (kind is USER and form == "TO"):
        return _GRANTS[""]
    return _GRANTS["TO ROLE" if form == "TO" else form]


def grants(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    """The rows of any form of SHOW GRANTS."""
    question = parse_question(statement.grants)
    name = question.name
    if question.form == "ON" and question.kind is None:
        return _account(state)
    if name is None:
        return _to_user(run, state, run.session.user)
    if question.form == "ON" and question.kind is not None:
        return _on(run, state, Named(question.kind, name, question.arguments))
    if question.form == "OF":
        return _of(run, state, name)
    return _to_role(run, state, name) if question.kind is ROLE else _to_user(run, state, run.parts(name)[-1])


def _row(state: StateReader, grant: Grant, name: str | None = None) -> Row | None:
    shown = name or granting.shown_name(state, grant.on_kind, grant.on_id)
    if shown is None:
        return None
    return {
        "created_on": grant.created_on,
        "privilege": grant.privilege,
        "granted_on": grant.on_kind.replace(" ", "_"),
        "name": shown,
        "role": grant.on_id if grant.on_kind == "ROLE" else None,
        "granted_to": grant.grantee_kind.value,
        "grantee_name": grant.grantee,
        "grant_option": word(grant.grant_option),
        "granted_by": grant.granted_by,
        "granted_by_role_type": "ROLE" if grant.granted_by else "",
    }


def _owner_row(run: Run, kind: str, name: str, owner: str) -> Row:
    return {
        "created_on": run.now, "privilege": "OWNERSHIP", "granted_on": kind.replace(" ", "_"), "name": name,
        "granted_to": "ROLE", "grantee_name": owner, "grant_option": "true", "granted_by": owner,
        "granted_by_role_type": "ROLE",
    }  # fmt: skip


def _account(state: StateReader) -> Iterator[Row]:
    for grant in state.access.granted_on(ACCOUNT, ""):
        row = _row(state, grant, ACCOUNT_NAME)
        if row is not None:
            yield row


def _on(run: Run, state: StateReader, item: Named) -> Iterator[Row]:
    found = granting.named(run, state, item)
    if item.kind is USER and found.name not in {user.name for user in _visible_users(run, state)}:
        raise errors.not_found("User", quote(found.name))
    if item.kind is ROLE:
        _visible_role(run, state, item.name)
    name = granting.shown_name(state, found.kind, found.item.id)
    if name is None:
        return
    if found.item.owner:
        yield _owner_row(run, found.kind, name, found.item.owner)
    for grant in state.access.granted_on(found.kind, found.item.id):
        row = _row(state, grant, name)
        if row is not None:
            yield row


def _of(run: Run, state: StateReader, name: NameRef) -> Iterator[Row]:
    role = _visible_role(run, state, name)
    for grant in state.access.granted_on("ROLE", role.name):
        yield {
            "created_on": grant.created_on, "role": role.name, "granted_to": grant.grantee_kind.value,
            "grantee_name": grant.grantee, "granted_by": grant.granted_by,
        }  # fmt: skip


def _to_role(run: Run, state: StateReader, name: NameRef) -> Iterator[Row]:
    role = _visible_role(run, state, name)
    for kind, shown in owned(state, role.name):
        yield _owner_row(run, kind, shown, role.name)
    for grant in state.access.granted_to(GranteeKind.ROLE, [role.name]):
        row = _row(state, grant)
        if row is not None:
            yield row


def owned(state: StateReader, role: str) -> Iterator[tuple[str, str]]:
    """Kinds and names of everything a role owns."""
    whole = state.whole_catalog
    containers = [
        *(("DATABASE", item.id, item.owner) for item in whole.databases()),
        *(("SCHEMA", item.id, item.owner) for item in whole.schemas()),
        *(("WAREHOUSE", item.id, item.owner) for item in state.seen_by(None).warehouses.list()),
        *(("ROLE", item.name, item.owner) for item in state.access.roles()),
        *(("USER", item.name, item.owner) for item in state.access.users()),
    ]
    for kind, id, owner in containers:
        if owner == role:
            yield kind, granting.shown_name(state, kind, id) or id
    for item in whole.objects():
        if item.owner == role:
            found = found_object(item)
            yield found.kind, str(item.name)


def _to_user(run: Run, state: StateReader, name: str) -> Iterator[Row]:
    if name not in {user.name for user in _visible_users(run, state)}:
        raise errors.not_found("User", quote(name))
    for grant in state.access.granted_to(GranteeKind.USER, [name]):
        row = _row(state, grant)
        if row is not None:
            yield row


def future_grants(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    question = parse_question(statement.grants)
    if question.name is None:
        return
    if question.form == "TO":
        role = _visible_role(run, state, question.name)
        found = state.access.future_to(role.name)
    else:
        kind = question.kind or ObjectType.DATABASE
        found = state.access.future_in(granting.named(run, state, Named(kind, question.name)).item.id)
    for grant in found:
        yield _future_row(state, grant)


def _future_row(state: StateReader, grant: FutureGrant) -> Row:
    holder = granting.shown_name(state, "SCHEMA", grant.container_id)
    holder = holder or granting.shown_name(state, "DATABASE", grant.container_id) or ""
    return {
        "created_on": grant.created_on, "privilege": grant.privilege, "grant_on": grant.on_kind.replace(" ", "_"),
        "name": f"{holder}.<{grant.on_kind.replace(' ', '_')}>", "grant_to": "ROLE", "grantee_name": grant.grantee,
        "grant_option": word(grant.grant_option),
    }  # fmt: skip


# -- roles and users ---------------------------------------------------------------------------------------------------


def visible_roles(run: Run, state: StateReader) -> list[Role]:
    """All for whoever manages grants or creates roles; else the user's own, and those the session's roles own."""
    found = state.access.roles()
    authority = run.authority
    if authority.manages_grants or authority.on_account("CREATE ROLE"):
        return found
    mine = run.account.access.available(run.session.user) | authority.roles
    return [role for role in found if role.name in mine or role.owner in authority.roles]


def _visible_role(run: Run, state: StateReader, name: NameRef) -> Role:
    wanted = run.parts(name)[-1]
    for role in visible_roles(run, state):
        if role.name == wanted:
            return role
    raise errors.not_found("Role", quote(wanted))


def roles(run: Run, state: StateReader, _: ShowStatement) -> Iterator[Row]:
    members = state.access.memberships()
    user = state.access.user(run.session.user)
    inherited = run.account.access.inherited(run.session.role)
    for role in visible_roles(run, state):
        granted = [grant for grant in members if grant.on_id == role.name]
        yield {
            "created_on": role.created_on,
            "name": role.name,
            "is_default": yes(user is not None and user.default_role == role.name),
            "is_current": yes(role.name == run.session.role),
            "is_inherited": yes(role.name in inherited and role.name != run.session.role),
            "assigned_to_users": sum(grant.grantee_kind is GranteeKind.USER for grant in granted),
            "granted_to_roles": sum(grant.grantee_kind is GranteeKind.ROLE for grant in granted),
            "granted_roles": sum(
                grant.grantee == role.name and grant.grantee_kind is GranteeKind.ROLE for grant in members
            ),
            "owner": role.owner,
            "comment": role.comment or "",
            "is_from_organization_user_group": "false",
        }


def _visible_users(run: Run, state: StateReader) -> list[User]:
    """All for whoever manages grants or creates users; else oneself, and those the session's roles own."""
    authority = run.authority
    everyone = authority.manages_grants or authority.on_account("CREATE USER")
    return [
        user
        for user in state.access.users()
        if everyone or user.name == run.session.user or authority.sees(Owned(user.name, user.owner))
    ]


def find_user(run: Run, state: StateReader, name: str) -> User:
    for user in _visible_users(run, state):
        if user.name == name:
            return user
    raise errors.not_found("User", quote(name))


def users(run: Run, state: StateReader, _: ShowStatement) -> Iterator[Row]:
    for user in _visible_users(run, state):
        locked = user.locked_until if user.locked_until is not None and user.locked_until > run.now else None
        yield {
            "name": user.name,
            "created_on": user.created_on,
            "login_name": user.login_name,
            "display_name": user.display_name or user.name,
            "first_name": user.first_name or "",
            "last_name": user.last_name or "",
            "email": user.email or "",
            "mins_to_unlock": "" if locked is None else str(round((locked - run.now).total_seconds() / 60)),
            "days_to_expiry": "",
            "comment": user.comment or "",
            "disabled": word(user.disabled),
            "must_change_password": word(user.must_change_password),
            "snowflake_lock": "false",
            "default_warehouse": user.default_warehouse or "",
            "default_namespace": user.default_namespace or "",
            "default_role": user.default_role or "",
            "default_secondary_roles": str(list(user.default_secondary_roles)).replace("'", '"'),
            "ext_authn_duo": "false",
            "ext_authn_uid": "",
            "mins_to_bypass_mfa": "",
            "owner": user.owner,
            "last_success_login": user.last_login,
            "locked_until_time": locked,
            "has_password": word(user.password_hash is not None),
            "has_rsa_public_key": word(user.rsa_public_key is not None),
            "type": user.type,
            "has_mfa": "false",
            "has_pat": word(bool(state.access.tokens(user.name))),
            "has_workload_identity": "false",
            "is_from_organization_user": "false",
        }


def tokens(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    scope = statement.scope
    name = run.parts(scope.name)[-1] if scope is not None and scope.name is not None else run.session.user
    user = find_user(run, state, name)
    for token in state.access.tokens(user.name):
        status = "DISABLED" if token.disabled else "EXPIRED" if token.expires_at <= run.now else "ACTIVE"
        yield {
            "name": token.name, "user_name": token.user, "role_restriction": token.role_restriction,
            "expires_at": token.expires_at, "status": status, "comment": token.comment,
            "created_on": token.created_on, "created_by": token.created_by,
        }  # fmt: skip


def described_user(run: Run, state: StateReader, name: str) -> Iterator[Row]:
    """Says of secrets only that they are there; of a key its fingerprint, which is public."""
    user = find_user(run, state, name)
    keys = (user.rsa_public_key, user.rsa_public_key_2)
    prints = [credentials.fingerprint(key) if key is not None else None for key in keys]
    properties = {
        "NAME": (user.name, "Name"),
        "COMMENT": (user.comment, "user comment associated to an object in the dictionary"),
        "DISPLAY_NAME": (user.display_name, "Display name of the user"),
        "TYPE": (user.type, "Type of the user"),
        "LOGIN_NAME": (user.login_name, "Login name of the user"),
        "FIRST_NAME": (user.first_name, "First name of the user"),
        "LAST_NAME": (user.last_name, "Last name of the user"),
        "EMAIL": (user.email, "Email address of the user"),
        "PASSWORD": ("********" if user.password_hash is not None else None, "Password of the user"),
        "MUST_CHANGE_PASSWORD": (word(user.must_change_password), "User must change the password"),
        "DISABLED": (word(user.disabled), "Whether the user is disabled"),
        "DEFAULT_WAREHOUSE": (user.default_warehouse, "Default warehouse of the user's sessions"),
        "DEFAULT_NAMESPACE": (user.default_namespace, "Default namespace of the user's sessions"),
        "DEFAULT_ROLE": (user.default_role, "Default role of the user's sessions"),
        "NETWORK_POLICY": (user.network_policy, "Network policy of the user"),
        "DEFAULT_SECONDARY_ROLES": (json.dumps(list(user.default_secondary_roles)), "Secondary roles of sessions"),
        "RSA_PUBLIC_KEY_FP": (prints[0], "Fingerprint of the user's RSA public key"),
        "RSA_PUBLIC_KEY_2_FP": (prints[1], "Fingerprint of the user's second RSA public key"),
    }
    for key, (value, description) in properties.items():
        yield {"property": key, "value": value or "null", "default": "null", "description": description}
