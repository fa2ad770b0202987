"""The audit log as users see it: LOGIN_HISTORY, and INFORMATION_SCHEMA.AUDIT_LOG."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from snowmelt.runtime.metadata.columns import Row, columns, long_yes
from snowmelt.state.access_model import AuditEvent

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

MOST = 10_000
LOGIN_COLUMNS = columns(
    "EVENT_ID, EVENT_TIMESTAMP:ts, EVENT_TYPE, USER_NAME, CLIENT_IP, REPORTED_CLIENT_TYPE, REPORTED_CLIENT_VERSION, "
    "FIRST_AUTHENTICATION_FACTOR, SECOND_AUTHENTICATION_FACTOR, IS_SUCCESS, ERROR_CODE:n, ERROR_MESSAGE, "
    "RELATED_EVENT_ID, CONNECTION"
)


def logins(
    run: Run, limit: int, start: datetime | None, end: datetime | None, user: str | None = None
) -> list[Row]:  # fmt: skip
    """The newest first: the user's own, or everybody's for roles that monitor security."""
    return [
        {
            "EVENT_ID": event.id,
            "EVENT_TIMESTAMP": event.at,
            "EVENT_TYPE": "LOGIN",
            "USER_NAME": event.user,
            "CLIENT_IP": event.client,
            "FIRST_AUTHENTICATION_FACTOR": event.detail,
            "IS_SUCCESS": long_yes(event.succeeded),
            "ERROR_CODE": int(event.error_code) if event.error_code is not None else None,
            "ERROR_MESSAGE": event.error_message,
        }
        for event in _events(run, limit, "LOGIN", start, end, user)
    ]


def audit(run: Run) -> list[Row]:
    return [
        {
            "EVENT_ID": event.id,
            "EVENT_TIMESTAMP": event.at,
            "EVENT_TYPE": event.kind,
            "USER_NAME": event.user,
            "ROLE_NAME": event.role,
            "IS_SUCCESS": long_yes(event.succeeded),
            "OBJECT": event.object,
            "DETAIL": event.detail,
            "ERROR_CODE": event.error_code,
            "ERROR_MESSAGE": event.error_message,
            "CLIENT_IP": event.client,
            "QUERY_ID": event.query_id,
        }
        for event in _events(run, MOST)
    ]


def _events(
    run: Run, limit: int, kind: str | None = None, start: datetime | None = None, end: datetime | None = None,
    user: str | None = None,
) -> list[AuditEvent]:  # fmt: skip
    run.account.audit.flush()
    own = None if run.authority.on_account("MONITOR SECURITY") else run.session.user
    if own is not None and user not in (None, own):
        return []
    with run.state.read() as state:
        return state.audit.list(limit, kind=kind, user=own or user, since=start, until=end)
