"""Attempts to log in: counted before anything is compared, so that guesses at the same time can't slip by.

What is kept here is bounded, whatever names and addresses are tried.
"""

from __future__ import annotations

import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from snowmelt.core.backoff import pause_after
from snowmelt.core.clock import Clock
from snowmelt.runtime.rights import errors as access_errors

if TYPE_CHECKING:
    from snowmelt.state.store import StateStore

FAILURES = 5
"""This many failed logins in a row lock a user for a while."""
LOCKED = timedelta(minutes=15)
_LONGEST_PAUSE = 2.0
_ADDRESS_SHARE = 4
"""An address may be of many people: so many of its failures weigh as much as one of a user's."""
_KEPT = 10_000
_STRIPES = 64


class _Counts:
    """Failures by name, the newest names."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._counts: OrderedDict[str, tuple[int, datetime]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: str) -> int:
        with self._lock:
            count, last = self._counts.get(name, (0, self._clock.now()))
        return count if self._clock.now() - last < LOCKED else 0

    def add(self, name: str) -> int:
        count = self.get(name) + 1
        with self._lock:
            self._counts[name] = count, self._clock.now()
            self._counts.move_to_end(name)
            while len(self._counts) > _KEPT:
                self._counts.popitem(last=False)
        return count

    def forget(self, name: str) -> None:
        with self._lock:
            self._counts.pop(name, None)

    def __len__(self) -> int:
        return len(self._counts)


class Attempts:
    """Who may try a password now. One attempt at a time for each name.

    A user who has logged in from an address is trusted there: whoever fails from elsewhere can't lock them out of it.
    Trust has its own few failures; with the last one it is gone. Names that nobody has are counted and locked like
    others, so that an answer does not tell who exists.
    """

    def __init__(self, state: StateStore, clock: Clock) -> None:
        self._state = state
        self._clock = clock
        self._stripes = [threading.Lock() for _ in range(_STRIPES)]
        self._unknown = _Counts(clock)
        self._recent = _Counts(clock)
        """Failures of names and addresses, for how long the next failure takes."""
        self._trusted: OrderedDict[tuple[str, str], int] = OrderedDict()
        """By login name and address, failures since the last success there."""
        self._lock = threading.Lock()

    def is_trusted(self, login: str, client: str | None) -> bool:
        with self._lock:
            return bool(client) and (login, client) in self._trusted

    @contextmanager
    def one(self, login: str, client: str | None) -> Iterator[None]:
        """One attempt, counted as failed. Call `proved` inside when the password was right. Raises 390102."""
        with self._stripes[zlib.crc32(login.encode("utf-8", "replace")) % _STRIPES]:
            self._check_not_locked_by_hand(login)
            if not self._spend_trust(login, client):
                self._count(login)
            yield

    def _check_not_locked_by_hand(self, login: str) -> None:
        """Refuses a user whom an administrator locked. Such a user has no failed logins to count."""
        with self._state.read() as state:
            user = state.access.user_of_login(login)
        by_hand = user is not None and not user.failed_logins
        if user is not None and by_hand and user.locked_until is not None and user.locked_until > self._clock.now():
            raise access_errors.login_locked()

    def _spend_trust(self, login: str, client: str | None) -> bool:
        key = (login, client or "")
        with self._lock:
            failures = self._trusted.get(key)
            if failures is None:
                return False
            if failures >= FAILURES:
                del self._trusted[key]
                return False
            self._trusted[key] = failures + 1
            return True

    def _count(self, login: str) -> None:
        with self._state.begin() as state:
            user = state.access.user_of_login(login)
            if user is not None:
                if user.locked_until is not None and user.locked_until > self._clock.now():
                    raise access_errors.login_locked()
                failed = user.failed_logins + 1
                locked = state.now + LOCKED if failed % FAILURES == 0 else None
                state.access.note_login(user.model_copy(update={"failed_logins": failed, "locked_until": locked}))
                return
        if self._unknown.get(login) >= FAILURES:
            raise access_errors.login_locked()
        self._unknown.add(login)

    def proved(self, login: str, client: str | None) -> None:
        """Whoever it is knows the secret: nothing counts against the user any more."""
        self._recent.forget(f"user {login}")
        with self._state.begin() as state:
            user = state.access.user_of_login(login)
            if user is not None:
                values: dict[str, Any] = {"failed_logins": 0, "locked_until": None}
                state.access.note_login(user.model_copy(update=values))
        if client:
            with self._lock:
                self._trusted[login, client] = 0
                self._trusted.move_to_end((login, client))
                while len(self._trusted) > _KEPT:
                    self._trusted.popitem(last=False)

    def forget_trust(self, login: str) -> None:
        with self._lock:
            for key in [key for key in self._trusted if key[0] == login]:
                del self._trusted[key]

    def failed(self, login: str, client: str | None) -> float:
        """Seconds that the answer to a failure is kept back: more for each one, of the user and of the address."""
        of_user = self._recent.add(f"user {login}")
        of_address = self._recent.add(f"address {client}") if client else 0
        failures = max(of_user, of_address // _ADDRESS_SHARE)
        return pause_after(failures, 0.1, _LONGEST_PAUSE)

    def kept(self) -> int:
        """How much is remembered of everybody."""
        return len(self._unknown) + len(self._recent) + len(self._trusted)
