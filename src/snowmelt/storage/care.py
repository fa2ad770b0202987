"""What keeps local tables small and quick, of a table at a time: see `storage.vacuum` and `storage.compaction`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from snowmelt.storage import vacuum
from snowmelt.storage.checkpoints import make_checkpoint
from snowmelt.storage.compaction import neighbours
from snowmelt.storage.errors import translated
from snowmelt.storage.handles import Handles
from snowmelt.storage.log import pointed_checkpoint
from snowmelt.storage.snapshot import DataFile, FileList
from snowmelt.storage.vacuum import Removed


class TableCare:
    """Safe to use from several threads."""

    def __init__(self, handles: Handles, files: Callable[[str, int], FileList]) -> None:
        self._handles = handles
        self._files = files

    def neighbours(self, location: str, version: int, fewest: int) -> list[tuple[DataFile, ...]]:
        """Which files of a version are worth putting together."""
        return neighbours(self._files(location, version).files, fewest)

    def remove_unneeded(self, location: str, floor: int, *, strict: bool) -> Removed:
        """Remove the files that no version from `floor` on has."""
        handle = self._handles.get(location)
        with translated(location):
            latest = self._files(location, handle.log.latest())
            return vacuum.remove_unneeded(handle, self._files(location, floor), latest, strict=strict)

    def find_orphans(self, location: str, floor: int, older_than: float) -> tuple[list[str], int]:
        """Files that no commit names and that are so many seconds old, and the version up to which that is known."""
        with translated(location):
            return vacuum.find_orphans(self._handles.get(location), self._files(location, floor), older_than)

    def remove_orphans(self, location: str, paths: Sequence[str], upto: int, older_than: float) -> Removed:
        """Remove what `find_orphans` found. The caller holds the table."""
        with translated(location):
            return vacuum.remove_orphans(self._handles.get(location), paths, upto, older_than)

    def log_entries(self, location: str) -> int:
        return len(vacuum.entries(self._handles.get(location)))

    def clean_log(self, location: str, floor: int) -> int:
        """Remove the entries of the log before the newest checkpoint that is not newer than `floor`."""
        handle = self._handles.get(location)
        usable = [version for version in vacuum.checkpoints(handle) if version <= floor]
        if not usable:
            return 0
        with handle.lock, translated(location):
            gone = vacuum.clean_log(handle, floor, self._files(location, usable[-1]))
            # What delta-rs has loaded may be older than what is left.
            handle.unload()
        return gone

    def since_checkpoint(self, location: str, version: int) -> int:
        """How many commits who reads the log has to read after the newest checkpoint."""
        return version - max(pointed_checkpoint(self._handles.get(location).log.store), 0)

    def make_checkpoint(self, location: str, version: int) -> None:
        make_checkpoint(self._handles.get(location), version)
