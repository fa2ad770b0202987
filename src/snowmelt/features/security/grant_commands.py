"""GRANT and REVOKE."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.features.security import granting
from snowmelt.features.security.grant_statements import (
    GrantOwnership,
    GrantPrivileges,
    GrantRole,
    RevokePrivileges,
    RevokeRole,
)
from snowmelt.runtime.results import DONE, Result, status
from snowmelt.runtime.rights.auditing import changed
from snowmelt.runtime.rights.enforcement import RightsTarget
from snowmelt.runtime.rights.privileges import OWNERSHIP
from snowmelt.sql.statements.base import NameRef
from snowmelt.state.access_model import FutureGrant, Grant, GranteeKind
from snowmelt.state.sight import Owned
from snowmelt.state.store import StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


_OnObjects = GrantPrivileges | RevokePrivileges | GrantOwnership


def grant(run: Run, statement: GrantPrivileges) -> Result:
    def add(state: StateTransaction, item: RightsTarget, role: str) -> None:
        for privilege in _grantable(run, state, item, statement.privileges):
            _add(run, state, item, privilege, role, grant_option=statement.grant_option)

    return _change_grants(run, statement, "GRANT", add)


def revoke(run: Run, statement: RevokePrivileges) -> Result:
    def take(state: StateTransaction, item: RightsTarget, role: str) -> None:
        for privilege in _grantable(run, state, item, statement.privileges):
            _take(run, state, item, privilege, role, statement)

    return _change_grants(run, statement, "REVOKE", take)


def grant_ownership(run: Run, statement: GrantOwnership) -> Result:
    def hand_over(state: StateTransaction, item: RightsTarget, role: str) -> None:
        granting.require_may_grant(run, state, item, OWNERSHIP)
        _hand_over(run, state, item, role, statement)

    return _change_grants(run, statement, "GRANT", hand_over)


def _change_grants(
    run: Run, statement: _OnObjects, verb: Literal["GRANT", "REVOKE"],
    change: Callable[[StateTransaction, RightsTarget, str], None],
) -> Result:  # fmt: skip
    """Makes the change to every object that is meant, all of them or none; future ones get a note of it."""
    with run.state.begin() as state:
        role = _role(run, state, statement.grantee)
        if statement.on.scope == "FUTURE":
            note = state.access.grant_future if verb == "GRANT" else state.access.revoke_future
            for future in _future(run, state, statement, role, verb):
                note(future)
            return status(DONE, verb)
        found = granting.objects(run, state, statement.on)
        for item in found:
            change(state, item, role)
    return status(DONE if statement.on.scope != "ALL" else f"{DONE} {len(found)} objects affected.", verb)


def _grantable(run: Run, state: StateTransaction, item: RightsTarget, wanted: tuple[str, ...]) -> list[str]:
    """The privileges meant. Of ALL, those that the role may give; of others, it must be allowed to give each."""
    privileges = granting.privileges_of(item.kind, wanted)
    allowed = [privilege for privilege in privileges if granting.may_grant(run, state, item, privilege)]
    if "ALL" in wanted and allowed:
        return allowed
    for privilege in privileges:
        granting.require_may_grant(run, state, item, privilege)
    return list(privileges)


def _add(
    run: Run, state: StateTransaction, item: RightsTarget, privilege: str, role: str, *, grant_option: bool
) -> None:  # fmt: skip
    state.access.grant(
        [
            Grant(
                privilege=privilege, on_kind=item.kind, on_id=item.item.id, grantee_kind=GranteeKind.ROLE,
                grantee=role, grant_option=grant_option, granted_by=item.item.owner or run.session.role,
                created_on=state.now,
            )
        ]
    )  # fmt: skip
    changed(run, state, "GRANT", f"{item.kind} {item.name}", f"{privilege} TO ROLE {role}")


def _take(
    run: Run, state: StateTransaction, item: RightsTarget, privilege: str, role: str, statement: RevokePrivileges
) -> None:
    held = [
        one
        for one in state.access.granted_on(item.kind, item.item.id)
        if one.privilege == privilege and one.grantee_kind is GranteeKind.ROLE
    ]
    mine = [one for one in held if one.grantee == role]
    given_on = [one for one in held if one.granted_by == role and one.grantee != role]
    if given_on and mine and mine[0].grant_option and not statement.cascade:
        raise errors.SnowmeltError(
            "003036", "42501",
            f"SQL execution error: Dependent grant of privilege '{privilege}' on securable '{item.name}' to role "
            f"'{given_on[0].grantee}' exists. It must be revoked first.",
            hint="REVOKE … CASCADE revokes it too.",
        )  # fmt: skip
    for one in mine:
        state.access.revoke([one])
        if statement.option_only:
            state.access.grant([one.model_copy(update={"grant_option": False})])
    for one in given_on if mine and mine[0].grant_option else []:
        _take(run, state, item, privilege, one.grantee, statement)
    changed(run, state, "REVOKE", f"{item.kind} {item.name}", f"{privilege} FROM ROLE {role}")


def _future(
    run: Run, state: StateTransaction, statement: _OnObjects, role: str, verb: Literal["GRANT", "REVOKE"]
) -> Iterator[FutureGrant]:
    """Raises unless the role manages grants. The owner of a schema with managed access may, too: there all grants on
    what others create are the schema owner's to give.
    """
    on = statement.on
    assert on.kind is not None
    holder = granting.container(run, state, on)
    granting.require_may_grant_future(run, state, holder)
    wanted = (OWNERSHIP,) if isinstance(statement, GrantOwnership) else statement.privileges
    wanted = wanted if wanted == (OWNERSHIP,) else granting.privileges_of(on.kind, wanted)
    for privilege in wanted:
        changed(run, state, verb, f"FUTURE {on.kind}S IN {holder.found.name}", f"{privilege} ROLE {role}")
        yield FutureGrant(
            privilege=privilege, on_kind=on.kind, container_id=holder.found.item.id, grantee=role,
            grant_option=isinstance(statement, GrantPrivileges) and statement.grant_option,
            granted_by=run.session.role, created_on=state.now,
        )  # fmt: skip


# -- ownership ---------------------------------------------------------------------------------------------------------


def _hand_over(run: Run, state: StateTransaction, item: RightsTarget, role: str, statement: GrantOwnership) -> None:
    grants = [one for one in state.access.granted_on(item.kind, item.item.id) if one.grantee != role]
    if item.kind not in ("ROLE", "USER") and grants:
        if statement.current_grants is None:
            raise errors.SnowmeltError(
                "003036", "42501",
                f"SQL execution error: Dependent grant of privilege '{grants[0].privilege}' on securable "
                f"'{item.name}' to role '{grants[0].grantee}' exists. It must be revoked first.",
                hint="GRANT OWNERSHIP … REVOKE CURRENT GRANTS revokes all of them, COPY CURRENT GRANTS keeps them.",
            )  # fmt: skip
        state.access.revoke(grants)
        if statement.current_grants == "COPY":
            state.access.grant([one.model_copy(update={"granted_by": role}) for one in grants])
    granting.set_owner(state, item, role)
    run.account.lifecycle.owner_changed(state, item.kind, item.item.id)
    changed(run, state, "GRANT", f"{item.kind} {item.name}", f"OWNERSHIP TO ROLE {role}")


# -- roles -------------------------------------------------------------------------------------------------------------


def grant_role(run: Run, statement: GrantRole) -> Result:
    with run.state.begin() as state:
        role, given = _given(run, state, statement.role, statement.to, statement.grantee)
        if given.grantee_kind is GranteeKind.ROLE and _leads_to(state, role, given.grantee):
            raise errors.compilation(
                "003034", "42501", f"Role '{role}' can't be granted to role '{given.grantee}': it has that role itself."
            )
        state.access.grant([given])
        changed(run, state, "GRANT", f"ROLE {role}", f"TO {statement.to} {given.grantee}")
    return status(DONE, "GRANT")


def revoke_role(run: Run, statement: RevokeRole) -> Result:
    with run.state.begin() as state:
        role, given = _given(run, state, statement.role, statement.from_, statement.grantee)
        state.access.revoke([given])
        changed(run, state, "REVOKE", f"ROLE {role}", f"FROM {statement.from_} {given.grantee}")
    return status(DONE, "REVOKE")


def _given(run: Run, state: StateTransaction, role: NameRef, kind: str, grantee: NameRef) -> tuple[str, Grant]:
    name = _role(run, state, role)
    found = state.access.role(name)
    assert found is not None
    granting.require_may_grant(run, state, RightsTarget("ROLE", name, Owned(name, found.owner)), "USAGE")
    if kind == "USER":
        to = run.parts(grantee)[-1]
        if state.access.user(to) is None:
            raise errors.not_found("User", quote(to))
    else:
        to = _role(run, state, grantee)
    return name, Grant(
        privilege="USAGE", on_kind="ROLE", on_id=name, grantee_kind=GranteeKind(kind), grantee=to,
        granted_by=run.session.role, created_on=state.now,
    )  # fmt: skip


def _leads_to(state: StateTransaction, role: str, start: str) -> bool:
    """Whether `role` has `start` already, so that granting it back would be a circle."""
    members = [one for one in state.access.memberships() if one.grantee_kind is GranteeKind.ROLE]
    waiting, seen = [role], set[str]()
    while waiting:
        current = waiting.pop()
        if current == start:
            return True
        if current not in seen:
            seen.add(current)
            waiting += [one.on_id for one in members if one.grantee == current]
    return False


def _role(run: Run, state: StateTransaction, name: NameRef) -> str:
    role = run.parts(name)[-1]
    if state.access.role(role) is None:
        raise errors.not_found("Role", quote(role))
    return role
