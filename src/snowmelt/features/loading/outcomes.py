"""What became of each file: its counters, whether it is kept, and the row it gets in the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from snowmelt.core import types
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.loading.copy_statements import CopyOnError
from snowmelt.features.loading.records import RecordProblem
from snowmelt.features.loading.stage_folders import StagedFile
from snowmelt.runtime.results import ResultColumn

COLUMNS = (
    ResultColumn("file", types.VARCHAR), ResultColumn("status", types.VARCHAR),
    ResultColumn("rows_parsed", types.INTEGER), ResultColumn("rows_loaded", types.INTEGER),
    ResultColumn("error_limit", types.INTEGER), ResultColumn("errors_seen", types.INTEGER),
    ResultColumn("first_error", types.VARCHAR), ResultColumn("first_error_line", types.INTEGER),
    ResultColumn("first_error_character", types.INTEGER), ResultColumn("first_error_column_name", types.VARCHAR),
)  # fmt: skip
Status = Literal["LOADED", "LOAD_FAILED", "PARTIALLY_LOADED"]


@dataclass(slots=True)
class FileOutcome:
    """One file that was read."""

    file: StagedFile
    shown: str
    parsed: int = 0
    converted: int = 0
    errors: int = 0
    first: RecordProblem | None = None
    broken: SnowmeltError | None = None
    """Why the file as a whole can't be read."""
    digest: str = ""
    problems: list[RecordProblem] = field(default_factory=list)
    """All of them, when the statement asks for them."""

    def fail(self, count: int, first: RecordProblem) -> None:
        self.errors += count
        if self.first is None or first.row < self.first.row:
            self.first = first

    def break_off(self, error: SnowmeltError) -> None:
        self.broken = error
        self.errors += 1

    def limit(self, on_error: CopyOnError) -> int:
        """How many bad records drop the whole file."""
        if on_error.action == "CONTINUE":
            return max(self.parsed, 1)
        if on_error.action == "ABORT_STATEMENT" or on_error.limit is None:
            return 1
        return max(1, on_error.limit * self.parsed // 100) if on_error.percent else on_error.limit

    def is_dropped(self, on_error: CopyOnError) -> bool:
        return self.broken is not None or self.errors >= self.limit(on_error)

    def loaded(self, on_error: CopyOnError) -> int:
        return 0 if self.is_dropped(on_error) else self.converted

    def status(self, on_error: CopyOnError) -> Status:
        # A file without records is loaded; one that is dropped although nothing was wrong (SKIP_FILE_0) is not.
        if self.loaded(on_error) == 0 and (self.errors > 0 or self.is_dropped(on_error)):
            return "LOAD_FAILED"
        return "LOADED" if self.errors == 0 else "PARTIALLY_LOADED"

    def row(self, on_error: CopyOnError) -> list[Any]:
        first = self.first
        message = self.broken.message if self.broken is not None else (first.message if first is not None else None)
        position = first.position if first is not None and self.broken is None else None
        return [
            self.shown, self.status(on_error), self.parsed, self.loaded(on_error), self.limit(on_error), self.errors,
            message, position.line if position is not None else None,
            position.character if position is not None else None,
            first.column if first is not None and self.broken is None else None,
        ]  # fmt: skip


def skipped_row(shown: str) -> list[Any]:
    """A file that FILES names and that was loaded before."""
    return [shown, "LOAD_SKIPPED", 0, 0, None, 1, "File was loaded before.", None, None, None]


def missing_row(name: str, error: SnowmeltError) -> list[Any]:
    return [name, "LOAD_FAILED", 0, 0, 1, 1, error.message, None, None, None]


ERROR_COLUMNS = (
    ResultColumn("ERROR", types.VARCHAR), ResultColumn("FILE", types.VARCHAR), ResultColumn("LINE", types.INTEGER),
    ResultColumn("CHARACTER", types.INTEGER), ResultColumn("BYTE_OFFSET", types.INTEGER),
    ResultColumn("CATEGORY", types.VARCHAR), ResultColumn("CODE", types.INTEGER),
    ResultColumn("SQL_STATE", types.VARCHAR), ResultColumn("COLUMN_NAME", types.VARCHAR),
    ResultColumn("ROW_NUMBER", types.INTEGER), ResultColumn("ROW_START_LINE", types.INTEGER),
    ResultColumn("REJECTED_RECORD", types.VARCHAR),
)  # fmt: skip


def error_rows(outcomes: Sequence[FileOutcome], missing: Sequence[tuple[str, SnowmeltError]]) -> list[list[Any]]:
    """What VALIDATION_MODE = RETURN_ERRORS says."""
    rows: list[list[Any]] = []
    for outcome in outcomes:
        for problem in sorted(outcome.problems, key=lambda item: item.row):
            position = problem.position
            rows.append(
                [
                    problem.message,
                    outcome.file.path,
                    position.line,
                    position.character,
                    position.byte_offset,
                    problem.category,
                    int(problem.code),
                    problem.sqlstate,
                    problem.column,
                    problem.row,
                    position.row_line,
                    position.record,
                ]
            )
        if outcome.broken is not None:
            rows.append(_without_position(outcome.file.path, outcome.broken, int(outcome.broken.code)))
    return [*rows, *(_without_position(name, error, 100112) for name, error in missing)]


def _without_position(name: str, error: SnowmeltError, code: int) -> list[Any]:
    return [error.message, name, None, None, None, "other", code, error.sqlstate, None, 0, 0, None]
