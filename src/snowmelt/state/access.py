"""Users, roles and what was granted to them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Table, delete, select, update

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.core.text import check_name
from snowmelt.state.access_model import AccessToken, FutureGrant, Grant, GranteeKind, NetworkPolicy, Role, User
from snowmelt.state.channel_model import ChannelState
from snowmelt.state.model import Warehouse
from snowmelt.state.repository import AnyRow, Repository, WriteScope, chunks
from snowmelt.state.tables import (
    ACCESS_TOKENS,
    CHANNELS,
    DATABASES,
    FUTURE_GRANTS,
    GRANTS,
    NETWORK_POLICIES,
    OBJECTS,
    ROLES,
    SCHEMAS,
    USERS,
    WAREHOUSES,
)

_MODELS: dict[str, type[Role | User | Warehouse | NetworkPolicy]] = {
    "roles": Role, "users": User, "warehouses": Warehouse, "network_policies": NetworkPolicy,
}  # fmt: skip
_G, _F, _T = GRANTS.c, FUTURE_GRANTS.c, ACCESS_TOKENS.c


class AccessRecords(Repository):
    """Roles and users go by their names, since what they own does; objects go by their ids."""

    # -- roles ----------------------------------------------------------------------------------------------------

    def role(self, name: str) -> Role | None:
        record = self._execute(select(ROLES.c.record).where(ROLES.c.name == name)).scalar()
        return None if record is None else Role.model_validate_json(record)

    def roles(self) -> list[Role]:
        """All roles by name."""
        records = self._execute(select(ROLES.c.record).order_by(ROLES.c.name)).scalars()
        return [Role.model_validate_json(record) for record in records]

    def put_role(self, role: Role) -> None:
        """Adds a role, or replaces the one of that name."""
        check_name(role.name)
        self._changing()
        self._upsert(ROLES, [{"name": role.name, "record": role.model_dump_json()}])

    def drop_role(self, name: str, heir: str) -> None:
        """Forget a role and what was granted to it or on it; what it owned belongs to the heir."""
        self._changing()
        self._reown(name, heir)
        self._forget_grants(GranteeKind.ROLE, name)
        self._execute(delete(FUTURE_GRANTS).where(_F.grantee == name))
        self._execute(delete(ROLES).where(ROLES.c.name == name))

    def rename_role(self, name: str, new_name: str) -> None:
        role = self.role(name)
        if role is None or self.role(new_name) is not None:
            raise errors.already_exists(quote(new_name)) if role is not None else errors.not_found("Role", quote(name))
        self._changing()
        self._execute(delete(ROLES).where(ROLES.c.name == name))
        self.put_role(role.model_copy(update={"name": new_name}))
        self._reown(name, new_name)
        self._rename_in_grants(GranteeKind.ROLE, name, new_name)
        self._execute(update(FUTURE_GRANTS).where(_F.grantee == name).values(grantee=new_name))
        for user in self.users():
            if user.default_role == name:
                self.put_user(user.model_copy(update={"default_role": new_name}))
            for token in self.tokens(user.name):
                if token.role_restriction == name:
                    self.put_token(token.model_copy(update={"role_restriction": new_name}))

    def _reown(self, owner: str, heir: str) -> None:
        for table in (DATABASES, SCHEMAS, OBJECTS):
            self._execute(update(table).where(table.c.owner == owner).values(owner=heir))
        for table in (ROLES, USERS, WAREHOUSES, NETWORK_POLICIES):
            self._reown_records(table, owner, heir)
        for row in self._execute(select(CHANNELS.c.id, CHANNELS.c.record)).all():
            channel = ChannelState.model_validate_json(row.record)
            if channel.owner == owner:
                record = channel.model_copy(update={"owner": heir}).model_dump_json()
                self._execute(update(CHANNELS).where(CHANNELS.c.id == row.id).values(record=record))
        self._execute(update(GRANTS).where(_G.granted_by == owner).values(granted_by=heir))
        self._execute(update(FUTURE_GRANTS).where(_F.granted_by == owner).values(granted_by=heir))

    def _reown_records(self, table: Table, owner: str, heir: str) -> None:
        """The owner of these kinds is inside their records."""
        model = _MODELS[table.name]
        for row in self._execute(select(table.c.name, table.c.record)).all():
            item = model.model_validate_json(row.record)
            if item.owner == owner:
                record = item.model_copy(update={"owner": heir}).model_dump_json()
                self._execute(update(table).where(table.c.name == row.name).values(record=record))

    # -- network policies -----------------------------------------------------------------------------------------

    def network_policy(self, name: str) -> NetworkPolicy | None:
        record = self._execute(select(NETWORK_POLICIES.c.record).where(NETWORK_POLICIES.c.name == name)).scalar()
        return None if record is None else NetworkPolicy.model_validate_json(record)

    def network_policies(self) -> list[NetworkPolicy]:
        """All of them by name."""
        records = self._execute(select(NETWORK_POLICIES.c.record).order_by(NETWORK_POLICIES.c.name)).scalars()
        return [NetworkPolicy.model_validate_json(record) for record in records]

    def put_network_policy(self, policy: NetworkPolicy) -> None:
        """Adds a policy, or replaces the one of that name."""
        check_name(policy.name)
        self._changing()
        self._upsert(NETWORK_POLICIES, [{"name": policy.name, "record": policy.model_dump_json()}])

    def drop_network_policy(self, name: str) -> None:
        self._changing()
        self._execute(delete(NETWORK_POLICIES).where(NETWORK_POLICIES.c.name == name))

    def note_change(self) -> None:
        """What is kept elsewhere and decides about rights has changed."""
        self._changing()

    # -- users ----------------------------------------------------------------------------------------------------

    def user(self, name: str) -> User | None:
        record = self._execute(select(USERS.c.record).where(USERS.c.name == name)).scalar()
        return None if record is None else User.model_validate_json(record)

    def user_of_login(self, login_name: str) -> User | None:
        record = self._execute(select(USERS.c.record).where(USERS.c.login_name == login_name)).scalar()
        return None if record is None else User.model_validate_json(record)

    def users(self) -> list[User]:
        """All users by name."""
        records = self._execute(select(USERS.c.record).order_by(USERS.c.name)).scalars()
        return [User.model_validate_json(record) for record in records]

    def put_user(self, user: User) -> None:
        """Adds a user, or replaces the one of that name. Raises `already_exists` when another has the login name."""
        check_name(user.name)
        check_name(user.login_name)
        self._changing()
        row = {"name": user.name, "login_name": user.login_name, "record": user.model_dump_json()}
        with self._unless_taken(user.login_name):
            self._upsert(USERS, [row])

    def note_login(self, user: User) -> None:
        """Stores a user as `put_user` does, for a change that affects no rights."""
        self._writing()
        row = {"name": user.name, "login_name": user.login_name, "record": user.model_dump_json()}
        self._upsert(USERS, [row])

    def drop_user(self, name: str) -> None:
        self._changing()
        self._forget_grants(GranteeKind.USER, name)
        self._execute(delete(ACCESS_TOKENS).where(_T.user_name == name))
        self._execute(delete(USERS).where(USERS.c.name == name))

    def rename_user(self, name: str, new_name: str) -> None:
        user = self.user(name)
        if user is None or self.user(new_name) is not None:
            raise errors.already_exists(quote(new_name)) if user is not None else errors.not_found("User", quote(name))
        self._changing()
        self._execute(delete(USERS).where(USERS.c.name == name))
        self.put_user(user.model_copy(update={"name": new_name}))
        self._rename_in_grants(GranteeKind.USER, name, new_name)
        for token in self.tokens(name):
            self.put_token(token.model_copy(update={"user": new_name}))

    # -- tokens ---------------------------------------------------------------------------------------------------

    def tokens(self, user: str) -> list[AccessToken]:
        records = self._execute(select(_T.record).where(_T.user_name == user).order_by(_T.name)).scalars()
        return [AccessToken.model_validate_json(record) for record in records]

    def token_of_hash(self, token_hash: str) -> AccessToken | None:
        record = self._execute(select(_T.record).where(_T.token_hash == token_hash)).scalar()
        return None if record is None else AccessToken.model_validate_json(record)

    def put_token(self, token: AccessToken) -> None:
        """Raises `already_exists` when the user has another of that name."""
        self._changing()
        row = {"id": token.id, "user_name": token.user, "name": token.name, "token_hash": token.token_hash,
               "record": token.model_dump_json()}  # fmt: skip
        with self._unless_taken(quote(token.name)):
            self._upsert(ACCESS_TOKENS, [row])

    def drop_token(self, id: str) -> None:
        self._changing()
        self._execute(delete(ACCESS_TOKENS).where(_T.id == id))

    # -- grants ---------------------------------------------------------------------------------------------------

    def granted_to(self, kind: GranteeKind, grantees: Collection[str]) -> list[Grant]:
        found: list[Grant] = []
        for some in chunks(sorted(grantees)):
            query = select(GRANTS).where(_G.grantee_kind == kind.value, _G.grantee.in_(some)).order_by(*GRANTS.c)
            found.extend(_grant(row) for row in self._execute(query))
        return found

    def granted_on(self, on_kind: str, on_id: str) -> list[Grant]:
        query = select(GRANTS).where(_G.on_kind == on_kind, _G.on_id == on_id)
        return [_grant(row) for row in self._execute(query.order_by(*GRANTS.c))]

    def granted_on_any(self, ids: Sequence[str]) -> list[Grant]:
        """What is granted on objects, warehouses, databases or schemas."""
        found: list[Grant] = []
        for some in chunks(ids):
            found.extend(_grant(row) for row in self._execute(select(GRANTS).where(_G.on_id.in_(some))))
        return found

    def memberships(self) -> list[Grant]:
        """Every role that was granted to a role or user."""
        query = select(GRANTS).where(_G.on_kind == "ROLE", _G.privilege == "USAGE")
        return [_grant(row) for row in self._execute(query)]

    def grant(self, grants: Sequence[Grant]) -> None:
        """Adds them; one that is there already keeps its instant, and its grant option if either has it."""
        self._changing()
        for item in grants:
            known = next((old for old in self.granted_on(item.on_kind, item.on_id) if _key(old) == _key(item)), None)
            if known is not None:
                kept = {"created_on": known.created_on, "grant_option": known.grant_option or item.grant_option}
                self._upsert(GRANTS, [item.model_copy(update=kept).model_dump()])
            else:
                self._upsert(GRANTS, [item.model_dump()])

    def revoke(self, grants: Sequence[Grant]) -> None:
        self._changing()
        for item in grants:
            self._execute(
                delete(GRANTS).where(
                    _G.grantee_kind == item.grantee_kind.value,
                    _G.grantee == item.grantee,
                    _G.on_kind == item.on_kind,
                    _G.on_id == item.on_id,
                    _G.privilege == item.privilege,
                )
            )

    def forget_object(self, id: str) -> None:
        """What was granted on an object that is gone for good, or will be granted in it."""
        self._changing()
        self._execute(delete(GRANTS).where(_G.on_id == id, _G.on_kind.not_in(("ROLE", "USER", "ACCOUNT"))))
        self._execute(delete(FUTURE_GRANTS).where(_F.container_id == id))

    def future_in(self, container_id: str) -> list[FutureGrant]:
        query = select(FUTURE_GRANTS).where(_F.container_id == container_id).order_by(*FUTURE_GRANTS.c)
        return [FutureGrant.model_validate(dict(row._mapping)) for row in self._execute(query)]

    def future_to(self, role: str) -> list[FutureGrant]:
        query = select(FUTURE_GRANTS).where(_F.grantee == role).order_by(*FUTURE_GRANTS.c)
        return [FutureGrant.model_validate(dict(row._mapping)) for row in self._execute(query)]

    def grant_future(self, grant: FutureGrant) -> None:
        self._changing()
        self._upsert(FUTURE_GRANTS, [grant.model_dump()])

    def revoke_future(self, grant: FutureGrant) -> None:
        self._changing()
        self._execute(
            delete(FUTURE_GRANTS).where(
                _F.container_id == grant.container_id,
                _F.on_kind == grant.on_kind,
                _F.privilege == grant.privilege,
                _F.grantee == grant.grantee,
            )
        )

    def _forget_grants(self, kind: GranteeKind, name: str) -> None:
        self._execute(delete(GRANTS).where(_G.grantee_kind == kind.value, _G.grantee == name))
        self._execute(delete(GRANTS).where(_G.on_kind == kind.value, _G.on_id == name))

    def _rename_in_grants(self, kind: GranteeKind, name: str, new_name: str) -> None:
        held = update(GRANTS).where(_G.grantee_kind == kind.value, _G.grantee == name)
        self._execute(held.values(grantee=new_name))
        self._execute(update(GRANTS).where(_G.on_kind == kind.value, _G.on_id == name).values(on_id=new_name))

    def _changing(self) -> WriteScope:
        """The scope of a change of rights, after which nobody may go by what was remembered of them."""
        scope = self._writing()
        scope.rights_changed = True
        return scope


def _grant(row: AnyRow) -> Grant:
    return Grant.model_construct(**{**row._mapping, "grantee_kind": GranteeKind(row.grantee_kind)})


def _key(grant: Grant) -> tuple[str, str, str]:
    return grant.grantee_kind, grant.grantee, grant.privilege
