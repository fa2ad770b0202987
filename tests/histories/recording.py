"""Clients of a real server that append to lists and read them, and write down what they did and heard."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Iterator, Sequence

from snowmelt.core.errors import SnowmeltError
from snowmelt.serve.client import RemoteSession
from tests.histories.checking import Append, Fate, Read, Transaction
from tests.support.waiting import DEADLINE

TABLES = ("l1", "l2", "l3")
KEYS = tuple(f"{table}.{letter}" for table in TABLES for letter in "abc")
CREATE = [
    statement
    for table in TABLES
    for statement in (
        f"CREATE TABLE {table} (k VARCHAR, v VARCHAR)",
        f"INSERT INTO {table} VALUES " + ", ".join(f"('{key}', '')" for key in KEYS if key.startswith(table)),
    )
]


def lists(session: RemoteSession, tables: Sequence[str] = TABLES) -> dict[str, tuple[int, ...]]:
    """By one statement."""
    query = " UNION ALL ".join(f"SELECT k, v FROM {table}" for table in tables)
    found = session.execute(query).rows()
    return {key: tuple(int(value) for value in text.split(",") if value) for key, text in found}


def _is_gone(error: SnowmeltError) -> bool:
    return error.code == "370001" or "connection" in str(error)


class Client(threading.Thread):
    """Runs transactions until the server is gone or it is told to stop."""

    def __init__(self, session: RemoteSession, name: str, values: Iterator[int], seed: int) -> None:
        super().__init__(daemon=True)
        self.history: list[Transaction] = []
        self.failure: Exception | None = None
        self.stopped = threading.Event()
        self._session = session
        self._label = name
        self._values = values
        self._chance = random.Random(seed)

    def run(self) -> None:
        try:
            for number in itertools.count():
                if self.stopped.is_set() or not self._transaction(f"{self._label}.{number}"):
                    return
        except Exception as error:
            self.failure = error

    def _transaction(self, name: str) -> bool:
        """One transaction, or one statement by itself; whether the server is still there."""
        chance = self._chance
        alone = chance.random() < 0.3
        steps: list[Append | Read] = []
        sent_commit = False
        try:
            if not alone:
                self._session.execute("BEGIN")
            for _ in range(1 if alone else chance.randint(1, 4)):
                sent_commit = alone
                self._step(steps)
            if not alone:
                sent_commit = True
                self._session.execute("ROLLBACK" if (given_up := chance.random() < 0.1) else "COMMIT")
                if given_up:
                    self.history.append(Transaction(name, tuple(steps), Fate.ABORTED))
                    return True
            self.history.append(Transaction(name, tuple(steps), Fate.COMMITTED, time.monotonic()))
            return True
        except SnowmeltError as error:
            is_gone = _is_gone(error)
            fate = Fate.UNKNOWN if is_gone and sent_commit else Fate.ABORTED
            self.history.append(Transaction(name, tuple(steps), fate))
            return not is_gone and (alone or self._rolled_back())

    def _rolled_back(self) -> bool:
        try:
            self._session.execute("ROLLBACK")
        except SnowmeltError as error:
            if not _is_gone(error):
                raise
            return False
        return True

    def _step(self, steps: list[Append | Read]) -> None:
        if self._chance.random() < 0.4:
            tables = self._chance.sample(TABLES, self._chance.randint(1, len(TABLES)))
            began = time.monotonic()
            steps.append(Read(lists(self._session, tables), began))
            return
        key, value = self._chance.choice(KEYS), next(self._values)
        # Written down first: the answer may not come.
        steps.append(Append(key, value))
        self._session.execute(f"UPDATE {key.partition('.')[0]} SET v = v || '{value},' WHERE k = '{key}'")

    def finish(self) -> list[Transaction]:
        self.stopped.set()
        self.join(DEADLINE)
        assert not self.is_alive()
        if self.failure is not None:
            raise self.failure
        return self.history
