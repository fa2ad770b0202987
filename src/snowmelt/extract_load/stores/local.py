"""A folder of this machine, or one that is mounted here."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from snowmelt.extract_load.stores.base import FileStore, StoredFile
from snowmelt.storage.flushing import flush


class LocalStore(FileStore):
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def files(self, pattern: str) -> list[StoredFile]:
        found = [path for path in self.folder.glob(pattern) if path.is_file() and not path.name.startswith(".")]
        return [self._described(path) for path in sorted(found)]

    def _described(self, path: Path) -> StoredFile:
        status = path.stat()
        return StoredFile(path.relative_to(self.folder).as_posix(), status.st_size, status.st_mtime)

    def fetch(self, name: str, target: Path) -> None:
        shutil.copyfile(self.folder / name, target)

    def put(self, source: Path, name: str) -> None:
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}")
        shutil.copyfile(source, draft)
        flush(draft)
        draft.replace(target)

    def put_new(self, text: str, name: str) -> bool:
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}")
        draft.write_text(text, encoding="utf-8")
        flush(draft)
        try:
            os.link(draft, target)
        except FileExistsError:
            return False
        finally:
            draft.unlink()
        return True

    def remove(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    def close(self) -> None:
        """There is no connection to let go."""

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        yield self.folder / name
