"""What the runners of refreshes and of tasks share: one thread that decides, and workers that send it messages."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sized
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

LONGEST_SLEEP = 60.0
"""Seconds after which a runner looks at the clock again: it may have been set, or the machine may have slept."""

Message = TypeVar("Message")


class DecidingLoop(ABC, Generic[Message]):
    """Starts the thread, wakes it, and stops it. All state is the thread's own, so nothing here needs a lock."""

    def __init__(self, name: str, workers: str, max_parallel: int) -> None:
        self._name = name
        self._max_parallel = max_parallel
        self._pool = ThreadPoolExecutor(max_parallel, thread_name_prefix=workers)
        self._inbox: SimpleQueue[Message | None] = SimpleQueue()
        """What happened; None is a wake-up."""
        self._stopping = threading.Event()
        self._stop_timeout = 0.0
        self._cancel_timeout = 0.0
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin. May be called once."""
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Something changed that may make work due, or free: look now. Cheap, from any thread."""
        self._inbox.put(None)

    def stop(self, timeout: float, *, cancel_timeout: float = 10.0) -> bool:
        """Start nothing more, give running work `timeout` seconds to finish, then cancel it.

        Whether nothing is left running. What had not begun is due again when a runner starts again.
        """
        self._stop_timeout = timeout
        self._cancel_timeout = cancel_timeout
        self._stopping.set()
        self.wake()
        if self._thread is not None:
            self._thread.join()
        left = bool(self._at_work())
        self._pool.shutdown(wait=not left)
        return not left

    @abstractmethod
    def _run(self) -> None:
        """The thread: until it is stopping, and then the end of what runs."""

    @abstractmethod
    def _at_work(self) -> Sized | int:
        """The work that runs now, or its number."""

    def _received(self, timeout: float) -> list[Message | None]:
        """All that happened, waiting for the first for at most `timeout` seconds."""
        messages: list[Message | None] = []
        try:
            messages.append(self._inbox.get(timeout=timeout))
            while True:
                messages.append(self._inbox.get_nowait())
        except Empty:
            return messages

    def _received_until_idle(self, timeout: float) -> Iterator[list[Message | None]]:
        """What happens while something runs, for at most `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while self._at_work() and (left := deadline - time.monotonic()) > 0:
            yield self._received(left)
