"""One HTTP request of the Model Context Protocol, answered by tools that work in one session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from anyio import CapacityLimiter, Event, create_task_group
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive, Scope, Send

from snowmelt.assistants.server import server_of
from snowmelt.runtime.results import Executes


async def answer_request(
    session: Executes, scope: Scope, receive: Receive, send: Send, *, threads: CapacityLimiter,
    gone: Callable[[], Awaitable[None]],
) -> None:  # fmt: skip
    """Tools work in `threads`. `gone` is called when the client does not wait any longer: nobody else could."""
    try:
        pieces = [await Request(scope, receive).body()]
    except ClientDisconnect:
        return
    over = Event()

    async def read_again() -> Message:
        if pieces:
            return {"type": "http.request", "body": pieces.pop(), "more_body": False}
        await over.wait()
        return {"type": "http.disconnect"}

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        over.set()
        await gone()

    tools = server_of(lambda: session, files=False, threads=threads)
    manager = StreamableHTTPSessionManager(app=tools._lowlevel_server, json_response=True, stateless=True)
    async with create_task_group() as beside:
        beside.start_soon(watch)
        async with manager.run():
            await manager.handle_request(scope, read_again, send)
        beside.cancel_scope.cancel()
