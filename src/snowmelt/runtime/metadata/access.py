"""SHOW GRANTS, FUTURE GRANTS, ROLES, USERS and tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.runtime.metadata import layouts
from snowmelt.runtime.metadata.columns import Columns, Row, word, yes
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.rights import granting
from snowmelt.runtime.rights.asks import Named
from snowmelt.runtime.rights.enforcement import ACCOUNT_NAME, found_object
from snowmelt.runtime.rights.privileges import ACCOUNT
from snowmelt.sql.statements.base import NameRef, ObjectType
from snowmelt.sql.statements.grants import GrantsQuestion, parse_question
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.access_model import FutureGrant, Grant, GranteeKind, Role, User
from snowmelt.state.sight import Owned
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def grants(run: Run, state: StateReader, statement: ShowStatement) -> tuple[Columns, Iterable[Row]]:
    """The answer to any form of SHOW GRANTS, each of which has columns of its own."""
    question = parse_question(statement.grants)
    match question:
        case GrantsQuestion(form="ON", kind=None):
            return layouts.GRANTS["ON"], _account(state)
        case GrantsQuestion(form="ON", kind=ObjectType() as kind, name=NameRef() as name, arguments=arguments):
            return layouts.GRANTS["ON"], _on(run, state, Named(kind, name, arguments))
        case GrantsQuestion(form="OF", name=NameRef() as name):
            return layouts.GRANTS["OF"], _of(run, state, name)
        case GrantsQuestion(form="TO", kind=ObjectType.ROLE, name=NameRef() as name):
            return layouts.GRANTS["TO ROLE"], _to_role(run, state, name)
        case GrantsQuestion(form="TO", kind=ObjectType.USER, name=NameRef() as name):
            return layouts.GRANTS[""], _to_user(run, state, run.parts(name)[-1])
        case GrantsQuestion(form="OWN"):
            return layouts.GRANTS[""], _to_user(run, state, run.session.user)
    raise errors.unsupported(f"SHOW GRANTS {question.form} {question.kind}")


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
    if item.kind is ObjectType.USER and found.name not in {user.name for user in _visible_users(run, state)}:
        raise errors.not_found("User", quote(found.name))
    if item.kind is ObjectType.ROLE:
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


LISTINGS = {
    "USERS": Listing(users),
    "ROLES": Listing(roles),
    "FUTURE GRANTS": Listing(future_grants, paged=False),
    "USER PATS": Listing(tokens, paged=False),
    "USER PROGRAMMATIC ACCESS TOKENS": Listing(tokens, paged=False),
}
