"""Which files a COPY loads: those it names or finds, without those that were loaded before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from snowmelt.features.loading import history
from snowmelt.features.loading.copy_statements import CopyOptions
from snowmelt.features.loading.stage_folders import StagedFile, StageFolder
from snowmelt.state.model import CatalogObject

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


@dataclass(frozen=True, slots=True)
class Selection:
    files: tuple[StagedFile, ...]
    """To be loaded, in this order."""
    skipped: tuple[StagedFile, ...] = ()
    """Named by FILES, but loaded before."""
    missing: tuple[str, ...] = ()
    """Named by FILES, but not there."""


def select(run: Run, table: CatalogObject, stage: StageFolder, options: CopyOptions, pattern: str | None) -> Selection:
    """The files to load. The caller holds the table, so that nobody else loads the same ones meanwhile."""
    if options.files is not None:
        names = list(dict.fromkeys(options.files))
        found = {name: stage.find(name) for name in names}
        candidates: Sequence[StagedFile] = [file for file in found.values() if file is not None]
        missing = tuple(name for name, file in found.items() if file is None)
    else:
        candidates, missing = stage.matching(pattern), ()
    fresh, old = candidates, list[StagedFile]()
    if not options.force and options.validation_mode != "RETURN_ALL_ERRORS":
        fresh, old = _separated(run, table, stage, candidates, load_uncertain=bool(options.load_uncertain_files))
    named = options.files is not None
    return Selection(tuple(_within(fresh, options.size_limit)), tuple(old) if named else (), missing)


def _separated(
    run: Run, table: CatalogObject, stage: StageFolder, candidates: Sequence[StagedFile], *, load_uncertain: bool
) -> tuple[list[StagedFile], list[StagedFile]]:
    keys = {stage.history_key(file): file for file in candidates}
    known = history.known(run, table, list(keys))
    fresh: list[StagedFile] = []
    old: list[StagedFile] = []
    for key, file in keys.items():
        load = known.get(key)
        if load is not None:
            loaded = history.is_same(run, stage, file, load)
        else:
            loaded = not load_uncertain and history.is_uncertain(run, table, file)
        (old if loaded else fresh).append(file)
    return fresh, old


def _within(files: Sequence[StagedFile], limit: int | None) -> Sequence[StagedFile]:
    """SIZE_LIMIT: another file is taken as long as those before it do not exceed the limit; one always is."""
    if limit is None:
        return files
    taken: list[StagedFile] = []
    total = 0
    for file in files:
        if taken and total > limit:
            break
        taken.append(file)
        total += file.size
    return taken
