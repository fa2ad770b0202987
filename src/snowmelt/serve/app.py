"""The server's HTTP interface: health, sessions, statements."""

from __future__ import annotations

import re
import secrets
import threading
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from snowmelt.core import errors
from snowmelt.core.error_json import error_to_json
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.version import VERSION
from snowmelt.serve.channels import ChannelEndpoints
from snowmelt.serve.credentials import Credentials
from snowmelt.serve.metrics import MetricsEndpoint
from snowmelt.serve.protocol.door import HELD, Door
from snowmelt.serve.protocol.sessions import Lifetimes
from snowmelt.serve.wire import result_to_json
from snowmelt.service.account import Account
from snowmelt.service.security.authentication import Authenticator, Identity
from snowmelt.service.security.founding import ADMIN
from snowmelt.service.security.privileges import ACCOUNTADMIN
from snowmelt.service.session import Session

_SLASHES = re.compile("/{2,}")
_MAX_BODY = 64 * 1024 * 1024


@dataclass(slots=True)
class _Sessions:
    """Sessions by the token that a client holds."""

    by_token: dict[str, Session] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, session: Session) -> str:
        token = secrets.token_urlsafe(32)
        with self.lock:
            self.by_token[token] = session
        return token

    def get(self, token: str) -> Session | None:
        with self.lock:
            return self.by_token.get(token)

    def remove(self, token: str) -> Session | None:
        with self.lock:
            return self.by_token.pop(token, None)


class _OneSlash:
    """Reads `/queries//x` as `/queries/x`: some clients put their paths together like that."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and "//" in scope["path"]:
            scope = {**scope, "path": _SLASHES.sub("/", scope["path"])}
        await self._app(scope, receive, send)


class Server:
    """Routes over one account."""

    def __init__(
        self, account: Account, credentials: Credentials, *, lifetimes: Lifetimes | None = None, held: float = HELD,
    ) -> None:  # fmt: skip
        self.account = account
        self.credentials = credentials
        self.authenticator = Authenticator(account, admin_password=credentials.accepts_password)
        self.sessions = _Sessions()
        self.door = Door(account, self.authenticator, lifetimes, held)
        account.observing.server_load = self.door.load
        self.app: ASGIApp = _OneSlash(
            Starlette(
                routes=[
                    *self.door.routes(),
                    *ChannelEndpoints(self._session).routes(),
                    Route("/healthz", self.healthz),
                    *MetricsEndpoint(account.observing).routes(),
                    Route("/api/v1/sessions", self.open_session, methods=["POST"]),
                    Route("/api/v1/sessions/current", self.close_session, methods=["DELETE"]),
                    Route("/api/v1/statements", self.execute, methods=["POST"]),
                ]
            )
        )

    async def healthz(self, _: Request) -> Response:
        return JSONResponse({"status": "ok", "version": VERSION})

    async def open_session(self, request: Request) -> Response:
        body = await _json(request)
        try:
            identity = await run_in_threadpool(self._identity, body, request.client.host if request.client else None)
        except SnowmeltError as error:
            return JSONResponse({"error": error_to_json(error)}, status_code=401)
        session = self.account.session(
            user=identity.user,
            role=identity.role,
            secondary_roles=identity.secondary_roles,
            role_restriction=identity.role_restriction,
            database=_text(body, "database") or identity.database,
            schema=_text(body, "schema") or identity.schema,
            warehouse=_text(body, "warehouse") or identity.warehouse,
        )
        return JSONResponse({"token": self.sessions.add(session), "session_id": session.id})

    def _identity(self, body: dict[str, Any], client: str | None) -> Identity:
        """Whoever can read the data directory is its administrator; everybody else logs in."""
        token = _text(body, "local_token")
        if token is not None:
            if not self.credentials.accepts_token(token):
                raise errors.incorrect_login()
            return Identity(ADMIN, ACCOUNTADMIN, ())
        user, password, role = _text(body, "user") or "", _text(body, "password") or "", _text(body, "role")
        return self.authenticator.login(user, password=password, role=role, client=client)

    async def close_session(self, request: Request) -> Response:
        session = self.sessions.remove(_bearer(request))
        if session is not None:
            await run_in_threadpool(session.close)
        return JSONResponse({"closed": session is not None})

    def _session(self, request: Request) -> Session | None:
        return self.sessions.get(_bearer(request))

    async def execute(self, request: Request) -> Response:
        session = self._session(request)
        if session is None:
            return JSONResponse({"error": error_to_json(errors.session_gone())}, status_code=401)
        body = await _json(request)
        try:
            result = await run_in_threadpool(session.execute, _text(body, "sql") or "", body.get("binds"))
        except SnowmeltError as error:
            return JSONResponse({"error": error_to_json(error)})
        return JSONResponse({"result": result_to_json(result)})


async def _json(request: Request) -> dict[str, Any]:
    if int(request.headers.get("content-length") or 0) > _MAX_BODY:
        return {}
    try:
        body = await request.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _text(body: dict[str, Any], key: str) -> str | None:
    value = body.get(key)
    return value if isinstance(value, str) else None


def _bearer(request: Request) -> str:
    return request.headers.get("authorization", "").removeprefix("Bearer ").strip()
