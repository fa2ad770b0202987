"""Files of the machine that statements may not touch, and opening those that they may.

A path is judged by what it leads to, not by how it is written: links, `..`, percent signs, the case of letters and
bind mounts all end at the same device and inode. Each folder on the way is opened below the one before it and without
following links, so nothing can be exchanged between the look and the opening.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from snowmelt.core.errors import SnowmeltError, insufficient_privileges

_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CONFIGURATION = frozenset({"snowmelt.toml"})
"""Names that are configuration wherever they lie: another start may happen there."""
_LOADED = frozenset(
    {
        ".toml", ".py", ".pyc", ".pyi", ".pth", ".so", ".pyd", ".dylib", ".dll", ".jar", ".class", ".sh", ".bash",
        ".yml", ".yaml", ".ini", ".cfg", ".conf", ".env", ".properties", ".sql", ".key", ".pem", ".p8", ".service",
        ".desktop", ".exe", ".bat", ".cmd", ".ps1", ".rb", ".pl", ".js", ".mjs", ".db", ".sqlite",
    }
)  # fmt: skip
"""Ends of names that programs load as code, settings, keys or state."""

Identity = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Protected:
    """What no statement reads or writes, and what none writes."""

    hidden: tuple[Path, ...] = ()
    unwritable: tuple[Path, ...] = ()
    _hidden: frozenset[Identity] = field(init=False, repr=False, compare=False)
    _unwritable: frozenset[Identity] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hidden", _identities(self.hidden))
        object.__setattr__(self, "_unwritable", _identities(self.unwritable))

    def read(self, path: str | Path) -> int:
        """A descriptor of a file to read. Raises 003001 for a protected one, and OSError."""
        with self.parent(path) as (folder, name):
            return open_file(folder, name, os.O_RDONLY, self._hidden)

    def read_text(self, path: str | Path) -> str:
        with os.fdopen(self.read(path), encoding="utf-8") as handle:
            return handle.read()

    def check(self, path: str | Path) -> None:
        """Raises when the path leads into what is hidden, whether anything is there or not."""
        real = Path(os.path.realpath(path))
        spelled = {_folded(each) for each in self.hidden}
        for each in (real, *real.parents):
            if _identity(each) in self._hidden or _folded(each) in spelled:
                raise refused(path)
        self.check_name(real.name, path)

    def check_name(self, name: str, path: str | Path) -> None:
        if name.casefold() in _CONFIGURATION:
            raise refused(path)

    def check_written_name(self, path: str | Path) -> None:
        """Raises for a name under which some program would take what is written for its code or settings."""
        name = Path(path).name.casefold()
        if name.startswith(".") or any(name.endswith(end) for end in _LOADED) or name in _CONFIGURATION:
            raise refused(path)

    @contextmanager
    def parent(self, path: str | Path, *, writes: bool = False) -> Iterator[tuple[int, str]]:
        """The open folder of a path, and the name in it; the name is no link at this moment."""
        real = Path(os.path.realpath(path))
        if writes:
            self.check_written_name(real)
        self.check_name(real.name, path)
        with self.folder(real.parent, writes=writes) as folder:
            yield folder, real.name

    @contextmanager
    def folder(self, path: str | Path, *, writes: bool = False) -> Iterator[int]:
        """A folder, opened from the root on. Raises 003001 when the way leads through a protected one."""
        refused_ones = self._hidden | self._unwritable if writes else self._hidden
        real = Path(os.path.realpath(path))
        descriptor = os.open(real.anchor or "/", _FOLDER)
        try:
            for part in real.parts[1:]:
                descriptor = _step(descriptor, part, refused_ones, path)
            yield descriptor
        finally:
            os.close(descriptor)

    def is_hidden(self, found: os.stat_result, name: str) -> bool:
        return (found.st_dev, found.st_ino) in self._hidden or name.casefold() in _CONFIGURATION


def open_file(folder: int, name: str, flags: int, refused_ones: frozenset[Identity] = frozenset()) -> int:
    """An ordinary file of an open folder: no link, no device, no pipe."""
    descriptor = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise IsADirectoryError(f"'{name}' is not a file")
        if (found.st_dev, found.st_ino) in refused_ones:
            raise refused(name)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def open_folder(folder: int, name: str) -> int:
    return os.open(name, _FOLDER, dir_fd=folder)


def refused(path: str | Path) -> SnowmeltError:
    """One message for what is protected, whether it is there or not."""
    base = insufficient_privileges("location", str(path))
    return SnowmeltError(
        base.code, base.sqlstate, base.message,
        hint="Statements can't use the account's own files, or files that programs load as code or settings.",
    )  # fmt: skip


def _step(descriptor: int, part: str, refused_ones: frozenset[Identity], path: str | Path) -> int:
    following = open_folder(descriptor, part)
    found = os.fstat(following)
    if (found.st_dev, found.st_ino) in refused_ones:
        os.close(following)
        raise refused(path)
    os.close(descriptor)
    return following


def _identities(paths: tuple[Path, ...]) -> frozenset[Identity]:
    found = (_identity(path) for path in paths)
    return frozenset(each for each in found if each is not None)


def _identity(path: Path) -> Identity | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _folded(path: Path) -> str:
    return os.path.realpath(path).casefold()
