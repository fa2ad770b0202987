"""A hundred clients in a process of their own, so that they do not take the server's time.

`python -m benchmarks.door_load PORT TOKEN CONNECTIONS SECONDS ROWS [SQL]` prints {"ms": [...], "errors": [...],
"processor": …} as JSON; the last is the seconds of processor time that the clients took. Without a statement they send
small ones of several kinds. The clients speak Snowflake's protocol as plain HTTP, one connection each: what a client
library adds is the library's, not the server's. They log in before the time is taken, by a token, since comparing a
password takes as long as a hundred small statements.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
import uuid
from collections.abc import Iterator
from typing import Any


class _Http:
    """One connection that is kept."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._headers = ""

    async def open(self, token: str) -> None:
        self._in, self._out = await asyncio.open_connection("127.0.0.1", self._port)
        data = {
            "LOGIN_NAME": "admin", "TOKEN": token, "AUTHENTICATOR": "PROGRAMMATIC_ACCESS_TOKEN",
            "CLIENT_APP_ID": "load",
        }  # fmt: skip
        answer = await self.post("/session/v1/login-request", {"data": data})
        self._headers = f'authorization: Snowflake Token="{answer["data"]["token"]}"\r\n'

    async def post(self, address: str, body: dict[str, Any]) -> Any:
        sent = json.dumps(body).encode()
        head = f"POST {address} HTTP/1.1\r\nhost: localhost\r\n{self._headers}content-length: {len(sent)}\r\n\r\n"
        self._out.write(head.encode() + sent)
        answered = await self._in.readuntil(b"\r\n\r\n")
        length = int(answered.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        return json.loads(await self._in.readexactly(length))

    async def close(self) -> None:
        await self.post("/session?delete=true", {})
        self._out.close()


async def _client(http: _Http, until: float, texts: Iterator[str], found: dict[str, Any]) -> None:
    while time.monotonic() < until:
        began = time.perf_counter()
        answer = await http.post(f"/queries/v1/query-request?requestId={uuid.uuid4()}", {"sqlText": next(texts)})
        found["ms"].append((time.perf_counter() - began) * 1000)
        if not answer["success"]:
            found["errors"].append(answer["message"])


def _texts(seed: int, rows: int, text: str | None) -> Iterator[str]:
    chance = random.Random(seed)
    while True:
        yield text or statement(chance, rows)


def statement(chance: random.Random, rows: int) -> str:
    """Small queries as tools send them: one row by key, a count, a constant."""
    kinds = (
        f"SELECT id, customer, status FROM events WHERE id = {chance.randrange(rows)}",
        f"SELECT COUNT(*) FROM events WHERE id < {chance.randrange(1, 100)}",
        f"SELECT {chance.randrange(1000)} AS n",
    )
    return chance.choice(kinds)


async def _load(
    port: int, token: str, connections: int, seconds: float, rows: int, text: str | None = None
) -> dict[str, Any]:
    found: dict[str, Any] = {"ms": [], "errors": []}
    clients = [_Http(port) for _ in range(connections)]
    await asyncio.gather(*[http.open(token) for http in clients])
    before, until = time.process_time(), time.monotonic() + seconds
    await asyncio.gather(*[_client(http, until, _texts(seed, rows, text), found) for seed, http in enumerate(clients)])
    found["processor"] = time.process_time() - before
    await asyncio.gather(*[http.close() for http in clients])
    return found


if __name__ == "__main__":
    port, token, connections, seconds, rows, *text = sys.argv[1:]
    print(json.dumps(asyncio.run(_load(int(port), token, int(connections), float(seconds), int(rows), *text))))
