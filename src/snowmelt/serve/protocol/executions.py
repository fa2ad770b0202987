"""Statements of clients on their way: waiting, running, done. A bounded number runs, a bounded number waits."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.slots import LARGE_WAITING, Slots, overloaded
from snowmelt.observe.levels import PoolLevel

if TYPE_CHECKING:
    from snowmelt.runtime.session import Session

Work = Callable[["Execution"], bytes]


class StatementOwner(Protocol):
    """Whose statements run one after the other: a `DoorSession`."""

    client: str
    active: Execution | None

    @property
    def session(self) -> Session: ...
    @property
    def waiting(self) -> deque[tuple[Execution, Work]]: ...
    @property
    def lock(self) -> threading.Lock: ...
    def roles_within(self, session_id: str) -> frozenset[str]: ...


class Execution:
    """One request to run SQL, and its answer once there is one."""

    def __init__(self, request_id: str, query_id: str, door_session: StatementOwner) -> None:
        self.request_id = request_id
        self.query_id = query_id
        self.door_session = door_session
        self.session: Session = door_session.session
        """Where it runs: the client's session, or one beside it."""
        self.roles = self.session.authority.roles
        """Whose rights are in the answer."""
        self.answer: Future[bytes] = Future()
        self.size = 0
        """Bytes of the answer that are kept."""
        self.cancelled = False
        self.reason: SnowmeltError | None = None
        """Why it was cancelled, if not because its user wanted it."""
        self.running = False
        self.since = time.monotonic()
        self._lock = threading.Lock()

    @property
    def done(self) -> bool:
        return self.answer.done()

    @property
    def beside(self) -> bool:
        return self.session is not self.door_session.session

    def begin(self) -> None:
        """From here on cancelling reaches the session. Raises when it was cancelled before."""
        with self._lock:
            if self.cancelled:
                raise errors.cancelled()
            self.running = True

    def reply(self, body: bytes) -> None:
        """The first answer counts."""
        with self._lock:
            if not self.answer.done():
                self.size = len(body)
                self.answer.set_result(body)

    def cancel(self, reason: SnowmeltError | None = None) -> None:
        """Stops it, wherever it is. Again, or too late, does nothing."""
        with self._lock:
            self.cancelled = True
            self.reason = self.reason or reason
            running = self.running and not self.done
        if running:
            self.session.cancel()

    def check_cancelled(self) -> None:
        if self.cancelled:
            raise errors.cancelled()


class StatementPool:
    """Runs statements in threads. One session never holds more than one of them, but for what runs beside it."""

    def __init__(self, parallel: int, waiting: int, slots: Slots) -> None:
        self._threads = ThreadPoolExecutor(2 * parallel + LARGE_WAITING, thread_name_prefix="snowmelt-door")
        self._slots = slots
        self._most = parallel + waiting
        self._taken = 0
        self._running = 0
        self._parallel = parallel
        self._waiting = waiting
        self._lock = threading.Lock()

    def submit(self, execution: Execution, work: Work) -> None:
        """Takes the statement, or raises when too many are waiting."""
        with self._lock:
            if self._taken >= self._most:
                raise overloaded(self._waiting)
            self._taken += 1
        if execution.beside:
            self._threads.submit(self._run, execution, work)
            return
        owner = execution.door_session
        with owner.lock:
            if owner.active is not None:
                owner.waiting.append((execution, work))
                return
            owner.active = execution
        self._threads.submit(self._run_in_turn, execution, work)

    def _run_in_turn(self, execution: Execution, work: Work) -> None:
        self._run(execution, work)
        owner = execution.door_session
        with owner.lock:
            following = owner.waiting.popleft() if owner.waiting else None
            owner.active = following[0] if following is not None else None
        if following is not None:
            self._threads.submit(self._run_in_turn, *following)

    def _run(self, execution: Execution, work: Work) -> None:
        with self._slots.taken():
            with self._lock:
                self._running += 1
            try:
                execution.reply(work(execution))
            finally:
                with self._lock:
                    self._taken -= 1
                    self._running -= 1

    def load(self) -> tuple[PoolLevel, PoolLevel]:
        """The workers, and the queue where statements wait for one."""
        with self._lock:
            running, waiting = self._running, self._taken - self._running
        return PoolLevel("statements", running, self._parallel), PoolLevel("waiting_statements", waiting, self._waiting)

    def stop(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
