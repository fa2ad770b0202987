"""Making a commit survive a power cut.

A renamed or linked file is on disk only after its own content and the folder that names it were flushed. The
state store flips the visible version after this, so that it never names a commit the disk lost.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from snowmelt.storage.layout import LOG_FOLDER
from snowmelt.storage.log import Action, commit_name


def sync_commit(table: Path, version: int, actions: Sequence[Action], stop: Path) -> None:
    """Flush the data files that the commit added, its log entry, and every folder between them and `stop`."""
    folders = {table, table / LOG_FOLDER}
    for action in actions:
        described = action.get("add") or action.get("cdc")
        if described is None:
            continue
        path = table / unquote(described["path"].removeprefix("file://"))
        # Another tool may have replaced its own file and cleaned it away since.
        with contextlib.suppress(FileNotFoundError):
            flush(path)
            folders.add(path.parent)
    flush(table / LOG_FOLDER / commit_name(version))
    # The folders of a new table are new themselves: their names lie in their parents.
    if version == 0:
        folders.update(parent for parent in table.parents if parent.is_relative_to(stop))
    for folder in sorted(folders, key=lambda path: len(path.parts), reverse=True):
        flush(folder)


def flush(path: Path) -> None:
    """Returns when the file or folder is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
