"""Data files and their statistics, written straight from Arrow.

An append through delta-rs first brings the whole file list up to date, which grows with the table (25 ms at
5,000 files). A blind append needs none of it: a Parquet file, and one line in the log that names it.
"""

from __future__ import annotations

import json
import math
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake.exceptions import CommitFailedError

from snowmelt.core.errors import internal, null_in_column
from snowmelt.core.faults import reached
from snowmelt.core.lazy import lazy_imports
from snowmelt.storage.columns import FOOTERS
from snowmelt.storage.commits import AppTransaction, CommitTag
from snowmelt.storage.log import Action, TransactionLog
from snowmelt.storage.origins import ORIGINS, one_dictionary
from snowmelt.storage.parquet import write_parquet
from snowmelt.storage.schema import as_type

with lazy_imports():
    from snowmelt.storage import row_groups

TARGET_FILE_BYTES = 256 * 1024 * 1024
"""Bytes of Arrow memory that go into one file. On disk the file is several times smaller."""
_STATISTICS_COLUMNS = 32
_STATISTICS_TEXT = 32


@dataclass(frozen=True, slots=True)
class AppendedPart:
    """Rows that lie in a table's folder, but in none of its versions yet."""

    adds: tuple[Action, ...]
    rows: int

    @property
    def paths(self) -> list[str]:
        return [add["add"]["path"] for add in self.adds]


def conform(data: pa.Table, schema: pa.Schema, location: str) -> pa.Table:
    """`data` with exactly the table's columns and types; a column it lacks is NULL. Checks NOT NULL."""
    unknown = set(data.column_names) - set(schema.names)
    if unknown or len(set(data.column_names)) != data.num_columns:
        raise internal(f"the table at '{location}' has no columns {sorted(unknown)}, or data names one twice")
    columns = []
    for field in schema:
        if field.name in data.column_names:
            column = data.column(field.name)
        else:
            column = pa.chunked_array([pa.nulls(data.num_rows, field.type)])
        column = pa.chunked_array([as_type(chunk, field.type) for chunk in column.chunks], field.type)
        if not field.nullable and column.null_count:
            raise null_in_column(location, field.name)
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=schema)


def write_files(data: pa.Table, folder: Path) -> list[Action]:
    """Write `data` as new Parquet files of the table, and return their `add` actions. On failure none is left."""
    written: list[Path] = []
    try:
        actions = []
        for part in parts(data, TARGET_FILE_BYTES):
            written.append(new_file(folder))
            actions.append(write_file(part, written[-1]))
    except BaseException:
        for path in written:
            path.unlink(missing_ok=True)
        raise
    return actions


@contextmanager
def removed_on_failure(folder: Path, actions: Iterable[Action]) -> Iterator[None]:
    """Committing files that were written for it: when that fails, no version names them and they go."""
    try:
        yield
    except BaseException:
        discard_added(folder, actions)
        raise


def discard_added(folder: Path, actions: Iterable[Action]) -> None:
    for action in actions:
        written = action.get("add") or action.get("cdc")
        if written is not None:
            (folder / written["path"]).unlink(missing_ok=True)


def commit_append(
    log: TransactionLog,
    adds: Sequence[Action],
    rows: int,
    tag: CommitTag,
    app_transactions: Sequence[AppTransaction],
) -> tuple[int, list[Action]]:
    """Add the files to the table in one commit; returns its version and actions."""
    now = int(time.time() * 1000)
    info = {
        "timestamp": now,
        "operation": "WRITE",
        "operationParameters": {"mode": "Append"},
        "operationMetrics": {"num_added_files": len(adds), "num_removed_files": 0, "num_added_rows": rows},
        "isBlindAppend": True,
        "engineInfo": "snowmelt",
        "userMetadata": tag.user_metadata(),
    }
    applied = [{"txn": {"appId": one.app_id, "version": one.version, "lastUpdated": now}} for one in app_transactions]
    actions: list[Action] = [{"commitInfo": info}, *applied, *adds]
    while True:
        version = log.latest() + 1
        try:
            log.store.put_commit(version, actions)
        except FileExistsError:
            # Another tool was quicker. New files conflict with nothing but a change of the table itself.
            if any("metaData" in action or "protocol" in action for action in log.actions(version)):
                raise CommitFailedError("the table was altered meanwhile") from None
        else:
            return version, actions


def parts(data: pa.Table, size: int) -> Iterator[pa.Table]:
    """The rows in slices of about so many bytes of memory."""
    rows = max(1, math.ceil(data.num_rows / max(1, math.ceil(data.nbytes / size))))
    for start in range(0, data.num_rows, rows):
        yield data.slice(start, rows)


def new_file(folder: Path) -> Path:
    return folder / f"part-00000-{uuid.uuid4()}-c000.zstd.parquet"


def write_file(data: pa.Table, path: Path) -> Action:
    """Write one Parquet file, and return its `add` action."""
    FOOTERS.keep(str(path), write_parquet(one_dictionary(data), path))
    reached("data-file-written")
    return _addition(path, statistics(_in_schema(data)))


def spliced_file(
    parts: Iterable[row_groups.FilePart], source: row_groups.CopiedFile, path: Path, schema: pa.Schema
) -> Action | None:
    """The same for row groups of another file and rows between them; None if there is none. See `row_groups.splice`."""
    if not row_groups.splice(source, path, parts):
        return None
    reached("data-file-written")
    return _addition(path, _statistics_of_file(path, schema))


def _addition(path: Path, found: Mapping[str, Any]) -> Action:
    written = path.stat()
    return {
        "add": {
            "path": path.name,
            "partitionValues": {},
            "size": written.st_size,
            "modificationTime": int(written.st_mtime * 1000),
            "dataChange": True,
            "stats": json.dumps(found, separators=(",", ":")),
        }
    }


def _statistics_of_file(path: Path, schema: pa.Schema) -> dict[str, Any]:
    """Statistics of a file from those of its row groups, where these are exact: not for floating-point numbers."""
    metadata = pq.read_metadata(path)
    leaves = {metadata.schema.column(index).path: index for index in range(metadata.num_columns)}
    found: dict[str, Any] = {"numRecords": metadata.num_rows, "minValues": {}, "maxValues": {}, "nullCount": {}}
    for field in list(schema)[:_STATISTICS_COLUMNS]:
        if pa.types.is_nested(field.type):
            continue
        chunks = [metadata.row_group(number).column(leaves[field.name]) for number in range(metadata.num_row_groups)]
        stated = [chunk.statistics for chunk in chunks]
        if any(one is None or not one.has_null_count for one in stated):
            continue
        found["nullCount"][field.name] = sum(one.null_count for one in stated)
        bounds = _stated_bounds(field.type, stated)
        if bounds is not None:
            found["minValues"][field.name], found["maxValues"][field.name] = bounds
    return found


def _stated_bounds(type_: pa.DataType, stated: Sequence[pq.Statistics]) -> tuple[Any, Any] | None:
    if pa.types.is_boolean(type_) or pa.types.is_binary(type_) or pa.types.is_floating(type_):
        return None
    valued = [one for one in stated if one.num_values]
    if not valued or not all(one.has_min_max for one in valued):
        return None
    try:
        low, high = min(one.min for one in valued), max(one.max for one in valued)
        exact = [_exact(pa.scalar(bound, type_).as_py()) for bound in (low, high)]
    except (OverflowError, ValueError, TypeError, pa.ArrowException):
        return None
    return None if None in exact else (exact[0], exact[1])


def _in_schema(data: pa.Table) -> pa.Table:
    """Without what the table's schema does not know."""
    return data.select([name for name in data.column_names if name not in ORIGINS])


def statistics(data: pa.Table) -> dict[str, Any]:
    """Delta's per-file statistics. A bound that JSON can't state exactly is left out, which is always
    safe."""
    found: dict[str, Any] = {"numRecords": data.num_rows, "minValues": {}, "maxValues": {}, "nullCount": {}}
    for field, column in list(zip(data.schema, data.columns, strict=True))[:_STATISTICS_COLUMNS]:
        if pa.types.is_nested(field.type):
            continue
        found["nullCount"][field.name] = column.null_count
        bounds = _bounds(column)
        if bounds is not None:
            found["minValues"][field.name], found["maxValues"][field.name] = bounds
    return found


def _bounds(column: pa.ChunkedArray) -> tuple[Any, Any] | None:
    if pa.types.is_boolean(column.type) or pa.types.is_binary(column.type):
        return None
    # Arrow's minimum passes over NaN, which Spark sorts above every number.
    if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
        return None
    bounds = pc.min_max(column)
    try:
        low, high = _exact(bounds["min"].as_py()), _exact(bounds["max"].as_py())
    except (OverflowError, ValueError):
        return None  # a date beyond the years Python has
    return None if low is None or high is None else (low, high)


def _exact(value: Any) -> Any:
    match value:
        case datetime():
            # Years before 1000 need their leading zeros; isoformat writes them, strftime may not.
            text = value.replace(tzinfo=None).isoformat(timespec="microseconds")
            return text if value.tzinfo is None else f"{text}Z"
        case date():
            return value.isoformat()
        case str():
            return value if len(value) <= _STATISTICS_TEXT else None
        case float():
            return value if math.isfinite(value) else None
        case Decimal():
            if value == value.to_integral_value():
                return int(value)
            return float(value) if Decimal(repr(float(value))) == value else None
        case _:
            return value
