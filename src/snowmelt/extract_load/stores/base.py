"""What every store is: files beneath an address, listed, fetched, and put so that no reader sees half of one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory


@dataclass(frozen=True, slots=True)
class StoredFile:
    name: str
    """Relative to the address, with slashes."""
    size: int | None = None
    modified: float | None = None
    """Seconds since 1970; None where the store does not say."""


class FileStore(ABC):
    @abstractmethod
    def files(self, pattern: str) -> list[StoredFile]:
        """The files whose names match, sorted by name; `**` stands for any folders."""

    @abstractmethod
    def fetch(self, name: str, target: Path) -> None:
        """Copies a file here. Raises FileNotFoundError for one that is not there."""

    @abstractmethod
    def put(self, source: Path, name: str) -> None:
        """Copies a file there, replacing one of that name in one step."""

    def put_text(self, text: str, name: str) -> None:
        """Puts a small text file, as `put` does."""
        with TemporaryDirectory(prefix="snowmelt-") as folder:
            draft = Path(folder) / "text"
            draft.write_text(text, encoding="utf-8")
            self.put(draft, name)

    def put_new(self, text: str, name: str) -> bool:
        """As `put_text`, but False where there is one of that name.

        Of two at once, both may be told that theirs is new: then the last one's is there. Stores that can do better do.
        """
        if self._is_there(name):
            return False
        self.put_text(text, name)
        return True

    def _is_there(self, name: str) -> bool:
        try:
            with self.local(name) as path:
                return path.exists()
        except FileNotFoundError:
            return False

    @abstractmethod
    def remove(self, name: str) -> None:
        """Nothing happens if there is none."""

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        """The file, or a copy of it, on this machine."""
        with TemporaryDirectory(prefix="snowmelt-") as folder:
            target = Path(folder) / Path(name).name
            self.fetch(name, target)
            yield target

    @abstractmethod
    def close(self) -> None:
        """Lets connections go."""
