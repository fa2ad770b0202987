"""What happens in the account, told to open pages: which kind of thing changed, never what.

A page that is told asks again, with its own rights. So nothing here has to know who may see which object, and many
changes within a moment are one message.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.serve.console.logins import QUERY_TAG
from snowmelt.state.model import QueryRecord

PAUSE = 1.0
"""Seconds between two messages to one page."""
BEAT = 15.0
"""Seconds after which a quiet connection says that it is there, and looks whether its session still is."""
_QUERIES = frozenset({"SELECT", "SHOW", "DESCRIBE", "EXPLAIN", "USE"})
_ROWS = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE", "COPY", "TRUNCATE_TABLE"})


class _Listener:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.woken = asyncio.Event()
        self.topics: set[str] = set()


class Live:
    """Topics: `rows`, `refreshes`, `tasks`, `quality`, `queries`, `objects`, `runs`. Safe to use from any thread."""

    def __init__(self, account: Account) -> None:
        self._listeners: set[_Listener] = set()
        self._lock = threading.Lock()
        self._stopped = False
        events = account.events
        events.rows_committed.subscribe(lambda *_: self.tell("rows"))
        events.refresh_ended.subscribe(lambda _: self.tell("refreshes"))
        events.task_ended.subscribe(lambda *_: self.tell("tasks"))
        events.checks_ended.subscribe(lambda *_: self.tell("quality"))
        events.statement_recorded.subscribe(self._recorded)

    def _recorded(self, record: QueryRecord) -> None:
        if record.query_tag == QUERY_TAG and record.query_type in _QUERIES:
            # What pages ask would wake them again.
            return
        changed = record.query_type not in _QUERIES and record.query_type not in _ROWS
        self.tell("queries", *(("objects",) if changed else ()))

    def tell(self, *topics: str) -> None:
        with self._lock:
            for listener in self._listeners:
                new = not listener.topics
                listener.topics.update(topics)
                if new:
                    listener.loop.call_soon_threadsafe(listener.woken.set)

    def stop(self) -> None:
        self._stopped = True
        self.tell("end")

    async def messages(self, check: Callable[[], None]) -> AsyncIterator[str]:
        """Server-sent events, until the session is over, the page goes or the server stops."""
        listener = _Listener(asyncio.get_running_loop())
        with self._lock:
            self._listeners.add(listener)
        try:
            yield "retry: 2000\nevent: hello\ndata: {}\n\n"
            while not self._stopped:
                try:
                    async with asyncio.timeout(BEAT):
                        await listener.woken.wait()
                except TimeoutError:
                    yield ": still here\n\n"
                try:
                    check()
                except SnowmeltError:
                    yield "event: over\ndata: {}\n\n"
                    return
                topics = self._taken(listener)
                if topics and not self._stopped:
                    yield f"event: changed\ndata: {json.dumps(topics)}\n\n"
                    await asyncio.sleep(PAUSE)
        finally:
            with self._lock:
                self._listeners.discard(listener)

    def _taken(self, listener: _Listener) -> list[str]:
        with self._lock:
            topics, listener.topics = sorted(listener.topics), set()
            listener.woken.clear()
        return topics
