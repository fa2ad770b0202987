"""The tools at a running server, over HTTP: each request has the rights of the role of its access token.

No state is kept between requests, so that a token that is revoked ends at once. Tools that read or write files are
left out: they would do so with the server's rights, not with the caller's. Tools work in threads of their own, so that
slow statements of assistants leave the server's other threads alone.
"""

from __future__ import annotations

from typing import Any, Protocol

from anyio import CancelScope, CapacityLimiter
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.lazy import lazy_imports

with lazy_imports():
    from snowmelt.assistants.requests import answer_request

PATH = "/mcp"


class ServesSessions(Protocol):
    """What the server gives: `snowmelt.serve.app.Server`, which knows nothing of assistants."""

    def mount(self, path: str, endpoint: ASGIApp) -> None: ...

    @property
    def most_statements(self) -> int: ...

    async def open_by_token(self, token: str, address: str) -> Any: ...

    async def close_opened(self, opened: Any) -> None: ...


class AssistantsEndpoint:
    """`POST /mcp` with `Authorization: Bearer <programmatic access token>`."""

    def __init__(self, server: ServesSessions) -> None:
        self._server = server
        self._threads: CapacityLimiter | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            answer = JSONResponse({"error": "Only POST is answered here."}, status_code=405, headers={"Allow": "POST"})
            await answer(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not token.strip():
            await _refuse("An access token is missing: Authorization: Bearer <token>.")(scope, receive, send)
            return
        client = scope.get("client")
        try:
            opened = await self._server.open_by_token(token.strip(), client[0] if client else "")
        except SnowmeltError as error:
            await _refuse(error.message)(scope, receive, send)
            return
        if self._threads is None:
            self._threads = CapacityLimiter(self._server.most_statements)

        async def gone() -> None:
            await self._server.close_opened(opened)

        try:
            await answer_request(opened.session, scope, receive, send, threads=self._threads, gone=gone)
        finally:
            with CancelScope(shield=True):
                await gone()


def _refuse(message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status_code=401, headers={"WWW-Authenticate": "Bearer"})


def mount_assistants(server: ServesSessions) -> None:
    """Adds the tools to a server's routes."""
    server.mount(PATH, AssistantsEndpoint(server))
