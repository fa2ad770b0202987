"""Threads that many users share, of which nobody has more than half: the others' work finds one."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from snowmelt.core.slots import overloaded

T = TypeVar("T")


@dataclass(slots=True)
class _Share:
    """One user's work, whichever log-in it came from."""

    busy: int = 0
    waiting: deque[Callable[[], None]] = field(default_factory=deque)


class SharedThreads:
    """What a user asks for beyond their share waits here, in its order, and not in a thread."""

    def __init__(self, count: int, name: str) -> None:
        self._threads = ThreadPoolExecutor(count, thread_name_prefix=name)
        self._most = max(1, count // 2)
        self._shares: dict[str, _Share] = {}
        self._lock = threading.Lock()

    def submit(self, user: str, work: Callable[[], None]) -> None:
        """Raises RuntimeError once the threads are being stopped."""
        with self._lock:
            share = self._shares.setdefault(user, _Share())
            if share.busy >= self._most:
                share.waiting.append(work)
                return
            share.busy += 1
        self._threads.submit(self._work, user, work)

    async def run(self, user: str, work: Callable[[], T], patience: int) -> T:
        """What the work gives. Raises when as many of the user's wait already as `patience` says."""
        answer: Future[T] = Future()
        with self._lock:
            share = self._shares.get(user)
            refused = share is not None and len(share.waiting) >= patience
        if refused:
            raise overloaded(patience)
        self.submit(user, lambda: _fulfil(answer, work))
        return await asyncio.wrap_future(answer)

    def stop(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _work(self, user: str, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            self._next(user)

    def _next(self, user: str) -> None:
        with self._lock:
            share = self._shares[user]
            if not share.waiting:
                share.busy -= 1
                if not share.busy:
                    del self._shares[user]
                return
            following = share.waiting.popleft()
        with suppress(RuntimeError):
            self._threads.submit(self._work, user, following)


def _fulfil(answer: Future[T], work: Callable[[], T]) -> None:
    try:
        answer.set_result(work())
    except BaseException as error:
        answer.set_exception(error)
