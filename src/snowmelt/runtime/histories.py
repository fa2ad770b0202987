"""Rows of history: statements that ran, files that were loaded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.core.names import split_name
from snowmelt.runtime import stage_names
from snowmelt.runtime.metadata.columns import EPOCH, Row, columns
from snowmelt.state.model import CatalogObject, FileLoad, ObjectKind, QueryRecord
from snowmelt.state.sight import Owned
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

QUERY_DAYS = 7
"""How far back QUERY_HISTORY looks."""
LOAD_DAYS = 14
_MANY = 10_000

QUERY_COLUMNS = columns(
    "QUERY_ID, QUERY_TEXT, DATABASE_NAME, SCHEMA_NAME, QUERY_TYPE, SESSION_ID:n, AUTHN_EVENT_ID:n, USER_NAME, "
    "USER_TYPE, USER_DATABASE_NAME, USER_SCHEMA_NAME, ROLE_NAME, WAREHOUSE_NAME, WAREHOUSE_SIZE, WAREHOUSE_TYPE, "
    "CLUSTER_NUMBER:n, QUERY_TAG, EXECUTION_STATUS, ERROR_CODE:n, ERROR_MESSAGE, START_TIME:ts, END_TIME:ts, "
    "TOTAL_ELAPSED_TIME:n, BYTES_SCANNED:n, ROWS_PRODUCED:n, COMPILATION_TIME:n, EXECUTION_TIME:n, "
    "QUEUED_PROVISIONING_TIME:n, QUEUED_REPAIR_TIME:n, QUEUED_OVERLOAD_TIME:n, TRANSACTION_BLOCKED_TIME:n, "
    "OUTBOUND_DATA_TRANSFER_CLOUD, OUTBOUND_DATA_TRANSFER_REGION, OUTBOUND_DATA_TRANSFER_BYTES:n, "
    "INBOUND_DATA_TRANSFER_CLOUD, INBOUND_DATA_TRANSFER_REGION, INBOUND_DATA_TRANSFER_BYTES:n, "
    "LIST_EXTERNAL_FILE_TIME:n, CREDITS_USED_CLOUD_SERVICES:n, RELEASE_VERSION, "
    "EXTERNAL_FUNCTION_TOTAL_INVOCATIONS:n, EXTERNAL_FUNCTION_TOTAL_SENT_ROWS:n, "
    "EXTERNAL_FUNCTION_TOTAL_RECEIVED_ROWS:n, EXTERNAL_FUNCTION_TOTAL_SENT_BYTES:n, "
    "EXTERNAL_FUNCTION_TOTAL_RECEIVED_BYTES:n, IS_CLIENT_GENERATED_STATEMENT:bool, QUERY_HASH, "
    "QUERY_HASH_VERSION:n, QUERY_PARAMETERIZED_HASH, QUERY_PARAMETERIZED_HASH_VERSION:n, TRANSACTION_ID:n, "
    "QUERY_ACCELERATION_BYTES_SCANNED:n, QUERY_ACCELERATION_PARTITIONS_SCANNED:n, "
    "QUERY_ACCELERATION_UPPER_LIMIT_SCALE_FACTOR:n, BYTES_WRITTEN_TO_RESULT:n, ROWS_WRITTEN_TO_RESULT:n, "
    "ROWS_INSERTED:n, QUERY_RETRY_TIME:n, QUERY_RETRY_CAUSE:array, FAULT_HANDLING_TIME:n, BIND_VALUES:array, "
    "AGENT_TYPE, SPARK_JOB_IDS:array, EXECUTION_LANE, LANE_REASON"
)
COPY_COLUMNS = columns(
    "FILE_NAME, STAGE_LOCATION, LAST_LOAD_TIME:ts, ROW_COUNT:n, ROW_PARSED:n, FILE_SIZE:n, FIRST_ERROR_MESSAGE, "
    "FIRST_ERROR_LINE_NUMBER:n, FIRST_ERROR_CHARACTER_POS:n, FIRST_ERROR_COLUMN_NAME, ERROR_COUNT:n, ERROR_LIMIT:n, "
    "STATUS, TABLE_CATALOG_NAME, TABLE_SCHEMA_NAME, TABLE_NAME, PIPE_CATALOG_NAME, PIPE_SCHEMA_NAME, PIPE_NAME, "
    "PIPE_RECEIVED_TIME:ts, BYTES_BILLED:n"
)
VERSION_COLUMNS = columns(
    "DATABASE_NAME, SCHEMA_NAME, TABLE_NAME, VERSION:n, COMMITTED_ON:ts, OPERATION, QUERY_ID, ROW_COUNT:n, BYTES:n"
)
_COPY_STATUS = {"LOADED": "Loaded", "LOAD_FAILED": "Load failed", "PARTIALLY_LOADED": "Partially loaded"}


@dataclass(frozen=True, slots=True)
class EndTimes:
    """A range in which statements ended. With an end, those that still run are left out."""

    start: datetime | None
    end: datetime | None

    def holds(self, query: QueryRecord) -> bool:
        if query.end_time is None:
            return self.end is None
        return (self.start is None or query.end_time >= self.start) and (self.end is None or query.end_time <= self.end)


def queries(
    run: Run,
    ended: EndTimes,
    *,
    limit: int,
    session_id: str | None = None,
    user: str | None = None,
    warehouse: str | None = None,
) -> list[Row]:
    """Statements, the latest first, at most so many: the user's own, and those of warehouses the roles may monitor."""
    everybody = run.authority.on_account("MONITOR EXECUTION")
    unfiltered = ended == EndTimes(None, None) and warehouse is None and everybody
    records = run.account.journal.list(limit if unfiltered else _MANY, session_id, user=user)
    with run.state.read() as state:
        warehouses = state.warehouses.list()
    sizes = {item.name: item.size for item in warehouses}
    monitored = {item.name for item in warehouses if run.authority.holds("MONITOR", Owned(item.id, item.owner))}
    chosen = [
        query
        for query in records
        if ended.holds(query)
        and warehouse in (None, query.warehouse)
        and (everybody or query.user == run.session.user or query.warehouse in monitored)
    ]
    return [_query(query, sizes) for query in chosen[:limit]]


def _query(query: QueryRecord, sizes: dict[str, str]) -> Row:
    ended = query.end_time
    elapsed = round((ended - query.start_time).total_seconds() * 1000) if ended is not None else 0
    return {
        "QUERY_ID": query.query_id,
        "QUERY_TEXT": query.text,
        "DATABASE_NAME": query.database,
        "SCHEMA_NAME": query.schema_name,
        "QUERY_TYPE": query.query_type,
        "SESSION_ID": _number(query.session_id),
        "USER_NAME": query.user,
        "USER_TYPE": "PERSON",
        "ROLE_NAME": query.role,
        "WAREHOUSE_NAME": query.warehouse,
        "WAREHOUSE_SIZE": sizes.get(query.warehouse or ""),
        "WAREHOUSE_TYPE": "STANDARD" if query.warehouse is not None else None,
        "CLUSTER_NUMBER": 1 if query.warehouse is not None else None,
        "QUERY_TAG": query.query_tag,
        "EXECUTION_STATUS": query.status.upper(),
        "ERROR_CODE": _number(query.error_code),
        "ERROR_MESSAGE": query.error_message,
        "START_TIME": query.start_time,
        "END_TIME": ended or EPOCH,
        "TOTAL_ELAPSED_TIME": elapsed,
        "BYTES_SCANNED": query.bytes_scanned,
        "ROWS_PRODUCED": query.rows_produced,
        "COMPILATION_TIME": 0,
        "EXECUTION_TIME": elapsed,
        "QUEUED_PROVISIONING_TIME": 0,
        "QUEUED_REPAIR_TIME": 0,
        "QUEUED_OVERLOAD_TIME": 0,
        "TRANSACTION_BLOCKED_TIME": 0,
        "IS_CLIENT_GENERATED_STATEMENT": False,
        "TRANSACTION_ID": _number(query.transaction_id) or 0,
        "ROWS_WRITTEN_TO_RESULT": query.rows_in_result,
        "ROWS_INSERTED": query.rows_inserted,
        "SPARK_JOB_IDS": json.dumps(query.spark_jobs, separators=(",", ":")),
        "EXECUTION_LANE": query.lane.upper() if query.lane is not None else None,
        "LANE_REASON": query.lane_reason,
    }


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.lstrip("-").isdigit() else None


def loads(run: Run, state: StateReader, table: str, start: datetime, end: datetime | None) -> list[Row]:
    """Files loaded into a table, as COPY_HISTORY shows them."""
    parts = split_name(table)
    if parts is None or len(parts) > 3:
        raise errors.invalid_value(table, "TABLE_NAME")
    full = run.object_name(parts, "COPY_HISTORY")
    found = state.catalog.find(full, [ObjectKind.TABLE], run.session.id)
    if found is None:
        raise errors.not_found("Table", str(full))
    return [
        _copy(run, state, found, load)
        for load in state.loads.history(found.id, since=start)
        if end is None or load.loaded_at <= end
    ]


def versions(run: Run, table: str, start: datetime | None) -> list[Row]:
    """Every commit to the table that became visible, the oldest first. Another tool's has no query."""
    parts = split_name(table)
    if parts is None or len(parts) > 3:
        raise errors.invalid_value(table, "TABLE_NAME")
    full = run.object_name(parts, "TABLE_VERSION_HISTORY")
    with run.state.read() as state:
        found = state.catalog.find(full, [ObjectKind.TABLE], run.session.id)
        if found is None:
            raise errors.not_found("Table", str(full))
        history = state.versions.history(found.id)
    return [
        {
            "DATABASE_NAME": full.database,
            "SCHEMA_NAME": full.schema,
            "TABLE_NAME": full.name,
            "VERSION": version.version,
            "COMMITTED_ON": version.committed_at,
            "OPERATION": version.operation,
            "QUERY_ID": version.query_id,
            "ROW_COUNT": version.rows,
            "BYTES": version.bytes,
        }
        for version in history
        if start is None or version.committed_at >= start
    ]


def _first_error(run: Run, table: CatalogObject, load: FileLoad) -> str | None:
    """What was wrong in a file quotes a value of it: for those who read the table, or fill it."""
    whose = Owned(table.id, table.owner)
    shown = any(run.authority.holds(privilege, whose) for privilege in ("SELECT", "INSERT"))
    return load.first_error if shown else None


def _copy(run: Run, state: StateReader, table: CatalogObject, load: FileLoad) -> Row:
    stage, file = stage_names.file_name(state, load.file)
    return {
        "FILE_NAME": file,
        "STAGE_LOCATION": stage,
        "LAST_LOAD_TIME": load.loaded_at,
        "ROW_COUNT": load.rows_loaded,
        "ROW_PARSED": load.rows_parsed,
        "FILE_SIZE": load.size,
        "FIRST_ERROR_MESSAGE": _first_error(run, table, load),
        "FIRST_ERROR_LINE_NUMBER": load.first_error_line,
        "FIRST_ERROR_COLUMN_NAME": load.first_error_column,
        "ERROR_COUNT": load.error_count,
        "STATUS": _COPY_STATUS[load.status],
        "TABLE_CATALOG_NAME": table.name.database,
        "TABLE_SCHEMA_NAME": table.name.schema,
        "TABLE_NAME": table.name.name,
    }


def load_history(
    run: Run, state: StateReader, table: CatalogObject, found: list[FileLoad]
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """The same loads in the words of INFORMATION_SCHEMA.LOAD_HISTORY."""
    for load in found:
        yield {
            "SCHEMA_NAME": table.name.schema,
            "FILE_NAME": "/".join(part for part in stage_names.file_name(state, load.file) if part),
            "TABLE_NAME": table.name.name,
            "LAST_LOAD_TIME": load.loaded_at,
            "STATUS": load.status.replace("_", " "),
            "ROW_COUNT": load.rows_loaded,
            "ROW_PARSED": load.rows_parsed,
            "FIRST_ERROR_MESSAGE": _first_error(run, table, load),
            "FIRST_ERROR_LINE_NUMBER": load.first_error_line,
            "FIRST_ERROR_COL_NAME": load.first_error_column,
            "ERROR_COUNT": load.error_count,
        }
