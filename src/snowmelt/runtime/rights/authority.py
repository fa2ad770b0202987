"""The rights that a session has at the moment, and where they are remembered."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from snowmelt.runtime.rights import network
from snowmelt.runtime.rights.grounds import Grounds, stand
from snowmelt.runtime.rights.privileges import MANAGE_GRANTS, OWNERSHIP, PUBLIC
from snowmelt.state.access_model import GranteeKind, NetworkPolicy
from snowmelt.state.sight import Owned, Sight
from snowmelt.state.store import StateStore

ALL_ROLES = ("ALL",)
SYSTEM = "SYSTEM"
"""Who runs tasks and refreshes, with the role of their owners. Nobody can have this name or log in as it."""
_ACCOUNT = Owned("", "")


@dataclass(frozen=True, slots=True)
class Authority:
    """What a set of roles may do, as of one version of all grants. Looking something up takes a microsecond."""

    primary: frozenset[str]
    """The role in use and those it brings with it: what is created belongs to it and is allowed by it."""
    roles: frozenset[str]
    """These, and those of the secondary roles."""
    held: Mapping[str, frozenset[tuple[str, str]]]
    """By the id of an object, the privileges on it and the role each one was granted to."""

    def sees(self, item: Owned) -> bool:
        return item.owner in self.roles or item.id in self.held

    def holds(self, privilege: str, item: Owned, *, primary: bool = False) -> bool:
        """Whether the privilege is held, by grant or as the owner. `primary`: secondary roles do not count."""
        roles = self.primary if primary else self.roles
        if item.owner in roles:
            return True
        if privilege == OWNERSHIP:
            return False
        return any(held == privilege and role in roles for held, role in self.held.get(item.id, ()))

    def looks_inside(self, item: Owned) -> bool:
        """Whether how something is made, and what failed in it, may be shown: that quotes what it is made of."""
        return any(self.holds(privilege, item) for privilege in ("MONITOR", "OPERATE"))

    def on_account(self, privilege: str, *, primary: bool = False) -> bool:
        return self.holds(privilege, _ACCOUNT, primary=primary)

    @property
    def manages_grants(self) -> bool:
        return self.on_account(MANAGE_GRANTS)

    @property
    def sight(self) -> Sight | None:
        """How the catalog is seen: whoever manages grants must know of everything that can be granted."""
        return None if self.manages_grants else self


@dataclass(slots=True)
class _Known:
    """What was read of one version of the grants."""

    version: int
    granted_to_roles: dict[str, frozenset[str]] = field(default_factory=dict)
    """By role, the roles that were granted to it."""
    granted_to_users: dict[str, frozenset[str]] = field(default_factory=dict)
    authorities: dict[tuple[frozenset[str], frozenset[str]], Authority] = field(default_factory=dict)
    sessions: dict[tuple[str, str, tuple[str, ...]], Authority] = field(default_factory=dict)
    """By user, role and secondary roles."""
    grounds: dict[tuple[str, Grounds], bool] = field(default_factory=dict)
    """By user and what a session was opened with, whether that still opens one."""
    networks: dict[str, NetworkPolicy | None] = field(default_factory=dict)
    """By user, from where they may come."""


class AccessControl:
    """Remembers rights until any are changed. One of it an account."""

    def __init__(self, state: StateStore) -> None:
        self._state = state
        self._lock = threading.Lock()
        self._known: _Known | None = None

    def of_session(self, user: str, role: str, secondary: tuple[str, ...]) -> Authority:
        """The rights of a user who has chosen these roles; of one that is not the user's any more, those of PUBLIC."""
        known = self._read()
        if user == SYSTEM:
            return self.of_role(role)
        found = known.sessions.get((user, role, secondary))
        if found is None:
            found = self._of_session(known, user, role, secondary)
            if self._state.rights_version() == known.version:
                known.sessions[user, role, secondary] = found
        return found

    def _of_session(self, known: _Known, user: str, role: str, secondary: tuple[str, ...]) -> Authority:
        mine = self._closure(known, known.granted_to_users.get(user, frozenset()))
        chosen = known.granted_to_users.get(user, frozenset()) if secondary == ALL_ROLES else frozenset(secondary)
        primary = self._closure(known, {role} & mine)
        return self._authority(known, primary, primary | self._closure(known, chosen & mine))

    def of_role(self, role: str) -> Authority:
        """The rights of a role by itself, as what it owns runs with them."""
        known = self._read()
        roles = self._closure(known, {role})
        return self._authority(known, roles, roles)

    def available(self, user: str) -> frozenset[str]:
        """The roles that a user may choose."""
        known = self._read()
        return self._closure(known, known.granted_to_users.get(user, frozenset()))

    def stands(self, user: str, grounds: Grounds) -> bool:
        """Whether a session that was opened so may go on, but for the time that it may take."""
        known = self._read()
        found = known.grounds.get((user, grounds))
        if found is None:
            with self._state.read() as state:
                found = stand(state, user, grounds)
            if self._state.rights_version() == known.version:
                known.grounds[user, grounds] = found
        return found

    def admits(self, user: str, address: str) -> bool:
        """Whether a user may come from an address."""
        known = self._read()
        if user not in known.networks:
            with self._state.read() as state:
                policy = network.policy_for(state, user)
            if self._state.rights_version() != known.version:
                return network.admits(policy, address)
            known.networks[user] = policy
        return network.admits(known.networks[user], address)

    def inherited(self, role: str) -> frozenset[str]:
        """A role and those it brings with it."""
        return self._closure(self._read(), {role})

    def _read(self) -> _Known:
        version = self._state.rights_version()
        known = self._known
        if known is not None and known.version == version:
            return known
        with self._state.read() as state:
            memberships = state.access.memberships()
        # Asked for before reading: if rights change meanwhile, the next caller reads again.
        known = _Known(version)
        for kind, table in ((GranteeKind.ROLE, known.granted_to_roles), (GranteeKind.USER, known.granted_to_users)):
            for grant in memberships:
                if grant.grantee_kind is kind:
                    table[grant.grantee] = table.get(grant.grantee, frozenset()) | {grant.on_id}
        with self._lock:
            if self._known is None or self._known.version <= version:
                self._known = known
        return known

    def _closure(self, known: _Known, roles: Iterable[str]) -> frozenset[str]:
        found: set[str] = set()
        waiting = [PUBLIC, *roles]
        while waiting:
            role = waiting.pop()
            if role not in found:
                found.add(role)
                waiting.extend(known.granted_to_roles.get(role, frozenset()) - found)
        return frozenset(found)

    def _authority(self, known: _Known, primary: frozenset[str], roles: frozenset[str]) -> Authority:
        found = known.authorities.get((primary, roles))
        if found is None:
            found = Authority(primary, roles, self._held(roles))
            if self._state.rights_version() == known.version:
                known.authorities[primary, roles] = found
        return found

    def _held(self, roles: Collection[str]) -> dict[str, frozenset[tuple[str, str]]]:
        held: dict[str, set[tuple[str, str]]] = {}
        with self._state.read() as state:
            for grant in state.access.granted_to(GranteeKind.ROLE, roles):
                if grant.on_kind not in ("ROLE", "USER"):
                    held.setdefault(grant.on_id, set()).add((grant.privilege, grant.grantee))
        return {id: frozenset(items) for id, items in held.items()}
