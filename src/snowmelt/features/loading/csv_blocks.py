"""CSV records by the block, at Arrow's speed, where Arrow and Snowflake can't disagree.

A block is taken only when every character with a meaning stands where both readers give it the same one: enclosures
right inside a delimiter or doubled, no escape that changes what follows, lines that end in one way, no blank lines.
"""

from __future__ import annotations

import re
from operator import itemgetter

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from snowmelt.features.loading.csv_scanner import MAX_FIELD
from snowmelt.features.loading.file_formats import CsvFormat
from snowmelt.features.loading.records import nth

_FIRST, _LAST = itemgetter(0), itemgetter(-1)


class CsvBlockParser:
    """Parses blocks of records that all have `width` fields."""

    def __init__(self, csv: CsvFormat, width: int) -> None:
        self._csv = csv
        self._names = [nth(index) for index in range(width)]
        delimiter = csv.field_delimiter if csv.field_delimiter is not None else b"\x1f"
        self._usable = (
            csv.record_delimiter == b"\n"
            and len(delimiter) == 1
            and delimiter not in b"\r\n\0"
            and (csv.enclosure is None or csv.enclosure not in (b"\r", b"\n"))
        )
        self._delimiter = delimiter
        escape = re.escape(csv.escape_unenclosed or b"")
        self._escaped = re.compile(escape + b"[" + re.escape(delimiter) + b"\r\n" + escape + b"]")
        self._before = frozenset(delimiter + b"\n")
        self._behind = frozenset(delimiter + b"\r\n")
        self._nulls = pa.array(csv.null_if, pa.string()) if csv.null_if else None

    def end(self, data: bytes, ended: bool) -> int:
        """How many bytes from the beginning hold whole records; 0 when that can't be told."""
        if not self._usable:
            return 0
        if ended:
            return len(data)
        end = data.rfind(b"\n") + 1
        quote = self._csv.enclosure
        if quote is None or not end:
            return end
        open_quotes = data.count(quote, 0, end) % 2
        while open_quotes and end:
            before = data.rfind(b"\n", 0, end - 1) + 1
            open_quotes = (open_quotes + data.count(quote, before, end)) % 2
            end = before
        return end

    def columns(self, block: bytes) -> pa.Table | None:
        """The block's fields as text; None when a record needs a closer look."""
        quoted = self._csv.enclosure is not None and self._csv.enclosure in block
        if not self._clear(block, quoted):
            return None
        # Without a line end Arrow takes an empty last field for an enclosed one when the field before it was.
        text = block if block.endswith(b"\n") else block + b"\n"
        try:
            table = pacsv.read_csv(pa.BufferReader(text), **self._options(text, quoted))
        except pa.ArrowInvalid:
            return None
        columns = [self._cleaned(column) for column in table.columns]
        if len(block) > MAX_FIELD and any(pc.max(pc.binary_length(c)).as_py() or MAX_FIELD < 0 for c in columns):
            return None
        return pa.table(columns, names=self._names)

    def _clear(self, block: bytes, quoted: bool) -> bool:
        csv = self._csv
        if b"\r" in block and block.count(b"\r") != block.count(b"\r\n"):
            return False
        if block.startswith((b"\n", b"\r\n")) or b"\n\n" in block or b"\n\r\n" in block or b"\0" in block:
            return False
        if csv.field_delimiter is None and self._delimiter in block:
            return False
        if csv.escape is not None and csv.escape in block:
            return False
        escape = csv.escape_unenclosed
        if escape is not None and escape in block and self._escaped.search(block):
            return False
        return not quoted or (not csv.trim_space and self._enclosures_are_clear(block))

    def _enclosures_are_clear(self, block: bytes) -> bool:
        assert self._csv.enclosure is not None
        pieces = block.split(self._csv.enclosure)
        if len(pieces) % 2 == 0:
            return False
        # The even pieces are outside of enclosures; an empty one between two quotes is a doubled quote. Nothing but
        # a delimiter may touch an enclosure from outside.
        outside = [piece for piece in pieces[2:-1:2] if piece]
        starts = set(map(_FIRST, outside)) | set(pieces[-1][:1])
        ends = set(map(_LAST, outside)) | set(pieces[0][-1:])
        return starts <= self._behind and ends <= self._before

    def _options(self, block: bytes, quoted: bool) -> dict[str, object]:
        csv = self._csv
        return {
            "read_options": pacsv.ReadOptions(column_names=self._names, block_size=len(block) + 1, use_threads=False),
            "parse_options": pacsv.ParseOptions(
                delimiter=self._delimiter.decode("latin-1"),
                quote_char=csv.enclosure.decode("latin-1") if quoted and csv.enclosure is not None else False,
                double_quote=quoted,
                escape_char=False,
                newlines_in_values=quoted,
                ignore_empty_lines=False,
            ),
            "convert_options": pacsv.ConvertOptions(
                column_types={name: pa.string() for name in self._names},
                null_values=[""] if csv.empty_as_null else [],
                strings_can_be_null=csv.empty_as_null,
                quoted_strings_can_be_null=False,
            ),
        }

    def _cleaned(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        if self._csv.trim_space:
            column = pc.utf8_trim(column, characters=" \t")
            if self._csv.empty_as_null:
                column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
        if self._nulls is not None:
            column = pc.if_else(pc.is_in(column, value_set=self._nulls), pa.scalar(None, pa.string()), column)
        return column
