"""Many clients that fail to log in, and one that can."""

from __future__ import annotations

import asyncio
import time

import httpx
import pytest

from snowmelt.runtime.rights.attempts import FAILURES
from tests.serve.callers import PASSWORD, Serving

_FAILING = 200


def _path_and_body(door: str, user: str, password: str) -> tuple[str, dict[str, object]]:
    if door == "own":
        return "/api/v1/sessions", {"user": user, "password": password}
    return "/session/v1/login-request", {"data": {"LOGIN_NAME": user, "PASSWORD": password}}


async def _log_in(client: httpx.AsyncClient, door: str, user: str, password: str) -> tuple[bool, float]:
    path, body = _path_and_body(door, user, password)
    started = time.monotonic()
    answer = (await client.post(path, json=body)).json()
    return "token" in answer or bool(answer.get("success")), time.monotonic() - started


@pytest.mark.parametrize("door", ["own", "snowflake"])
@pytest.mark.parametrize("names", ["one", pytest.param("many", marks=pytest.mark.slow)])
def test_who_fails_to_log_in_does_not_delay_who_can(serving: Serving, door: str, names: str) -> None:
    async def scene() -> tuple[float, float, list[tuple[bool, float]]]:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=serving.url, timeout=280, limits=limits) as client:
            went_well, alone = await _log_in(client, door, "ann", PASSWORD)
            assert went_well
            failing = [
                asyncio.create_task(_log_in(client, door, f"{door}{names}{n if names == 'many' else ''}", "wrong"))
                for n in range(_FAILING)
            ]
            await asyncio.sleep(0)
            while not any(task.done() for task in failing):
                await asyncio.wait(failing, return_when=asyncio.FIRST_COMPLETED)
            waiting = sum(not task.done() for task in failing)
            went_well, beside = await _log_in(client, door, "ann", PASSWORD)
            assert went_well and waiting > _FAILING / 4
            return alone, beside, list(await asyncio.gather(*failing))

    alone, beside, failed = asyncio.run(scene())
    assert not any(success for success, _ in failed)
    assert beside < 5 + 10 * alone, (alone, beside)


def test_guesses_at_the_same_time_get_no_more_than_one_after_the_other(serving: Serving) -> None:
    """The right password is among them, behind more wrong ones than are allowed."""
    serving.admin().execute(f"CREATE USER guessed PASSWORD = '{PASSWORD}'")

    async def scene() -> list[str | None]:
        async with httpx.AsyncClient(base_url=serving.url, timeout=280) as client:
            bodies = [_path_and_body("snowflake", "guessed", f"guess {n}")[1] for n in range(40)]
            answers = await asyncio.gather(
                *(client.post("/session/v1/login-request", json=body) for body in bodies)
            )  # fmt: skip
            return [answer.json()["code"] for answer in answers]

    codes = asyncio.run(scene())
    assert (codes.count("390100"), codes.count("390102")) == (FAILURES, 40 - FAILURES)
