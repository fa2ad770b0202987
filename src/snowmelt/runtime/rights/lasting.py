"""How long sessions last: as long as what they were opened with."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import structlog

from snowmelt.core.clock import Clock
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.rights import errors as access_errors
from snowmelt.runtime.rights import network
from snowmelt.runtime.rights.authority import AccessControl
from snowmelt.runtime.rights.grounds import Grounds, password_digest
from snowmelt.runtime.rights.privileges import PUBLIC
from snowmelt.state.access_model import User

_STOP_AGAIN = 0.25
"""Seconds between two attempts to stop what runs."""
_log = structlog.get_logger(__name__)


class LastingAccount(Protocol):
    @property
    def access(self) -> AccessControl: ...
    @property
    def clock(self) -> Clock: ...
    def sessions(self) -> Sequence[LastingSession]: ...


class LastingSession(Protocol):
    """A session, as far as it can end."""

    grounds: Grounds | None
    role: str
    client: str | None

    @property
    def id(self) -> str: ...
    @property
    def user(self) -> str: ...
    @property
    def account(self) -> LastingAccount: ...
    @property
    def closed(self) -> bool: ...
    @property
    def acts_as_owner(self) -> bool: ...
    @property
    def role_restriction(self) -> str | None: ...
    def cancel(self) -> None: ...
    def close(self, patience: float = -1.0) -> bool: ...


def check(session: LastingSession) -> None:
    """Called before everything that a session does. Raises when it is over; leaves a role that is not the user's."""
    grounds, access = session.grounds, session.account.access
    if session.closed or not _holds(session):
        raise access_errors.session_gone()
    if grounds is None or session.acts_as_owner:
        return
    # A statement runs in a thread that answers no request.
    address = network.CLIENT.get() or session.client
    if address is not None and not access.admits(session.user, address):
        raise network.refused(address)
    session.client = address
    if session.role not in access.available(session.user):
        if session.role_restriction is not None:
            # A token that is for one role alone is worth nothing without it.
            raise access_errors.session_gone()
        session.role = PUBLIC


def _holds(session: LastingSession) -> bool:
    grounds = session.grounds
    if grounds is None:
        return True
    if grounds.expires is not None and grounds.expires <= session.account.clock.now():
        return False
    return session.account.access.stands(session.user, grounds)


def end_sessions(account: LastingAccount) -> None:
    """Ends the sessions that have lost their grounds, and what they run. Called after users and tokens changed.

    None of them can begin anything any more, so that the rest may take its time: a statement that is being stopped
    would keep whoever waits for it.
    """
    for session in account.sessions():
        if session.grounds is not None and not _holds(session):
            threading.Thread(target=_close, args=(session,), name="snowmelt-end-session", daemon=True).start()


def stop(session: LastingSession, seconds: float | None = None) -> None:
    """Stops what the session runs, and what was about to begin, and closes it. Waits for that; at most `seconds`."""
    until = None if seconds is None else time.monotonic() + seconds
    session.cancel()
    while not session.close(_STOP_AGAIN):
        if until is not None and time.monotonic() > until:
            _log.warning("statement_did_not_end", session_id=session.id)
            return
        session.cancel()


def _close(session: LastingSession) -> None:
    try:
        stop(session)
    except SnowmeltError as error:
        _log.warning("session_not_closed", session_id=session.id, error=str(error))


def keep_own(session: LastingSession, user: User) -> None:
    """A user who chose another password in a session goes on in that one; all others of the old password end."""
    for own in session.account.sessions():
        if own.id == session.id and own.grounds is not None and own.grounds.means == "PASSWORD":
            own.grounds = replace(own.grounds, secret=password_digest(user))
