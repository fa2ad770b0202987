"""How a query is doing, for clients that started it and went on."""

from __future__ import annotations

from typing import Any

from snowmelt.runtime.account import Account
from snowmelt.serve.protocol.executions import Execution
from snowmelt.serve.protocol.sessions import DoorSession
from snowmelt.state.model import QueryRecord

_STATUS = {"running": "RUNNING", "success": "SUCCESS", "failed_with_error": "FAILED_WITH_ERROR"}


def query_status(
    account: Account, found: DoorSession, query_id: str, execution: Execution | None
) -> dict[str, Any]:  # fmt: skip
    """The one query in the client's form; none when nothing is known of it, or it is another user's or role's."""
    record = account.journal.get(query_id)
    if record is not None and (
        record.user != found.session.user or record.role not in found.roles_within(record.session_id)
    ):
        return {"queries": []}
    if execution is not None and not execution.done and found.may_have(execution):
        waits = not execution.running
        return {"queries": [_query(query_id, "QUEUED" if waits else "RUNNING", record)]}
    if record is None:
        return {"queries": []}
    return {"queries": [_query(query_id, _STATUS[record.status], record)]}


def _query(query_id: str, status: str, record: QueryRecord | None) -> dict[str, Any]:
    query: dict[str, Any] = {"id": query_id, "status": status, "state": status, "errorCode": None, "errorMessage": None}
    if record is not None:
        query |= {
            "errorCode": record.error_code,
            "errorMessage": record.error_message,
            "sqlText": record.text,
            "startTime": int(record.start_time.timestamp() * 1000),
            "endTime": int(record.end_time.timestamp() * 1000) if record.end_time is not None else 0,
            "warehouseName": record.warehouse,
            "queryTag": record.query_tag,
        }
    return query
