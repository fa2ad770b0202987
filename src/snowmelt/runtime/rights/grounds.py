"""What a session was opened with. It lasts as long as that does: the user, the password, the key or the token."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal

import structlog

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.rights import credentials
from snowmelt.runtime.rights import errors as access_errors
from snowmelt.runtime.rights.privileges import PUBLIC
from snowmelt.state.access_model import AccessToken, User

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account
    from snowmelt.runtime.session import Session
    from snowmelt.state.store import StateReader

Means = Literal["PASSWORD", "RSA_KEYPAIR", "PROGRAMMATIC_ACCESS_TOKEN"]
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Grounds:
    """How a user proved who it is. Holds digests alone."""

    means: Means
    user_since: datetime
    """When the user was created: another one of the same name is another user."""
    secret: str
    """The password's hash hashed once more, the key's fingerprint, or the token's digest."""
    expires: datetime | None = None
    """When a token ends by itself."""


def by_password(user: User) -> Grounds:
    return Grounds("PASSWORD", user.created_on, _digest(user))


def by_key(user: User, fingerprint: str) -> Grounds:
    return Grounds("RSA_KEYPAIR", user.created_on, fingerprint)


def by_token(user: User, token: AccessToken) -> Grounds:
    return Grounds("PROGRAMMATIC_ACCESS_TOKEN", user.created_on, token.token_hash, token.expires_at)


def _digest(user: User) -> str:
    return credentials.token_hash(user.password_hash or "")


def stand(state: StateReader, user_name: str, grounds: Grounds) -> bool:
    """Whether the user could still log in like that, but for the time."""
    user = state.access.user(user_name)
    if user is None or user.disabled or user.created_on != grounds.user_since:
        return False
    match grounds.means:
        case "PASSWORD":
            return grounds.secret == _digest(user)
        case "RSA_KEYPAIR":
            keys = (user.rsa_public_key, user.rsa_public_key_2)
            return any(key is not None and credentials.fingerprint(key) == grounds.secret for key in keys)
        case _:
            token = state.access.token_of_hash(grounds.secret)
            return token is not None and token.user == user_name and not token.disabled


def check(session: Session) -> None:
    """Called before everything that a session does. Raises when it is over; leaves a role that is not the user's."""
    grounds, access = session.grounds, session.account.access
    if session.closed or not _holds(session):
        raise access_errors.session_gone()
    if grounds is None or session.acts_as_owner:
        return
    if session.role not in access.available(session.user):
        if session.role_restriction is not None:
            # A token that is for one role alone is worth nothing without it.
            raise access_errors.session_gone()
        session.role = PUBLIC


def _holds(session: Session) -> bool:
    grounds = session.grounds
    if grounds is None:
        return True
    if grounds.expires is not None and grounds.expires <= session.account.clock.now():
        return False
    return session.account.access.stands(session.user, grounds)


def end_sessions(account: Account) -> None:
    """Ends the sessions that have lost their grounds, and what they run. Called after users and tokens changed.

    None of them can begin anything any more, so that the rest may take its time: a statement that is being stopped
    would keep whoever waits for it.
    """
    for session in account.sessions():
        if session.grounds is not None and not _holds(session):
            session.cancel()
            threading.Thread(target=_close, args=(session,), name="snowmelt-end-session", daemon=True).start()


def _close(session: Session) -> None:
    try:
        session.close()
    except SnowmeltError as error:
        _log.warning("session_not_closed", session_id=session.id, error=str(error))


def keep_own(session: Session, user: User) -> None:
    """A user who chose another password in a session goes on in that one; all others of the old password end."""
    for own in session.account.sessions():
        if own.id == session.id and own.grounds is not None and own.grounds.means == "PASSWORD":
            own.grounds = replace(own.grounds, secret=_digest(user))
