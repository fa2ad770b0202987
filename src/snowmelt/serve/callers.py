"""Who sends a request: there is no log-in, each request carries a token."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

from starlette.requests import Request

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.runtime.rights import lasting
from snowmelt.runtime.rights.authentication import LoginIdentity
from snowmelt.runtime.rights.credentials import token_hash
from snowmelt.runtime.rights.grounds import Grounds
from snowmelt.serve.protocol.authentication import LoginAttempt
from snowmelt.serve.protocol.login import LoginNames, open_session
from snowmelt.serve.protocol.logins import Logins
from snowmelt.serve.protocol.sessions import DoorSession, Sessions

_TOKEN_TYPE = "x-snowflake-authorization-token-type"
_MEANS = {"KEYPAIR_JWT": "SNOWFLAKE_JWT", "PROGRAMMATIC_ACCESS_TOKEN": "PROGRAMMATIC_ACCESS_TOKEN"}
_TRUSTED_SECONDS = 30.0
"""For so long a token that was checked is not checked again. A key or token that is taken away ends it at once."""
_MOST = 10_000
_Key = tuple[str, str, str | None, Grounds | None]


def refused(message: str, hint: str) -> SnowmeltError:
    return SnowmeltError("390303", "08001", message, hint=hint)


@dataclass(frozen=True, slots=True)
class _Checked:
    session: DoorSession
    until: float


class Callers:
    """One session for each user and secret. Its statements run beside it, so that none sees what another one set."""

    def __init__(self, account: Account, logins: Logins, sessions: Sessions, client: str) -> None:
        """`client`: what their sessions are called."""
        self._account = account
        self._client = client
        self._logins = logins
        self._sessions = sessions
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._checked: OrderedDict[str, _Checked] = OrderedDict()
        """By digest of the token."""
        self._by_identity: dict[_Key, DoorSession] = {}

    async def caller(self, request: Request) -> DoorSession:
        """The session of whoever sends the request. Raises when its token is missing or not valid."""
        means, token = _secret(request)
        found = self._known(token)
        if found is None:
            attempt = LoginAttempt("", means, token=token, address=request.client.host if request.client else "")
            found = await self._logins.log_in(attempt, self._session_of)
            self._remember(token, found)
        lasting.check(found.session)
        self._sessions.keep(found)
        return found

    def _known(self, token: str) -> DoorSession | None:
        with self._lock:
            checked = self._checked.get(token_hash(token))
        good = checked is not None and checked.until > time.monotonic() and checked.session.session.closed is False
        return checked.session if checked is not None and good else None

    def _remember(self, token: str, found: DoorSession) -> None:
        with self._lock:
            self._checked[token_hash(token)] = _Checked(found, time.monotonic() + _TRUSTED_SECONDS)
            self._checked.move_to_end(token_hash(token))
            if len(self._checked) > _MOST:
                self._checked.popitem(last=False)

    def _session_of(self, identity: LoginIdentity) -> DoorSession:
        key = identity.user, identity.role, identity.role_restriction, identity.grounds
        with self._opening:
            found = self._by_identity.get(key)
            if found is None or found.session.closed:
                self._by_identity = {
                    known: session for known, session in self._by_identity.items() if not session.session.closed
                }
                session = open_session(self._account, identity, LoginNames(client=self._client))
                found, _, _ = self._sessions.open(session, self._client, own=True)
                self._by_identity[key] = found
            return found


def _secret(request: Request) -> tuple[str, str]:
    """How the caller proves who it is, and with what."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token:
        raise refused("The request has no token.", "Send 'Authorization: Bearer' with a JWT or an access token.")
    asked = request.headers.get(_TOKEN_TYPE, "").upper()
    if not asked:
        return _MEANS["KEYPAIR_JWT" if token.count(".") == 2 else "PROGRAMMATIC_ACCESS_TOKEN"], token
    if asked not in _MEANS:
        known = " or ".join(_MEANS)
        raise refused(f"Tokens of the type '{asked[:40]}' are not accepted.", f"Set {_TOKEN_TYPE} to {known}.")
    return _MEANS[asked], token
