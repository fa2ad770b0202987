"""The endpoints that Snowflake's clients call."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import wait
from datetime import timedelta
from typing import Any
from weakref import WeakValueDictionary

import structlog
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from snowmelt.core import errors
from snowmelt.core.config import Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.loading.transfers import Receiving, content
from snowmelt.observe.levels import PoolLevel
from snowmelt.runtime.account import Account
from snowmelt.runtime.rights import lasting
from snowmelt.runtime.rights.authentication import LoginIdentity
from snowmelt.runtime.spilling import FOLDER
from snowmelt.runtime.wire.requests import QueryRequest
from snowmelt.serve.protocol import answers, login
from snowmelt.serve.protocol.addresses import AddressHolder
from snowmelt.serve.protocol.answers import ProtocolAnswer, envelope, failure
from snowmelt.serve.protocol.bodies import read_body, text, too_large
from snowmelt.serve.protocol.executions import Execution, StatementPool
from snowmelt.serve.protocol.login import LoginNames
from snowmelt.serve.protocol.logins import Logins
from snowmelt.serve.protocol.monitoring import query_status
from snowmelt.serve.protocol.parts import ResultParts
from snowmelt.serve.protocol.rendering import ResultRenderer
from snowmelt.serve.protocol.sessions import DoorSession, Lifetimes, Sessions
from snowmelt.serve.protocol.stage_files import StageFiles
from snowmelt.serve.protocol.statements import read_request, runs_beside
from snowmelt.state.ids import new_query_id

_log = structlog.get_logger(__name__)
HELD = 45.0
"""Seconds that a request waits for its statement before the client is told to ask again."""
_ENDING = 0.1
"""Which part of stop_seconds sessions get to end in order."""
_LOOKS = 30.0
"""Seconds between two looks for expired sessions."""
_TOKEN = re.compile(r'\s*Snowflake\s+Token="([^"]*)"\s*\Z', re.IGNORECASE)
_TOO_LARGE = too_large().code
Endpoint = Callable[[HttpRequest], Awaitable[Response]]


class ProtocolDoor:
    """One account, as Snowflake's clients see it."""

    def __init__(
        self, account: Account, logins: Logins, lifetimes: Lifetimes | None = None, held: float = HELD
    ) -> None:
        self._account = account
        self._held_seconds = held
        self._logins = logins
        settings = account.settings
        self.sessions = Sessions(
            account.clock, lifetimes or _lifetimes(settings), settings.max_sessions, self._session_closed,
            settings.max_sessions_per_user,
        )  # fmt: skip
        """Of all clients, those of Snowmelt's own API too."""
        self.pool = StatementPool(settings.parallel_statements, settings.waiting_statements, account.slots)
        self.parts = ResultParts(account.data_dir / FOLDER)
        self._files = StageFiles()
        self._renderer = ResultRenderer(account, self.parts, self._files)
        self._by_query: WeakValueDictionary[str, Execution] = WeakValueDictionary()
        """As long as their session remembers them."""
        self.closing: Callable[[DoorSession], None] = lambda _: None
        """Whoever keeps something for sessions is told here that one ends."""
        self._stopping = threading.Event()
        self._stopped_by: float | None = None
        """When the last session has to be closed, once the server is being stopped."""
        threading.Thread(target=self._end_expired, name="snowmelt-door-sessions", daemon=True).start()

    def load(self) -> tuple[PoolLevel, ...]:
        """How much of what is limited here is in use."""
        return (*self.pool.load(), self.sessions.load())

    def routes(self) -> list[Route]:
        post, get = ["POST"], ["GET"]
        return [
            Route("/session/v1/login-request", _guarded(self.login), methods=post),
            Route("/session/token-request", _guarded(self.renew), methods=post),
            Route("/session/heartbeat", _guarded(self.heartbeat), methods=post),
            Route("/session", _guarded(self.close_session), methods=post),
            Route("/queries/v1/query-request", _guarded(self.query), methods=post),
            Route("/queries/v1/abort-request", _guarded(self.abort), methods=post),
            Route("/queries/{query_id}/abort-request", _guarded(self.abort), methods=post),
            Route("/queries/{query_id}/result", _guarded(self.result), methods=get),
            Route("/monitoring/queries/{query_id}", _guarded(self.monitor), methods=get),
            Route("/telemetry/send", _guarded(self.telemetry), methods=post),
            Route("/telemetry/send/sessionless", _guarded(self.sessionless_telemetry), methods=post),
            Route("/results/{secret}/{number}", _plain(self.part), methods=get),
            Route("/stage-files/{secret}/{name:path}", _plain(self.receive), methods=["PUT"]),
            Route("/stage-files/{secret}/{name:path}", _plain(self.send), methods=get),
        ]

    def quickest(self) -> dict[str, tuple[str, Endpoint]]:
        """The requests that come most, by path: their method, and what answers them."""
        return {"/queries/v1/query-request": ("POST", _guarded(self.query))}

    # -- sessions -------------------------------------------------------------------------------------------------

    async def login(self, request: HttpRequest) -> Response:
        self._check_open()
        attempt, names = login.read_login(await read_body(request), request)
        self.sessions.check_room()
        try:
            data = await self._logins.log_in(attempt, lambda identity: self._log_in(identity, names))
        except SnowmeltError as error:
            _log.warning("login_failed", user=attempt.user, address=attempt.address, code=error.code)
            raise
        return ProtocolAnswer(envelope(data))

    def _log_in(self, identity: LoginIdentity, names: LoginNames) -> dict[str, Any]:
        session = login.open_session(self._account, identity, names)
        opened, token, master = self.sessions.open(session, names.client)
        return login.logged_in(opened, token, master, self.sessions.lifetimes)

    async def renew(self, request: HttpRequest) -> Response:
        found, token, master = self.sessions.renew(_token(request))
        lasting.check(found.session)
        lifetimes = self.sessions.lifetimes
        return ProtocolAnswer(
            envelope(
                {
                    "sessionToken": token,
                    "masterToken": master,
                    "validityInSecondsST": int(lifetimes.session.total_seconds()),
                    "validityInSecondsMT": int(lifetimes.master.total_seconds()),
                    "sessionId": int(found.session.id),
                }
            )
        )

    async def heartbeat(self, request: HttpRequest) -> Response:
        self.sessions.keep(self._session(request))
        return ProtocolAnswer(envelope(None))

    async def close_session(self, request: HttpRequest) -> Response:
        found = self._session(request)
        if request.query_params.get("delete", "").lower() == "true":
            await run_in_threadpool(self.sessions.close, found)
        return ProtocolAnswer(envelope(None))

    def _session_closed(self, found: DoorSession) -> None:
        self.closing(found)
        for execution in found.executions():
            if not execution.done:
                execution.cancel()
            self._by_query.pop(execution.query_id, None)
        until = self._stopped_by
        lasting.stop(found.session, None if until is None else until - time.monotonic())
        self.parts.remove(found.session.id)
        self._files.forget(found.session.id)

    def _session(self, request: HttpRequest) -> DoorSession:
        found = self.sessions.by_token(_token(request))
        lasting.check(found.session)
        return found

    async def telemetry(self, request: HttpRequest) -> Response:
        """Taken and thrown away: nothing about a user leaves this server."""
        self._session(request)
        return await self.sessionless_telemetry(request)

    async def sessionless_telemetry(self, request: HttpRequest) -> Response:
        await read_body(request)
        return ProtocolAnswer(envelope("Log Received"))

    # -- statements -----------------------------------------------------------------------------------------------

    async def query(self, request: HttpRequest) -> Response:
        found = self._session(request)
        body = await read_body(request)
        asked = read_request(body)
        self._check_open()
        execution = Execution(request.query_params.get("requestId") or new_query_id(), new_query_id(), found)
        known = found.remember(execution)
        if known is not execution and not found.may_have(known):
            # Asked for again, after its user has lost a role that it was computed with.
            raise errors.statement_not_found(known.query_id)
        if known is execution:
            self._start(execution, asked, _base_url(request))
        if asked.asynchronous:
            return ProtocolAnswer(answers.in_progress(known.query_id, answers.ASYNC_IN_PROGRESS))
        return await self._held(known)

    def _start(self, execution: Execution, asked: QueryRequest, base_url: str) -> None:
        if runs_beside(execution.session, asked):
            execution.session = execution.session.beside()
        self._by_query[execution.query_id] = execution
        delivery = self._renderer.delivery(execution.door_session, base_url)
        try:
            self.pool.submit(execution, lambda running: self._renderer.answer(running, asked, delivery))
        except SnowmeltError as error:
            execution.reply(bytes(ProtocolAnswer(failure(error, execution.query_id)).body))

    async def _held(self, execution: Execution) -> Response:
        done, _ = await asyncio.wait([asyncio.wrap_future(execution.answer)], timeout=self._held_seconds)
        if not done:
            return ProtocolAnswer(answers.in_progress(execution.query_id, answers.QUERY_IN_PROGRESS))
        return Response(execution.answer.result(), media_type="application/json")

    async def result(self, request: HttpRequest) -> Response:
        found = self._session(request)
        query_id = request.path_params["query_id"]
        execution = self._by_query.get(query_id)
        if execution is not None and found.may_have(execution):
            return await self._held(execution)
        delivery = self._renderer.delivery(found, _base_url(request))
        body = await run_in_threadpool(self._renderer.kept_answer, found, query_id, delivery)
        return Response(body, media_type="application/json")

    async def abort(self, request: HttpRequest) -> Response:
        """Stops a query, named by its id in the address or by the id of the request that started it."""
        found = self._session(request)
        body = await read_body(request)
        wanted = request.path_params.get("query_id")
        request_id = text(body, "requestId")
        stopped = [
            execution for execution in found.executions()
            if not execution.done and (execution.query_id == wanted if wanted else execution.request_id == request_id)
        ]  # fmt: skip
        other = self._by_query.get(wanted or "")
        if other is not None and found.may_have(other):
            stopped.append(other)
        for execution in stopped:
            await run_in_threadpool(execution.cancel)
        return ProtocolAnswer(envelope(None))

    async def monitor(self, request: HttpRequest) -> Response:
        found = self._session(request)
        query_id = request.path_params["query_id"]
        execution = self._by_query.get(query_id)
        data = await run_in_threadpool(query_status, self._account, found, query_id, execution)
        return ProtocolAnswer(envelope(data))

    # -- bytes ----------------------------------------------------------------------------------------------------

    async def part(self, request: HttpRequest) -> Response:
        secret = request.path_params["secret"]
        if not self._serves(self.parts.holder_of(secret)):
            return Response(status_code=404)
        path = self.parts.find(secret, request.path_params["number"])
        return FileResponse(path) if path is not None else Response(status_code=404)

    def _serves(self, holder: AddressHolder | None) -> bool:
        """Whether who an address was given to may still use it: the session goes on, and its user has all roles."""
        owner = self.sessions.of_id(holder.session_id) if holder is not None else None
        if holder is None or owner is None:
            return False
        try:
            lasting.check(owner.session)
        except SnowmeltError:
            return False
        return holder.roles <= owner.roles_within(holder.session_id)

    async def receive(self, request: HttpRequest) -> Response:
        secret = request.path_params["secret"]
        grant = self._files.find(secret)
        if grant is None or not grant.writes or not self._serves(self._renderer.addresses.holder_of(secret)):
            return Response(status_code=404)
        pieces = request.stream()
        first = await anext(pieces, b"")
        if not grant.takes(first):
            # The client asks again, for this file by name, when it hears this.
            self._files.refused(grant)
            return Response(status_code=400)
        if request.headers.get("x-goog-if-generation-match") == "0" and grant.stage.find(grant.path) is not None:
            return Response(status_code=412)
        receiving = await run_in_threadpool(Receiving, grant.stage, grant.path)
        try:
            await run_in_threadpool(receiving.write, first)
            async for piece in pieces:
                await run_in_threadpool(receiving.write, piece)
        except (ClientDisconnect, OSError):
            await run_in_threadpool(receiving.discard)
            raise
        if not self._serves(self._renderer.addresses.holder_of(secret)):
            # The right was lost while the file came in.
            await run_in_threadpool(receiving.discard)
            return Response(status_code=404)
        await run_in_threadpool(receiving.publish)
        self._files.written(secret)
        return Response(status_code=200)

    async def send(self, request: HttpRequest) -> Response:
        secret = request.path_params["secret"]
        grant = self._files.find(secret)
        if grant is None or grant.writes or not self._serves(self._renderer.addresses.holder_of(secret)):
            return Response(status_code=404)
        return StreamingResponse(content(grant.stage, grant.path), media_type="application/octet-stream")

    # -- the end --------------------------------------------------------------------------------------------------

    def _end_expired(self) -> None:
        """What an expired session holds, such as locks of an open transaction, must not wait for the next login."""
        while not self._stopping.wait(_LOOKS):
            self.sessions.close_expired()

    def hang_up(self, patience: float) -> None:
        """Takes nothing more, and tells everybody who waits for an answer that there will be none."""
        self._stopping.set()
        error = errors.server_stopping()
        open_ones = [one for found in self.sessions.all() for one in found.executions() if not one.done]
        for execution in open_ones:
            execution.cancel(error)
        # What is stopped at once tells by itself whether it was carried out.
        wait([execution.answer for execution in open_ones], patience)
        for execution in open_ones:
            execution.reply(bytes(ProtocolAnswer(failure(error, execution.query_id)).body))

    def stop(self) -> None:
        """Cancels what runs, and ends every session whose statement ends in time."""
        self._stopping.set()
        self._stopped_by = time.monotonic() + self._account.settings.stop_seconds * _ENDING
        for found in self.sessions.all():
            for execution in found.executions():
                execution.cancel(errors.server_stopping())
        for found in self.sessions.all():
            self.sessions.close(found)
        self.pool.stop()
        self._logins.stop()

    def _check_open(self) -> None:
        if self._stopping.is_set():
            raise errors.server_stopping()


def _lifetimes(settings: Settings) -> Lifetimes:
    idle = timedelta(hours=settings.session_idle_hours)
    return Lifetimes(master=idle, idle=idle, longest=timedelta(hours=settings.session_hours))


def _token(request: HttpRequest) -> str:
    match = _TOKEN.match(request.headers.get("authorization", ""))
    return match[1] if match is not None else ""


def _base_url(request: HttpRequest) -> str:
    host = request.headers.get("host")
    return f"{request.scope['scheme']}://{host}" if host else str(request.base_url).rstrip("/")


def _guarded(endpoint: Endpoint) -> Endpoint:
    """Errors become answers that clients understand; a defect of ours becomes one too, and is in the log."""

    async def call(request: HttpRequest) -> Response:
        try:
            return await endpoint(request)
        except SnowmeltError as error:
            return ProtocolAnswer(failure(error), status_code=413 if error.code == _TOO_LARGE else 200)
        except Exception:
            _log.exception("request failed unexpectedly", path=request.url.path)
            return ProtocolAnswer(failure(errors.internal("The request failed. The server's log has the details.")))

    return call


def _plain(endpoint: Endpoint) -> Endpoint:
    """Answers with bytes that are not JSON: an error is a status, and one that clients do not repeat forever."""

    async def call(request: HttpRequest) -> Response:
        try:
            return await endpoint(request)
        except Exception as error:
            _log.warning("file_not_moved", path=request.url.path.split("/")[1], error=type(error).__name__)
            return Response(status_code=409)

    return call
