"""The audit log: logins, changes of rights, denials."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import insert, select

from snowmelt.state.access_model import AuditEvent
from snowmelt.state.repository import Repository
from snowmelt.state.tables import AUDIT_EVENTS

_A = AUDIT_EVENTS.c


class Audit(Repository):
    def add(self, events: Sequence[AuditEvent]) -> None:
        self._writing()
        rows = [
            {"id": event.id, "at": event.at, "kind": event.kind, "user_name": event.user,
             "record": event.model_dump_json()}
            for event in events
        ]  # fmt: skip
        if rows:
            self._execute(insert(AUDIT_EVENTS), rows)

    def list(
        self, limit: int, *, kind: str | None = None, user: str | None = None, since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[AuditEvent]:  # fmt: skip
        """The newest first."""
        query = select(_A.record).order_by(_A.at.desc(), _A.id).limit(limit)
        if kind is not None:
            query = query.where(_A.kind == kind)
        if user is not None:
            query = query.where(_A.user_name == user)
        if since is not None:
            query = query.where(_A.at >= since)
        if until is not None:
            query = query.where(_A.at <= until)
        return [AuditEvent.model_validate_json(record) for record in self._execute(query).scalars()]
