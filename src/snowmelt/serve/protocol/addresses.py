"""Addresses that were handed out: each is good for who asked for it, with the roles of then, and for a while."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

GOOD_SECONDS = 6 * 3600.0
"""As long as Snowflake's are."""
_MOST = 50_000
_SECRET = re.compile(r"/stage-files/([A-Za-z0-9_-]+)/")


@dataclass(frozen=True, slots=True)
class AddressHolder:
    """Who an address was given to."""

    session_id: str
    roles: frozenset[str]
    """The roles whose rights its rows were read with. A user who has lost one of them can't use the address."""


class Addresses:
    """Who got which address of a file."""

    def __init__(self) -> None:
        self._holders: OrderedDict[str, tuple[AddressHolder, float]] = OrderedDict()
        self._lock = threading.Lock()

    def bind(self, answer: dict[str, Any], holder: AddressHolder) -> None:
        """All addresses in an answer are the holder's from now on."""
        until = time.monotonic() + GOOD_SECONDS
        with self._lock:
            for secret in _SECRET.findall(json.dumps(answer)):
                self._holders[secret] = holder, until
            while len(self._holders) > _MOST:
                self._holders.popitem(last=False)

    def holder_of(self, secret: str) -> AddressHolder | None:
        """Who the address was given to, while it is good."""
        with self._lock:
            holder, until = self._holders.get(secret, (None, 0.0))
        return holder if until > time.monotonic() else None
