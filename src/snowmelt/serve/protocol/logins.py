"""Where log-ins wait and are checked, in threads of their own: they delay nobody else, and nobody else delays them."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.rights.authentication import Authenticator, LoginIdentity, RefusedLoginError
from snowmelt.serve.protocol.authentication import LoginAttempt

_THREADS = 3
_OF_STRANGERS = 2
"""Threads for passwords of users who have not logged in from their address yet: one is left for the others."""
_WAITING = 1000
_Opened = TypeVar("_Opened")


def _busy() -> SnowmeltError:
    return SnowmeltError(
        "370002", "53300", f"The server is busy: {_WAITING} log-ins are waiting already.",
        hint="Try again in a moment.", transient=True,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    attempt: LoginAttempt
    work: Callable[[], Any]
    answer: Future[Any]

    @property
    def name(self) -> str:
        return self.attempt.user.upper()


class Logins:
    """Checks attempts to log in. Safe to use from any thread.

    First come secrets that are quick to check and users who are known at their address; then everybody else, one
    attempt of each name in turn. So a flood of guesses delays neither who logged in before nor, by more than one
    attempt of each other name, who did not. Each name has one attempt at a time.
    """

    def __init__(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="snowmelt-login")
        self._lock = threading.Lock()
        self._known: deque[_Waiting] = deque()
        self._strangers: OrderedDict[str, deque[_Waiting]] = OrderedDict()
        self._count = 0
        self._busy = 0
        self._busy_with_strangers = 0
        self._names: set[str] = set()

    async def log_in(self, attempt: LoginAttempt, opened: Callable[[LoginIdentity], _Opened]) -> _Opened:
        """What `opened` makes of whoever it is, in a thread. Raises when the secret is not theirs, after a while."""
        waiting = _Waiting(attempt, lambda: opened(attempt.checked_by(self._authenticator)), Future())
        self._add(waiting)
        try:
            answer: _Opened = await asyncio.wrap_future(waiting.answer)
        except RefusedLoginError as error:
            await asyncio.sleep(error.pause)
            raise
        return answer

    def stop(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _add(self, waiting: _Waiting) -> None:
        with self._lock:
            if self._count >= _WAITING:
                raise _busy()
            self._count += 1
            if self._is_known(waiting):
                self._known.append(waiting)
            else:
                self._strangers.setdefault(waiting.name, deque()).append(waiting)
        self._start_next()

    def _is_known(self, waiting: _Waiting) -> bool:
        attempt = waiting.attempt
        return attempt.is_quick or self._authenticator.attempts.is_trusted(waiting.name, attempt.address)

    def _start_next(self) -> None:
        with self._lock:
            while self._busy < _THREADS and (found := self._next()) is not None:
                waiting, is_stranger = found
                self._count -= 1
                self._busy += 1
                self._busy_with_strangers += is_stranger
                if not waiting.attempt.is_quick:
                    self._names.add(waiting.name)
                self._threads.submit(self._check, waiting, is_stranger)

    def _next(self) -> tuple[_Waiting, bool] | None:
        for index, waiting in enumerate(self._known):
            if waiting.attempt.is_quick or waiting.name not in self._names:
                del self._known[index]
                return waiting, False
        if self._busy_with_strangers >= _OF_STRANGERS:
            return None
        for name, line in self._strangers.items():
            if name not in self._names:
                waiting = line.popleft()
                if line:
                    self._strangers.move_to_end(name)
                else:
                    del self._strangers[name]
                return waiting, True
        return None

    def _check(self, waiting: _Waiting, is_stranger: bool) -> None:
        try:
            if waiting.answer.set_running_or_notify_cancel():
                waiting.answer.set_result(waiting.work())
        except Exception as error:
            waiting.answer.set_exception(error)
        finally:
            with self._lock:
                self._busy -= 1
                self._busy_with_strangers -= is_stranger
                if not waiting.attempt.is_quick:
                    self._names.discard(waiting.name)
            self._start_next()
