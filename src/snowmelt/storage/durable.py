"""Making a commit survive a power cut.

A renamed or linked file is on disk only after its own content and the folder that names it were flushed. The
state store flips the visible version after this, so that it never names a commit the disk lost.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from urllib.parse import unquote

from snowmelt.storage.flushing import flush
from snowmelt.storage.layout import LOG_FOLDER
from snowmelt.storage.log import Action, commit_name

SIDE_BY_SIDE = 8


class Unflushed:
    """What must be on disk before somebody relies on it. All is flushed together: the disk then writes it at once."""

    def __init__(self, files: Iterable[Path] = ()) -> None:
        self._files = list(files)
        self._may_be_gone: list[Path] = []
        self._folders = {file.parent for file in self._files}

    def add_commit(self, table: Path, version: int, actions: Sequence[Action], stop: Path) -> None:
        """The data files that the commit added, its log entry, and every folder between them and `stop`."""
        described = [action.get("add") or action.get("cdc") for action in actions]
        added = [table / unquote(one["path"].removeprefix("file://")) for one in described if one is not None]
        # Another tool may have replaced its own files and cleaned them away since.
        present = [path for path in added if path.exists()]
        self._may_be_gone += present
        self._files.append(table / LOG_FOLDER / commit_name(version))
        self._folders.update([table, table / LOG_FOLDER, *(path.parent for path in present)])
        # The folders of a new table are new themselves: their names lie in their parents.
        if version == 0:
            self._folders.update(parent for parent in table.parents if parent.is_relative_to(stop))

    def flush(self) -> None:
        # Content before the names that lead to it.
        flush_all(self._files, may_be_gone=self._may_be_gone)
        flush_all(self._folders)


def flush_all(paths: Iterable[Path], *, may_be_gone: Iterable[Path] = ()) -> None:
    """Returns when all of these are on disk. They are flushed side by side, so that the disk writes them at once."""
    steps = [*(partial(_flush_if_there, path) for path in may_be_gone), *(partial(flush, path) for path in paths)]
    waiting = [_begin(step) for step in steps[1:]]
    for step in steps[:1]:
        step()
    for done in waiting:
        done.result()


def _begin(step: Callable[[], None]) -> Future[None]:
    try:
        return _flushers().submit(step)
    except RuntimeError:
        # The program ends, and Python has stopped all pools before accounts are closed.
        step()
        done: Future[None] = Future()
        done.set_result(None)
        return done


@cache
def _flushers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(SIDE_BY_SIDE, thread_name_prefix="snowmelt-flush")


def _flush_if_there(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        flush(path)
