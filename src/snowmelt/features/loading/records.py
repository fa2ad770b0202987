"""What readers of files yield: segments of records, and the problems of records that could not be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from snowmelt.core.types import DataType

CONTINUE_HINT = (
    "\n  If you would like to continue loading when an error is encountered, use other values such as 'SKIP_FILE' or "
    "'CONTINUE' for the ON_ERROR option. For more information on loading options, please run 'info loading_data' in a "
    "SQL client."
)
"""Clients and playbooks know this sentence."""


@dataclass(frozen=True, slots=True)
class SourceField:
    """One column of the records: `$1` of a CSV file, or a named column of a typed file."""

    name: str
    type: DataType


@dataclass(frozen=True, slots=True)
class Position:
    """Where a field of a record stands; lines and characters count from 1, bytes from 0."""

    line: int
    character: int | None
    byte_offset: int | None
    row_line: int
    """Where the record starts."""
    record: str | None
    """The record's text, as VALIDATION_MODE repeats it."""


@dataclass(frozen=True, slots=True)
class RecordProblem:
    """Why one record can't be loaded."""

    code: str
    sqlstate: str
    message: str
    row: int
    """The record's number in its file."""
    position: Position
    column: str | None
    """As Snowflake names it: `"TABLE"["COLUMN":1]`."""
    category: str = "parsing"

    def text(self, file: str) -> str:
        """The message of a statement that ends here."""
        where = self.position
        if where.character is None:
            return f"{self.message}\n  File '{file}', line {where.line}\n  Row {self.row}{CONTINUE_HINT}"
        start = "" if where.row_line == where.line else f" starts at line {where.row_line}"
        column = f", column {self.column}" if self.column else ""
        return (
            f"{self.message}\n  File '{file}', line {where.line}, character {where.character}\n"
            f"  Row {self.row}{start}{column}{CONTINUE_HINT}"
        )


@dataclass(frozen=True, slots=True)
class Segment:
    """Some consecutive records of one file."""

    data: pa.Table
    """The records that could be read, one column a field: c0, c1, …."""
    rows: Sequence[int]
    """Their numbers in the file, from 1."""
    parsed: int
    """All records seen, those with problems and skipped blank lines included."""
    problems: Sequence[RecordProblem] = ()
    text: SegmentText | None = None
    ends_file: bool = False
    """The rest of the file can't be read after a problem."""
    bytes: int = field(default=0)


class SegmentText(Protocol):
    def positions(self, wanted: Sequence[tuple[int, int | None]]) -> list[Position]:
        """Where fields stand: pairs of a row of `Segment.data` and a field, ascending."""
        ...


class RecordStream(Protocol):
    """The records of one file."""

    @property
    def fields(self) -> tuple[SourceField, ...]: ...

    def segments(self) -> Iterator[Segment]: ...


@dataclass(frozen=True, slots=True)
class TargetNames:
    """How messages name the columns of the table that is loaded."""

    table: str
    columns: tuple[str, ...]

    def column(self, index: int) -> str:
        """A column's name in messages, by its index from 0; the index alone if the table has fewer columns."""
        if index < len(self.columns):
            return f'"{self.table}"["{self.columns[index]}":{index + 1}]'
        return f'"{self.table}"[{index + 1}]'


STAGED = TargetNames("TRANSIENT_STAGE_TABLE", ("$1",))
"""What Snowflake calls the columns when files are queried rather than loaded."""


def nth(index: int) -> str:
    """The Arrow name of a field."""
    return f"c{index}"
