"""One owner process per data directory."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from snowmelt.core import errors

_LOCK = "owner.lock"
_INFO = "owner.json"


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds a data directory."""

    pid: int
    url: str | None
    """Where its server answers; None for an embedded process, which can't be reached."""


def current_owner(data_dir: Path) -> Owner | None:
    """The process that owns the directory now; None when nobody does."""
    lock = data_dir / _LOCK
    if not lock.exists():
        return None
    with lock.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return _read(data_dir)
    return None


def _read(data_dir: Path) -> Owner:
    try:
        info = json.loads((data_dir / _INFO).read_text(encoding="utf-8"))
        return Owner(int(info["pid"]), info.get("url"))
    except (OSError, ValueError, KeyError):
        return Owner(0, None)


class Ownership:
    """Holds the directory until `release`. The operating system releases it when the process dies."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        data_dir.mkdir(parents=True, exist_ok=True)
        self._handle: IO[str] | None = (data_dir / _LOCK).open("a")
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._handle.close()
            owner = _read(data_dir)
            address = f" at {owner.url}" if owner.url else ""
            raise errors.configuration(
                f"The data directory {data_dir} is in use by process {owner.pid}{address}.",
                hint=f"Connect to its server with --url {owner.url}." if owner.url else
                "Close that process, or let it serve: `snowmelt serve`.",
            ) from None  # fmt: skip
        self.announce(None)

    def announce(self, url: str | None) -> None:
        """Writes down who owns the directory and where it can be reached."""
        path = self._data_dir / _INFO
        draft = path.with_suffix(".tmp")
        draft.write_text(json.dumps({"pid": os.getpid(), "url": url}), encoding="utf-8")
        draft.replace(path)

    def release(self) -> None:
        if self._handle is not None:
            (self._data_dir / _INFO).unlink(missing_ok=True)
            self._handle.close()
            self._handle = None
