"""kill -9 of a process that writes through channels, at every step of a commit and at random, over and over.

Every life opens its channels, reads their tokens and sends what comes after them. In the end the table has every row
once, and so has the error table.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.features.channels.committing import application
from tests.crash.channel_child import BAD
from tests.crash.driver import Zygote
from tests.crash.test_kill import COMMIT_PLACES, UNDO_PLACES
from tests.features.channels.conftest import Lake

CHANNELS = ("one", "two")
_ENOUGH = 200
"""Lives after which something must be wrong."""


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    started = Zygote("tests.crash.channel_child")
    yield started
    started.close()


@dataclass
class Lives:
    zygote: Zygote
    folder: Path
    rows: int
    deaths: int = field(default=0)

    def live(self, kill_at: str | None = None, kill_after: float | None = None) -> bool:
        """Whether it got to its end."""
        error = self.folder / "error.txt"
        order = {
            "data": str(self.folder / "data"), "channels": CHANNELS, "rows": self.rows, "kill_at": kill_at,
            "output": str(self.folder / "output.txt"), "error": str(error),
        }  # fmt: skip
        status = self.zygote.run(order, kill_after)
        assert not error.exists(), error.read_text()
        self.deaths += status < 0
        return status == 0

    def check(self) -> None:
        with open_account(self.folder / "data") as account:
            lake = Lake(account, account.session())
            found = sorted((row["CHANNEL"], row["ID"]) for row in lake.rows("T"))
            assert found == sorted((name, n) for name in CHANNELS for n in range(self.rows) if n % BAD)
            rejected = sorted((row["CHANNEL_NAME"], row["ROW_DATA"]["raw"]) for row in lake.rows("T_CHANNEL_ERRORS"))
            assert rejected == sorted((name, str(n)) for name in CHANNELS for n in range(0, self.rows, BAD))
            with account.state.read() as state:
                channels = state.channels.of_tables([lake.table("T").id])
            for channel in channels:
                assert channel.offset_token == str(self.rows - 1)
                assert channel.rows_inserted + channel.rows_rejected == self.rows
                mark = account.store.app_version(lake.location("T"), application(channel.id))
                assert mark == channel.row_sequencer, "the Delta log and the state store agree"


def kill_at(lives: Lives, place: str, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(_ENOUGH):
        if lives.live(kill_at=f"{place}:{chance.randint(1, 6)}"):
            break
    else:
        lives.live()
    lives.check()
    assert lives.deaths > 0, f"{place} was never reached"


@pytest.mark.parametrize("place", ["before-flip", "after-flip"])
def test_channels_killed_in_a_commit(zygote: Zygote, tmp_path: Path, place: str) -> None:
    kill_at(Lives(zygote, tmp_path, rows=80), place, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("place", COMMIT_PLACES)
def test_channels_killed_at_every_step_for_long(zygote: Zygote, tmp_path: Path, place: str, seed: int) -> None:
    kill_at(Lives(zygote, tmp_path, rows=600), place, seed)


@pytest.mark.slow
@pytest.mark.parametrize("place", UNDO_PLACES)
def test_channels_killed_while_recovering(zygote: Zygote, tmp_path: Path, place: str) -> None:
    """First dies with a commit that is not visible, then while that is undone."""
    lives = Lives(zygote, tmp_path, rows=300)
    for _ in range(10):
        lives.live(kill_at="before-flip:4")
        lives.live(kill_at=place)
    assert lives.live()
    lives.check()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_channels_killed_at_random(zygote: Zygote, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    lives = Lives(zygote, tmp_path, rows=5_000)
    for _ in range(60):
        if lives.live(kill_after=chance.uniform(0.05, 1.5)):
            break
    else:
        assert lives.live()
    lives.check()
