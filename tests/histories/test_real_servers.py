"""Eight clients at a real server that is killed: the isolation that is promised is the one that is found."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from tests.crash.serving import await_that, served
from tests.crash.test_processes import small_spark
from tests.histories.checking import Fate, Transaction, anomalies
from tests.histories.recording import CREATE, Client, lists

CLIENTS = 8
LIVES = 5
"""All but the last end by kill -9."""


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(3))
def test_no_phenomenon_in_the_history_of_many_lives(tmp_path: Path, seed: int) -> None:
    data, config = tmp_path / "data", small_spark(tmp_path / "snowmelt.toml")
    chance, values = random.Random(seed), itertools.count(1)
    history: list[Transaction] = []
    for life in range(LIVES):
        with served(data, config) as server:
            for statement in CREATE if life == 0 else ():
                server.session.execute(statement)
            sessions = [server.new_session() for _ in range(CLIENTS)]
            clients = [
                Client(session, f"{life}.{number}", values, chance.randrange(1 << 30))
                for number, session in enumerate(sessions)
            ]
            for client in clients:
                client.start()
            wanted = chance.randint(60, 120)
            await_that(lambda: sum(len(each.history) for each in clients) >= wanted or _failed(clients), "they write")  # noqa: B023
            if life < LIVES - 1:
                server.kill()
            history += [each for client in clients for each in client.finish()]
            for session in sessions:
                session.close()
    with served(data, config) as server:
        final = lists(server.session)
        server.stop()
    fates = [each.fate for each in history]
    assert fates.count(Fate.COMMITTED) > len(fates) / 2, [str(each) for each in history if each.fate is Fate.ABORTED]
    assert anomalies(history, final) == []


def _failed(clients: list[Client]) -> bool:
    return any(client.failure is not None for client in clients)
