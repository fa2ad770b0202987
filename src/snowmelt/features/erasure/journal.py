"""Requests on their way and the records of those that are done, as files of the data directory.

A file is replaced as a whole. While a request is under way its file names the person, so that it can be resumed after a
kill, and nobody but the server's user can read it; when it is done, what names the person is gone from it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from snowmelt.govern.erasure.model import Erasure
from snowmelt.storage.flushing import flush

FOLDER = "erasures"


class ErasureJournal:
    def __init__(self, data_dir: Path) -> None:
        self.folder = data_dir / FOLDER

    def all(self) -> Iterator[Erasure]:
        """The oldest first."""
        found = [Erasure.model_validate_json(path.read_bytes()) for path in self.folder.glob("*.json")]
        yield from sorted(found, key=lambda erasure: erasure.asked_at)

    def get(self, id: str) -> Erasure | None:
        return next((erasure for erasure in self.all() if erasure.id == id), None)

    def put(self, erasure: Erasure) -> Erasure:
        self.folder.mkdir(mode=0o700, exist_ok=True)
        path = self.folder / f"{erasure.id}.json"
        draft = path.with_suffix(".tmp")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
            handle.write(erasure.model_dump_json(indent=2))
        flush(draft)
        draft.replace(path)
        flush(self.folder)
        return erasure
