"""What this process writes belongs to its user alone: folders 0700, files 0600, whatever the umask was."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import structlog

_PRIVATE = 0o077
_log = structlog.get_logger(__name__)


class _Umask:
    """The umask that the process was started with."""

    before: int | None = None


def keep_private() -> None:
    """From now on, files that this process or its children (Spark's JVM) create can be read by their owner only."""
    found = os.umask(_PRIVATE)
    if _Umask.before is None:
        _Umask.before = found


def prepare(data_dir: Path) -> None:
    """Before anything is written: what is in the directory, and what comes into it, is private."""
    # Spark's JVM, SQLite and delta-rs take no mode: what they create is private by the process's mask.
    keep_private()
    narrow(data_dir)


def usual_mode() -> int:
    """The mode of a file that is made for others, such as an unload into a folder of the machine."""
    before = _Umask.before
    if before is None:
        before = os.umask(_PRIVATE)
        os.umask(before)
    return 0o666 & ~before


def make_private(folder: Path) -> None:
    """Makes a folder of 0700; parents that are missing get the same."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        each.chmod(0o700)


def narrow(folder: Path) -> int:
    """Takes the rights of others from a folder and all that is in it; returns how many had some.

    The folder comes first: what is inside can't be reached any more while the rest is done. A folder that was private
    before is private inside, so a second start looks at one folder only.
    """
    if not folder.exists() or not _narrow(folder):
        return 0
    changed = 1
    for root, folders, files in os.walk(folder):
        changed += sum(_narrow(Path(root, name)) for name in (*folders, *files))
    _log.warning("data_directory_narrowed", folder=str(folder), changed=changed)
    return changed


def _narrow(path: Path) -> bool:
    try:
        found = os.lstat(path)
        mode = stat.S_IMODE(found.st_mode)
        if stat.S_ISLNK(found.st_mode) or not mode & _PRIVATE:
            return False
        path.chmod(mode & ~_PRIVATE)
    except OSError as error:
        _log.warning("cannot_narrow", path=str(path), error=error.strerror)
        return False
    return True
