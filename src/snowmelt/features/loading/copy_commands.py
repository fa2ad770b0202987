"""COPY INTO a table, and INTO a location."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import structlog

from snowmelt.core import types
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.loading import history
from snowmelt.features.loading.copy_statements import CopyIntoLocation, CopyIntoTable, CopyOnError
from snowmelt.features.loading.evolution import evolved
from snowmelt.features.loading.loader import StagedFilesLoader
from snowmelt.features.loading.outcomes import COLUMNS, FileOutcome, missing_row, skipped_row
from snowmelt.features.loading.requests import CopyRequest, understand
from snowmelt.features.loading.selection import Selection, select
from snowmelt.features.loading.sink import RowSink
from snowmelt.features.loading.stage_folders import StagedFile, StageFolder
from snowmelt.features.loading.stage_statements import StageLocation
from snowmelt.features.loading.streams import not_found
from snowmelt.features.loading.unload import unloaded
from snowmelt.features.loading.validation import validated
from snowmelt.runtime.results import Result, ResultColumn, status, table_result
from snowmelt.state.model import CatalogObject, FileLoad

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_NOTHING = "Copy executed with 0 files processed."
_UNLOADED = (
    ResultColumn("rows_unloaded", types.INTEGER),
    ResultColumn("input_bytes", types.INTEGER),
    ResultColumn("output_bytes", types.INTEGER),
)
_DETAILED = (
    ResultColumn("FILE_NAME", types.VARCHAR),
    ResultColumn("FILE_SIZE", types.INTEGER),
    ResultColumn("ROW_COUNT", types.INTEGER),
)
_log = structlog.get_logger(__name__)


def copy_into_table(run: Run, statement: CopyIntoTable) -> Result:
    """Loads files; a failed statement leaves neither rows nor an entry in the load history."""
    table = run.target_table(statement.target)
    request = understand(run, table, statement)
    options = statement.options
    on_error = options.on_error or CopyOnError("ABORT_STATEMENT")
    if options.validation_mode is not None:
        selection = select(run, table, request.stage, options, request.pattern)
        return validated(run, table, request, selection, options.validation_mode)
    run.open_for_write(table)
    selection = select(run, table, request.stage, options, request.pattern)
    if selection.missing and on_error.action == "ABORT_STATEMENT":
        raise not_found(request.stage, selection.missing[0])
    shaped = evolved(run, table, request, selection.files)
    if shaped is not table:
        table, request = shaped, understand(run, shaped, statement)
    outcomes = _load(run, table, request, selection.files, on_error)
    kept = [outcome for outcome in outcomes if outcome.status(on_error) != "LOAD_FAILED"]
    if options.purge:
        run.transaction.after_commit.append(lambda: _purge(request.stage, [outcome.file for outcome in kept]))
    return _answer(request, selection, outcomes, on_error, failed_only=bool(options.return_failed_only))


def _load(
    run: Run, table: CatalogObject, request: CopyRequest, files: Sequence[StagedFile], on_error: CopyOnError
) -> list[FileOutcome]:
    sink = RowSink(run, table)
    loader = StagedFilesLoader(run, table, request, files, on_error, sink)
    try:
        loader.run()
        sink.commit()
    finally:
        sink.close()
    history.record(run, [_entry(run, table, request.stage, outcome, on_error) for outcome in loader.outcomes])
    return loader.outcomes


def _entry(run: Run, table: CatalogObject, stage: StageFolder, outcome: FileOutcome, on_error: CopyOnError) -> FileLoad:
    first, broken = outcome.first, outcome.broken
    message = broken.message if broken is not None else (first.message if first is not None else None)
    return FileLoad(
        table_id=table.id,
        file=stage.history_key(outcome.file),
        etag=history.etag(outcome.file, outcome.digest),
        size=outcome.file.size,
        loaded_at=run.now,
        status=outcome.status(on_error),
        rows_parsed=outcome.parsed,
        rows_loaded=outcome.loaded(on_error),
        error_count=outcome.errors,
        first_error=message,
        first_error_line=first.position.line if first is not None and broken is None else None,
        first_error_column=first.column if first is not None and broken is None else None,
    )


def _purge(stage: StageFolder, files: Sequence[StagedFile]) -> None:
    """PURGE: a file that can't be deleted does not undo the load; as in Snowflake nobody is told but the log."""
    for file in files:
        try:
            stage.remove(file)
        except OSError as error:
            _log.warning("purge_failed", file=stage.shown + file.path, error=str(error))


def _answer(
    request: CopyRequest,
    selection: Selection,
    outcomes: Sequence[FileOutcome],
    on_error: CopyOnError,
    *,
    failed_only: bool,
) -> Result:
    stage = request.stage
    rows: list[list[Any]] = [outcome.row(on_error) for outcome in outcomes]
    rows += [skipped_row(stage.shown + file.path) for file in selection.skipped]
    rows += [missing_row(name, _missing(stage, name)) for name in selection.missing]
    if not rows:
        return replace(status(_NOTHING, "COPY"), rows_affected=0)
    if failed_only:
        rows = [row for row in rows if row[1] != "LOADED"]
    loaded = sum(outcome.loaded(on_error) for outcome in outcomes)
    return replace(table_result(COLUMNS, rows, statement_type="COPY"), rows_affected=loaded)


def _missing(stage: StageFolder, name: str) -> SnowmeltError:
    return not_found(stage, name, reported=True)


def copy_into_location(run: Run, statement: CopyIntoLocation) -> Result:
    """Unloads rows into files."""
    found = unloaded(run, statement)
    prefix = statement.target.path.rpartition("/")[0] if isinstance(statement.target, StageLocation) else ""
    if statement.options.detailed_output:
        rows = [[path.removeprefix(f"{prefix}/"), size, count] for path, size, count in found.files]
        return table_result(_DETAILED, rows, statement_type="UNLOAD")
    return table_result(_UNLOADED, [[found.rows, found.input_bytes, found.output_bytes]], statement_type="UNLOAD")
