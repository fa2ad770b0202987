"""The Delta log of one table, file by file: which versions exist, and what each commit says.

Reading the log ourselves, rather than through delta-rs, makes the look-ups that every statement needs cost
microseconds and not depend on the length of the log.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import uuid
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote

from snowmelt.core.errors import SnowmeltError, internal, log_damaged
from snowmelt.core.faults import reached
from snowmelt.storage.commits import CommitTag
from snowmelt.storage.flushing import flush
from snowmelt.storage.folders import ObjectFolder
from snowmelt.storage.layout import LOG_FOLDER

Action = dict[str, Any]
MADE_BY_US = ".made-by-snowmelt"
"""In the log of a table that we made and whose first commit is not there any more."""
_COUNT = "snowmeltActions"
_MOST_KEPT_BYTES = 4 * 1024 * 1024
"""Of the entries of one log, which its readers come back to."""


class LogStore(Protocol):
    """The log's files by name. A commit's file appears whole or not at all."""

    def exists(self, name: str) -> bool: ...
    def read(self, name: str) -> bytes:
        """Raises FileNotFoundError."""
        ...

    def names(self) -> Iterator[str]: ...
    def put_commit(self, version: int, actions: Sequence[Action]) -> None:
        """Commits, or raises FileExistsError. The files that the commit adds are where all can read them by then."""
        ...

    def remove(self, name: str) -> None: ...
    def mark(self, name: str) -> None:
        """Makes an empty file, which is there for good when this returns."""
        ...


class LocalLogStore:
    """On a disk: what was written may not be there after a power cut."""

    def __init__(self, table: Path) -> None:
        self.folder = table / LOG_FOLDER
        # os.stat on a joined string is several times cheaper than on a Path, and this is the hottest call.
        self._prefix = f"{self.folder}{os.sep}"

    def exists(self, name: str) -> bool:
        return os.path.exists(self._prefix + name)  # noqa: PTH110

    def read(self, name: str) -> bytes:
        return Path(self._prefix + name).read_bytes()

    def names(self) -> Iterator[str]:
        if self.folder.is_dir():
            yield from (entry.name for entry in os.scandir(self.folder))

    def put_new(self, name: str, content: bytes) -> None:
        """Write the file, or raise FileExistsError. Nobody ever sees it half-written: it is linked in
        complete, and on disk before it has its name, so that a power cut can't leave the name without it."""
        temporary = self.folder / f".{name}.{uuid.uuid4().hex}.tmp"
        try:
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            reached("log-entry-written")
            os.link(temporary, self.folder / name)
            reached("log-entry-linked")
        finally:
            # What counts has happened by now.
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)

    def put_commit(self, version: int, actions: Sequence[Action]) -> None:
        self.put_new(commit_name(version), format_actions(actions))

    def remove(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    def mark(self, name: str) -> None:
        marker = self.folder / name
        if not marker.exists():
            marker.touch()
            flush(marker)
            flush(self.folder)

    def set_aside(self, name: str) -> None:
        """Take a file out of the log, under another name."""
        path = self.folder / name
        path.rename(path.with_name(f"{name}.torn"))


class ObjectLogStore:
    """The log in an object store. What was once found there is not asked for again: entries never change, and only
    upkeep, which goes through here, removes any."""

    def __init__(self, folder: ObjectFolder) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._there: set[str] = set()
        self._read: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0

    def exists(self, name: str) -> bool:
        if name in self._there:
            return True
        found = self._folder.files.exists(self._path(name))
        if found and _is_commit(name):
            self._there.add(name)
        return found

    def read(self, name: str) -> bytes:
        with self._lock:
            kept = self._read.get(name)
        if kept is not None:
            return kept
        content = self._folder.files.read(self._path(name))
        if _is_commit(name):
            self._note(name, content)
        return content

    def names(self) -> Iterator[str]:
        for found in self._folder.files.inside(self._path(""))[1]:
            yield found.path.rsplit("/", 1)[-1]

    def read_all(self, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """The same of many, side by side. Those that were cleaned away are left out."""

        def found(name: str) -> bytes | None:
            try:
                return self.read(name)
            except FileNotFoundError:
                return None

        for name, content in zip(names, self._folder.side_by_side(found, names), strict=True):
            if content is not None:
                yield name, content

    def newest(self) -> int:
        """The newest version, by listing the log: one request however many there are. -1 when there is none."""
        commits = [name for name in self.names() if _is_commit(name)]
        with self._lock:
            self._there.update(commits)
        return max((int(name[:20]) for name in commits), default=-1)

    def put_commit(self, version: int, actions: Sequence[Action]) -> None:
        name, content = commit_name(version), format_actions(actions)
        self._folder.publish(
            unquote(named["path"]) for action in actions if (named := action.get("add") or action.get("cdc"))
        )
        reached("log-entry-written")
        self._folder.files.put_new(self._path(name), content)
        self._note(name, content)
        reached("log-entry-linked")

    def put(self, name: str, content: bytes) -> None:
        """Writes a file that is no commit, such as the pointer to the newest checkpoint."""
        self._folder.files.put(self._path(name), content)

    def upload(self, name: str, file: Path) -> None:
        self._folder.files.upload(self._path(name), file)

    def remove(self, name: str) -> None:
        self._folder.files.delete([self._path(name)])
        with self._lock:
            self._there.discard(name)
            self._bytes -= len(self._read.pop(name, b""))

    def mark(self, name: str) -> None:
        self._folder.files.put(self._path(name), b"")

    def _note(self, name: str, content: bytes) -> None:
        with self._lock:
            self._there.add(name)
            if name not in self._read:
                self._read[name] = content
                self._bytes += len(content)
            while self._bytes > _MOST_KEPT_BYTES and len(self._read) > 1:
                self._bytes -= len(self._read.popitem(last=False)[1])

    def _path(self, name: str) -> str:
        return f"{self._folder.location}/{LOG_FOLDER}/{name}".rstrip("/")


def commit_name(version: int) -> str:
    return f"{version:020d}.json"


def parse_actions(content: bytes) -> list[Action]:
    """Raises ValueError when something of it is missing."""
    found = [json.loads(line) for line in content.splitlines() if line.strip()]
    info = next((action["commitInfo"] for action in found if "commitInfo" in action), None)
    if info is not None and info.get(_COUNT, len(found)) != len(found):
        raise ValueError(f"{len(found)} of {info[_COUNT]} actions")
    return found


def format_actions(actions: Sequence[Action]) -> bytes:
    """One to a line. The information on the commit says how many, since a text that ends with a line looks whole."""
    counted = (
        {"commitInfo": {**action["commitInfo"], _COUNT: len(actions)}} if "commitInfo" in action else action
        for action in actions
    )
    return "".join(json.dumps(action, separators=(",", ":")) + "\n" for action in counted).encode()


def pointed_checkpoint(store: LogStore) -> int:
    """The version that the log's pointer names; -1 when it names none.

    Callers that ask often use it: a log has as many files as Time Travel has versions, and listing them takes longer
    with each.
    """
    try:
        return int(json.loads(store.read("_last_checkpoint"))["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return -1


class TransactionLog:
    """Versions and commits of one table."""

    def __init__(self, store: LogStore, uri: str) -> None:
        self.store = store
        self._uri = uri
        self._known = -1

    def has(self, version: int) -> bool:
        return version >= 0 and self.store.exists(commit_name(version))

    def latest(self) -> int:
        """The newest version. Costs one look-up when nothing was committed since the last call.

        Versions have no gaps, so that the newest is found by doubling steps from a version known to exist;
        the folder is only listed when the beginning of the log was cleaned away by another tool.
        """
        low = self._known
        if low < 0 and isinstance(self.store, ObjectLogStore):
            # Each question takes so long there that one for all names is quicker.
            low = self.store.newest()
        if not self.has(low):
            low = self._start()
        step = 1
        while self.has(low + step):
            low, step = low + step, step * 2
        # Invariant: `low` exists and `low + step` does not.
        while step > 1:
            step //= 2
            if self.has(low + step):
                low += step
        self._known = low
        return low

    def _start(self) -> int:
        """Some version that exists: the last checkpoint's if its pointer is usable, else the first of the
        log."""
        try:
            pointed = int(json.loads(self.store.read("_last_checkpoint"))["version"])
        except (OSError, ValueError, KeyError, TypeError):
            pointed = 0
        for version in (pointed, 0):
            if self.has(version):
                return version
        versions = [int(name[:20]) for name in self.store.names() if _is_commit(name)]
        if not versions:
            raise internal(f"there is no Delta table at '{self._uri}'")
        return max(versions)

    def actions(self, version: int) -> list[Action]:
        """The actions of one commit. Raises FileNotFoundError when its file is gone, and says so when it is torn."""
        try:
            found = parse_actions(self.store.read(commit_name(version)))
        except ValueError as error:
            raise log_damaged(self._uri, f"the log entry of version {version} is cut off") from error
        if not found:
            # Who takes it for a commit that does nothing has the rows of the version before.
            raise log_damaged(self._uri, f"the log entry of version {version} is empty")
        return found

    def is_torn(self, version: int) -> bool:
        """Whether the commit's file is empty or no valid text."""
        try:
            self.actions(version)
        except SnowmeltError:
            return True
        return False

    def made_by_us(self) -> bool:
        """Whether the first commit is ours, or was never made."""
        if self.store.exists(MADE_BY_US):
            return True
        try:
            first = self.actions(0)
        except FileNotFoundError:
            return not any(_is_commit(name) for name in self.store.names())
        except SnowmeltError:
            return False
        return any(CommitTag.parse(action.get("commitInfo", {})) is not None for action in first)


def _is_commit(name: str) -> bool:
    return len(name) == 25 and name.endswith(".json") and name[:20].isdigit()
