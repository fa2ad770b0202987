"""Sockets that the server listens on."""

from __future__ import annotations

import asyncio
import socket
from contextlib import closing

from snowmelt.serve.run import listen


def test_answers_are_not_held_back_for_acknowledgements() -> None:
    """Without TCP_NODELAY a client waits 40 ms longer for every answer."""

    async def delay_is_off() -> bool:
        found: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        def connected(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted = writer.get_extra_info("socket")
            found.set_result(bool(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
            writer.close()

        with closing(listen("127.0.0.1", 0)) as listener:
            async with await asyncio.start_server(connected, sock=listener):
                _, client = await asyncio.open_connection(*listener.getsockname())
                client.close()
                return await asyncio.wait_for(found, 30)

    assert asyncio.run(delay_is_off())
