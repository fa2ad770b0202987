"""HTTP connections with a limit on how long a request's head may take, which uvicorn has none for."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEAD_BYTES = 64 * 1024
"""A longer head is refused with 400."""


class HttpConnection(H11Protocol):
    """Closes a connection whose first request does not come, or whose next one has begun and does not get on."""

    head_seconds = 20.0
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        if self._waits_for_head():
            self._start_timer()
        super().data_received(data)
        if not self._waits_for_head():
            self._stop_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

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
