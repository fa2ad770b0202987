"""Results as the page gets them: JSON, with no digit lost."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from snowmelt.core.types import DataType, Kind
from snowmelt.runtime.results import Result

_SAFE = 2**53
"""Integers from here on are no exact numbers in a browser: they go as text."""
_PIECE = 20_000
MEDIA_TYPES = {"csv": "text/csv", "json": "application/json", "parquet": "application/vnd.apache.parquet"}


def columns_to_json(result: Result) -> list[dict[str, Any]]:
    return [
        {"name": column.name, "type": str(column.type), "kind": column.type.kind.value, "nullable": column.nullable}
        for column in result.columns
    ]


def rows_to_json(result: Result, offset: int, limit: int) -> list[list[Any]]:
    """Some of the rows; numbers that a browser can't hold are text."""
    rows: list[list[Any]] = []
    for piece in _pieces(result, offset, limit):
        rows += [list(map(_value, row)) for row in replace(result, data=piece, spilled=None).rows()]
    return rows


def _pieces(result: Result, offset: int, limit: int) -> Iterator[pa.Table]:
    skipped, left = offset, limit
    for piece in result.slices(_PIECE, _PIECE):
        if skipped >= piece.num_rows:
            skipped -= piece.num_rows
            continue
        chosen = piece.slice(skipped, left)
        skipped, left = 0, left - chosen.num_rows
        if chosen.num_rows:
            yield chosen
        if left <= 0:
            return


def _value(value: Any) -> Any:
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if -_SAFE < value < _SAFE else str(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case Decimal():
            return format(value, "f")
        case datetime():
            return value.isoformat(
                sep=" ", timespec="milliseconds" if value.microsecond % 1000 == 0 else "microseconds"
            )
        case date() | time():
            return value.isoformat()
        case bytes():
            return value.hex().upper()
        case _:
            return str(value)


def exported(result: Result, form: str) -> Iterator[bytes]:
    """The whole result as a file, piece by piece."""
    return _EXPORTS[form](result)


def _csv(result: Result) -> Iterator[bytes]:
    names = [column.name for column in result.columns]
    first = True
    for piece in _named(result, names):
        sink = io.BytesIO()
        pa_csv.write_csv(_plain(piece, result), sink, pa_csv.WriteOptions(include_header=first))
        first = False
        yield sink.getvalue()


def _json(result: Result) -> Iterator[bytes]:
    """An array of objects, one a line."""
    names = [column.name for column in result.columns]
    yield b"["
    separator = ""
    for piece in result.slices(_PIECE, _PIECE):
        rows = replace(result, data=piece, spilled=None).rows()
        lines = [json.dumps(dict(zip(names, map(_value, row), strict=True)), ensure_ascii=False) for row in rows]
        if lines:
            yield (separator + "\n" + ",\n".join(lines)).encode()
            separator = ","
    yield b"\n]\n"


def _parquet(result: Result) -> Iterator[bytes]:
    names = _unique([column.name for column in result.columns])
    sink = pa.BufferOutputStream()
    pieces = _named(result, names)
    first = next(pieces)
    with pq.ParquetWriter(sink, first.schema, compression="zstd") as writer:
        writer.write_table(first)
        for piece in pieces:
            writer.write_table(piece)
    yield sink.getvalue().to_pybytes()


_EXPORTS: dict[str, Callable[[Result], Iterator[bytes]]] = {"csv": _csv, "json": _json, "parquet": _parquet}


def _named(result: Result, names: list[str]) -> Iterator[pa.Table]:
    for piece in result.slices(_PIECE, _PIECE):
        yield piece.rename_columns(names)


def _plain(piece: pa.Table, result: Result) -> pa.Table:
    """Columns that CSV has no form for, as text."""
    for index, column in enumerate(result.columns):
        if _needs_text(column.type):
            one = replace(
                result, columns=(column,), data=pa.table([piece.column(index)], names=["0"]), spilled=None
            ).rows()
            texts = pa.array([None if row[0] is None else str(_value(row[0])) for row in one], pa.string())
            piece = piece.set_column(index, piece.schema.names[index], texts)
    return piece


def _needs_text(type_: DataType) -> bool:
    return type_.kind in (Kind.TIMESTAMP_TZ, Kind.TIMESTAMP_LTZ, Kind.BINARY, Kind.TIME, Kind.NULL)


def _unique(names: list[str]) -> list[str]:
    """Parquet readers want each name once."""
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return unique
