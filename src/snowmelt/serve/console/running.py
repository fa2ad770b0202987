"""Statements of the page: started, asked after, cancelled; their results are kept for a while."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from snowmelt.core import errors
from snowmelt.core.error_json import error_to_json
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.slots import LARGE_WAITING, overloaded
from snowmelt.runtime.results import Result
from snowmelt.runtime.rights.redaction import redacted
from snowmelt.runtime.session import Session
from snowmelt.serve.console.shared_threads import SharedThreads
from snowmelt.serve.console.values import columns_to_json, rows_to_json
from snowmelt.sql.tokens import SqlText
from snowmelt.state.ids import new_query_id

KEPT = 48
"""Results of one log-in that can still be scrolled and downloaded."""
KEPT_BYTES = 256 << 20
FIRST_ROWS = 500
"""Rows that come with the answer; the page asks for the rest as somebody scrolls."""
LOOK_SECONDS = 0.5
"""Between two looks at how far a statement is that somebody watches."""
_AT_ONCE = 6
"""Of what the pages of one log-in ask. Statements of a worksheet run one after the other."""
_PAGE_THREADS = 4 * _AT_ONCE
"""Threads for what pages ask, which is quick and must not wait behind somebody's long query."""
_MOST_UNFINISHED = 200
"""Of one log-in."""


@dataclass(slots=True, eq=False)
class Started:
    """One statement, from its start until its result is forgotten."""

    id: str
    sql: SqlText
    session: Session
    worksheet: str | None
    future: Future[None] = field(default_factory=Future)
    begun: float = field(default_factory=time.monotonic)
    ended: float | None = None
    result: Result | None = None
    error: SnowmeltError | None = None
    running: bool = False
    cancelled: bool = False
    roles: frozenset[str] = frozenset()
    """The roles whose rights the result was read with."""

    @property
    def status(self) -> str:
        if self.ended is None:
            return "running"
        if self.error is None:
            return "succeeded"
        return "cancelled" if self.cancelled and self.error.code == errors.cancelled().code else "failed"

    @property
    def bytes(self) -> int:
        held = self.result is not None and self.result.spilled is None
        return self.result.bytes if held and self.result is not None else 0

    def progress(self) -> dict[str, Any] | None:
        """How far Spark is with it; None while it waits, where Spark has no part in it, and at its end."""
        found = self.session.progress() if self.running and self.ended is None else None
        return None if found is None else {**asdict(found), "text": str(found)}

    def cancel(self) -> None:
        self.cancelled = True
        if self.running and self.ended is None:
            self.session.cancel()

    def to_json(self, rows: int = FIRST_ROWS) -> dict[str, Any]:
        answer: dict[str, Any] = {
            "id": self.id,
            "query_id": self.id,
            "status": self.status,
            "elapsed_ms": round(((self.ended or time.monotonic()) - self.begun) * 1000),
            "context": context_to_json(self.session),
        }
        shown = redacted(self.sql.text)
        if shown != self.sql.text:
            answer["redacted"] = shown
        if self.ended is None:
            answer |= {"waits": not self.running, "progress": self.progress()}
        if self.error is not None:
            answer["error"] = error_to_json(self.error)
        if self.result is not None:
            answer |= {
                "statement_type": self.result.statement_type,
                "rows_affected": self.result.rows_affected,
                "row_count": self.result.row_count,
                "columns": columns_to_json(self.result),
                "rows": rows_to_json(self.result, 0, rows),
            }
        return answer


def context_to_json(session: Session) -> dict[str, Any]:
    return {
        "user": session.user, "role": session.role, "warehouse": session.warehouse, "database": session.database,
        "schema": session.schema, "transaction": session.transaction is not None,
    }  # fmt: skip


class Pool:
    """The threads that statements of all pages run in. How many are at work, the account's slots decide."""

    def __init__(self, parallel: int) -> None:
        self._worksheets = SharedThreads(2 * parallel + LARGE_WAITING, "snowmelt-worksheet")
        self._pages = SharedThreads(_PAGE_THREADS, "snowmelt-page")

    def submit(self, started: Started, done: Callable[[Started], None]) -> None:
        threads = self._pages if started.worksheet is None else self._worksheets
        threads.submit(started.session.user, lambda: _run(started, done))

    def stop(self) -> None:
        self._worksheets.stop()
        self._pages.stop()


def _run(started: Started, done: Callable[[Started], None]) -> None:
    try:
        started.running = True
        if started.cancelled:
            raise errors.cancelled()
        roles = started.session.authority.roles
        result = started.session.execute(started.sql, query_id=started.id)
        started.roles = roles | started.session.authority.roles
        started.result = result
    except SnowmeltError as error:
        started.error = error
    except Exception:
        started.error = errors.internal("The statement failed. The server's log has the details.")
        raise
    finally:
        started.ended = time.monotonic()
        done(started)
        started.future.set_result(None)


@dataclass(slots=True)
class _Line:
    """Statements that share a number of threads: of one worksheet, or of the pages of one log-in."""

    busy: int = 0
    waiting: deque[tuple[Started, Callable[[Started], None]]] = field(default_factory=deque)


class Statements:
    """The statements of one log-in. Those that wait for each other wait here, and not in a thread that others need."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._known: OrderedDict[str, Started] = OrderedDict()
        self._lines: dict[str | None, _Line] = {}
        """By worksheet; None for the pages."""
        self._lock = threading.Lock()

    def start(self, sql: SqlText, session: Session, worksheet: str | None, done: Callable[[Started], None]) -> Started:
        """Raises when too many of the log-in are unfinished; `done` is called then, too."""
        started = Started(new_query_id(), sql, session, worksheet)
        with self._lock:
            taken = sum(one.ended is None for one in self._known.values()) < _MOST_UNFINISHED
            if taken:
                self._known[started.id] = started
                self._forget_old()
                line = self._lines.setdefault(worksheet, _Line())
                line.waiting.append((started, done))
        if not taken:
            done(started)
            raise overloaded(_MOST_UNFINISHED)
        self._start_next(worksheet)
        return started

    def _start_next(self, worksheet: str | None) -> None:
        with self._lock:
            line = self._lines.get(worksheet)
            if line is None or not line.waiting or line.busy >= (_AT_ONCE if worksheet is None else 1):
                return
            started, done = line.waiting.popleft()
            line.busy += 1

        def ended(one: Started) -> None:
            done(one)
            with self._lock:
                line.busy -= 1
                if not line.busy and not line.waiting:
                    self._lines.pop(worksheet, None)
            # A pool that is being stopped takes nothing more.
            with suppress(RuntimeError):
                self._start_next(worksheet)

        self._pool.submit(started, ended)

    def get(self, id: str) -> Started:
        with self._lock:
            found = self._known.get(id)
        if found is None:
            raise errors.statement_not_found(id)
        return found

    def forget(self, started: Started) -> None:
        with self._lock:
            self._known.pop(started.id, None)

    def cancel_all(self) -> None:
        with self._lock:
            known = list(self._known.values())
        for started in known:
            started.cancel()

    def _forget_old(self) -> None:
        """The caller holds the lock. What runs is never forgotten."""
        held = sum(started.bytes for started in self._known.values())
        for id, started in list(self._known.items()):
            if len(self._known) <= KEPT and held <= KEPT_BYTES:
                return
            if started.ended is not None:
                held -= started.bytes
                del self._known[id]


async def ended_or_moved(started: Started, seconds: float, seen: str | None) -> None:
    """Waits for the statement's end, at most so long; for less when `seen` is no more how far it is."""
    until = time.monotonic() + seconds
    while not await ended_within(started, min(LOOK_SECONDS, max(until - time.monotonic(), 0.0))):
        if time.monotonic() >= until:
            return
        if seen is not None:
            progress = await asyncio.to_thread(started.progress)
            if progress is not None and progress["text"] != seen:
                return


async def ended_within(started: Started, seconds: float) -> bool:
    """Waits for the statement's end, at most so long."""
    await asyncio.wait([asyncio.wrap_future(started.future)], timeout=seconds)
    return started.ended is not None
