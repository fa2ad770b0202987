"""One owner process per data directory.

The lock is the operating system's and goes with its process, however that ends. `owner.json` beside it only tells
others whom they met; what a killed process left there is recognised by its process being gone.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from snowmelt.core import errors
from snowmelt.core.private_files import make_private

_LOCK = "owner.lock"
_INFO = "owner.json"
_PATIENCE = 1.0
"""Seconds in which an owner has surely said who it is, and somebody who only looked has let go."""
_PAUSE = 0.02


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds a data directory."""

    pid: int
    """0 when it did not say."""
    url: str | None
    """Where its server answers; None for an embedded process, which can't be reached."""


_UNKNOWN = Owner(0, None)


def current_owner(data_dir: Path) -> Owner | None:
    """The process that owns the directory now; None when nobody does."""
    lock = data_dir / _LOCK
    if not lock.exists():
        return None
    deadline = time.monotonic() + _PATIENCE
    with lock.open("a") as handle:
        while True:
            try:
                # Shared, so that two who only look do not take each other for the owner.
                fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return None
            except BlockingIOError:
                owner = _read(data_dir)
            if owner.pid or time.monotonic() > deadline:
                return owner
            time.sleep(_PAUSE)


def _read(data_dir: Path) -> Owner:
    """What the owner said about itself; unknown when it has not yet, or when it was said by one that is gone."""
    try:
        info = json.loads((data_dir / _INFO).read_text(encoding="utf-8"))
        pid, url = int(info["pid"]), info.get("url")
        if info.get("host") == socket.gethostname() and not _alive(pid):
            return _UNKNOWN
        return Owner(pid, url if isinstance(url, str) else None)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return _UNKNOWN


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


class Ownership:
    """Holds the directory until `release`. The operating system releases it when the process dies."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        try:
            make_private(data_dir)
            self._handle: IO[str] | None = (data_dir / _LOCK).open("a")
        except OSError as error:
            raise errors.configuration(f"The data directory {data_dir} can't be used: {error.strerror}.") from None
        try:
            self._take(self._handle)
            self.announce(None)
        except BaseException:
            self._handle.close()
            raise

    def _take(self, handle: IO[str]) -> None:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                owner = _read(self.data_dir)
            # An owner that says nothing may be somebody who only looks whether there is one.
            if owner.pid or time.monotonic() > deadline:
                raise _in_use(self.data_dir, owner) from None
            time.sleep(_PAUSE)

    def announce(self, url: str | None) -> None:
        """Writes down who owns the directory and where it can be reached."""
        path = self.data_dir / _INFO
        draft = path.with_suffix(".tmp")
        try:
            draft.write_text(
                json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "url": url}), encoding="utf-8"
            )
            draft.replace(path)
        except OSError as error:
            raise errors.storage_failed(f"The data directory {self.data_dir}", error) from None

    def release(self) -> None:
        if self._handle is not None:
            (self.data_dir / _INFO).unlink(missing_ok=True)
            self._handle.close()
            self._handle = None


def _in_use(data_dir: Path, owner: Owner) -> errors.SnowmeltError:
    process = f"process {owner.pid}" if owner.pid else "another process"
    address = f" at {owner.url}" if owner.url else ""
    return errors.configuration(
        f"The data directory {data_dir} is in use by {process}{address}.",
        hint=f"Connect to its server with --url {owner.url}."
        if owner.url
        else "Close that process, or let it serve: `snowmelt serve`.",
    )
