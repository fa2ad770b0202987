"""The endpoints of channels: opening them, sending rows, asking how far they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio.to_thread
import structlog
from anyio import CapacityLimiter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from snowmelt.core import errors
from snowmelt.core.error_json import error_to_json
from snowmelt.core.errors import SnowmeltError
from snowmelt.ingest.channels import wire
from snowmelt.ingest.channels.errors import ChannelInvalidError
from snowmelt.ingest.channels.ports import ChannelBatch, ChannelDoor, Ticket
from snowmelt.runtime.session import Session
from snowmelt.serve.protocol.bodies import read_body, read_bytes, too_large

_PARALLEL = 32
"""Requests that are worked on at once: one that waits for a table must not keep statements waiting."""
_LONGEST_WAIT = 10.0
_STATUS = {
    "390111": 401, "390189": 400, ChannelInvalidError.CODE: 409, "003001": 403, "002003": 404, "0007": 429,
    "300002": 500, "370002": 503, "370003": 503, too_large().code: 413,
}  # fmt: skip
_log = structlog.get_logger(__name__)
Work = Callable[[ChannelDoor], dict[str, Any]]


class ChannelEndpoints:
    def __init__(self, session_of: Callable[[Request], Session]) -> None:
        self._session_of = session_of
        self._limiter: CapacityLimiter | None = None

    def routes(self) -> list[Route]:
        post = ["POST"]
        at = "/api/v1/channels"
        return [
            Route(at, self.open, methods=post),
            Route(f"{at}/statuses", self.statuses, methods=post),
            Route(f"{at}/drop", self.drop, methods=post),
            Route(f"{at}/{{channel_id}}", self.status, methods=["GET"]),
            Route(f"{at}/{{channel_id}}", self.close, methods=["DELETE"]),
            Route(f"{at}/{{channel_id}}/rows", self.append, methods=post),
            Route(f"{at}/{{channel_id}}/wait", self.wait, methods=post),
            Route(f"{at}/{{channel_id}}/flush", self.flush, methods=post),
        ]

    async def open(self, request: Request) -> Response:
        async def read() -> Work:
            asked = wire.open_request_from_json(await read_body(request))
            return lambda door: wire.opened_to_json(door.open(asked))

        return await self._answer(request, read)

    async def append(self, request: Request) -> Response:
        async def read() -> Work:
            ticket, number = _ticket(request), _number(request, "number")
            body = await read_bytes(request)
            is_arrow = request.headers.get("content-type", "").split(";")[0].strip() == wire.ARROW
            start, end = request.query_params.get("start"), request.query_params.get("end")

            def work(door: ChannelDoor) -> dict[str, Any]:
                parts = wire.parts_from_arrow(body) if is_arrow else wire.parts_from_json(body)
                return wire.appended_to_json(door.append(ticket, ChannelBatch(number, parts, start, end)))

            return work

        return await self._answer(request, read)

    async def wait(self, request: Request) -> Response:
        async def read() -> Work:
            ticket, number = _ticket(request), _number(request, "number")
            seconds = min(_seconds(request), _LONGEST_WAIT)
            return lambda door: {"committed": door.wait(ticket, number, seconds)}

        return await self._answer(request, read)

    async def flush(self, request: Request) -> Response:
        async def read() -> Work:
            ticket = _ticket(request)
            return _acting(lambda door: door.flush(ticket))

        return await self._answer(request, read)

    async def status(self, request: Request) -> Response:
        async def read() -> Work:
            ticket = _ticket(request)
            return lambda door: {"status": wire.status_to_json(door.status(ticket))}

        return await self._answer(request, read)

    async def close(self, request: Request) -> Response:
        async def read() -> Work:
            ticket = _ticket(request)
            return _acting(lambda door: door.close(ticket))

        return await self._answer(request, read)

    async def statuses(self, request: Request) -> Response:
        async def read() -> Work:
            body = await read_body(request)
            table, names = wire.text_of(body, "table"), body.get("channels")
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise wire.malformed("'channels' is a list of names")

            def work(door: ChannelDoor) -> dict[str, Any]:
                found = door.statuses(table, names)
                return {"statuses": {name: wire.status_to_json(status) for name, status in found.items()}}

            return work

        return await self._answer(request, read)

    async def drop(self, request: Request) -> Response:
        async def read() -> Work:
            body = await read_body(request)
            table, name = wire.text_of(body, "table"), wire.text_of(body, "channel")
            return _acting(lambda door: door.drop(table, name))

        return await self._answer(request, read)

    # -- answering ------------------------------------------------------------------------------------------------

    async def _answer(self, request: Request, read: Callable[[], Any]) -> Response:
        """Reads the request, does its work in a thread of the channels' own, and says what came of it."""
        if self._limiter is None:
            self._limiter = CapacityLimiter(_PARALLEL)
        try:
            session = self._session_of(request)
            work: Work = await read()
            door = session.channel_door()
            return JSONResponse(await anyio.to_thread.run_sync(work, door, limiter=self._limiter))
        except SnowmeltError as error:
            return _failure(error)
        except Exception as error:
            # A defect of ours: the log has all of it, the client an error like any other.
            _log.exception("channel request failed unexpectedly")
            return _failure(errors.internal(f"{type(error).__name__} in this request. The log has the details."))


def _failure(error: SnowmeltError) -> Response:
    return JSONResponse({"error": error_to_json(error)}, status_code=_STATUS.get(error.code, 422))


def _acting(act: Callable[[ChannelDoor], None]) -> Work:
    """Work that has nothing to say but that it was done."""

    def work(door: ChannelDoor) -> dict[str, Any]:
        act(door)
        return {"done": True}

    return work


def _ticket(request: Request) -> Ticket:
    return Ticket(request.path_params["channel_id"], _number(request, "sequencer"))


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "")
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise wire.malformed(f"'{name}' is a number")
    return int(text)


def _seconds(request: Request) -> float:
    try:
        found = float(request.query_params.get("seconds", ""))
    except ValueError:
        raise wire.malformed("'seconds' is a number") from None
    return found if found > 0 else 0.0
