"""Which statements were cancelled, for both engines."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict

from snowmelt.core import errors

_KNOWN_TAGS = 2_000


class CancelledTags:
    """The tags of statements that are to start nothing more, the last ones of them. Safe to use from many threads."""

    def __init__(self) -> None:
        self._since: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, tag: str) -> None:
        with self._lock:
            self._since.setdefault(tag, time.monotonic())
            while len(self._since) > _KNOWN_TAGS:
                self._since.popitem(last=False)

    def __contains__(self, tag: str | None) -> bool:
        return tag is not None and tag in self._since

    def check(self, tag: str | None) -> None:
        """Raises an error if the statement was cancelled."""
        if tag in self:
            raise errors.cancelled()

    def seconds(self, tag: str) -> float:
        """How long ago it was cancelled."""
        now = time.monotonic()
        return now - self._since.get(tag, now)
