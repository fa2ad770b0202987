"""Channels of a server, through HTTP."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
from tenacity import Retrying, retry_if_exception_type, stop_before_delay, wait_exponential

from snowmelt.core.error_json import error_from_json
from snowmelt.core.errors import SnowmeltError, configuration
from snowmelt.ingest.channels import errors, wire
from snowmelt.ingest.channels.ports import Appended, ChannelBatch, ChannelStatus, OpenedChannel, OpenRequest, Ticket

_SESSIONS = "/api/v1/sessions"
_CHANNELS = "/api/v1/channels"
_PATIENCE = 60.0
"""Seconds in which a request whose answer got lost is sent again."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0


@dataclass(frozen=True, slots=True)
class Server:
    """Where a server is, and as whom to log in. Secrets are left out where it is printed."""

    url: str
    user: str
    password: str = field(repr=False)
    role: str | None = None
    database: str | None = None
    schema: str | None = None
    verify: bool | str = True
    """Whether the server's certificate is checked; a path names the certificates that vouch for it."""


class HttpDoor:
    """A `ChannelDoor` whose other side is a server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        verify: Any = server.verify
        self._http = httpx.Client(base_url=server.url, timeout=httpx.Timeout(_PATIENCE, connect=10.0), verify=verify)
        self._lock = threading.Lock()
        self._log_in()

    def _log_in(self) -> None:
        server = self._server
        with self._lock:
            body = {
                "user": server.user, "password": server.password, "role": server.role, "database": server.database,
                "schema": server.schema,
            }  # fmt: skip
            answer = self._send(lambda: self._http.post(_SESSIONS, json=body))
            self._http.headers["authorization"] = f"Bearer {_content(answer)['token']}"

    # -- the door -------------------------------------------------------------------------------------------------

    def open(self, request: OpenRequest) -> OpenedChannel:
        body = wire.open_request_to_json(request)
        return wire.opened_from_json(self._asked(lambda: self._http.post(_CHANNELS, json=body)))

    def append(self, ticket: Ticket, batch: ChannelBatch) -> Appended:
        content = wire.parts_to_arrow(batch.parts)
        asked = {"number": str(batch.number), **_present(start=batch.start_token, end=batch.end_token)}
        answer = self._ticketed(
            ticket,
            lambda: self._http.post(
                f"{_CHANNELS}/{ticket.channel_id}/rows", content=content, headers={"content-type": wire.ARROW},
                params={**_of(ticket), **asked},
            ),
        )  # fmt: skip
        return wire.appended_from_json(answer)

    def wait(self, ticket: Ticket, number: int, seconds: float) -> bool:
        asked = {"number": str(number), "seconds": str(seconds)}
        answer = self._ticketed(
            ticket,
            lambda: self._http.post(f"{_CHANNELS}/{ticket.channel_id}/wait", params={**_of(ticket), **asked}),
        )
        return bool(answer["committed"])

    def flush(self, ticket: Ticket) -> None:
        self._ticketed(ticket, lambda: self._http.post(f"{_CHANNELS}/{ticket.channel_id}/flush", params=_of(ticket)))

    def status(self, ticket: Ticket) -> ChannelStatus:
        answer = self._ticketed(ticket, lambda: self._http.get(f"{_CHANNELS}/{ticket.channel_id}", params=_of(ticket)))
        return wire.status_from_json(answer["status"])

    def statuses(self, table: str, channels: Sequence[str]) -> dict[str, ChannelStatus]:
        body = {"table": table, "channels": list(channels)}
        found = self._asked(lambda: self._http.post(f"{_CHANNELS}/statuses", json=body))
        return {name: wire.status_from_json(status) for name, status in found["statuses"].items()}

    def close(self, ticket: Ticket) -> None:
        self._ticketed(ticket, lambda: self._http.delete(f"{_CHANNELS}/{ticket.channel_id}", params=_of(ticket)))

    def drop(self, table: str, channel: str) -> None:
        body = {"table": table, "channel": channel}
        self._asked(lambda: self._http.post(f"{_CHANNELS}/drop", json=body))

    def leave(self) -> None:
        """Ends the session on the server."""
        try:
            self._http.delete(f"{_SESSIONS}/current")
        except httpx.HTTPError:
            return  # it ended with its server
        finally:
            self._http.close()

    # -- requests -------------------------------------------------------------------------------------------------

    def _asked(self, request: Callable[[], httpx.Response]) -> dict[str, Any]:
        """A request that any session can make: when ours ended with its server, another one does."""
        answer = self._send(request)
        if answer.status_code == httpx.codes.UNAUTHORIZED:
            self._log_in()
            answer = self._send(request)
        return _content(answer)

    def _ticketed(self, ticket: Ticket, request: Callable[[], httpx.Response]) -> dict[str, Any]:
        """A request about an open channel. Without an answer its progress is unknown: it must be opened again."""
        try:
            answer = self._send(request)
        except SnowmeltError as error:
            raise errors.ChannelInvalidError(error.message) from error
        if answer.status_code == httpx.codes.UNAUTHORIZED:
            raise errors.not_open(ticket.channel_id)
        return _content(answer)

    def _send(self, request: Callable[[], httpx.Response]) -> httpx.Response:
        """Sends, and sends again while no answer comes: the server knows a batch that it has already."""
        retrying = Retrying(
            retry=retry_if_exception_type(httpx.TransportError),
            stop=stop_before_delay(_PATIENCE),
            wait=wait_exponential(multiplier=_FIRST_PAUSE, max=_LONGEST_PAUSE),
            reraise=True,
        )
        try:
            return retrying(request)
        except httpx.TransportError as error:
            raise configuration(f"The server at {self._server.url} does not answer: {error}.") from None


def _of(ticket: Ticket) -> dict[str, str]:
    return {"sequencer": str(ticket.client_sequencer)}


def _present(**values: str | None) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}


def _content(answer: httpx.Response) -> dict[str, Any]:
    try:
        body = answer.json()
    except ValueError:
        body = None
    if not isinstance(body, Mapping):
        raise configuration(f"{answer.url.host} answered {answer.status_code}, and not as a Snowmelt server does.")
    if "error" in body:
        error = error_from_json(body["error"])
        if error.code == errors.ChannelInvalidError.CODE:
            raise errors.ChannelInvalidError(error.message, hint=error.hint)
        raise error
    return dict(body)
