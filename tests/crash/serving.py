"""A server under writers that is killed again and again, each time at another moment."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from snowmelt.core.errors import SnowmeltError
from snowmelt.serve.client import RemoteSession
from tests.crash.test_processes import Process, running, serve
from tests.support.waiting import DEADLINE

LOCK_LOST = "000625"


def await_that(condition: Callable[[], bool], what: str) -> None:
    pause = threading.Event()
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, f"not in time: {what}"
        pause.wait(0.05)


def rows(session: RemoteSession, query: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in session.execute(query).rows()), key=repr)


class Server:
    """A process of `snowmelt serve`, and a session on it."""

    def __init__(self, process: Process, data: Path) -> None:
        self.process = process
        self.url = process.line(r"Snowmelt serves \S+ at (http://\S+)")[1]
        self._data = data
        self.session = self.new_session()

    def new_session(self) -> RemoteSession:
        return RemoteSession.of_directory(self.url, self._data)

    def kill(self) -> None:
        """Spark's process stays behind, as it does after any kill -9."""
        assert self.process.end(signal.SIGKILL) == -signal.SIGKILL

    def await_death(self) -> None:
        await_that(lambda: self.process.process.poll() is not None, "the server dies at its fault point")
        assert self.process.wait() == -signal.SIGKILL

    def stop(self) -> None:
        assert self.process.end(signal.SIGTERM) == 0, self.process.printed


@contextmanager
def served(data: Path, config: Path, kill_at: str | None = None) -> Iterator[Server]:
    more = {"SNOWMELT_ADMIN_PASSWORD": "chosen", "SNOWMELT_LOG_LEVEL": "ERROR"}
    if kill_at is not None:
        more["SNOWMELT_TEST_KILL_AT"] = kill_at
    with running(serve(data, config), **more) as process:
        server = Server(process, data)
        try:
            yield server
        finally:
            server.session.close()


class Writer(threading.Thread):
    """Sends what `unit` gives, one transaction after the other, until the server is gone or it is told to stop."""

    def __init__(self, server: Server, unit: Callable[[random.Random], Sequence[str]], seed: int) -> None:
        super().__init__(daemon=True)
        self.done = 0
        self.failure: SnowmeltError | None = None
        self._session = server.new_session()
        self._unit, self._chance = unit, random.Random(seed)
        self._stop_asked = threading.Event()

    def run(self) -> None:
        try:
            while not self._stop_asked.is_set():
                self._send(self._unit(self._chance))
        except SnowmeltError as error:
            self.failure = error
        finally:
            self._session.close()

    def _send(self, statements: Sequence[str]) -> None:
        try:
            for statement in statements:
                self._session.execute(statement)
        except SnowmeltError as error:
            if error.code != LOCK_LOST:
                raise
            self._session.execute("ROLLBACK")
        else:
            self.done += 1

    def finish(self) -> None:
        """Nothing but the death of the server may have stopped it."""
        self._stop_asked.set()
        self.join(DEADLINE)
        assert not self.is_alive()
        assert self.failure is None or "connection" in str(self.failure), self.failure


@contextmanager
def writing(server: Server, units: Sequence[Callable[[random.Random], Sequence[str]]], seed: int) -> Iterator[Load]:
    writers = [Writer(server, unit, seed * 100 + number) for number, unit in enumerate(units)]
    for writer in writers:
        writer.start()
    try:
        yield Load(writers)
    finally:
        for writer in writers:
            writer.finish()


class Load:
    def __init__(self, writers: Sequence[Writer]) -> None:
        self._writers = writers

    @property
    def done(self) -> int:
        return sum(writer.done for writer in self._writers)

    def await_more(self, number: int) -> None:
        """At a moment that has nothing to do with what the server is doing for itself."""
        wanted = self.done + number
        await_that(lambda: self.done >= wanted or any(writer.failure for writer in self._writers), "writers write")
