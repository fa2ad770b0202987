"""Sessions of clients: their tokens, how long those last, and what each session is doing."""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import attrgetter

from snowmelt.core.clock import Clock
from snowmelt.core.errors import SnowmeltError
from snowmelt.observe.levels import PoolLevel
from snowmelt.runtime.session import Session
from snowmelt.serve.protocol.answers import SESSION_EXPIRED
from snowmelt.serve.protocol.executions import Execution, Work

_REPLACED_TOKENS = 8
_KEPT_EXECUTIONS = 64
_KEPT_BYTES = 4 * 1024 * 1024
_SIZE = attrgetter("size")


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long tokens last. A client with a valid master token gets a new session token by itself."""

    session: timedelta = timedelta(hours=1)
    master: timedelta = timedelta(hours=4)
    replaced_master: timedelta = timedelta(minutes=1)
    """A client that never got the answer to its renewal asks again with the token that it has."""
    idle: timedelta = timedelta(hours=4)
    """Without a request, for sessions of Snowmelt's own API, whose tokens are not renewed."""
    longest: timedelta = timedelta(days=7)
    """Whatever the client does: then it logs in again."""


@dataclass(slots=True, eq=False)
class DoorSession:
    """One client's session. Statements of a session run one after the other, in the order in which they came."""

    session: Session
    client: str
    session_key: str
    session_until: datetime
    master_key: str
    master_until: datetime
    ends: datetime
    """When it is over, whatever its tokens say."""
    own: bool = False
    """Whether it is one of Snowmelt's own API: its token is not renewed, but lasts while it is used."""
    replaced: deque[str] = field(default_factory=lambda: deque(maxlen=_REPLACED_TOKENS))
    former_masters: dict[str, datetime] = field(default_factory=dict)
    """Master tokens that were replaced, and until when they still renew."""
    by_request: OrderedDict[str, Execution] = field(default_factory=OrderedDict)
    waiting: deque[tuple[Execution, Work]] = field(default_factory=deque)
    active: Execution | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def remember(self, execution: Execution) -> Execution:
        """Keeps the execution for a client that asks again; returns the earlier one if this is such a question."""
        with self.lock:
            known = self.by_request.get(execution.request_id)
            if known is not None:
                return known
            self.by_request[execution.request_id] = execution
            self._forget_old()
            return execution

    def _forget_old(self) -> None:
        """The oldest answers go, never the newest request."""
        held = sum(map(_SIZE, self.by_request.values()))
        if len(self.by_request) <= _KEPT_EXECUTIONS and held <= _KEPT_BYTES:
            return
        for request_id, execution in list(self.by_request.items())[:-1]:
            if len(self.by_request) <= _KEPT_EXECUTIONS and held <= _KEPT_BYTES:
                return
            if execution.done:
                del self.by_request[request_id]
                held -= execution.size

    def roles_within(self, session_id: str) -> frozenset[str]:
        """The roles whose results it may have: of its own statements, those it could use; of others, those in use."""
        session = self.session
        if session_id != session.id:
            return session.authority.roles
        access, restriction = session.account.access, session.role_restriction
        return access.available(session.user) if restriction is None else access.inherited(restriction)

    def may_have(self, execution: Execution) -> bool:
        """Whether the answer of an execution is for this client: of the same user, and with no more rights."""
        same = execution.door_session.session.user == self.session.user
        return same and execution.roles <= self.roles_within(execution.door_session.session.id)

    def is_over(self, now: datetime) -> bool:
        return min(self.master_until, self.ends) <= now

    def renews(self, master_key: str, now: datetime) -> bool:
        return (
            self.ends > now
            and (self.master_until if master_key == self.master_key else self.former_masters[master_key]) > now
        )

    def executions(self) -> list[Execution]:
        with self.lock:
            return list(self.by_request.values())


def _gone() -> SnowmeltError:
    return SnowmeltError("390111", "08003", "Session no longer exists. New login required to access the service.")


def _expired() -> SnowmeltError:
    return SnowmeltError(SESSION_EXPIRED, "08001", "Your session has expired. Please login again.")


def too_many_sessions(most: int) -> SnowmeltError:
    return SnowmeltError(
        "390201", "53300", f"The server has {most} sessions already.", hint="Close some, or raise max_sessions.",
        transient=True,
    )  # fmt: skip


def too_many_of_user(user: str, most: int) -> SnowmeltError:
    return SnowmeltError(
        "390202", "53300", f"The user {user} has {most} sessions already.",
        hint="Close some, or raise max_sessions_per_user.", transient=True,
    )  # fmt: skip


class Sessions:
    """Sessions by token, of all kinds of clients. Only digests of tokens are kept: no dump of the memory has one."""

    def __init__(
        self, clock: Clock, lifetimes: Lifetimes, most: int, closed: Callable[[DoorSession], None],
        most_of_user: int | None = None,
    ) -> None:  # fmt: skip
        self.lifetimes = lifetimes
        self._clock = clock
        self._most = most
        self._most_of_user = most_of_user or most
        self._closed = closed
        self._open: set[DoorSession] = set()
        self._by_key: dict[str, DoorSession] = {}
        self._by_master: dict[str, DoorSession] = {}
        self._lock = threading.Lock()

    def close_expired(self) -> None:
        now = self._clock.now()
        for found in self.all():
            busy = found.own and found.ends > now and found.session.running is not None
            if (found.is_over(now) and not busy) or found.session.closed is True:
                self.close(found)

    def check_room(self) -> None:
        """Raises when there is no room for one more."""
        if len(self._open) >= self._most:
            self.close_expired()
        if len(self._open) >= self._most:
            raise too_many_sessions(self._most)

    def open(self, session: Session, client: str, *, own: bool = False) -> tuple[DoorSession, str, str]:
        """The session with its token and master token. Raises, and closes it, when there are too many."""
        token, master, now = secrets.token_urlsafe(32), secrets.token_urlsafe(32), self._clock.now()
        lasts = self.lifetimes
        opened = DoorSession(
            session, client, _key(token), now + (lasts.longest if own else lasts.session), _key(master),
            now + (lasts.idle if own else lasts.master), now + lasts.longest, own=own,
        )  # fmt: skip
        try:
            self.check_room()
            with self._lock:
                self._check_room_of(session.user, now)
                self._open.add(opened)
                self._by_key[opened.session_key] = opened
                if not own:
                    self._by_master[opened.master_key] = opened
        except SnowmeltError:
            session.close()
            raise
        return opened, token, master

    def _check_room_of(self, user: str, now: datetime) -> None:
        """The caller holds the lock: of two that log in at once, only one gets the last session."""
        if len(self._open) >= self._most:
            raise too_many_sessions(self._most)
        if sum(other.session.user == user and not other.is_over(now) for other in self._open) >= self._most_of_user:
            raise too_many_of_user(user, self._most_of_user)

    def by_token(self, token: str, *, own: bool = False) -> DoorSession:
        """Raises 390112 when the token is to be renewed, and 390111 when nothing is known of it, or it is over."""
        key, now = _key(token), self._clock.now()
        with self._lock:
            found = self._by_key.get(key)
        if found is None or found.own is not own or found.ends <= now:
            raise _gone()
        if own:
            if found.master_until <= now:
                raise _gone()
            self.keep(found)
        elif key != found.session_key or found.session_until <= now:
            raise _expired()
        return found

    def renew(self, master: str) -> tuple[DoorSession, str, str]:
        """The session, a new session token and a new master token.

        The session token of before is not valid from now on; the master token renews for a moment longer.
        """
        now = self._clock.now()
        with self._lock:
            found = self._by_master.get(_key(master))
            if found is None or not found.renews(_key(master), now):
                raise SnowmeltError("390114", "08001", "The authentication token has expired. Log in again.")
            self._forget_masters(found, now)
            found.former_masters[found.master_key] = now + self.lifetimes.replaced_master
            if len(found.replaced) == found.replaced.maxlen:
                self._by_key.pop(found.replaced[0], None)
            found.replaced.append(found.session_key)
            token, new_master = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
            found.session_key, found.session_until = _key(token), now + self.lifetimes.session
            found.master_key, found.master_until = _key(new_master), now + self.lifetimes.master
            self._by_key[found.session_key] = found
            self._by_master[found.master_key] = found
        return found, token, new_master

    def _forget_masters(self, found: DoorSession, now: datetime) -> None:
        for key in [key for key, until in found.former_masters.items() if until <= now]:
            del found.former_masters[key], self._by_master[key]

    def keep(self, found: DoorSession) -> None:
        """A heartbeat, or a request of our own API: the session lasts longer."""
        found.master_until = self._clock.now() + (self.lifetimes.idle if found.own else self.lifetimes.master)

    def load(self) -> PoolLevel:
        return PoolLevel("sessions", len(self._open), self._most)

    def of_id(self, session_id: str) -> DoorSession | None:
        return next((found for found in self.all() if found.session.id == session_id), None)

    def all(self) -> list[DoorSession]:
        with self._lock:
            return list(self._open)

    def close(self, found: DoorSession) -> None:
        """Ends a session: what it runs is cancelled, what is open rolled back."""
        with self._lock:
            self._open.discard(found)
            for key in (found.master_key, *found.former_masters):
                self._by_master.pop(key, None)
            for key in (found.session_key, *found.replaced):
                self._by_key.pop(key, None)
        self._closed(found)


def _key(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
