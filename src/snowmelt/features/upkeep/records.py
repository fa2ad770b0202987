"""Histories, the state store's file, and files of results: what grows although no table does."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

from snowmelt.core.faults import reached
from snowmelt.runtime.spilling import FOLDER as RESULTS
from snowmelt.state.trimming import HISTORIES

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account

BATCH = 500
"""Rows forgotten in one transaction of the state store, which others wait for."""
_PAGES = 2000


def trim_histories(account: Account, now: datetime, most: int | None = None) -> dict[str, int]:
    """Forgets what is older than the settings say, in small transactions; returns how many rows of what.

    `most`: rows of each history; the rest waits for the next time.
    """
    settings = account.settings.upkeep
    found: dict[str, int] = {}
    for name, history in HISTORIES.items():
        before = now - timedelta(days=getattr(settings, history.kept_as))
        with account.state.read() as reader:
            if not reader.trims.has(history, before):
                continue
        total = 0
        while most is None or total < most:
            with account.state.begin() as state:
                gone = state.trims.trim(history, before, BATCH)
            reached("history-trimmed")
            total += gone
            if gone < BATCH:
                break
        if total:
            found[name] = total
    return found


def tidy_store(account: Account) -> None:
    account.state.tidy(_PAGES)


def remove_leftovers(account: Account) -> int:
    """Removes files of results that are too old to be fetched; returns how many folders."""
    before = time() - account.settings.upkeep.result_hours * 3600
    gone = 0
    for folder in _old(account.data_dir / RESULTS, before):
        reached("before-leftover-removed")
        shutil.rmtree(folder, ignore_errors=True)
        gone += 1
    return gone


def _old(root: Path, before: float) -> Iterator[Path]:
    """Folders of results: of answers, directly below the root, and of a session's queries, below the session's."""
    if not root.is_dir():
        return
    for folder in [*root.iterdir(), *root.glob("*/rows-*")]:
        if folder.is_dir() and _newest(folder) < before:
            yield folder


def _newest(folder: Path) -> float:
    """When something in it last changed."""
    return max((path.stat().st_mtime for path in [folder, *folder.rglob("*")]), default=0.0)
