"""Local copies of files in an object store: a bounded folder for each storage root.

Data files have names of their own and never change, so a copy stays true for as long as it lies here; what is read of
an object in pieces is checked by its etag. A file that we write is written here first and uploaded before a commit
names it, so that it needn't be fetched again. The folder starts empty: after a crash nobody can tell a file that was
uploaded from one that was not.

Everybody who opens a data file asks `OBJECT_CACHES.present` first. On a local disk that gives the path back.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import threading
import time
import uuid
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from snowmelt.storage.objects import ObjectFacts, ObjectFiles

Item = TypeVar("Item")
Result = TypeVar("Result")
KEPT = "_kept"
"""In the folder, what is no copy and stays: files beside those of tables, each table's in a folder of its own."""
_SIDE_BY_SIDE = 16
_IN_USE_SECONDS = 120.0
"""No copy goes that somebody asked for so shortly before: he may be about to open it."""


_LARGE = 8 << 20
"""Of files from this size on, only the parts that are asked for are read, at first."""
_READ_IN_PARTS = 4
"""How often. Then a copy is made: somebody comes back to it."""
_MOST_SEEN = 10_000


class ObjectCache:
    """Safe to use from many threads."""

    def __init__(self, files: ObjectFiles, folder: Path, most_bytes: int) -> None:
        self.files = files
        self.folder = folder
        self.prefix = f"{folder}{os.sep}"
        self._most_bytes = most_bytes
        self._kept: OrderedDict[str, tuple[int, float]] = OrderedDict()
        """By path: the size of files that are in the store as well, and when they were last asked for."""
        self._bytes = 0
        self._seen: dict[str, tuple[ObjectFacts, int]] = {}
        """Files that are read in parts, with how often they were opened."""
        self._lock = threading.Lock()
        self._fetching: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        folder.mkdir(parents=True, exist_ok=True)
        for entry in folder.iterdir():
            if entry.name != KEPT:
                shutil.rmtree(entry, ignore_errors=True)

    @property
    def bytes(self) -> int:
        return self._bytes

    def path(self, relative: str) -> Path:
        return self.folder / relative

    def relative(self, path: str) -> str:
        return path.removeprefix(self.prefix)

    def fetch(self, relative: str) -> Path:
        """The file's copy, which is made if there is none. Raises FileNotFoundError."""
        path = self.path(relative)
        if path.exists():
            self._touch(relative)
            return path
        with self._lock:
            alone = self._fetching[relative]
        try:
            with alone:
                if not path.exists():
                    self._download(relative, path)
        finally:
            with self._lock:
                self._fetching.pop(relative, None)
        return path

    def fetch_all(self, relatives: Iterable[str]) -> None:
        """The same for many, side by side."""
        self.side_by_side(self.fetch, list(relatives))

    def opened(self, relative: str) -> Path | pa.NativeFile:
        """The file to read a part of: its copy, or the object itself as long as it is large and was seldom read."""
        path = self.path(relative)
        if path.exists():
            self._touch(relative)
            return path
        facts, times = self._seen.get(relative) or (self.files.facts(relative), 0)
        if facts.size < _LARGE or times >= _READ_IN_PARTS:
            self._seen.pop(relative, None)
            return self.fetch(relative)
        with self._lock:
            self._seen[relative] = facts, times + 1
            while len(self._seen) > _MOST_SEEN:
                self._seen.pop(next(iter(self._seen)))
        return pa.PythonFile(RangedFile(self.files, facts), mode="r")

    def _download(self, relative: str, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
        try:
            found = self.files.download(relative, draft)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
        self._keep(relative, found.size)

    def publish(self, relatives: Iterable[str]) -> None:
        """Returns when the files that were written here are in the store."""
        new = [each for each in relatives if each not in self._kept and self.path(each).exists()]
        self.side_by_side(self._upload, new)

    def _upload(self, relative: str) -> None:
        path = self.path(relative)
        self.files.upload(relative, path)
        self._keep(relative, path.stat().st_size)

    def side_by_side(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Not to be called from what it runs."""
        return list(self._workers.map(work, items)) if len(items) > 1 else [work(item) for item in items]

    def copy_all(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Copies objects within the store, side by side: from which path to which."""
        self.side_by_side(lambda pair: self.files.copy(*pair), list(pairs))

    def forget(self, relatives: Iterable[str]) -> None:
        """Removes copies of files that are in the store no more, or never will be."""
        for relative in relatives:
            with self._lock:
                size, _ = self._kept.pop(relative, (0, 0.0))
                self._bytes -= size
            self.path(relative).unlink(missing_ok=True)

    def forget_below(self, relative: str) -> None:
        with self._lock:
            gone = [each for each in self._kept if each.startswith(f"{relative}/")]
        self.forget(gone)
        shutil.rmtree(self.path(relative), ignore_errors=True)

    def close(self) -> None:
        if "_workers" in self.__dict__:
            self._workers.shutdown(wait=True)

    @cached_property
    def _workers(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(_SIDE_BY_SIDE, thread_name_prefix="snowmelt-store")

    def _touch(self, relative: str) -> None:
        with self._lock:
            if (known := self._kept.get(relative)) is not None:
                self._kept[relative] = known[0], time.monotonic()
                self._kept.move_to_end(relative)

    def _keep(self, relative: str, size: int) -> None:
        now = time.monotonic()
        with self._lock:
            before, _ = self._kept.pop(relative, (0, 0.0))
            self._kept[relative] = size, now
            self._bytes += size - before
            gone: list[str] = []
            while self._bytes > self._most_bytes:
                oldest, (bytes_, used) = next(iter(self._kept.items()))
                if used > now - _IN_USE_SECONDS:
                    break
                del self._kept[oldest]
                self._bytes -= bytes_
                gone.append(oldest)
        for each in gone:
            with contextlib.suppress(OSError):
                self.path(each).unlink(missing_ok=True)


class RangedFile(io.RawIOBase):
    """An object that is read in parts, as long as it is the one that was found."""

    def __init__(self, files: ObjectFiles, facts: ObjectFacts) -> None:
        self._files, self._facts = files, facts
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._facts.size}[whence]
        self._position = start + offset
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        left = self._facts.size - self._position
        end = self._position + (left if size is None or size < 0 else min(size, left))
        if end <= self._position:
            return b""
        content = self._files.range_of(self._facts, self._position, end)
        self._position = end
        return content


class ObjectCaches:
    """The caches of this process, by the address of their root and by their folder."""

    def __init__(self) -> None:
        self._open: tuple[ObjectCache, ...] = ()
        self._lock = threading.Lock()

    def add(self, cache: ObjectCache) -> None:
        with self._lock:
            self._open = (*self._open, cache)

    def remove(self, cache: ObjectCache) -> None:
        with self._lock:
            self._open = tuple(each for each in self._open if each is not cache)

    def local_path(self, uri: str) -> str:
        """Where the copy of a file is or would be; other addresses stay what they are."""
        for cache in self._open:
            if uri.startswith(f"{cache.files.uri}/"):
                return cache.prefix + uri[len(cache.files.uri) + 1 :]
        return uri

    def present(self, path: str) -> str:
        """The path, once there is a file: what lies in an object store is fetched. Raises FileNotFoundError."""
        for cache in self._open:
            if path.startswith(cache.prefix):
                cache.fetch(cache.relative(path))
        return path

    def opened(self, path: str) -> str | Path | pa.NativeFile:
        """What to read a part of a file from."""
        for cache in self._open:
            if path.startswith(cache.prefix):
                return cache.opened(cache.relative(path))
        return path

    def all_present(self, paths: Iterable[str]) -> None:
        """The same for many, side by side."""
        wanted = list(paths)
        for cache in self._open:
            cache.fetch_all(cache.relative(path) for path in wanted if path.startswith(cache.prefix))


OBJECT_CACHES = ObjectCaches()
