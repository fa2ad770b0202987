"""A hundred clients in a process of their own, so that they do not take the server's time.

`python -m benchmarks.door_load PORT PASSWORD CONNECTIONS SECONDS ROWS` prints {"ms": [...], "errors": [...]} as JSON.
The clients speak the protocol themselves: what a client library adds is the library's, not the server's.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
import uuid
from typing import Any

import httpx


async def _client(
    http: httpx.AsyncClient, password: str, until: float, rows: int, seed: int, found: dict[str, Any]
) -> None:
    data = {"LOGIN_NAME": "admin", "PASSWORD": password, "CLIENT_APP_ID": "load"}
    token = (await http.post("/session/v1/login-request", json={"data": data})).json()["data"]["token"]
    headers = {"authorization": f'Snowflake Token="{token}"'}
    chance = random.Random(seed)
    while time.monotonic() < until:
        sql = statement(chance, rows)
        began = time.perf_counter()
        address = f"/queries/v1/query-request?requestId={uuid.uuid4()}"
        answer = (await http.post(address, json={"sqlText": sql}, headers=headers)).json()
        found["ms"].append((time.perf_counter() - began) * 1000)
        if not answer["success"]:
            found["errors"].append(answer["message"])
    await http.post("/session?delete=true", headers=headers)


def statement(chance: random.Random, rows: int) -> str:
    """Small queries as tools send them: one row by key, a count, a constant."""
    kinds = (
        f"SELECT id, customer, status FROM events WHERE id = {chance.randrange(rows)}",
        f"SELECT COUNT(*) FROM events WHERE id < {chance.randrange(1, 100)}",
        f"SELECT {chance.randrange(1000)} AS n",
    )
    return chance.choice(kinds)


async def _load(port: int, password: str, connections: int, seconds: float, rows: int) -> dict[str, Any]:
    found: dict[str, Any] = {"ms": [], "errors": []}
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=300, limits=limits) as http:
        until = time.monotonic() + seconds
        await asyncio.gather(*[_client(http, password, until, rows, seed, found) for seed in range(connections)])
    return found


if __name__ == "__main__":
    port, password, connections, seconds, rows = sys.argv[1:]
    print(json.dumps(asyncio.run(_load(int(port), password, int(connections), float(seconds), int(rows)))))
