"""The folder of one table: where its data files are read and written, on a local disk or through a cache of a store.

Writers make files below `path`, whatever stands behind it, and `publish` brings them to where everybody can read them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from snowmelt.core.faults import reached
from snowmelt.storage.object_caches import ObjectCache
from snowmelt.storage.objects import ObjectFiles

CHANGE_FOLDER = "_change_data"
Item = TypeVar("Item")
Result = TypeVar("Result")
_NOT_LINKABLE = frozenset({errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS})


@dataclass(frozen=True, slots=True)
class FileFacts:
    path: str
    """From the table's folder on."""
    size: int
    touched: float
    """Seconds since 1970, when its content or its name was made."""


class TableFolder(Protocol):
    @property
    def path(self) -> Path:
        """Where new files are written."""
        ...

    def present(self, relative: str) -> Path:
        """A file of the table, to be read here. Raises FileNotFoundError."""
        ...

    def data_files(self) -> Iterator[FileFacts]:
        """The Parquet files that lie in the folder and in that of the change feed."""
        ...

    def remove(self, relatives: Sequence[str]) -> list[int]:
        """Removes those files that exist, and returns their sizes."""
        ...

    def take(self, copies: Sequence[tuple[str, str]]) -> None:
        """Gives the table files that stand elsewhere: their addresses, and their names here."""
        ...

    def put(self, relative: str, content: bytes) -> None:
        """Makes a small file that is none of the table's, at once and as a whole."""
        ...

    def read(self, relative: str) -> bytes:
        """Such a file. Raises FileNotFoundError."""
        ...

    def drop_old(self, directory: str, before: float) -> None:
        """Removes such files that were made before that moment, in seconds since 1970."""
        ...


class LocalFolder:
    def __init__(self, path: Path) -> None:
        self.path = path

    def present(self, relative: str) -> Path:
        return self.path / relative

    def data_files(self) -> Iterator[FileFacts]:
        for directory in (self.path, self.path / CHANGE_FOLDER):
            if not directory.is_dir():
                continue
            for entry in os.scandir(directory):
                try:
                    found = entry.stat()
                except FileNotFoundError:
                    continue
                if entry.is_file() and is_data_file(entry.name):
                    relative = Path(entry.path).relative_to(self.path).as_posix()
                    # A clone's files are links to old ones: the link itself changes a file's record, not its content.
                    yield FileFacts(relative, found.st_size, max(found.st_mtime, found.st_ctime))

    def remove(self, relatives: Sequence[str]) -> list[int]:
        sizes: list[int] = []
        for relative in relatives:
            try:
                found = (self.path / relative).stat().st_size
                reached("before-file-removed")
                (self.path / relative).unlink()
            except FileNotFoundError:
                continue
            sizes.append(found)
        return sizes

    def take(self, copies: Sequence[tuple[str, str]]) -> None:
        for source, relative in copies:
            target = self.path / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            _link(Path(source.removeprefix("file://")), target)

    def put(self, relative: str, content: bytes) -> None:
        target = self.path / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{uuid.uuid4().hex}.part")
        try:
            draft.write_bytes(content)
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)

    def read(self, relative: str) -> bytes:
        return (self.path / relative).read_bytes()

    def drop_old(self, directory: str, before: float) -> None:
        for entry in os.scandir(self.path / directory):
            with contextlib.suppress(FileNotFoundError):
                if entry.stat().st_mtime < before:
                    Path(entry.path).unlink()


class ObjectFolder:
    """`location`: the table's folder below the root."""

    def __init__(self, cache: ObjectCache, location: str) -> None:
        self._cache = cache
        self.location = location
        self.path = cache.path(location)

    @property
    def files(self) -> ObjectFiles:
        return self._cache.files

    def present(self, relative: str) -> Path:
        return self._cache.fetch(f"{self.location}/{relative}")

    def publish(self, relatives: Iterable[str]) -> None:
        """Returns when files that were written here are in the store. Those that are there already stay as they are."""
        own = (each for each in relatives if "://" not in each and not each.startswith("/"))
        self._cache.publish(f"{self.location}/{each}" for each in own)

    def data_files(self) -> Iterator[FileFacts]:
        for directory in (self.location, f"{self.location}/{CHANGE_FOLDER}"):
            for found in self.files.inside(directory)[1]:
                if is_data_file(found.path.rsplit("/", 1)[-1]):
                    yield FileFacts(found.path.removeprefix(f"{self.location}/"), found.size, found.changed)

    def remove(self, relatives: Sequence[str]) -> list[int]:
        if not relatives:
            return []
        sizes = {found.path: found.size for found in self.data_files()}
        gone = [relative for relative in relatives if relative in sizes]
        reached("before-file-removed")
        self.files.delete([f"{self.location}/{relative}" for relative in gone])
        self._cache.forget(f"{self.location}/{relative}" for relative in gone)
        return [sizes[relative] for relative in gone]

    def side_by_side(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        return self._cache.side_by_side(work, items)

    def take(self, copies: Sequence[tuple[str, str]]) -> None:
        start = f"{self.files.uri}/"
        pairs = [(source.removeprefix(start), f"{self.location}/{relative}") for source, relative in copies]
        self._cache.copy_all(pairs)

    def put(self, relative: str, content: bytes) -> None:
        self.files.put(f"{self.location}/{relative}", content)

    def read(self, relative: str) -> bytes:
        return self.files.read(f"{self.location}/{relative}")

    def drop_old(self, directory: str, before: float) -> None:
        found = self.files.inside(f"{self.location}/{directory}")[1]
        self.files.delete([each.path for each in found if each.changed < before])


def is_data_file(name: str) -> bool:
    return name.endswith(".parquet") and not name.startswith((".", "_"))


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in _NOT_LINKABLE:
            raise
        shutil.copy2(source, target)
