"""HTTP connections with limits on how long a request's head may take and on how large it may be.

uvicorn reads HTTP with llhttp, the parser of Node.js. Neither has a limit for what is no body: heads, what stands
between the pieces of a chunked body, and what stands behind it.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

HEAD_BYTES = 64 * 1024
"""More than this, and no end of it in sight, is refused with 400."""
_PIPELINED = 16
"""Requests that may come before the one ahead of them was answered."""
_TWO_HOSTS = "A request has one Host header."


class _RefusedHeadError(Exception):
    """Raised in a call of the parser, which ends with 400."""


class HttpConnection(HttpToolsProtocol):
    """Closes a connection whose first request does not come, or whose next one has begun and does not get on."""

    head_seconds = 20.0
    _head_timer: asyncio.TimerHandle | None = None
    _unfinished = 0
    """Bytes since something of a request was complete: its head, a piece of its body, all of it."""
    _has_head = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        self._unfinished += len(data)
        super().data_received(data)
        if not self._waits_for_head():
            self._stop_timer()
        elif self._head_timer is None:
            self._start_timer()
        if self._unfinished > HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("The request's head is too large.")

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    # -- the parser's calls ---------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._has_head = False

    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers behind a chunked body do not count: the headers were checked before it.
        if not self._has_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._unfinished, self._has_head = 0, True
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (hosts == 0 and self.parser.get_http_version() == "1.1"):
            raise _RefusedHeadError(_TWO_HOSTS)
        if len(self.pipeline) >= _PIPELINED:
            raise _RefusedHeadError
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unfinished = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unfinished = 0
        super().on_message_complete()

    # -- time -----------------------------------------------------------------------------------------------------

    def _waits_for_head(self) -> bool:
        """Also while the rest of a body comes that nobody reads: that must not go on for ever either."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def _start_timer(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_seconds, self._give_up)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing():
            self.transport.close()
