"""Events on their way out: never waited for, never more than fit in memory.

A statement hands its event over and goes on. What the endpoint does not take in time is dropped, counted and logged;
lineage that is missing there can be asked for here.
"""

from __future__ import annotations

import contextlib
import json
import queue
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import httpx
import structlog

_log = structlog.get_logger(__name__)
_LOG_EVERY = 60.0
_PAUSE = 1.0
"""Seconds to leave an endpoint alone after it failed."""

Build = Callable[[], dict[str, Any] | None]
"""Makes the event, when its turn comes; None when there is nothing to say."""


class EventSink(Protocol):
    def send(self, event: dict[str, Any]) -> None:
        """Raises when the event did not arrive."""
        ...

    def close(self) -> None: ...


class FileSink:
    """Appends each event as one line."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def send(self, event: dict[str, Any]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")

    def close(self) -> None:
        pass


class HttpSink:
    """Posts each event to an endpoint, such as Marquez's `/api/v1/lineage`."""

    def __init__(self, url: str, timeout: float, token: str | None = None) -> None:
        self._url = url
        headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
        self._client = httpx.Client(timeout=timeout, headers=headers)

    def send(self, event: dict[str, Any]) -> None:
        self._client.post(self._url, json=event).raise_for_status()

    def close(self) -> None:
        self._client.close()


@dataclass(frozen=True, slots=True)
class LineagePulse:
    """Asked every so many seconds for events that nothing but the time that has passed calls for."""

    seconds: float
    due: Callable[[], Iterable[Build]]


class Emitter:
    """Sends events in a thread of its own, in the order in which they came."""

    def __init__(self, sink: EventSink, capacity: int, pulse: LineagePulse | None = None) -> None:
        self._sink = sink
        self._pulse = pulse
        self._queue: queue.Queue[Build | None] = queue.Queue(capacity)
        self.dropped = 0
        self.sent = 0
        self._logged_at: float | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="snowmelt-openlineage", daemon=True)
        self._thread.start()

    def offer(self, build: Build) -> None:
        """Takes the event, or drops it when there is no room. Returns at once."""
        try:
            self._queue.put_nowait(build)
        except queue.Full:
            self._drop("the queue is full")

    def close(self, seconds: float) -> None:
        """Sends what waits, for so long; the rest is dropped."""
        self._closing.set()
        with contextlib.suppress(queue.Full):
            self._queue.put(None, timeout=seconds)
        self._thread.join(seconds)
        if self.dropped or self._thread.is_alive():
            waiting = self._queue.qsize()
            _log.warning("openlineage_events_dropped", dropped=self.dropped, waiting=waiting, sent=self.sent)

    def _run(self) -> None:
        beat = time.monotonic()
        while True:
            try:
                build = self._queue.get(timeout=self._pulse.seconds if self._pulse is not None else None)
                if build is None:
                    break
                self._send(build)
            except queue.Empty:
                pass
            if self._pulse is not None and time.monotonic() - beat >= self._pulse.seconds:
                beat = time.monotonic()
                for due in self._pulse.due():
                    self._send(due)
        self._sink.close()

    def _send(self, build: Build) -> None:
        try:
            event = build()
            if event is not None:
                self._sink.send(event)
                self.sent += 1
        except Exception as error:
            # Nobody must notice but the log: the statement is long done.
            self._drop(str(error) or type(error).__name__)
            self._closing.wait(_PAUSE)

    def _drop(self, reason: str) -> None:
        self.dropped += 1
        now = time.monotonic()
        if self._logged_at is None or now - self._logged_at >= _LOG_EVERY:
            self._logged_at = now
            _log.warning("openlineage_event_dropped", reason=reason, dropped=self.dropped)
