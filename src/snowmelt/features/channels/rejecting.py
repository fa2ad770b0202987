"""Rejected rows on their way into the error table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from snowmelt.features.channels.checking import RejectedRow
from snowmelt.features.channels.opened import Entry
from snowmelt.features.loading.sink import RowSink
from snowmelt.ingest.channels.rows import json_text
from snowmelt.state.model import CatalogObject
from snowmelt.storage.schema import VARIANT, as_type
from snowmelt.storage.variant import encode, parse_json

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_TEXT_LIMIT = 4_096
"""Characters of a message: some quote the value that they are about."""


def reason(rejected: RejectedRow) -> str:
    where = f"column {rejected.column}: " if rejected.column is not None else ""
    return f"{rejected.code}: {where}{rejected.message[:_TEXT_LIMIT]}"


def write(run: Run, error_table: CatalogObject, entries: Sequence[Entry], operation: str) -> None:
    """Puts the rejected rows into the error table, in the transaction that commits the others."""
    rows = [(entry, item) for entry in entries for item in entry.checked.rejected]
    columns = {
        "REJECTED_AT": pa.array([run.now] * len(rows), pa.timestamp("us", "UTC")),
        "CHANNEL_NAME": _texts(entry.channel.state.name for entry, _ in rows),
        "OFFSET_TOKEN": _texts(item.offset_token for _, item in rows),
        "ROW_NUMBER": pa.array([item.row for _, item in rows], pa.int64()),
        "COLUMN_NAME": _texts(item.column for _, item in rows),
        "ERROR_CODE": _texts(item.code for _, item in rows),
        "ERROR_MESSAGE": _texts(item.message[:_TEXT_LIMIT] for _, item in rows),
        "ROW_DATA": _documents([item.data for _, item in rows]),
    }
    sink = RowSink(run, error_table, operation)
    sink.add(0, pa.table(columns))
    sink.settle(0, keep=True)
    sink.commit()


def _texts(values: Iterable[str | None]) -> pa.Array:
    return pa.array(list(values), pa.string())


def _documents(rows: Sequence[Mapping[str, Any]]) -> pa.Array:
    """Rows as they were sent, as documents: with text for what JSON has no type for."""
    parts = [encode(parse_json(json_text(_storable(row)))) for row in rows]
    return as_type(pa.array([{"metadata": m, "value": v} for m, v in parts], VARIANT), VARIANT)


def _storable(value: Any) -> Any:
    """NaN and infinities as text: JSON has no words for them."""
    match value:
        case dict():
            return {str(key): _storable(item) for key, item in value.items()}
        case list() | tuple():
            return [_storable(item) for item in value]
        case float() if not math.isfinite(value):
            return str(value)
        case _:
            return value
