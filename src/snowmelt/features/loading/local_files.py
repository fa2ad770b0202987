"""The local files that statements read and write: a folder as an Arrow file system, and nothing beside it.

Spark, Arrow and COPY get their files from here alone, so that one guard stands before all of them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs

from snowmelt.core import private_files
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.protected import Protected, open_file, open_folder

_REOPENS = Path("/proc/self/fd").is_dir()
"""Whether a descriptor has a path, by which Arrow reads without Python in between."""


class LocalFiles(pafs.FileSystemHandler):  # type: ignore[misc]
    """The files below a folder. `guard`: for folders of the machine; without one the folder is one of ours, in which no
    link is followed at all."""

    def __init__(self, root: Path, guard: Protected | None) -> None:
        self._root = root
        self._guard = guard

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LocalFiles) and (self._root, self._guard) == (other._root, other._guard)

    __hash__ = None  # type: ignore[assignment]

    def get_type_name(self) -> str:
        return "snowmelt-local"

    def normalize_path(self, path: str) -> str:
        return path

    # -- looking --------------------------------------------------------------------------------------------------

    def get_file_info(self, paths: list[str]) -> list[pafs.FileInfo]:
        return [self._info(path) for path in paths]

    def get_file_info_selector(self, selector: pafs.FileSelector) -> list[pafs.FileInfo]:
        try:
            return list(self._listed(selector.base_dir, recursive=selector.recursive))
        except (FileNotFoundError, NotADirectoryError):
            if selector.allow_not_found:
                return []
            raise

    def _info(self, path: str) -> pafs.FileInfo:
        if not path.strip("/"):
            return pafs.FileInfo("", pafs.FileType.Directory if self._root.is_dir() else pafs.FileType.NotFound)
        try:
            with self._entry(path) as entry:
                found = os.stat(entry.name, dir_fd=entry.folder, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return pafs.FileInfo(path, pafs.FileType.NotFound)
        if self._guard is not None and self._guard.is_hidden(found, entry.name):
            return pafs.FileInfo(path, pafs.FileType.NotFound)
        return _file_info(path, found)

    def _listed(self, folder: str, *, recursive: bool) -> Iterator[pafs.FileInfo]:
        for name in sorted(self._names(folder)):
            try:
                info = self._info(f"{folder.strip('/')}/{name}".lstrip("/"))
            except SnowmeltError:
                # A link to something protected: whoever lists the folder does not learn of it.
                continue
            if info.type == pafs.FileType.NotFound:
                continue
            yield info
            if recursive and info.type == pafs.FileType.Directory:
                yield from self._listed(info.path, recursive=True)

    def _names(self, folder: str) -> list[str]:
        with self._folder(folder) as opened:
            # A descriptor that only names a folder can't be read.
            readable = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=opened)
            try:
                with os.scandir(readable) as entries:
                    return [entry.name for entry in entries if _is_text(entry.name)]
            finally:
                os.close(readable)

    # -- content --------------------------------------------------------------------------------------------------

    def open_input_stream(self, path: str) -> Any:
        return self.open_input_file(path)

    def open_input_file(self, path: str) -> Any:
        if self._guard is not None:
            return _arrow_file(self._guard.read(self._root / path), "r")
        with self._entry(path) as entry:
            return _arrow_file(open_file(entry.folder, entry.name, os.O_RDONLY), "r")

    def open_output_stream(self, path: str, metadata: Any) -> Any:
        self._make_root()
        with self._entry(path, writes=True) as entry:
            descriptor = open_file(entry.folder, entry.name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        if self._guard is not None:
            os.fchmod(descriptor, private_files.usual_mode())
        return _arrow_file(descriptor, "w")

    def open_append_stream(self, path: str, metadata: Any) -> Any:
        raise NotImplementedError("files of a stage are written once")

    # -- changing -------------------------------------------------------------------------------------------------

    def create_dir(self, path: str, recursive: bool) -> None:
        self._make_root()
        done = ""
        for part in (part for part in path.split("/") if part):
            with self._folder(done, writes=True) as folder, suppress(FileExistsError):
                os.mkdir(part, 0o700 if self._guard is None else 0o777, dir_fd=folder)
            done = f"{done}/{part}".lstrip("/")

    def _make_root(self) -> None:
        """The folder that a URL names need not be there before the first file is written."""
        if self._guard is None or self._root.exists():
            return
        real = Path(os.path.realpath(self._root))
        for each in reversed((real, *real.parents[:-1])):
            if not each.exists():
                with self._guard.folder(each.parent, writes=True) as folder, suppress(FileExistsError):
                    os.mkdir(each.name, dir_fd=folder)

    def delete_file(self, path: str) -> None:
        with self._entry(path, writes=True) as entry:
            found = os.stat(entry.name, dir_fd=entry.folder, follow_symlinks=False)
            if self._guard is not None and self._guard.is_hidden(found, entry.name):
                raise FileNotFoundError(path)
            os.unlink(entry.name, dir_fd=entry.folder)

    def move(self, src: str, dest: str) -> None:
        if self._guard is not None:
            self._guard.check_written_name(dest)
        with self._entry(src, writes=True) as old, self._entry(dest, writes=True) as new:
            os.replace(old.name, new.name, src_dir_fd=old.folder, dst_dir_fd=new.folder)

    def copy_file(self, src: str, dest: str) -> None:
        raise NotImplementedError("files of a stage are not copied")

    def delete_dir(self, path: str) -> None:
        raise NotImplementedError("folders of a stage are not deleted")

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        raise NotImplementedError("folders of a stage are not deleted")

    def delete_root_dir_contents(self) -> None:
        raise NotImplementedError("folders of a stage are not deleted")

    # -- finding --------------------------------------------------------------------------------------------------

    @contextmanager
    def _entry(self, path: str, *, writes: bool = False) -> Iterator[_Entry]:
        path = path.strip("/")
        if self._guard is not None:
            real = Path(os.path.realpath(self._root / path))
            with self._guard.folder(real.parent, writes=writes) as folder:
                yield _Entry(folder, real.name)
            return
        parent, _, name = path.rpartition("/")
        with self._folder(parent) as folder:
            yield _Entry(folder, name)

    @contextmanager
    def _folder(self, path: str, *, writes: bool = False) -> Iterator[int]:
        if self._guard is not None:
            with self._guard.folder(self._root / path.strip("/"), writes=writes) as folder:
                yield folder
            return
        descriptor = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in (part for part in path.split("/") if part):
                following = open_folder(descriptor, part)
                os.close(descriptor)
                descriptor = following
            yield descriptor
        finally:
            os.close(descriptor)


@dataclass(frozen=True, slots=True)
class _Entry:
    folder: int
    """An open folder."""
    name: str


def _file_info(path: str, found: os.stat_result) -> pafs.FileInfo:
    if stat.S_ISDIR(found.st_mode):
        return pafs.FileInfo(path, pafs.FileType.Directory, mtime=found.st_mtime)
    if stat.S_ISREG(found.st_mode):
        return pafs.FileInfo(path, pafs.FileType.File, size=found.st_size, mtime=found.st_mtime)
    return pafs.FileInfo(path, pafs.FileType.NotFound)


def _arrow_file(descriptor: int, mode: str) -> Any:
    """The open file as Arrow takes it; it owns the descriptor."""
    if not _REOPENS:
        return pa.PythonFile(os.fdopen(descriptor, f"{mode}b"), mode=mode)
    try:
        return pa.OSFile(f"/proc/self/fd/{descriptor}", mode)
    finally:
        os.close(descriptor)


def _is_text(name: str) -> bool:
    """A name whose bytes are not UTF-8 can't be shown, written down or asked for."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
