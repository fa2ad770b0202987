"""kill -9 between any two steps of upkeep, with several sessions at work beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.driver import Directory, Zygote

PLACES = (
    "rows-put-together",
    "files-replaced",
    "versions-forgotten",
    "before-file-removed",
    "files-removed",
    "before-entry-removed",
    "checkpoint-drafted",
    "checkpoint-linked",
    "log-cleaned",
    "history-trimmed",
    "inside-flip",
)
LATE = ("before-entry-removed", "checkpoint-drafted", "checkpoint-linked")


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    started = Zygote()
    yield started
    started.close()


@pytest.mark.parametrize("place", PLACES)
def test_killed_at_every_step_of_upkeep(zygote: Zygote, tmp_path: Path, place: str) -> None:
    directory = Directory(zygote, tmp_path, seed=3, upkeep=True)
    # Enough commits for a checkpoint, before which the log can be cleaned.
    units = 40 if place in LATE else 12
    for nth in (1, 1 if place in LATE else 4):
        directory.live(kill_at=f"{place}:{nth}", units=units)
    directory.rest()
    assert directory.deaths, f"{place} was never reached"


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(20, 24))
def test_killed_at_any_time_beside_upkeep(zygote: Zygote, tmp_path: Path, seed: int) -> None:
    directory = Directory(zygote, tmp_path, seed, upkeep=True)
    directory.live(units=0)
    for _ in range(40):
        directory.live(kill_after=directory.random.uniform(0.05, 2), units=200)
    directory.rest()
    assert directory.deaths
