"""Rows as the API gives them: texts in JSON, the first partition with the answer, the others by their number."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from snowmelt.core import types
from snowmelt.core.types import Kind
from snowmelt.runtime.results import Result, ResultColumn
from snowmelt.runtime.wire.json_rows import Value, json_rows
from snowmelt.runtime.wire.rowtypes import row_type
from snowmelt.serve.protocol.addresses import AddressHolder
from snowmelt.serve.protocol.parts import ResultParts, pieces_of

_TIMES = (Kind.TIME, Kind.TIMESTAMP_NTZ, Kind.TIMESTAMP_LTZ, Kind.TIMESTAMP_TZ)
_DIGITS = 9
"""Behind the point of seconds, whatever the column's type has."""


@dataclass(frozen=True, slots=True)
class Partitions:
    """A result as it is given out, and where its further partitions are."""

    metadata: dict[str, Any]
    first: list[list[Value]]
    secret: str | None
    count: int


def partitioned(result: Result, parts: ResultParts, holder: AddressHolder, null: str | None) -> Partitions:
    """Writes all partitions but the first, packed, to where the holder's other results are."""
    pieces = pieces_of(result)
    first = _rows(result, next(pieces), null)
    info: list[dict[str, int]] = [{"rowCount": len(first), "uncompressedSize": len(_bytes(first))}]
    secret, keep = parts.folder_for(holder) if len(first) < result.row_count else (None, None)
    if keep is not None:
        for number, piece in enumerate(pieces, 1):
            content = _bytes({"data": _rows(result, piece, null)})
            packed = gzip.compress(content, 1)
            keep(number, packed)
            info.append({"rowCount": piece.num_rows, "uncompressedSize": len(content), "compressedSize": len(packed)})
    metadata = {
        "numRows": result.row_count, "format": "jsonv2", "partitionInfo": info,
        "rowType": [row_type(column) for column in result.columns],
    }  # fmt: skip
    return Partitions(metadata, first, secret, len(info))


def _rows(result: Result, piece: pa.Table, null: str | None) -> list[list[Value]]:
    columns, shown = _as_texts(result.columns, piece)
    rows = json_rows(columns, shown, result.json_indent)
    if null is None:
        return rows
    return [[null if value is None else value for value in row] for row in rows]


def _as_texts(columns: Sequence[ResultColumn], piece: pa.Table) -> tuple[list[ResultColumn], pa.Table]:
    """The columns as the protocol of the drivers would write what the API writes otherwise."""
    shown = [_as_text(column, piece.column(index)) for index, column in enumerate(columns)]
    table = pa.Table.from_arrays([values for _, values in shown], [str(index) for index in range(len(shown))])
    return [column for column, _ in shown], table


def _as_text(column: ResultColumn, values: pa.ChunkedArray) -> tuple[ResultColumn, pa.ChunkedArray]:
    if column.type.kind is Kind.BOOLEAN:
        return replace(column, type=types.VARCHAR), values.cast(pa.string())
    if column.type.kind in _TIMES:
        return replace(column, type=replace(column.type, precision=_DIGITS)), values
    return column, values


def _bytes(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
