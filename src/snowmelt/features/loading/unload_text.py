"""Rows as the text of CSV and JSON files, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from snowmelt.core.types import DataType, Kind
from snowmelt.features.loading.file_formats import CsvFormat

_BARE = frozenset({Kind.NUMBER, Kind.FLOAT, Kind.BOOLEAN})
"""Values that are never enclosed."""


class CsvText:
    """Prints rows by one format. All columns come as text already."""

    def __init__(self, csv: CsvFormat, names: Sequence[str], types: Sequence[DataType]) -> None:
        self._csv = csv
        self._names = names
        self._enclosed = [csv.enclosure is not None and type_.kind not in _BARE for type_ in types]
        self._field = (csv.field_delimiter or b"").decode()
        self._record = (csv.record_delimiter or b"").decode()
        self._null = csv.null_if[0] if csv.null_if else ""
        self._escape = (csv.escape or csv.escape_unenclosed or b"").decode()

    def header(self) -> bytes:
        names = pa.table([pa.array([name]) for name in self._names], names=[f"c{n}" for n in range(len(self._names))])
        enclosed = [self._csv.enclosure is not None] * len(self._names)
        return self._lines([self._column(column, flag) for column, flag in zip(names.columns, enclosed, strict=True)])

    def rows(self, data: pa.Table) -> bytes:
        if data.num_rows == 0:
            return b""
        return self._lines([self._column(c, flag) for c, flag in zip(data.columns, self._enclosed, strict=True)])

    def _column(self, column: Any, enclosed: bool) -> Any:
        flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        flat = flat.cast(pa.large_string())
        if enclosed:
            assert self._csv.enclosure is not None
            quote = self._csv.enclosure.decode()
            if self._csv.escape is not None:
                escape = self._csv.escape.decode()
                flat = pc.replace_substring(flat, escape, escape * 2)
                flat = pc.replace_substring(flat, quote, escape + quote)
            else:
                flat = pc.replace_substring(flat, quote, quote * 2)
            flat = pc.binary_join_element_wise(_scalar(quote), flat, _scalar(quote), _scalar(""))
        elif self._escape:
            for special in (self._escape, self._field, self._record):
                if special:
                    flat = pc.replace_substring(flat, special, self._escape + special)
        return pc.fill_null(flat, self._null)

    def _lines(self, columns: Sequence[Any]) -> bytes:
        lines = columns[0] if len(columns) == 1 else pc.binary_join_element_wise(*columns, _scalar(self._field))
        return "".join(f"{line}{self._record}" for line in lines.to_pylist()).encode()


def _scalar(text: str) -> Any:
    return pa.scalar(text, pa.large_string())


def json_lines(data: pa.Table) -> bytes:
    """The documents of the only column, one a line; a NULL is an empty document's place."""
    lines = data.column(0).to_pylist()
    return "".join(f"{line}\n" for line in lines if line is not None).encode()
