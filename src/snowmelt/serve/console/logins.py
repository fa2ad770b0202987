"""Who uses the page: logging in, the cookie, the token against forged requests, and the sessions of worksheets."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.runtime.rights import lasting
from snowmelt.runtime.rights.authentication import LoginIdentity
from snowmelt.runtime.rights.founding import ADMIN
from snowmelt.runtime.rights.privileges import ACCOUNTADMIN
from snowmelt.runtime.session import Session
from snowmelt.serve.console.running import Pool, Started, Statements
from snowmelt.serve.protocol import login
from snowmelt.serve.protocol.authentication import LoginAttempt
from snowmelt.serve.protocol.bodies import Body, malformed, text
from snowmelt.serve.protocol.sessions import DoorSession, Sessions

COOKIE = "snowmelt_console"
CSRF_HEADER = "x-csrf-token"
PATH = "/api/v1/console"
QUERY_TAG = "snowmelt-console"
"""What pages ask is in the query history like any statement, with this tag."""
_WORKSHEETS = 16
_LINK_SECONDS = 600.0


@dataclass(slots=True, eq=False)
class Visitor:
    """One log-in by a browser."""

    door: DoorSession
    statements: Statements
    csrf: str
    worksheets: dict[str, Session] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def session(self) -> Session:
        return self.door.session

    def statement(self, id: str) -> Started:
        """A statement of this log-in, as long as the user has the roles that it ran with."""
        found = self.statements.get(id)
        if not found.roles <= self.door.roles_within(self.session.id):
            raise errors.statement_not_found(id)
        return found

    def worksheet(self, name: str) -> Session:
        """The session of a worksheet. It starts where the page stands, and goes its own way from there."""
        base = self.session
        with self.lock:
            found = self.worksheets.get(name)
            if found is not None and not found.closed:
                return found
            if len(self.worksheets) >= _WORKSHEETS:
                raise SnowmeltError(
                    "390202", "53300", f"There are {_WORKSHEETS} worksheets open already.", hint="Close one of them."
                )
            made = base.account.session(
                user=base.user, role=base.role, secondary_roles=base.secondary_roles,
                role_restriction=base.role_restriction, database=base.database, schema=base.schema,
                warehouse=base.warehouse,
            )  # fmt: skip
            made.grounds = base.grounds
            made.spills = True
            self.worksheets[name] = made
            return made

    def close_worksheet(self, name: str) -> None:
        with self.lock:
            found = self.worksheets.pop(name, None)
        if found is not None:
            lasting.stop(found)

    def close(self) -> None:
        self.statements.cancel_all()
        with self.lock:
            left, self.worksheets = list(self.worksheets.values()), {}
        for session in left:
            lasting.stop(session, 1.0)


class Links:
    """Addresses that log somebody in once, without a password: for who started the server and reads its terminal."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}
        self._lock = threading.Lock()

    def issue(self) -> str:
        token = secrets.token_urlsafe(24)
        with self._lock:
            self._until[_digest(token)] = time.monotonic() + _LINK_SECONDS
        return token

    def redeem(self, token: str) -> bool:
        """Whether it was issued and not used, and now it is."""
        with self._lock:
            until = self._until.pop(_digest(token), None)
        return until is not None and until > time.monotonic()


class Visitors:
    """The browsers that are logged in. A session lives in a cookie that no script can read."""

    def __init__(self, account: Account, sessions: Sessions, pool: Pool) -> None:
        self._account = account
        self._sessions = sessions
        self._pool = pool
        self._secret = secrets.token_bytes(32)
        self._known: dict[DoorSession, Visitor] = {}
        self._lock = threading.Lock()
        self.links = Links()

    def open(self, identity: LoginIdentity, names: login.LoginNames) -> tuple[Visitor, str]:
        session = login.open_session(self._account, identity, names)
        session.parameters["QUERY_TAG"] = QUERY_TAG
        opened, token, _ = self._sessions.open(session, "console", own=True)
        visitor = Visitor(opened, Statements(self._pool), self._csrf(token))
        with self._lock:
            self._known[opened] = visitor
        return visitor, token

    def open_by_link(self, token: str) -> tuple[Visitor, str]:
        if not self.links.redeem(token):
            raise SnowmeltError("390100", "08004", "This link was used already, or is too old.", hint="Log in instead.")
        return self.open(LoginIdentity(ADMIN, ACCOUNTADMIN, ()), login.LoginNames(client="console"))

    def of(self, request: Request, *, writes: bool) -> Visitor:
        """The log-in of a request. Raises when there is none, or the request may come from another site's page."""
        token = request.cookies.get(_cookie(request), "")
        found = self._sessions.by_token(token, own=True)
        lasting.check(found.session)
        with self._lock:
            visitor = self._known.get(found)
        if visitor is None:
            raise SnowmeltError(
                "390111", "08003", "Session no longer exists. New login required to access the service."
            )
        if writes and not hmac.compare_digest(request.headers.get(CSRF_HEADER, "").encode(), visitor.csrf.encode()):
            raise SnowmeltError(
                "390422", "08004", "The request does not carry the page's token.", hint="Reload the page."
            )
        return visitor

    def keep(self, visitor: Visitor) -> None:
        self._sessions.keep(visitor.door)

    def close(self, visitor: Visitor) -> None:
        self._sessions.close(visitor.door)

    def door_closed(self, door: DoorSession) -> None:
        """The session ended, by whomever: what it ran and kept goes with it."""
        with self._lock:
            visitor = self._known.pop(door, None)
        if visitor is not None:
            visitor.close()

    def _csrf(self, token: str) -> str:
        """Made from the session's token with a secret of this process: neither can be computed from the other alone."""
        return hmac.new(self._secret, token.encode(), hashlib.sha256).hexdigest()


def read_attempt(body: Body, request: Request) -> tuple[LoginAttempt, login.LoginNames]:
    """What the log-in form says: a user with a password, an access token, or a token signed with the user's key."""
    user, password, token, jwt = (text(body, key) for key in ("user", "password", "token", "jwt"))
    if jwt is None and token is None and (user is None or password is None):
        raise malformed("a log-in needs 'user' and 'password', 'token' or 'jwt'")
    names = login.LoginNames(role=text(body, "role"), client="console")
    attempt = LoginAttempt(
        user=user or "",
        authenticator="SNOWFLAKE_JWT" if jwt is not None else "PROGRAMMATIC_ACCESS_TOKEN" if token else "SNOWFLAKE",
        password=password,
        token=jwt or token,
        role=names.role,
        client="console",
        address=request.client.host if request.client is not None else "",
    )
    return attempt, names


def set_cookie(answer: Response, request: Request, token: str) -> None:
    secure = request.url.scheme == "https"
    answer.set_cookie(_cookie(request), token, path=PATH, httponly=True, samesite="strict", secure=secure)


def clear_cookie(answer: Response, request: Request) -> None:
    secure = request.url.scheme == "https"
    answer.delete_cookie(_cookie(request), path=PATH, httponly=True, samesite="strict", secure=secure)


def _cookie(request: Request) -> str:
    """The cookie's name, with the port that the browser called. Browsers keep cookies by host and not by port: with one
    name, two servers on a machine would log each other's pages out."""
    port = request.headers.get("host", "").rpartition(":")[2]
    return f"{COOKIE}_{port}" if port.isascii() and port.isdecimal() else COOKIE


def visitor_to_json(visitor: Visitor) -> dict[str, Any]:
    session = visitor.session
    access, restriction = session.account.access, session.role_restriction
    roles = access.available(session.user) if restriction is None else access.inherited(restriction)
    return {
        "user": session.user, "role": session.role, "roles": sorted(roles), "warehouse": session.warehouse,
        "database": session.database, "schema": session.schema, "csrf": visitor.csrf,
    }  # fmt: skip


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
