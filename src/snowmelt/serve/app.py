"""The server's HTTP interface: health, sessions, statements."""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

import anyio.to_thread
from anyio import CapacityLimiter
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from snowmelt.core import errors
from snowmelt.core.error_json import error_to_json
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.slots import LARGE_WAITING
from snowmelt.engine.application import EngineState
from snowmelt.features.observing.service import Observing
from snowmelt.runtime.account import Account
from snowmelt.runtime.rights import lasting, network
from snowmelt.runtime.rights.authentication import Authenticator, LoginIdentity
from snowmelt.runtime.rights.founding import ADMIN
from snowmelt.runtime.rights.privileges import ACCOUNTADMIN
from snowmelt.runtime.session import Session
from snowmelt.serve.browsers import OnlyOurPage
from snowmelt.serve.channels import ChannelEndpoints
from snowmelt.serve.console.routes import Console
from snowmelt.serve.credentials import Credentials
from snowmelt.serve.iceberg.routes import IcebergCatalog
from snowmelt.serve.limits import BodyLimits, Limits
from snowmelt.serve.metrics import MetricsEndpoint
from snowmelt.serve.protocol.authentication import LoginAttempt
from snowmelt.serve.protocol.bodies import malformed, read_body
from snowmelt.serve.protocol.door import HELD, Endpoint, ProtocolDoor
from snowmelt.serve.protocol.logins import Logins
from snowmelt.serve.protocol.sessions import DoorSession, Lifetimes
from snowmelt.serve.sql_api.routes import SqlApi
from snowmelt.serve.wire import names_to_json, result_to_json

_SLASHES = re.compile("/{2,}")
_STATUS = {"390111": 401, "390189": 400, "391920": 413, "390201": 429, "390202": 429}
"""HTTP statuses of refused requests; an error of a statement is an answer like any other."""
_LAST_WORDS = 0.1
"""Which part of stop_seconds statements get to end in order."""


class _OneSlash:
    """Reads `/queries//x` as `/queries/x`: some clients put their paths together like that."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and "//" in scope["path"]:
            scope = {**scope, "path": _SLASHES.sub("/", scope["path"])}
        await self._app(scope, receive, send)


class _From:
    """Notes the address of the client, which network policies are about, for as long as its request is answered."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        noted = network.CLIENT.set(client[0] if client else "")
        try:
            await self._app(scope, receive, send)
        finally:
            network.CLIENT.reset(noted)


class _Quickest:
    """Answers the addresses that programs ask all the time without looking through all routes."""

    def __init__(self, app: ASGIApp, routes: Mapping[str, tuple[str, Endpoint]]) -> None:
        """`routes`: by path, the method and what answers it. They are among the routes of `app` as well."""
        self._app = app
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method, endpoint = self._routes.get(scope.get("path", ""), (None, None))
        if endpoint is None or scope["type"] != "http" or scope["method"] != method:
            await self._app(scope, receive, send)
            return
        response = await endpoint(Request(scope, receive, send))
        await response(scope, receive, send)


class HttpServer:
    """Routes over one account."""

    def __init__(
        self, account: Account, credentials: Credentials, *, lifetimes: Lifetimes | None = None, held: float = HELD,
        hosts: Collection[str] | None = None, limits: Limits | None = None,
    ) -> None:  # fmt: skip
        """`hosts`: the names that the server may be called by, beside loopback's; None for any."""
        self.account = account
        self.credentials = credentials
        self.authenticator = Authenticator(account, admin_password=credentials.accepts_password)
        self.stopping = threading.Event()
        self._limiter: CapacityLimiter | None = None
        self.logins = Logins(self.authenticator)
        self.door = ProtocolDoor(account, self.logins, lifetimes, held)
        self.console = Console(account, self.logins, self.door.sessions)
        self.door.closing = self.console.visitors.door_closed
        self.sql_api = SqlApi(account, self.logins, self.door.sessions, self.door.pool, self.door.parts, held)
        account.services[Observing].server_load = self.door.load
        self.routes: list[Route] = [
            *self.door.routes(),
            *self.sql_api.routes(),
            *IcebergCatalog(account, self.logins, self.door.sessions).routes(),
            *ChannelEndpoints(self._session).routes(),
            Route("/healthz", self.healthz),
            *MetricsEndpoint(account.services[Observing]).routes(),
            Route("/api/v1/sessions", self.open_session, methods=["POST"]),
            Route("/api/v1/sessions/current", self.close_session, methods=["DELETE"]),
            Route("/api/v1/statements", self.execute, methods=["POST"]),
            Route("/api/v1/statements/current", self.progress, methods=["GET"]),
            Route("/api/v1/statements/current", self.cancel, methods=["DELETE"]),
            *self.console.routes(),
        ]
        self._routed = Starlette(routes=self.routes)
        answering = _Quickest(self._routed, self.door.quickest())
        self.app: ASGIApp = OnlyOurPage(_From(_OneSlash(BodyLimits(answering, limits))), hosts)

    def mount(self, path: str, endpoint: ASGIApp) -> None:
        """Adds what an application above the server answers at a path."""
        route = Route(path, endpoint, methods=None)
        self.routes.append(route)
        self._routed.router.routes.insert(0, route)

    def hang_up(self) -> None:
        """The server is being stopped: whoever waits for an answer gets one, and nothing new is begun."""
        self.stopping.set()
        self.console.hang_up()
        self.sql_api.hang_up()
        self.door.hang_up(self.account.settings.stop_seconds * _LAST_WORDS)

    def stop(self) -> None:
        """Cancels what runs, and ends every session whose statement ends in time."""
        self.console.stop()
        self.door.stop()

    async def healthz(self, _: Request) -> Response:
        """200 when a statement of any kind would run now; metadata statements and log-ins are answered before that."""
        found = self.account.engine.health()
        # Spark that nobody has asked for starts with the first statement that needs it.
        state: str = EngineState.READY if found.state is EngineState.IDLE else found.state
        if self.stopping.is_set():
            state = "stopping"
        body = {"state": state, "reason": found.reason, "engine_restarts": found.restarts}
        return JSONResponse(body, status_code=200 if state == EngineState.READY else 503)

    async def open_session(self, request: Request) -> Response:
        try:
            body = await read_body(request)
            self.door.sessions.check_room()
            opened, token = await self._log_in(body, request.client.host if request.client else "")
        except SnowmeltError as error:
            return _refused(error, _STATUS.get(error.code, 401))
        return JSONResponse(
            {"token": token, "session_id": opened.session.id, "session": names_to_json(opened.session.names)}
        )

    def _opened(self, identity: LoginIdentity, body: Mapping[str, Any]) -> tuple[DoorSession, str]:
        session = self.account.session(
            user=identity.user,
            role=identity.role,
            secondary_roles=identity.secondary_roles,
            role_restriction=identity.role_restriction,
            database=_text(body, "database") or identity.database,
            schema=_text(body, "schema") or identity.schema,
            warehouse=_text(body, "warehouse") or identity.warehouse,
        )
        session.grounds = identity.grounds
        opened, token, _ = self.door.sessions.open(session, "snowmelt", own=True)
        return opened, token

    async def _log_in(self, body: Mapping[str, Any], address: str) -> tuple[DoorSession, str]:
        """Whoever can read the data directory is its administrator; everybody else logs in."""
        token = _text(body, "local_token")
        if token is not None:
            if not self.credentials.accepts_token(token):
                raise errors.incorrect_login()
            return await run_in_threadpool(self._opened, LoginIdentity(ADMIN, ACCOUNTADMIN, ()), body)
        jwt = _text(body, "jwt")
        attempt = LoginAttempt(
            _text(body, "user") or "", "SNOWFLAKE" if jwt is None else "SNOWFLAKE_JWT",
            password=_text(body, "password") or "", token=jwt or _text(body, "token"), role=_text(body, "role"),
            address=address,
        )  # fmt: skip
        return await self.logins.log_in(attempt, lambda identity: self._opened(identity, body))

    async def open_by_token(self, token: str, address: str) -> DoorSession:
        """A session with the rights of an access token. Raises for a token that is not valid."""
        self.door.sessions.check_room()
        attempt = LoginAttempt("", "PROGRAMMATIC_ACCESS_TOKEN", token=token, address=address)
        opened, _ = await self.logins.log_in(attempt, lambda identity: self._opened(identity, {}))
        return opened

    async def close_opened(self, opened: DoorSession) -> None:
        await run_in_threadpool(self.door.sessions.close, opened)

    async def close_session(self, request: Request) -> Response:
        try:
            found = self._found(request)
        except SnowmeltError as error:
            return _refused(error, 401)
        await run_in_threadpool(self.door.sessions.close, found)
        return JSONResponse({"closed": True})

    def _found(self, request: Request) -> DoorSession:
        found = self.door.sessions.by_token(_bearer(request), own=True)
        lasting.check(found.session)
        return found

    def _session(self, request: Request) -> Session:
        return self._found(request).session

    def _statements(self) -> CapacityLimiter:
        """Threads of our own API's statements. How many of them are at work, the account's places decide."""
        if self._limiter is None:
            self._limiter = CapacityLimiter(self.most_statements)
        return self._limiter

    @property
    def most_statements(self) -> int:
        """How many statements of one way in may have a thread, those that wait for a slot included."""
        return 2 * self.account.settings.parallel_statements + LARGE_WAITING

    async def execute(self, request: Request) -> Response:
        if self.stopping.is_set():
            return _refused(errors.server_stopping(), 503)
        try:
            found = self._found(request)
            body = await read_body(request)
            sql, binds = _text(body, "sql"), body.get("binds")
            if sql is None or not (binds is None or isinstance(binds, list)):
                raise malformed("'sql' is text, and 'binds' a list of values")
        except SnowmeltError as error:
            return _refused(error, _STATUS.get(error.code, 400))
        try:
            result = await anyio.to_thread.run_sync(found.session.execute, sql, binds, limiter=self._statements())
        except SnowmeltError as error:
            return _refused(error, 200)
        finally:
            self.door.sessions.keep(found)
        names = names_to_json(found.session.names)
        return JSONResponse(await run_in_threadpool(lambda: {"result": result_to_json(result), "session": names}))

    async def cancel(self, request: Request) -> Response:
        """Stops the statement that runs in the session, if one does. It ends with an error where it was sent."""
        try:
            found = self._found(request)
        except SnowmeltError as error:
            return _refused(error, 401)
        await run_in_threadpool(found.session.cancel)
        return JSONResponse({"cancelled": True})

    async def progress(self, request: Request) -> Response:
        """How far Spark is with the statement that runs in the session."""
        try:
            found = self._found(request)
        except SnowmeltError as error:
            return _refused(error, 401)
        progress = await run_in_threadpool(found.session.progress)
        return JSONResponse({"progress": None if progress is None else asdict(progress)})


def _refused(error: SnowmeltError, status: int) -> Response:
    return JSONResponse({"error": error_to_json(error)}, status_code=status)


def _text(body: Mapping[str, Any], key: str) -> str | None:
    value = body.get(key)
    return value if isinstance(value, str) else None


def _bearer(request: Request) -> str:
    return request.headers.get("authorization", "").removeprefix("Bearer ").strip()
