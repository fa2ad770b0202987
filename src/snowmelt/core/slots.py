"""Slots for statements at work, so that large ones and those that wait never take the last slot from small ones.

A statement begins in one of the slots for all kinds. One that turns out to be large gives it back and takes one of as
many for large ones; one that has to wait for another gives it back meanwhile; and one that has its slot for long gives
it up as soon as somebody needs it. So whoever does little finds a slot soon, whatever the others do.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from snowmelt.core.errors import SnowmeltError, timed_out

LARGE_WAITING = 64
"""How many statements may wait with a thread of their own for the end of large ones."""
_LONG_SECONDS = 5.0
"""A statement that has held a slot for this long counts as a large one."""
_LOOK_SECONDS = 0.1


def overloaded(most: int) -> SnowmeltError:
    return SnowmeltError(
        "370002", "53300", f"The server is busy: {most} statements are waiting already, so this one was refused.",
        hint="Try again in a moment, or raise parallel_statements or waiting_statements.", transient=True,
    )  # fmt: skip


def _nothing() -> None:
    pass


class Slots:
    """The slots of one account. Every statement of its sessions has one, by whichever way it came."""

    def __init__(self, parallel: int) -> None:
        self._any = threading.Semaphore(parallel)
        self._large = threading.Semaphore(parallel)
        self._most_large = parallel + LARGE_WAITING
        self._large_ones = 0
        self._tickets: dict[_Ticket, None] = {}
        """The oldest first."""
        self._lock = threading.Lock()

    @contextmanager
    def taken(self, check: Callable[[], None] = _nothing, patience: int = 0) -> Iterator[None]:
        """A slot for the statement that this thread runs inside, unless it has one. `check` may end the waiting.

        Raises when it has to wait for more than `patience` seconds, here or to be large; 0 for any time.
        """
        known = _ticket.get()
        if known is not None:
            known.patience = patience
            yield
            return
        ticket = _Ticket(self, patience)
        self._take(ticket, check)
        token = _ticket.set(ticket)
        try:
            yield
        finally:
            _ticket.reset(token)
            self._end(ticket)

    def _take(self, ticket: _Ticket, check: Callable[[], None]) -> None:
        since = time.monotonic()
        while not self._any.acquire(timeout=_LOOK_SECONDS):
            check()
            ticket.check_patience(since)
            self._relieve()
        self._hold(ticket)

    def _hold(self, ticket: _Ticket) -> None:
        with self._lock:
            ticket.since = time.monotonic()
            self._tickets[ticket] = None

    def _give_back(self, ticket: _Ticket) -> bool:
        """Whether it had one."""
        with self._lock:
            had = ticket in self._tickets
            self._tickets.pop(ticket, None)
        if had:
            self._any.release()
        return had

    def _relieve(self) -> None:
        """Whoever waits takes the slot of the one that has it for longest, if that is long."""
        with self._lock:
            oldest = next(iter(self._tickets), None)
            if oldest is None or time.monotonic() - oldest.since < _LONG_SECONDS:
                return
            if self._large_ones >= self._most_large:
                return
            self._large_ones += 1
            oldest.counts_as_large = True
            del self._tickets[oldest]
        self._any.release()

    def _end(self, ticket: _Ticket) -> None:
        self._give_back(ticket)
        self._uncount(ticket)

    def _count(self, ticket: _Ticket) -> bool:
        """Counts it among the large ones; whether it was not among them before."""
        with self._lock:
            if ticket.counts_as_large:
                return False
            if self._large_ones >= self._most_large:
                raise overloaded(LARGE_WAITING)
            self._large_ones += 1
            ticket.counts_as_large = True
            return True

    def _uncount(self, ticket: _Ticket) -> None:
        with self._lock:
            self._large_ones -= ticket.counts_as_large
            ticket.counts_as_large = False

    @contextmanager
    def waiting(self, ticket: _Ticket) -> Iterator[None]:
        had = self._give_back(ticket)
        try:
            yield
        except BaseException:
            # It is about to end: not worth waiting for.
            if had and self._any.acquire(blocking=False):
                self._hold(ticket)
            raise
        if had:
            self._take(ticket, _nothing)

    @contextmanager
    def large(self, ticket: _Ticket, check: Callable[[], None]) -> Iterator[None]:
        if ticket.is_large:
            yield
            return
        counted = self._count(ticket)
        try:
            with self.waiting(ticket):
                since = time.monotonic()
                while not self._large.acquire(timeout=_LOOK_SECONDS):
                    check()
                    ticket.check_patience(since)
                ticket.is_large = True
                try:
                    yield
                finally:
                    ticket.is_large = False
                    self._large.release()
        finally:
            if counted:
                self._uncount(ticket)


class _Ticket:
    """One statement's claim to a slot."""

    __slots__ = ("counts_as_large", "is_large", "patience", "since", "slots")

    def __init__(self, slots: Slots, patience: int) -> None:
        self.slots = slots
        self.patience = patience
        self.since = 0.0
        self.counts_as_large = False
        self.is_large = False

    def check_patience(self, since: float) -> None:
        if self.patience and time.monotonic() - since > self.patience:
            raise timed_out(self.patience)


_ticket: ContextVar[_Ticket | None] = ContextVar("ticket", default=None)


@contextmanager
def large(check: Callable[[], None] = _nothing) -> Iterator[None]:
    """The work inside is large: it takes one of the slots for that instead. Raises when too many wait."""
    ticket = _ticket.get()
    if ticket is None:
        yield
        return
    with ticket.slots.large(ticket, check):
        yield


@contextmanager
def waiting() -> Iterator[None]:
    """Inside, the statement only waits."""
    ticket = _ticket.get()
    if ticket is None:
        yield
        return
    with ticket.slots.waiting(ticket):
        yield
