"""The endpoints that Snowflake's clients call."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable
from typing import Any
from weakref import WeakValueDictionary

import structlog
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.observe.levels import Pool
from snowmelt.serve.authentication import LoginAttempt
from snowmelt.serve.protocol import answers, login
from snowmelt.serve.protocol.answers import Answer, envelope, failure
from snowmelt.serve.protocol.bodies import read_body, text
from snowmelt.serve.protocol.executions import Execution, StatementPool
from snowmelt.serve.protocol.login import Names
from snowmelt.serve.protocol.monitoring import query_status
from snowmelt.serve.protocol.parts import ResultParts
from snowmelt.serve.protocol.rendering import Renderer
from snowmelt.serve.protocol.sessions import DoorSession, Lifetimes, Sessions
from snowmelt.serve.protocol.stage_files import StageFiles, written_name
from snowmelt.serve.protocol.statements import Request, new_query_id, read_request, runs_beside
from snowmelt.service.account import Account
from snowmelt.service.security.authentication import Authenticator
from snowmelt.service.spilling import FOLDER
from snowmelt.service.transfers import Receiving, content

_log = structlog.get_logger(__name__)
HELD = 45.0
"""Seconds that a request waits for its statement before the client is told to ask again."""
_LOOKS = 30.0
"""Seconds between two looks for expired sessions."""
_TOKEN = re.compile(r'\s*Snowflake\s+Token="([^"]*)"\s*\Z', re.IGNORECASE)
Endpoint = Callable[[HttpRequest], Awaitable[Response]]


class Door:
    """One account, as Snowflake's clients see it."""

    def __init__(
        self, account: Account, authenticator: Authenticator, lifetimes: Lifetimes | None = None, held: float = HELD
    ) -> None:
        self._account = account
        self._held_seconds = held
        self._authenticator = authenticator
        settings = account.settings
        self._sessions = Sessions(account.clock, lifetimes or Lifetimes(), settings.max_sessions, self._session_closed)
        self._pool = StatementPool(settings.parallel_statements, settings.waiting_statements)
        self._parts = ResultParts(account.data_dir / FOLDER)
        self._files = StageFiles()
        self._renderer = Renderer(account, self._parts, self._files)
        self._by_query: WeakValueDictionary[str, Execution] = WeakValueDictionary()
        """As long as their session remembers them."""
        self._stopping = threading.Event()
        threading.Thread(target=self._end_expired, name="snowmelt-door-sessions", daemon=True).start()

    def load(self) -> tuple[Pool, ...]:
        """How much of what is limited here is in use."""
        return (*self._pool.load(), self._sessions.load())

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
            Route("/telemetry/send/sessionless", _guarded(self.telemetry), methods=post),
            Route("/results/{secret}/{number}", _plain(self.part), methods=get),
            Route("/stage-files/{secret}/{name:path}", _plain(self.receive), methods=["PUT"]),
            Route("/stage-files/{secret}/{name:path}", _plain(self.send), methods=get),
        ]

    # -- sessions -------------------------------------------------------------------------------------------------

    async def login(self, request: HttpRequest) -> Response:
        attempt, names = login.read_login(await read_body(request), request)
        self._sessions.check_room()
        data = await run_in_threadpool(self._log_in, attempt, names)
        return Answer(envelope(data))

    def _log_in(self, attempt: LoginAttempt, names: Names) -> dict[str, Any]:
        try:
            identity = attempt.checked_by(self._authenticator)
        except SnowmeltError as error:
            _log.warning("login_failed", user=attempt.user, address=attempt.address, code=error.code)
            raise
        session = login.open_session(self._account, identity, names)
        opened, token, master = self._sessions.open(session, names.client)
        return login.logged_in(opened, token, master, self._sessions.lifetimes)

    async def renew(self, request: HttpRequest) -> Response:
        await read_body(request)
        found, token, master = self._sessions.renew(_token(request))
        lifetimes = self._sessions.lifetimes
        return Answer(
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
        self._sessions.keep(self._session(request))
        return Answer(envelope(None))

    async def close_session(self, request: HttpRequest) -> Response:
        if request.query_params.get("delete", "").lower() == "true":
            found = self._session(request)
            await run_in_threadpool(self._sessions.close, found)
        return Answer(envelope(None))

    def _session_closed(self, found: DoorSession) -> None:
        for execution in found.executions():
            if not execution.done:
                execution.cancel()
            self._by_query.pop(execution.query_id, None)
        found.session.close()
        self._parts.remove(found.session.id)

    def _session(self, request: HttpRequest) -> DoorSession:
        return self._sessions.by_token(_token(request))

    async def telemetry(self, request: HttpRequest) -> Response:
        """Taken and thrown away: nothing about a user leaves this server."""
        await read_body(request)
        return Answer(envelope("Log Received"))

    # -- statements -----------------------------------------------------------------------------------------------

    async def query(self, request: HttpRequest) -> Response:
        found = self._session(request)
        body = await read_body(request)
        asked = read_request(body)
        execution = Execution(request.query_params.get("requestId") or new_query_id(), new_query_id(), found)
        known = found.remember(execution)
        if known is execution:
            self._start(execution, asked, _base_url(request))
        if asked.asynchronous:
            return Answer(answers.in_progress(known.query_id, answers.ASYNC_IN_PROGRESS))
        return await self._held(known)

    def _start(self, execution: Execution, asked: Request, base_url: str) -> None:
        if runs_beside(execution.session, asked):
            execution.session = execution.session.beside()
        self._by_query[execution.query_id] = execution
        delivery = self._renderer.delivery(execution.door_session, base_url)
        try:
            self._pool.submit(execution, lambda running: self._renderer.answer(running, asked, delivery))
        except SnowmeltError as error:
            execution.answer.set_result(bytes(Answer(failure(error, execution.query_id)).body))

    async def _held(self, execution: Execution) -> Response:
        done, _ = await asyncio.wait([asyncio.wrap_future(execution.answer)], timeout=self._held_seconds)
        if not done:
            return Answer(answers.in_progress(execution.query_id, answers.QUERY_IN_PROGRESS))
        return Response(execution.answer.result(), media_type="application/json")

    async def result(self, request: HttpRequest) -> Response:
        found = self._session(request)
        query_id = request.path_params["query_id"]
        execution = self._by_query.get(query_id)
        if execution is not None and execution.session.user == found.session.user:
            return await self._held(execution)
        delivery = self._renderer.delivery(found, _base_url(request))
        body = await run_in_threadpool(self._renderer.kept_answer, found, query_id, delivery)
        return Response(body, media_type="application/json")

    async def abort(self, request: HttpRequest) -> Response:
        """By the query's id in the address, or by the id of the request that started it."""
        found = self._session(request)
        body = await read_body(request)
        wanted = request.path_params.get("query_id")
        request_id = text(body, "requestId")
        stopped = [
            execution for execution in found.executions()
            if not execution.done and (execution.query_id == wanted if wanted else execution.request_id == request_id)
        ]  # fmt: skip
        other = self._by_query.get(wanted or "")
        if other is not None and other.session.user == found.session.user:
            stopped.append(other)
        for execution in stopped:
            await run_in_threadpool(execution.cancel)
        return Answer(envelope(None))

    async def monitor(self, request: HttpRequest) -> Response:
        found = self._session(request)
        query_id = request.path_params["query_id"]
        execution = self._by_query.get(query_id)
        data = await run_in_threadpool(query_status, self._account, found.session.user, query_id, execution)
        return Answer(envelope(data))

    # -- bytes ----------------------------------------------------------------------------------------------------

    async def part(self, request: HttpRequest) -> Response:
        path = self._parts.find(request.path_params["secret"], request.path_params["number"])
        return FileResponse(path) if path is not None else Response(status_code=404)

    async def receive(self, request: HttpRequest) -> Response:
        secret = request.path_params["secret"]
        grant = self._files.find(secret)
        if grant is None or not grant.writes:
            return Response(status_code=404)
        pieces = request.stream()
        first = await anext(pieces, b"")
        name = written_name(grant, request.path_params["name"], first)
        if not name or grant.used:
            # PUT with a wild card: the client asks again for each file when it hears this.
            return Response(status_code=400)
        if request.headers.get("x-goog-if-generation-match") == "0" and grant.place.find(name) is not None:
            return Response(status_code=412)
        receiving = await run_in_threadpool(Receiving, grant.place, name)
        try:
            await run_in_threadpool(receiving.write, first)
            async for piece in pieces:
                await run_in_threadpool(receiving.write, piece)
        except (ClientDisconnect, OSError):
            await run_in_threadpool(receiving.discard)
            raise
        await run_in_threadpool(receiving.publish)
        self._files.written(secret)
        return Response(status_code=200)

    async def send(self, request: HttpRequest) -> Response:
        grant = self._files.find(request.path_params["secret"])
        if grant is None or grant.writes:
            return Response(status_code=404)
        return StreamingResponse(content(grant.place, grant.path), media_type="application/octet-stream")

    # -- the end --------------------------------------------------------------------------------------------------

    def _end_expired(self) -> None:
        """What an expired session holds, such as locks of an open transaction, must not wait for the next login."""
        while not self._stopping.wait(_LOOKS):
            self._sessions.close_expired()

    def stop(self) -> None:
        """Cancels what runs, and ends every session."""
        self._stopping.set()
        for found in self._sessions.all():
            for execution in found.executions():
                execution.cancel()
        for found in self._sessions.all():
            self._sessions.close(found)
        self._pool.stop()


def _token(request: HttpRequest) -> str:
    match = _TOKEN.match(request.headers.get("authorization", ""))
    return match[1] if match is not None else ""


def _base_url(request: HttpRequest) -> str:
    return str(request.base_url).rstrip("/")


def _guarded(endpoint: Endpoint) -> Endpoint:
    """Errors become answers that clients understand; a defect of ours becomes one too, and is in the log."""

    async def call(request: HttpRequest) -> Response:
        try:
            return await endpoint(request)
        except SnowmeltError as error:
            return Answer(failure(error))
        except Exception:
            _log.exception("request failed unexpectedly", path=request.url.path)
            return Answer(failure(errors.internal("The request failed. The server's log has the details.")))

    return call


def _plain(endpoint: Endpoint) -> Endpoint:
    """For bytes that are no JSON: what goes wrong is the status, and one that clients do not repeat forever."""

    async def call(request: HttpRequest) -> Response:
        try:
            return await endpoint(request)
        except Exception as error:
            _log.warning("file_not_moved", path=request.url.path.split("/")[1], error=type(error).__name__)
            return Response(status_code=409)

    return call
