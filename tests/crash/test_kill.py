"""kill -9 between any two steps of a commit, with several sessions at work, over and over."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.driver import Directory, Zygote

COMMIT_PLACES = (
    "before-commit",
    "data-file-written",
    "log-entry-written",
    "log-entry-linked",
    "after-commit",
    "before-flip",
    "inside-flip",
    "after-flip",
)
TABLE_PLACES = ("folder-made", "before-publish", "inside-publish", "after-publish")
UNDO_PLACES = ("before-restore", "after-restore", "before-settled", "after-settled")
"""Reached by ROLLBACK, and by recovery when there is something to undo."""


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    started = Zygote()
    yield started
    started.close()


def kill_at(zygote: Zygote, folder: Path, place: str, seed: int, lives: int) -> None:
    directory = Directory(zygote, folder, seed)
    chance = random.Random(seed)
    for _ in range(lives):
        directory.live(kill_at=f"{place}:{chance.randint(1, 12)}")
    directory.rest()
    assert directory.deaths >= lives // 2, f"{place} was hardly ever reached"


@pytest.mark.parametrize("place", [*COMMIT_PLACES, *TABLE_PLACES, *UNDO_PLACES])
def test_killed_at_every_step(zygote: Zygote, tmp_path: Path, place: str) -> None:
    kill_at(zygote, tmp_path, place, seed=1, lives=2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 13))
@pytest.mark.parametrize("place", [*COMMIT_PLACES, *TABLE_PLACES, *UNDO_PLACES])
def test_killed_at_every_step_for_long(zygote: Zygote, tmp_path: Path, place: str, seed: int) -> None:
    kill_at(zygote, tmp_path, place, seed, lives=10)


def kill_at_random(zygote: Zygote, folder: Path, seed: int, lives: int) -> None:
    directory = Directory(zygote, folder, seed)
    directory.live(units=0)
    for _ in range(lives):
        directory.live(kill_after=directory.random.uniform(0.02, 0.5), units=200)
    directory.rest()
    assert directory.deaths >= lives // 2


@pytest.mark.parametrize("seed", range(2))
def test_killed_at_any_time(zygote: Zygote, tmp_path: Path, seed: int) -> None:
    kill_at_random(zygote, tmp_path, seed, lives=10)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(100, 104))
def test_killed_at_any_time_for_long(zygote: Zygote, tmp_path: Path, seed: int) -> None:
    kill_at_random(zygote, tmp_path, seed, lives=100)


@pytest.mark.parametrize("left_at", ["after-commit", "before-flip"])
def test_killed_in_recovery_again_and_again(zygote: Zygote, tmp_path: Path, left_at: str) -> None:
    directory = Directory(zygote, tmp_path, seed=5)
    directory.live(units=10)
    for round_ in range(2):
        assert directory.live(kill_at=f"{left_at}:{round_ + 3}")
        for place in (*UNDO_PLACES[:3], *UNDO_PLACES[:3], UNDO_PLACES[3]):
            assert directory.live(kill_at=f"{place}:1", units=0), f"nothing to recover at {place}"
        assert not directory.live(units=5)
    directory.rest()


@pytest.mark.parametrize("place", ["folder-made", "before-publish", "inside-publish"])
def test_killed_while_it_removes_tables_that_never_were(zygote: Zygote, tmp_path: Path, place: str) -> None:
    directory = Directory(zygote, tmp_path, seed=6)
    assert directory.live(kill_at=f"{place}:4")
    assert directory.live(kill_at="before-orphan-removed:1", units=0)
    assert directory.live(kill_at="before-orphan-removed:1", units=0)
    directory.rest()


@pytest.mark.parametrize("left_at", ["after-commit", "before-flip"])
def test_others_rows_survive_recovery_and_its_death(zygote: Zygote, tmp_path: Path, left_at: str) -> None:
    directory = Directory(zygote, tmp_path, seed=7, shared_only=True)
    directory.live(units=10)
    for round_ in range(3):
        directory.write_from_outside()
        assert directory.live(kill_at=f"{left_at}:{2 + round_}", units=20)
        directory.write_from_outside()
        for place in ("between-restore-and-replay", "between-restore-and-replay", "after-restore", "before-settled"):
            assert directory.live(kill_at=f"{place}:1", units=0)
        directory.rest()


@pytest.mark.slow
def test_killed_with_spark_at_work(zygote: Zygote, tmp_path: Path) -> None:
    directory = Directory(zygote, tmp_path, seed=8, spark=True)
    directory.live(kill_at="table-filled:2", units=12)
    directory.live(kill_after=None, units=2)
    directory.spark = False
    directory.rest()


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(2))
def test_killed_with_spark_at_work_for_long(zygote: Zygote, tmp_path: Path, seed: int) -> None:
    directory = Directory(zygote, tmp_path, seed, spark=True)
    for place in ("table-created", "table-filled", *COMMIT_PLACES):
        directory.live(kill_at=f"{place}:{directory.random.randint(1, 8)}", units=12)
    for _ in range(6):
        directory.live(kill_after=directory.random.uniform(8, 25), units=1000)
    directory.spark = False
    directory.rest()
