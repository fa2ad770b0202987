"""The records of a CSV file, in segments: by blocks where nothing is in doubt, one at a time elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from snowmelt.core import types
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.loading.compression import UnreadableError
from snowmelt.features.loading.csv_blocks import CsvBlockParser
from snowmelt.features.loading.csv_scanner import IncompleteError, Scanned, Scanner, shown
from snowmelt.features.loading.file_formats import CsvFormat
from snowmelt.features.loading.records import Position, RecordProblem, Segment, SourceField, TargetNames, nth
from snowmelt.features.loading.window import ByteWindow

BLOCK = 1 << 20
_MAX_RECORD = 256 << 20
"""A record that does not end within so many bytes: an enclosure was not closed, or it is no CSV file."""


@dataclass(frozen=True, slots=True)
class CsvLayout:
    """What a statement asks of the records."""

    csv: CsvFormat
    fields: int
    """How many fields a row gets: more are dropped, missing ones are NULL."""
    checked: bool
    """Whether another number of fields is a problem."""
    names: TargetNames
    header: Callable[[list[str]], Sequence[int | None]] | None = None
    """With PARSE_HEADER: where, in the file's records, each of the `fields` is; None where the file has none."""


class CsvStream:
    """The records of one file."""

    def __init__(self, window: ByteWindow, layout: CsvLayout) -> None:
        self._window = window
        self._layout = layout
        self._csv = layout.csv
        self._row = 0
        self._width: int | None = None
        """Fields in the file's first record, which a block of records must all have."""
        self._indexes: Sequence[int | None] | None = None
        self._scanner = Scanner(self._csv, layout.fields if layout.checked else None)
        self.fields = tuple(SourceField(f"${index + 1}", types.VARCHAR) for index in range(layout.fields))

    def segments(self) -> Iterator[Segment]:
        self._skip_header()
        blocks: CsvBlockParser | None = None
        while True:
            self._window.fill(BLOCK)
            if not len(self._window):
                return
            if blocks is None:
                self._width = self._first_width()
                blocks = CsvBlockParser(self._csv, self._width)
            segment = self._block(blocks)
            yield segment if segment is not None else self._scan()

    # -- header ---------------------------------------------------------------------------------------------------

    def _skip_header(self) -> None:
        """SKIP_HEADER counts lines, not records."""
        for _ in range(self._csv.skip_header):
            self._drop_line()
        if not self._csv.parse_header:
            return
        self._window.fill(BLOCK)
        if not len(self._window):
            return
        record = self._next()
        names = [field.decode("utf-8", "replace") for field in record.fields]
        if self._layout.header is not None:
            self._indexes = self._layout.header([name.strip() if self._csv.trim_space else name for name in names])
        self._window.drop(record.end)

    def _drop_line(self) -> None:
        wanted = BLOCK
        while True:
            self._window.fill(wanted)
            end = self._window.data.find(b"\n")
            if end >= 0 or self._window.ended:
                self._window.drop(end + 1 if end >= 0 else len(self._window))
                return
            self._window.drop(len(self._window))

    def _first_width(self) -> int:
        return len(self._next().starts)

    # -- blocks ---------------------------------------------------------------------------------------------------

    def _block(self, blocks: CsvBlockParser) -> Segment | None:
        """A block read in one go; None when its records must be looked at one by one."""
        if self._layout.checked and self._width != self._layout.fields:
            return None
        data = self._window.data
        end = blocks.end(data, self._window.ended)
        block = data[:end]
        columns = blocks.columns(block) if end else None
        if columns is None:
            return None
        chosen = [self._column(columns, index) for index in self._wanted()]
        count = columns.num_rows
        table = pa.table(chosen, names=[nth(index) for index in range(len(chosen))]) if chosen else columns.select([])
        rows = range(self._row + 1, self._row + count + 1)
        text = self._text(block, rows)
        self._window.drop(end)
        self._row += count
        return Segment(table, rows, count, text=text, bytes=end)

    def _text(self, data: bytes, rows: Sequence[int], before: int | None = None) -> _CsvText:
        """`before`: the number of the last record before the segment."""
        ends = self._window.ended and len(data) == len(self._window)
        first = (self._row if before is None else before) + 1
        return _CsvText(self._scanner, data, self._window.line, self._window.offset, self._wanted(), rows, first, ends)

    def _wanted(self) -> Sequence[int | None]:
        return self._indexes if self._indexes is not None else range(self._layout.fields)

    def _column(self, columns: pa.Table, index: int | None) -> Any:
        if index is None or index >= columns.num_columns:
            return pa.nulls(columns.num_rows, pa.string())
        return columns.column(index)

    # -- one at a time --------------------------------------------------------------------------------------------

    def _next(self) -> Scanned:
        """The next record, without moving past it."""
        wanted = BLOCK
        while True:
            try:
                return self._scanner.scan(self._window.data, 0, ended=self._window.ended)
            except IncompleteError:
                wanted = max(wanted, len(self._window)) * 2
                if wanted > _MAX_RECORD:
                    raise UnreadableError(self._too_long()) from None
                self._window.fill(wanted)

    def _too_long(self) -> SnowmeltError:
        return SnowmeltError(
            "100082", "22000",
            f"The record that starts at line {self._window.line} does not end within {_MAX_RECORD // 2} bytes.",
            hint="Look for an enclosing character that is not closed, or for another RECORD_DELIMITER.",
        )  # fmt: skip

    def _scan(self) -> Segment:
        """Records read one by one, a block's worth of them."""
        builder = _Builder(self._layout, self._wanted())
        data, at, ended = self._window.data, 0, self._window.ended
        line, offset, first = self._window.line, self._window.offset, self._row
        parsed = 0
        while at < len(data) and at < BLOCK:
            try:
                record = self._scanner.scan(data, at, ended=ended)
            except IncompleteError:
                if at:
                    break
                self._next()
                data, ended = self._window.data, self._window.ended
                continue
            parsed += 1
            self._row += 1
            builder.add(record, data, line, offset, self._row, last=ended and record.end == len(data))
            line += data.count(b"\n", record.start, record.end)
            at = record.end
        text = self._text(data[:at], builder.rows, first)
        self._window.drop(at)
        return Segment(builder.table(), builder.rows, parsed, builder.problems, text, bytes=at)


class _Builder:
    """Collects scanned records into columns of text."""

    def __init__(self, layout: CsvLayout, indexes: Sequence[int | None]) -> None:
        self._layout = layout
        self._csv = layout.csv
        self._indexes = indexes
        self._null_if = frozenset(text.encode() for text in layout.csv.null_if)
        self._values: list[list[str | None]] = [[] for _ in indexes]
        self.rows: list[int] = []
        self.problems: list[RecordProblem] = []

    def add(self, record: Scanned, data: bytes, line: int, offset: int, row: int, *, last: bool) -> None:
        blank = record.content_end == record.start
        if blank and self._csv.skip_blank_lines:
            return
        problem = self._fault(record, data, line, offset, row, last)
        values: list[str | None] = []
        for index in self._indexes if problem is None else ():
            value = self._value(record, index)
            if isinstance(value, UnicodeDecodeError):
                assert index is not None
                problem = self._invalid(record, data, index, line, offset, row, last)
                break
            values.append(value)
        if problem is not None:
            self.problems.append(problem)
            return
        self.rows.append(row)
        for column, value in zip(self._values, values, strict=True):
            column.append(value)

    def table(self) -> pa.Table:
        columns = [pa.array(values, pa.string()) for values in self._values]
        return pa.table(columns, names=[nth(index) for index in range(len(columns))])

    def _value(self, record: Scanned, index: int | None) -> str | UnicodeDecodeError | None:
        if index is None or index >= len(record.fields):
            return None
        content, enclosed = record.fields[index], record.enclosed[index]
        raw = record.raw[index]
        if self._csv.trim_space and not enclosed:
            content = content.strip(b" \t")
            raw = raw.strip(b" \t") if raw is not None else None
        if (content if raw is None else raw) in self._null_if:
            return None
        if not content and not enclosed and self._csv.empty_as_null:
            return None
        try:
            return content.decode("utf-8", "replace" if self._csv.replace_invalid else "strict")
        except UnicodeDecodeError as error:
            return error

    # -- problems -------------------------------------------------------------------------------------------------

    def _fault(
        self, record: Scanned, data: bytes, line: int, offset: int, row: int, last: bool
    ) -> RecordProblem | None:
        names, expected, found = self._layout.names, self._layout.fields, len(record.fields)

        def problem(code: str, message: str, at: int, column: str) -> RecordProblem:
            return RecordProblem(code, "22000", message, row, _position(record, data, line, offset, at, last), column)

        if record.fault is not None:
            fault = record.fault
            return problem(fault.code, fault.message, fault.offset, names.column(fault.column))
        if not self._layout.checked or found == expected:
            return None
        if row == 1:
            message = (
                f"Number of columns in file ({found}) does not match that of the corresponding table ({expected}), "
                "use file format option error_on_column_count_mismatch=false to ignore this error"
            )
            at = record.content_end if last else record.end
            return problem("100080", message, at, names.column(found - 1))
        if found > expected:
            message = (
                f"Field delimiter '{shown(self._csv.field_delimiter)}' found while expecting record delimiter "
                f"'{shown(self._csv.record_delimiter)}'"
            )
            return problem("100016", message, record.delimiters[expected - 1], names.column(expected - 1))
        column = names.column(found)
        message = f"End of record reached while expected to parse column '{column}'"
        return problem("100068", message, record.content_end, column)

    def _invalid(
        self, record: Scanned, data: bytes, index: int, line: int, offset: int, row: int, last: bool
    ) -> RecordProblem:
        where = _position(record, data, line, offset, record.starts[index], last)
        message = f"Invalid UTF8 detected in string '{_hexed(record.fields[index])}'"
        return RecordProblem("100144", "22000", message, row, where, self._layout.names.column(index))


def _hexed(content: bytes) -> str:
    """Text whose bytes that are no UTF-8 are written as 0xA0."""
    return content[:500].decode("utf-8", "backslashreplace").replace("\\x", "0x")


def _position(record: Scanned, data: bytes, line: int, offset: int, at: int, last: bool) -> Position:
    """Where `at` in `data` is, for a record that starts at `line`; `offset` is the file's before `data`."""
    before = data[record.start : at]
    begin = before.rfind(b"\n") + 1
    character = len(before[begin:].decode("utf-8", "replace")) + 1
    end = record.content_end if last else record.end
    text = data[record.start : end].decode("utf-8", "backslashreplace")
    return Position(line + before.count(b"\n"), character, offset + at, line, text)


@dataclass(frozen=True, slots=True)
class _CsvText:
    """The bytes of a segment, read again when a position in them is asked for."""

    scanner: Scanner
    data: bytes
    line: int
    offset: int
    indexes: Sequence[int | None]
    rows: Sequence[int]
    first_row: int
    ends_file: bool

    def positions(self, wanted: Sequence[tuple[int, int | None]]) -> list[Position]:
        found: list[Position] = []
        line, at = self.line, 0
        row = self.first_row
        pending = list(wanted)
        while pending and at < len(self.data):
            record = self.scanner.scan(self.data, at, ended=True)
            while pending and self.rows[pending[0][0]] == row:
                found.append(self._at(record, pending.pop(0)[1], line))
            line += self.data.count(b"\n", record.start, record.end)
            at, row = record.end, row + 1
        return found

    def _at(self, record: Scanned, column: int | None, line: int) -> Position:
        index = self.indexes[column] if column is not None and column < len(self.indexes) else None
        start = record.starts[index] if index is not None and index < len(record.starts) else record.start
        return _position(record, self.data, line, self.offset, start, self.ends_file and record.end == len(self.data))
