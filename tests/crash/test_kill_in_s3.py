"""kill -9 at work on tables in S3: nothing acknowledged is lost, nothing is there twice, nothing is half done."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.driver import Zygote
from tests.crash.test_kill import COMMIT_PLACES, TABLE_PLACES, UNDO_PLACES, kill_at, kill_at_random
from tests.support import on_s3


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with on_s3.server_for_processes():
        started = Zygote()
        yield started
        started.close()


@pytest.mark.parametrize("place", ["log-entry-written", "log-entry-linked", "inside-flip", "after-restore"])
def test_killed_at_a_step(zygote: Zygote, tmp_path: Path, place: str) -> None:
    kill_at(zygote, tmp_path, place, seed=1, lives=2)


@pytest.mark.slow
@pytest.mark.parametrize("place", [*COMMIT_PLACES, *TABLE_PLACES, *UNDO_PLACES])
def test_killed_at_every_step(zygote: Zygote, tmp_path: Path, place: str) -> None:
    kill_at(zygote, tmp_path, place, seed=2, lives=10)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(200, 202))
def test_killed_at_any_time(zygote: Zygote, tmp_path: Path, seed: int) -> None:
    kill_at_random(zygote, tmp_path, seed, lives=100)
