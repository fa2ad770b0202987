"""One run of a flow at a time, where the destination itself can't hold a lock: a file says who writes, and beats.

A killed process leaves the file behind. On the same machine it is seen that the process is gone; from elsewhere, that
the file no longer changes. No clocks are compared.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from snowmelt.core.errors import SnowmeltError
from snowmelt.extract_load.stores.base import FileStore

BEAT_SECONDS = 5.0
LOST_SECONDS = 30.0
"""A file that did not change for so long is nobody's."""
_POLL_SECONDS = 0.2


class Claim:
    """Held from the first `hold` on until it is let go, or the process ends."""

    def __init__(
        self, opened: Callable[[], FileStore], name: str, flow: str, *, beat_seconds: float = BEAT_SECONDS,
        lost_seconds: float = LOST_SECONDS,
    ) -> None:  # fmt: skip
        """`opened`: a store of its own for the beats, which come from another thread."""
        self._opened, self._name, self._flow = opened, name, flow
        self._beat_seconds, self._lost_seconds = beat_seconds, lost_seconds
        self._owner = uuid.uuid4().hex
        self._beats = 0
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def hold(self, store: FileStore) -> bool:
        """Whether it is new. Raises when another run has it, or has taken it meanwhile."""
        if self._thread is not None:
            if _owner(_read(store, self._name)) != self._owner:
                raise self._conflict()
            return False
        self._take(store)
        self._thread = threading.Thread(target=self._beat, name=f"snowmelt-claim-{self._flow}", daemon=True)
        self._thread.start()
        return True

    def release(self, store: FileStore) -> None:
        if self._thread is None:
            return
        self._ending.set()
        self._thread.join()
        self._thread = None
        if _owner(_read(store, self._name)) == self._owner:
            store.remove(self._name)

    def _take(self, store: FileStore) -> None:
        if not store.put_new(self._text(), self._name):
            self._wait_for_its_end(store)
            store.remove(self._name)
            store.put_new(self._text(), self._name)
        if _owner(_read(store, self._name)) != self._owner:
            raise self._conflict()

    def _wait_for_its_end(self, store: FileStore) -> None:
        """Returns when nobody has it any more, and raises as soon as somebody is known to."""
        first = _read(store, self._name)
        until = time.monotonic() + self._lost_seconds
        while first is not None and not _is_gone(_parsed(first)) and time.monotonic() < until:
            time.sleep(_POLL_SECONDS)
            now = _read(store, self._name)
            if now is None:
                return
            if now != first:
                raise self._conflict()

    def _beat(self) -> None:
        store = self._opened()
        try:
            while not self._ending.wait(self._beat_seconds):
                if _owner(_read(store, self._name)) != self._owner:
                    return
                self._beats += 1
                store.put_text(self._text(), self._name)
        except (SnowmeltError, OSError):
            # The run itself meets the same trouble, and tells of it.
            return
        finally:
            store.close()

    def _text(self) -> str:
        pid = os.getpid()
        place = {"host": socket.gethostname(), "pid": pid, "started": _started(pid)}
        return json.dumps({"owner": self._owner, "beats": self._beats, **place})

    def _conflict(self) -> SnowmeltError:
        return SnowmeltError(
            "000625", "40001", f"Another run of {self._flow} writes at the same time.",
            hint=f"Run one at a time. If there is none, {self._name} is in the way: remove it.", transient=True,
        )  # fmt: skip


def _read(store: FileStore, name: str) -> str | None:
    try:
        with store.local(name) as path:
            return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def _owner(text: str | None) -> str | None:
    return None if text is None else str(_parsed(text).get("owner"))


def _parsed(text: str) -> dict[str, Any]:
    """Empty for what is just being written."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _is_gone(owner: dict[str, Any]) -> bool:
    """Only of this machine it is known; a number may be another process's by now."""
    if owner.get("host") != socket.gethostname() or owner.get("started") is None:
        return False
    return _started(int(owner["pid"])) != str(owner["started"])


def _started(pid: int) -> str | None:
    """When the process began, as Linux counts it, in this run of the machine; None where nobody says."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return f"{boot} {status.rpartition(')')[2].split()[19]}"
