"""Sessions of clients: their tokens, how long those last, and what each session is doing."""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from snowmelt.core.clock import Clock
from snowmelt.core.errors import SnowmeltError
from snowmelt.observe.levels import Pool
from snowmelt.serve.protocol.answers import SESSION_EXPIRED
from snowmelt.serve.protocol.executions import Execution, Work
from snowmelt.service.session import Session

_REPLACED_TOKENS = 8
_KEPT_EXECUTIONS = 64
_KEPT_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long tokens last. A client with a valid master token gets a new session token by itself."""

    session: timedelta = timedelta(hours=1)
    master: timedelta = timedelta(hours=4)
    replaced_master: timedelta = timedelta(minutes=1)
    """A client that never got the answer to its renewal asks again with the token that it has."""


@dataclass(slots=True, eq=False)
class DoorSession:
    """One client's session. Statements of a session run one after the other, in the order in which they came."""

    session: Session
    client: str
    session_key: str
    session_until: datetime
    master_key: str
    master_until: datetime
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
        held = 0
        for request_id, execution in reversed(list(self.by_request.items())):
            held += execution.size
            old = len(self.by_request) > _KEPT_EXECUTIONS or held > _KEPT_BYTES
            if old and execution.done and execution.request_id != next(reversed(self.by_request)):
                del self.by_request[request_id]

    def renews(self, master_key: str, now: datetime) -> bool:
        return (self.master_until if master_key == self.master_key else self.former_masters[master_key]) > now

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


class Sessions:
    """Sessions by token. Only digests of tokens are kept, so that no dump of the memory's objects has one."""

    def __init__(self, clock: Clock, lifetimes: Lifetimes, most: int, closed: Callable[[DoorSession], None]) -> None:
        self.lifetimes = lifetimes
        self._clock = clock
        self._most = most
        self._closed = closed
        self._open: set[DoorSession] = set()
        self._by_key: dict[str, DoorSession] = {}
        self._by_master: dict[str, DoorSession] = {}
        self._lock = threading.Lock()

    def close_expired(self) -> None:
        now = self._clock.now()
        for found in self.all():
            if found.master_until <= now:
                self.close(found)

    def check_room(self) -> None:
        """Raises when there is no room for one more."""
        if len(self._open) >= self._most:
            self.close_expired()
        if len(self._open) >= self._most:
            raise too_many_sessions(self._most)

    def open(self, session: Session, client: str) -> tuple[DoorSession, str, str]:
        """The session with its token and master token."""
        token, master, now = secrets.token_urlsafe(32), secrets.token_urlsafe(32), self._clock.now()
        opened = DoorSession(
            session, client, _key(token), now + self.lifetimes.session, _key(master), now + self.lifetimes.master
        )
        with self._lock:
            self._open.add(opened)
            self._by_key[opened.session_key] = opened
            self._by_master[opened.master_key] = opened
        return opened, token, master

    def by_token(self, token: str) -> DoorSession:
        """Raises 390112 when the token is to be renewed, and 390111 when nothing is known of it."""
        key = _key(token)
        with self._lock:
            found = self._by_key.get(key)
        if found is None:
            raise _gone()
        if key != found.session_key or found.session_until <= self._clock.now():
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
        """A heartbeat: the master token lasts longer."""
        found.master_until = self._clock.now() + self.lifetimes.master

    def load(self) -> Pool:
        return Pool("sessions", len(self._open), self._most)

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
