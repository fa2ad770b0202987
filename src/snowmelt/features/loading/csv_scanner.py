"""CSV records one at a time, exactly: every option, every problem with its position.

This is the slow and complete reader. `csv_blocks` reads what is beyond doubt many times faster, and hands the rest
to this one; both must agree on every input that the fast one accepts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from snowmelt.features.loading.file_formats import CsvFormat

MAX_FIELD: Final = 16_777_216
"""Bytes in one field."""
_MARGIN = 24
"""More than any delimiter is long: what stands so close to the end of the bytes at hand is not decided yet."""


class IncompleteError(Exception):
    """The record does not end in the bytes that are there."""


@dataclass(frozen=True, slots=True)
class RecordFault:
    """A record that breaks the rules of the format, found at `offset` in the bytes scanned."""

    code: str
    message: str
    offset: int
    column: int
    """The field, from 0."""


@dataclass(slots=True)
class Scanned:
    """One record: its bytes from `start` to `end`, delimiter included."""

    start: int
    end: int
    content_end: int
    """Without the delimiter."""
    fields: list[bytes] = field(default_factory=list)
    raw: list[bytes | None] = field(default_factory=list)
    """The text before escapes were taken out, where there were any: NULL_IF compares that."""
    enclosed: list[bool] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    delimiters: list[int] = field(default_factory=list)
    """Where the delimiter behind each field but the last stands."""
    fault: RecordFault | None = None


class Scanner:
    """Reads records by one format's rules."""

    def __init__(self, csv: CsvFormat, width: int | None) -> None:
        """`width`: how many fields a record should have, for the wording of faults."""
        self._csv = csv
        self._width = width
        self._field = csv.field_delimiter
        self._record = csv.record_delimiter
        self._enclosure = csv.enclosure
        self._escape = csv.escape if csv.escape is not None else csv.escape_unenclosed
        # "\n" also means the two characters with which lines end on Windows.
        self._breaks = rb"\r?\n" if self._record == b"\n" else re.escape(self._record or b"")
        ends = [part for part in (self._breaks if self._record else b"", re.escape(self._field or b"")) if part]
        self._ends = re.compile(b"|".join(ends)) if ends else None
        stops = [re.escape(self._escape)] if self._escape else []
        self._stops = re.compile(b"|".join([*stops, *ends])) if stops or ends else None
        self._break = re.compile(self._breaks) if self._record else None
        if self._enclosure is not None:
            quotes = re.escape(self._enclosure) + (re.escape(csv.escape) if csv.escape else b"")
            self._quotes = re.compile(b"[" + quotes + b"]")
        self._spaces = re.compile(rb"[ \t]*")

    def scan(self, data: bytes, start: int, *, ended: bool) -> Scanned:
        """The record that begins at `start`. Raises `IncompleteError` unless `ended`: nothing follows `data`."""
        record = Scanned(start, start, start)
        offset = start
        while True:
            record.starts.append(offset)
            first = self._opening(data, offset, ended)
            try:
                if first is not None:
                    offset, closed = self._enclosed(record, data, first, ended)
                else:
                    offset, closed = self._unenclosed(record, data, offset, ended)
            except _BrokenError as broken:
                return self._resumed(record, data, broken.fault, ended)
            if len(record.fields[-1]) > MAX_FIELD:
                size = len(record.fields[-1])
                message = f"Max LOB size ({MAX_FIELD}) exceeded, actual size of parsed column is {size}"
                record.fault = record.fault or RecordFault("100082", message, record.starts[-1], len(record.starts) - 1)
            if closed:
                record.end = offset
                return record

    # -- fields ---------------------------------------------------------------------------------------------------

    def _opening(self, data: bytes, offset: int, ended: bool) -> int | None:
        """Where the content of an enclosed field begins; None when the field is not enclosed."""
        if self._enclosure is None:
            return None
        if self._csv.trim_space:
            found = self._spaces.match(data, offset)
            offset = found.end() if found else offset
        if offset >= len(data) and not ended:
            raise IncompleteError
        return offset + 1 if data[offset : offset + 1] == self._enclosure else None

    def _enclosed(self, record: Scanned, data: bytes, offset: int, ended: bool) -> tuple[int, bool]:
        assert self._enclosure is not None
        parts: list[bytes] = []
        begin = offset
        while True:
            found = self._quotes.search(data, offset)
            if found is None:
                if not ended:
                    raise IncompleteError
                raise self._broken(record, "100063", record.starts[-1], self._unclosed())
            parts.append(data[offset : found.start()])
            following = data[found.end() : found.end() + 1]
            if not following and not ended:
                raise IncompleteError
            # A doubled enclosure is one character; the escape takes what follows as it is.
            if (found[0] == self._enclosure and following == self._enclosure) or (
                found[0] != self._enclosure and following
            ):
                parts.append(following)
                offset = found.end() + 1
                continue
            offset = found.end()
            if found[0] == self._enclosure:
                break
        content = b"".join(parts)
        plain = data[begin : offset - 1]
        record.fields.append(content)
        record.raw.append(plain if plain != content else None)
        record.enclosed.append(True)
        spaces = self._spaces.match(data, offset)
        behind = spaces.end() if spaces else offset
        return self._ending(record, data, behind, ended)

    def _ending(self, record: Scanned, data: bytes, offset: int, ended: bool) -> tuple[int, bool]:
        """Past the delimiter that must come behind a closing enclosure, and whether the record ended."""
        if offset >= len(data):
            if not ended:
                raise IncompleteError
            record.content_end = offset
            return offset, True
        found = self._ends.match(data, offset) if self._ends else None
        if found is None:
            if not ended and offset + _MARGIN > len(data):
                raise IncompleteError
            last = self._width is not None and len(record.fields) == self._width
            expected = "record" if last else "field"
            delimiter = shown(self._record if last else self._field)
            character = data[offset : offset + 4].decode("utf-8", "replace")[:1]
            message = f"Found character '{shown(character.encode())}' instead of {expected} delimiter '{delimiter}'"
            raise self._broken(record, "100066" if last else "100065", offset, message)
        return self._delimited(record, found, ended, data)

    def _unenclosed(self, record: Scanned, data: bytes, offset: int, ended: bool) -> tuple[int, bool]:
        begin = offset
        parts: list[bytes] = []
        escaped = False
        while True:
            found = self._stops.search(data, offset) if self._stops else None
            if found is None:
                if not ended:
                    raise IncompleteError
                parts.append(data[offset:])
                self._finish(record, data, begin, len(data), parts, escaped)
                record.content_end = len(data)
                return len(data), True
            if self._escape is None or found[0] != self._escape:
                parts.append(data[offset : found.start()])
                self._finish(record, data, begin, found.start(), parts, escaped)
                return self._delimited(record, found, ended, data)
            literal = self._literal(data, found.end(), ended)
            if literal:
                parts += [data[offset : found.start()], literal]
                escaped = True
            else:
                parts.append(data[offset : found.end()])
            offset = found.end() + len(literal)

    def _literal(self, data: bytes, offset: int, ended: bool) -> bytes:
        """What an escape at the end of an unenclosed field's text takes as it is: a delimiter, or the escape itself."""
        if offset + _MARGIN > len(data) and not ended:
            raise IncompleteError
        assert self._escape is not None
        if data[offset : offset + 1] == self._escape:
            return self._escape
        found = self._ends.match(data, offset) if self._ends else None
        return found[0] if found else b""

    def _finish(self, record: Scanned, data: bytes, begin: int, end: int, parts: list[bytes], escaped: bool) -> None:
        record.fields.append(parts[0] if len(parts) == 1 else b"".join(parts))
        record.raw.append(data[begin:end] if escaped else None)
        record.enclosed.append(False)

    def _delimited(self, record: Scanned, found: re.Match[bytes], ended: bool, data: bytes) -> tuple[int, bool]:
        # What looks like a delimiter may be the beginning of a longer one that is not here yet.
        if found.end() + _MARGIN > len(data) and not ended:
            raise IncompleteError
        if found[0] == self._field:
            record.delimiters.append(found.start())
            return found.end(), False
        record.content_end = found.start()
        return found.end(), True

    # -- faults ---------------------------------------------------------------------------------------------------

    def _unclosed(self) -> str:
        assert self._enclosure is not None
        return f"matching enclosing character '{self._enclosure.decode()}' not found before end of file"

    def _broken(self, record: Scanned, code: str, offset: int, message: str) -> _BrokenError:
        return _BrokenError(RecordFault(code, message, offset, len(record.starts) - 1))

    def _resumed(self, record: Scanned, data: bytes, fault: RecordFault, ended: bool) -> Scanned:
        """The faulty record up to the next record delimiter behind the fault: reading goes on there."""
        record.fault = fault
        found = self._break.search(data, fault.offset) if self._break and fault.code != "100063" else None
        if found is None:
            if not ended:
                raise IncompleteError
            record.end = record.content_end = len(data)
        else:
            record.content_end, record.end = found.span()
        return record


class _BrokenError(Exception):
    def __init__(self, fault: RecordFault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def shown(delimiter: bytes | None) -> str:
    """A delimiter as messages spell it."""
    text = (delimiter or b"").decode("utf-8", "replace")
    return text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
