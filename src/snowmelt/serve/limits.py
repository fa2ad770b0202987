"""How much a request may send, and how long that may take: one rule for every route, before any of them reads."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from snowmelt.core import errors
from snowmelt.core.error_json import error_to_json
from snowmelt.core.errors import SnowmeltError
from snowmelt.serve.protocol.answers import ProtocolAnswer, failure
from snowmelt.serve.protocol.bodies import LIMIT, too_large

_log = structlog.get_logger(__name__)
_CLOSE = (b"connection", b"close")
PUBLIC = frozenset(
    {"/session/v1/login-request", "/session/token-request", "/telemetry/send/sessionless", "/api/v1/sessions",
     "/api/v1/console/session", "/iceberg/v1/oauth/tokens", "/healthz", "/metrics"}
)  # fmt: skip
"""The routes that need no session, or make one. Their bodies are small."""
_SMALL = PUBLIC | {"/mcp", "/api/v1/console/design", "/api/v1/console/design/archive"}
"""With what an application above the server mounts, where each request makes a session; and with the designer, to
which a page sends all that was said so far, and which thinks about all of it."""
FILES = "/stage-files/"
"""Below it, bodies are files: they go to disk piece by piece, and never are in memory."""


@dataclass(frozen=True, slots=True)
class Limits:
    public_bytes: int = 1 << 20
    body_bytes: int = 64 << 20
    file_bytes: int = 50 << 30
    held_bytes: int = 1 << 30
    """Of all bodies that are being received at a time."""
    pause_seconds: float = 30.0
    """Between two pieces of a body."""
    public_seconds: float = 30.0
    body_seconds: float = 600.0
    linger_seconds: float = 5.0
    """A client that is refused may go on sending for so long, so that it comes to read why."""
    headers: int = 200
    head_bytes: int = 64 << 10
    """Of all headers and the address."""

    def bytes_of(self, path: str) -> int:
        if path.startswith(FILES):
            return self.file_bytes
        return self.public_bytes if path in _SMALL else self.body_bytes

    def seconds_of(self, path: str) -> float | None:
        """The seconds for a whole body; a file may take as long as its pieces keep coming."""
        if path.startswith(FILES):
            return None
        return self.public_seconds if path in _SMALL else self.body_seconds


class RefusedBodyError(SnowmeltError):
    """Why a body is not read any further, and the HTTP status that says so."""

    def __init__(self, error: SnowmeltError, status: int) -> None:
        super().__init__(error.code, error.sqlstate, error.message, hint=error.hint, transient=error.transient)
        self.status = status


class BodyLimits:
    """Counts every body while it comes in. One that is too large or too slow is refused, and its connection closed.

    The route may answer the refusal in its own form: it only gets the status. A body that the route does not read is
    held to the same limits, so that nobody can send without end what nobody reads.
    """

    def __init__(self, app: ASGIApp, limits: Limits | None = None) -> None:
        self._app = app
        self._limits = limits or Limits()
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope[LIMIT] = self._limits.bytes_of(scope["path"])
        body = _Body(self._limits, scope, receive, send, self)
        try:
            body.check_headers()
            await self._app(scope, body.receive, body.send)
        except RefusedBodyError as error:
            await body.refuse(error)
        except Exception:
            # A defect of ours: the log has all of it, the client an error like any other.
            _log.exception("request failed unexpectedly", path=scope["path"])
            internal = errors.internal("The request failed. The server's log has the details.")
            await body.refuse(RefusedBodyError(internal, 500))
        finally:
            self._held -= body.held

    def hold(self, size: int) -> None:
        """Raises when all bodies together would take too much."""
        if self._held + size > self._limits.held_bytes:
            busy = SnowmeltError("370002", "53300", "The server is busy receiving other requests.", transient=True)
            raise RefusedBodyError(busy, 503)
        self._held += size


class _Body:
    """The body of one request, and the answer to it."""

    def __init__(self, limits: Limits, scope: Scope, receive: Receive, send: Send, all_bodies: BodyLimits) -> None:
        self._limits = limits
        self._receive = receive
        self._send = send
        self._all = all_bodies
        self._headers: list[tuple[bytes, bytes]] = scope["headers"]
        self._address = len(scope.get("raw_path") or b"") + len(scope["query_string"])
        self._most = limits.bytes_of(scope["path"])
        self._is_file = scope["path"].startswith(FILES)
        seconds = limits.seconds_of(scope["path"])
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._seen = 0
        self._complete = not self._has_body()
        self._refused: RefusedBodyError | None = None
        self._started = False
        self.held = 0

    def check_headers(self) -> None:
        """Raises for what can be refused before a byte of the body has come."""
        size = self._address + sum(len(name) + len(value) for name, value in self._headers)
        if len(self._headers) > self._limits.headers or size > self._limits.head_bytes:
            raise self._refusal(SnowmeltError("390189", "08P01", "The request's headers are too large."), 431)
        length = self._header(b"content-length")
        if length is not None and length.isdigit() and int(length[:20]) > self._most:
            raise self._refusal(too_large(self._most), 413)

    async def receive(self) -> Message:
        if self._refused is not None:
            raise self._refused
        if self._complete:
            return await self._receive()
        message = await self._next()
        self._count(message)
        return message

    async def _next(self) -> Message:
        seconds = self._limits.pause_seconds
        if self._deadline is not None:
            seconds = min(seconds, max(0.0, self._deadline - time.monotonic()))
        try:
            async with asyncio.timeout(seconds):
                return await self._receive()
        except TimeoutError:
            slow = SnowmeltError(
                "390189", "08P01", "The request was not sent in time.", hint="Send it again.", transient=True
            )
            raise self._refusal(slow, 408) from None

    def _count(self, message: Message) -> None:
        self._complete = message["type"] != "http.request" or not message.get("more_body", False)
        size = len(message.get("body", b""))
        self._seen += size
        if self._seen > self._most:
            raise self._refusal(too_large(self._most), 413)
        if not self._is_file and size:
            try:
                self._all.hold(size)
            except RefusedBodyError as error:
                raise self._refusal(error, error.status) from None
            self.held += size

    def _refusal(self, error: SnowmeltError, status: int) -> RefusedBodyError:
        self._refused = RefusedBodyError(error, status)
        return self._refused

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and not self._started:
            if not self._complete and self._refused is None:
                await self._read_rest()
            self._started = True
            if self._refused is not None:
                status = self._refused.status if message["status"] < 500 else message["status"]
                message = {**message, "status": status, "headers": [*message.get("headers", []), _CLOSE]}
        last = message["type"] == "http.response.body" and not message.get("more_body", False)
        if last and self._refused is not None and not self._complete:
            await self._send({**message, "more_body": True})
            await self._linger()
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self._send(message)

    async def refuse(self, error: RefusedBodyError) -> None:
        """The answer of a request that no route answers. Both of our forms of an error are in it."""
        if self._started:
            # Half an answer can't become another one: the client sees a connection that broke.
            raise error
        if self._refused is None:
            self._refused = error
        content = {**failure(error), "error": error_to_json(error)}
        answer = ProtocolAnswer(content, status_code=error.status)
        await self.send({"type": "http.response.start", "status": error.status, "headers": answer.raw_headers})
        await self.send({"type": "http.response.body", "body": answer.body, "more_body": False})

    async def _read_rest(self) -> None:
        """What a route did not read, within the limits: then the connection can take the next request."""
        started = time.monotonic()
        try:
            while not self._complete and time.monotonic() - started < self._limits.linger_seconds:
                async with asyncio.timeout(self._limits.linger_seconds):
                    message = await self._receive()
                self._complete = message["type"] != "http.request" or not message.get("more_body", False)
                self._seen += len(message.get("body", b""))
                if self._seen > min(self._most, self._limits.body_bytes):
                    break
        except TimeoutError:
            pass
        if not self._complete:
            self._refusal(too_large(self._most), 413)

    async def _linger(self) -> None:
        """Reads what a refused client still sends, for a moment: closing at once would take its answer away."""
        started, left = time.monotonic(), self._limits.body_bytes
        try:
            while not self._complete and left > 0 and time.monotonic() - started < self._limits.linger_seconds:
                async with asyncio.timeout(self._limits.linger_seconds):
                    message = await self._receive()
                self._complete = message["type"] != "http.request" or not message.get("more_body", False)
                left -= len(message.get("body", b""))
        except TimeoutError:
            return

    def _has_body(self) -> bool:
        length = self._header(b"content-length")
        return (length is not None and length.strip() not in (b"", b"0")) or self._header(
            b"transfer-encoding"
        ) is not None

    def _header(self, name: bytes) -> Any:
        return next((value for key, value in self._headers if key == name), None)
