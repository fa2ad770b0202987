"""Spark's sessions of one account, and what is in them: of no use any more when the life they were made in ends."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from snowmelt.engine.application import Life
from snowmelt.engine.endless import Narrow, Turns
from snowmelt.engine.jars import ensure_jars, locked_jars
from snowmelt.engine.model import Lane
from snowmelt.engine.session import CHANGES, LIGHT, TINY, is_local, sibling, with_jars
from snowmelt.engine.views import LaneState

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WRITERS = 4
_GIVERS = 3
_KEPT_FRAMES = 100
"""Results of users' functions; a refresh needs its own for as long as it lasts."""
_SETTINGS: Mapping[Lane, Mapping[str, str]] = {
    Lane.HEAVY: {}, Lane.LIGHT: LIGHT, Lane.TINY: TINY, Lane.CHANGES: CHANGES,
}  # fmt: skip


class EngineSessions:
    """What an engine made in one life of Spark."""

    def __init__(self, life: Life, decided: Mapping[str, str]) -> None:
        """`decided` are the settings that the user chose, which no lane changes."""
        self.life = life
        self._lock = threading.Lock()
        self.lanes = {
            lane: LaneState(
                sibling(life.session, {key: own[key] for key in own.keys() - decided.keys()}),
                in_order=lane is Lane.LIGHT,
            )
            for lane, own in _SETTINGS.items()
        }
        narrow = Narrow.of(life.session)
        self.lanes[Lane.NARROW] = LaneState(sibling(life.session, narrow.settings))
        self.turns = Turns(narrow.queries)
        self.local = is_local(life.session)
        self._writers: list[SparkSession] = []
        self._writer_slots = threading.Semaphore(_WRITERS)
        self._extended: dict[str, SparkSession] = {}
        self._frames: deque[str] = deque()
        self._givers = ThreadPoolExecutor(_GIVERS, thread_name_prefix="snowmelt-given")
        """Makes views of given rows."""

    @property
    def session(self) -> SparkSession:
        return self.life.session

    def with_package(self, package: str) -> SparkSession:
        """A session that has the jars of the package's lock too; the same one each time."""
        with self._lock:
            if package not in self._extended:
                self._extended[package] = with_jars(self.session, ensure_jars(jars=locked_jars(package)))
            return self._extended[package]

    @contextmanager
    def writer(self) -> Iterator[SparkSession]:
        """A session that nobody else uses meanwhile."""
        with self._writer_slots:
            with self._lock:
                session = self._writers.pop() if self._writers else sibling(self.session, {})
            try:
                yield session
            finally:
                with self._lock:
                    self._writers.append(session)

    def side_by_side(self, step: Callable[[str], None], names: Iterable[str]) -> None:
        """Mostly waiting for Spark to answer: side by side it is done sooner."""
        list(self._givers.map(step, names))

    def keep_frame(self, name: str) -> list[str]:
        """Keeps the view of a function's result for a while. Those that have to go for it."""
        with self._lock:
            self._frames.append(name)
            return [self._frames.popleft() for _ in range(len(self._frames) - _KEPT_FRAMES)]

    def close(self) -> None:
        self._givers.shutdown(wait=False)
