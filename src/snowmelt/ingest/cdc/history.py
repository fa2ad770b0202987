"""The history of the tables' columns, which Debezium needs beside its offset to read the log of a MariaDB or MySQL.

Such a log has rows without the names and types of their columns: whoever begins in its middle must know how the tables
were then. Debezium appends every DDL it sees to a file. What is in there beyond the offset does no harm, as it is read
up to the offset only, so that it need not change in one step with the rows that landed: it only has to be on the disk
before them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path


def history_file(folder: Path) -> Path:
    """Beside the engine's folder, which is made anew at every start."""
    return folder.with_name(f"{folder.name}.history")


@dataclass(slots=True)
class SchemaHistory:
    path: Path
    _kept: int = field(default=-1, init=False)
    """How long it was when it was last brought to the disk."""

    @property
    def exists(self) -> bool:
        return self.path.is_file() and self.path.stat().st_size > 0

    def prepare(self, *, anew: bool) -> None:
        """Before an engine starts. A line that a kill cut short goes: its DDL is behind the offset, and comes again."""
        if anew:
            self.path.unlink(missing_ok=True)
        elif self.exists:
            with self.path.open("r+b") as stream:
                whole = stream.read().rfind(b"\n") + 1
                stream.truncate(whole)

    def keep(self) -> None:
        """Brings to the disk what the engine has added."""
        try:
            length = self.path.stat().st_size
        except FileNotFoundError:
            return
        if length == self._kept:
            return
        with self.path.open("rb") as stream:
            os.fsync(stream.fileno())
        self._kept = length
