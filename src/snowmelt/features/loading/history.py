"""Which files a table has loaded: a file is loaded once.

The history changes in the very state transaction that makes the rows visible. A statement of an open transaction sees
what earlier statements of the same transaction will add to it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from snowmelt.features.loading.stage_folders import Digests, StagedFile, StageFolder
from snowmelt.state.model import CatalogObject, FileLoad
from snowmelt.state.store import StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

KEPT = timedelta(days=64)
"""How long Snowflake remembers a load."""


@dataclass(frozen=True, slots=True)
class LoadsRecorded:
    """Adds to the history when the transaction commits."""

    loads: tuple[FileLoad, ...]

    def __call__(self, state: StateTransaction) -> None:
        state.loads.record([load.model_copy(update={"loaded_at": state.now}) for load in self.loads])


@dataclass(frozen=True, slots=True)
class LoadsForgotten:
    """Empties a table's history when the transaction commits: TRUNCATE does this."""

    table_id: str

    def __call__(self, state: StateTransaction) -> None:
        state.loads.delete_for(self.table_id)


def record(run: Run, loads: Sequence[FileLoad]) -> None:
    """Notes the loads of a statement that has succeeded."""
    if loads:
        run.transaction.at_commit.append(LoadsRecorded(tuple(loads)))


def forget(run: Run, table: CatalogObject) -> None:
    """All files may be loaded into the table again."""
    run.transaction.at_commit.append(LoadsForgotten(table.id))


def known(run: Run, table: CatalogObject, keys: Collection[str]) -> dict[str, FileLoad]:
    """The latest successful load of each file that is still remembered."""
    with run.state.read() as state:
        found = state.loads.loaded(table.id, keys)
    for action in run.transaction.at_commit:
        if isinstance(action, LoadsForgotten) and action.table_id == table.id:
            found = {}
        elif isinstance(action, LoadsRecorded):
            found |= {load.file: load for load in action.loads if load.table_id == table.id and load.file in keys}
    oldest = run.now - KEPT
    return {key: load for key, load in found.items() if load.status != "LOAD_FAILED" and load.loaded_at >= oldest}


def is_uncertain(run: Run, table: CatalogObject, file: StagedFile) -> bool:
    """Whether the file may have been loaded so long ago that the load is forgotten."""
    oldest = run.now - KEPT
    if file.modified >= oldest:
        return False
    with run.state.read() as state:
        loads = state.loads.history(table.id)
    return bool(loads) and loads[0].loaded_at < oldest


# -- whether a file has changed -----------------------------------------------------------------------------------


def etag(file: StagedFile, digest: str) -> str:
    """Time, size and content: equal time and size are proof enough, and a new time alone is no change."""
    return f"{file.modified.timestamp():.6f}-{file.size}-{digest}"


def is_same(run: Run, stage: StageFolder, file: StagedFile, load: FileLoad) -> bool:
    """Whether the file still has the content that was loaded."""
    if load.size != file.size:
        return False
    stamp, _, digest = load.etag.split("-", 2)
    if stamp == f"{file.modified.timestamp():.6f}":
        return True
    return run.account.services[Digests].of(stage, file) == digest
