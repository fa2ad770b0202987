"""Statements of clients on their way: waiting, running, done. A bounded number runs, a bounded number waits."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.slots import LARGE_WAITING, Slots, overloaded
from snowmelt.observe.levels import PoolLevel

if TYPE_CHECKING:
    from snowmelt.runtime.session import Session

Work = Callable[["Execution"], bytes]
_AT_ONCE = max(os.cpu_count() or 1, 2)
_MOMENT = 0.01
"""Seconds. A statement that takes longer leaves the processors to others, or has too little of them anyway."""


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
        """The roles whose rights the answer was read with."""
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
    """Runs statements in threads. One session never holds more than one of them, but for what runs beside it.

    Only as many statements begin at once as there are processors; one more begins whenever these have taken longer than
    a moment. So small statements go through few threads one after the other, instead of a hundred that wake each
    other and wait for Python's lock, and large ones are no hindrance to them.
    """

    def __init__(self, parallel: int, waiting: int, slots: Slots) -> None:
        self._threads = ThreadPoolExecutor(2 * parallel + LARGE_WAITING, thread_name_prefix="snowmelt-door")
        self._slots = slots
        self._most = parallel + waiting
        self._taken = 0
        self._parallel = parallel
        self._waiting = waiting
        self._changed = threading.Condition()
        self._ready: deque[Callable[[], None]] = deque()
        """What waits to begin. As long as there is some, one thread is about to begin with the first."""
        self._someone_enters = False
        self._began_at: dict[int, float] = {}
        """By thread, when it began with the statement that it runs."""
        self._stopped = False

    def submit(self, execution: Execution, work: Work) -> None:
        """Takes the statement, or raises when too many are waiting."""
        with self._changed:
            if self._taken >= self._most:
                raise overloaded(self._waiting)
            self._taken += 1
        if execution.beside:
            self._offer(lambda: self._run(execution, work))
            return
        owner = execution.door_session
        with owner.lock:
            if owner.active is not None:
                owner.waiting.append((execution, work))
                return
            owner.active = execution
        self._offer(lambda: self._run_in_turn(execution, work))

    def _offer(self, statement: Callable[[], None]) -> None:
        with self._changed:
            if self._stopped:
                raise errors.server_stopping()
            self._ready.append(statement)
            if self._someone_enters:
                if self._may_begin_in(time.monotonic()) <= 0:
                    self._changed.notify()
                return
            self._someone_enters = True
        self._threads.submit(self._enter)

    def _enter(self) -> None:
        """Begins with what came first when that is due, and goes on with the next one for as long as there is one."""
        if not self._waited_for_turn():
            return
        entering = True
        while True:
            with self._slots.taken():
                statement = self._take(entering)
                if statement is None:
                    return
                entering = False
                try:
                    statement()
                finally:
                    with self._changed:
                        del self._began_at[threading.get_ident()]

    def _waited_for_turn(self) -> bool:
        """True when one more statement may begin, False when there is none any more."""
        with self._changed:
            while self._ready and not self._stopped:
                seconds = self._may_begin_in(time.monotonic())
                if seconds <= 0:
                    return True
                self._changed.wait(seconds)
            self._someone_enters = False
            return False

    def _may_begin_in(self, now: float) -> float:
        """Seconds until one more statement may begin beside those that began lately. The caller holds the lock."""
        young = sorted(at for at in self._began_at.values() if at > now - _MOMENT)
        return young[-_AT_ONCE] + _MOMENT - now if len(young) >= _AT_ONCE else 0.0

    def _take(self, entering: bool) -> Callable[[], None] | None:
        """The next statement, for the thread that asks. Sees to it that another thread enters if there are more."""
        with self._changed:
            if entering:
                self._someone_enters = False
            statement = self._ready.popleft() if self._ready and not self._stopped else None
            if statement is not None:
                self._began_at[threading.get_ident()] = time.monotonic()
            another = bool(self._ready) and not self._someone_enters and not self._stopped
            self._someone_enters |= another
        if another:
            self._threads.submit(self._enter)
        return statement

    def _run_in_turn(self, execution: Execution, work: Work) -> None:
        self._run(execution, work)
        owner = execution.door_session
        with owner.lock:
            following = owner.waiting.popleft() if owner.waiting else None
            owner.active = following[0] if following is not None else None
        if following is not None:
            with suppress(SnowmeltError):
                self._offer(lambda: self._run_in_turn(*following))

    def _run(self, execution: Execution, work: Work) -> None:
        try:
            execution.reply(work(execution))
        finally:
            with self._changed:
                self._taken -= 1

    def load(self) -> tuple[PoolLevel, PoolLevel]:
        """The workers, and the queue where statements wait for one."""
        with self._changed:
            running, waiting = len(self._began_at), max(self._taken - len(self._began_at), 0)
        return PoolLevel("statements", running, self._parallel), PoolLevel("waiting_statements", waiting, self._waiting)

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        self._threads.shutdown(wait=False, cancel_futures=True)
