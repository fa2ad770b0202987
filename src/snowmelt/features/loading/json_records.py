"""The documents of a JSON file, in segments: one after the other, with or without lines, or in one outer array."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa

from snowmelt.core import types
from snowmelt.features.loading.compression import Read
from snowmelt.features.loading.file_formats import JsonFormat
from snowmelt.features.loading.records import Position, RecordProblem, Segment, SourceField, nth
from snowmelt.storage.variant import to_json

FIELDS = (SourceField("$1", types.VARIANT),)
_CHUNK = 1 << 20
_SEGMENT = 1 << 20
"""Characters of documents in a segment."""
_MAX_DOCUMENT = 16_777_216
_BLANK = re.compile(r"[ \t\r\n]*")
_SEPARATOR = re.compile(r"[ \t\r\n,]*")
_NEAR_END = 64
"""An error so close to the end of the text at hand may only mean that the rest is missing: a cut escape, `tru`."""


class _DamagedError(Exception):
    """The text can't be read on from here."""

    def __init__(self, code: str, sqlstate: str, message: str, offset: int) -> None:
        super().__init__(message)
        self.code = code
        self.sqlstate = sqlstate
        self.message = message
        self.offset = offset


class JsonStream:
    """The documents of one file, as JSON text in the column c0."""

    fields = FIELDS

    def __init__(self, read: Read, format: JsonFormat) -> None:
        self._read = read
        self._format = format
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace" if format.replace_invalid else "strict")
        self._scan = json.JSONDecoder(**_hooks(format)).raw_decode
        self._text = ""
        self._offset = 0
        self._line = 1
        self._ended = False
        self._started = False
        self._in_array = False

    def segments(self) -> Iterator[Segment]:
        row = 0
        documents: list[str] = []
        size = 0
        first = 1
        problem: RecordProblem | None = None
        while problem is None:
            try:
                document = self._next()
            except _DamagedError as damaged:
                row += 1
                where = self._position(damaged.offset)
                problem = RecordProblem(damaged.code, damaged.sqlstate, damaged.message, row, where, None)
                break
            if document is None:
                break
            row += 1
            documents.append(document)
            size += len(document)
            if size >= _SEGMENT:
                yield _segment(documents, first, size)
                documents, size, first = [], 0, row + 1
        if documents or problem is not None:
            yield _segment(documents, first, size, problem)

    # -- documents ------------------------------------------------------------------------------------------------

    def _next(self) -> str | None:
        """The text of the next document; None at the end."""
        if not self._skip(_BLANK):
            if self._in_array:
                raise _DamagedError("100069", "22P02", "Error parsing JSON: incomplete array value", len(self._text))
            return None
        if self._format.strip_outer_array and not self._in_array and self._text[self._offset] == "[":
            self._offset += 1
            self._in_array = True
            return self._element(first=True)
        if self._in_array:
            return self._element(first=False)
        document = self._document()
        # Documents may be separated by commas, as they are where an array's brackets were cut off.
        self._skip(_SEPARATOR)
        return document

    def _element(self, *, first: bool) -> str | None:
        """The next element of the outer array, or what follows the array."""
        if not self._skip(_BLANK):
            raise _DamagedError("100069", "22P02", "Error parsing JSON: incomplete array value", len(self._text))
        character = self._text[self._offset]
        if character == "]":
            self._offset += 1
            self._in_array = False
            return self._next()
        if not first:
            if character != ",":
                message = f"Error parsing JSON: missing comma, line {self._line_of(self._offset)}, pos {self._offset}"
                raise _DamagedError("100069", "22P02", message, self._offset)
            self._offset += 1
            if not self._skip(_BLANK):
                raise _DamagedError("100069", "22P02", "Error parsing JSON: incomplete array value", len(self._text))
            if self._text[self._offset] == "]":
                return self._element(first=True)
        return self._document()

    def _document(self) -> str:
        """The document that begins here. More text is read until it is whole."""
        while True:
            start = self._offset
            try:
                value, end = self._scan(self._text, start)
            except json.JSONDecodeError as error:
                if not self._ended and _may_be_cut(error, len(self._text)) and self._more():
                    continue
                raise self._invalid(error) from None
            except RecursionError:
                raise _DamagedError("100069", "22P02", "Error parsing JSON: nested too deeply", start) from None
            except ValueError as error:
                raise _DamagedError("100069", "22P02", f"Error parsing JSON: {error}", start) from None
            # A number close to the end may go on: of `1.` only the 1 is read.
            near = len(self._text) - end < _NEAR_END and self._text[start] not in '{["'
            if near and not self._ended and self._more():
                continue
            self._offset = end
            text = self._text[start:end]
            if len(text) > _MAX_DOCUMENT and len(text.encode()) > _MAX_DOCUMENT:
                message = f"Error parsing JSON: document is too large, max size {_MAX_DOCUMENT} bytes"
                raise _DamagedError("100069", "22P02", message, start)
            return _printed(value, self._format) if _changes(self._format) else text

    def _invalid(self, error: json.JSONDecodeError) -> _DamagedError:
        line = self._line_of(error.pos)
        begin = self._text.rfind("\n", 0, error.pos) + 1
        message = f"Error parsing JSON: {error.msg}, line {line}, pos {error.pos - begin + 1}"
        return _DamagedError("100069", "22P02", message, error.pos)

    # -- text -----------------------------------------------------------------------------------------------------

    def _skip(self, pattern: re.Pattern[str]) -> bool:
        """Moves past what the pattern matches; False at the end of the file."""
        while True:
            found = pattern.match(self._text, self._offset)
            self._offset = found.end() if found is not None else self._offset
            if self._offset < len(self._text):
                return True
            if not self._more():
                return False

    def _more(self) -> bool:
        """Reads on; forgets what lies behind. A long document takes larger and larger steps."""
        if self._ended:
            return False
        wanted = max(_CHUNK, len(self._text) - self._offset)
        if wanted > _MAX_DOCUMENT * 4:
            message = f"Error parsing JSON: document is too large, max size {_MAX_DOCUMENT} bytes"
            raise _DamagedError("100069", "22P02", message, self._offset)
        parts = [self._text[self._offset :]]
        self._line += self._text.count("\n", 0, self._offset)
        while wanted > 0:
            data = self._read(_CHUNK)
            self._ended = not data
            try:
                parts.append(self._decoder.decode(data, final=not data))
            except UnicodeDecodeError as error:
                self._ended = True
                shown = error.object[error.start : error.start + 4].hex().upper()
                message = f"Invalid UTF8 detected in string '0x{shown}'"
                raise _DamagedError("100144", "22000", message, self._offset) from None
            if self._ended:
                break
            wanted -= len(data)
        self._text = "".join(parts)
        self._offset = 0
        if not self._started and self._format.skip_mark:
            self._text = self._text.removeprefix("\ufeff")
        self._started = True
        return True

    def _line_of(self, offset: int) -> int:
        return self._line + self._text.count("\n", 0, offset)

    def _position(self, offset: int) -> Position:
        begin = self._text.rfind("\n", 0, offset) + 1
        text = self._text[self._offset : self._offset + 1000]
        return Position(self._line_of(offset), offset - begin + 1, None, self._line_of(self._offset), text)


def _may_be_cut(error: json.JSONDecodeError, length: int) -> bool:
    return error.pos >= length - _NEAR_END or error.msg.startswith("Unterminated string")


def _segment(documents: list[str], first: int, size: int, problem: RecordProblem | None = None) -> Segment:
    data = pa.table({nth(0): pa.array(documents, pa.string())})
    rows = range(first, first + len(documents))
    problems = (problem,) if problem is not None else ()
    return Segment(data, rows, len(documents) + len(problems), problems, bytes=size, ends_file=problem is not None)


# -- what is changed on the way -----------------------------------------------------------------------------------


def _changes(format: JsonFormat) -> bool:
    return format.strip_nulls or format.allow_duplicate


def _hooks(format: JsonFormat) -> dict[str, Any]:
    def reject(name: str) -> Any:
        raise ValueError(f'unknown keyword "{name}"')

    hooks: dict[str, Any] = {"parse_constant": reject}
    if _changes(format):
        # Numbers keep their digits; of duplicate keys the last one counts, as a dictionary has it.
        hooks |= {"parse_float": Decimal}
    return hooks


def _printed(value: Any, format: JsonFormat) -> str:
    return to_json(_stripped(value) if format.strip_nulls else value)


def _stripped(value: Any) -> Any:
    """Without keys and elements that are null."""
    if isinstance(value, dict):
        return {key: _stripped(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_stripped(item) for item in value if item is not None]
    return value
