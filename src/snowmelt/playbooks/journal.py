"""What a run has done, in a file that survives its process: one JSON object a line, synced before anything goes on."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from io import BufferedRandom
from pathlib import Path
from typing import Any

from snowmelt.core.faults import reached
from snowmelt.playbooks import errors as playbook_errors

Event = dict[str, Any]
_SUFFIX = ".jsonl"


def utc_now() -> datetime:
    return datetime.now(UTC)


class Journal:
    """Open for writing, by one process at a time. Use `created` or `opened`."""

    def __init__(self, file: BufferedRandom, events: list[Event], now: Callable[[], datetime]) -> None:
        self._file = file
        self._now = now
        self.events = events

    def append(self, event: str, **values: Any) -> Event:
        """Returns once the event is on the disk."""
        record: Event = {"event": event, "at": self._now().isoformat(), **values}
        reached("journal before")
        self._file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        reached("journal after")
        self.events.append(record)
        return record


@contextmanager
def created(folder: Path, run: str, now: Callable[[], datetime] = utc_now) -> Iterator[Journal]:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{run}{_SUFFIX}"
    with path.open("x+b") as file:
        _lock(file, run)
        # Inputs and SQL are nobody else's business.
        path.chmod(0o600)
        # The name must be on the disk, too, before anything happens that only this file knows of.
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        yield Journal(file, [], now)


@contextmanager
def opened(folder: Path, run: str, now: Callable[[], datetime] = utc_now) -> Iterator[Journal]:
    """To go on with a run. What a crash tore off its last line is cut."""
    path = _existing(folder, run)
    with path.open("r+b") as file:
        _lock(file, run)
        events, length = _parsed(file.read())
        file.truncate(length)
        file.seek(length)
        yield Journal(file, events, now)


def read_events(folder: Path, run: str) -> list[Event]:
    """To look at a run, which may be going on."""
    return _parsed(_existing(folder, run).read_bytes())[0]


def run_ids(folder: Path) -> list[str]:
    """All runs that have a journal with anything in it, the oldest first."""
    found = sorted(folder.glob(f"*{_SUFFIX}")) if folder.is_dir() else []
    return [path.stem for path in found if _parsed(path.read_bytes())[0]]


def _existing(folder: Path, run: str) -> Path:
    path = folder / f"{run}{_SUFFIX}"
    if not path.is_file():
        raise playbook_errors.playbook(
            f"There is no run '{run}' in {folder}.", hint="`status` lists the runs; --runs names a folder."
        )
    return path


def _lock(file: BufferedRandom, run: str) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise playbook_errors.playbook(f"Another process is working on the run '{run}'.") from None


def _parsed(content: bytes) -> tuple[list[Event], int]:
    """The events, and how many bytes of the file they take."""
    events: list[Event] = []
    length = 0
    for line in content.splitlines(keepends=True):
        if not line.endswith(b"\n"):
            break
        try:
            events.append(json.loads(line))
        except ValueError:
            break
        length += len(line)
    return events, length
