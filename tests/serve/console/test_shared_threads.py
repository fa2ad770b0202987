"""One user's work never takes all threads that users share, and the designer thinks about a bounded design only."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.serve.console.shared_threads import SharedThreads
from snowmelt.serve.limits import Limits
from tests.serve.callers import Serving
from tests.serve.console.test_api import Visitor

_SECONDS = 30


@pytest.fixture
def threads() -> Iterator[SharedThreads]:
    made = SharedThreads(4, "shared")
    yield made
    made.stop()


def test_others_find_a_thread_while_one_user_floods_them(threads: SharedThreads) -> None:
    gate, at_work, lock = threading.Event(), [0, 0], threading.Lock()
    done = threading.Semaphore(0)

    def flood() -> None:
        with lock:
            at_work[0] += 1
            at_work[1] = max(at_work)
        gate.wait(_SECONDS)
        with lock:
            at_work[0] -= 1
        done.release()

    for _ in range(50):
        threads.submit("MALLORY", flood)
    answered = threading.Event()
    threads.submit("ANN", answered.set)
    assert answered.wait(_SECONDS) and not gate.is_set()
    gate.set()
    assert all(done.acquire(timeout=_SECONDS) for _ in range(50))
    assert at_work[1] == 2, "half of the threads"


def test_who_asks_for_more_than_may_wait_is_refused(threads: SharedThreads) -> None:
    gate = threading.Event()

    async def ask() -> list[object]:
        asked = [asyncio.ensure_future(threads.run("ANN", lambda: gate.wait(_SECONDS), 3)) for _ in range(9)]
        refused = await asyncio.wait(asked, return_when=asyncio.FIRST_EXCEPTION)
        assert await threads.run("BOB", lambda: 1, 3) == 1
        gate.set()
        assert refused[0]
        return await asyncio.gather(*asked, return_exceptions=True)

    found = asyncio.run(ask())
    assert found.count(True) == 5, "two at work, three that wait"
    assert {item.code for item in found if isinstance(item, SnowmeltError)} == {"370002"}


def test_a_design_is_bounded(shop: Serving) -> None:
    visitor = Visitor(shop)
    state: dict[str, Any] = visitor.http.post("/design", json={"description": "orders from postgres"}).json()["state"]

    def answer(tables: int, columns: int, description: str = "") -> int:
        described = [{"name": f"c{index}"} for index in range(columns)]
        source = {"name": "pg", "kind": "postgres"}
        source |= {"tables": [{"name": f"public.t{index}", "columns": described} for index in range(tables)]}
        changed = {**state, "requirements": {"sources": [source]}, "description": description}
        return visitor.http.post("/design", json={"state": changed}).status_code

    assert answer(20, 20) == 200
    assert (answer(300, 1), answer(10, 1_000), answer(1, 1, "x" * 50_000)) == (400, 400, 400)
    limits = Limits()
    for path in ("/api/v1/console/design", "/api/v1/console/design/archive"):
        assert limits.bytes_of(path) == limits.public_bytes
        large = visitor.http.post(path.removeprefix("/api/v1/console"), content=b" " * (limits.public_bytes + 1))
        assert large.status_code == 413
