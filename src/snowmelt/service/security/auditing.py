"""The audit log as the service writes it. An event that can't be stored is logged; it never fails the statement."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import structlog

from snowmelt.core.clock import Clock
from snowmelt.core.errors import SnowmeltError
from snowmelt.state.access_model import AuditEvent
from snowmelt.state.ids import new_id
from snowmelt.state.store import StateStore, StateTransaction

if TYPE_CHECKING:
    from snowmelt.service.run import Run

KEPT = timedelta(days=365)
_log = structlog.get_logger(__name__)


class AuditLog:
    def __init__(self, state: StateStore, clock: Clock) -> None:
        self._state = state
        self._clock = clock

    def denied(self, run: Run, privileges: tuple[str, ...], object: str, error: SnowmeltError) -> None:
        """Somebody asked for what their roles do not allow."""
        self.write(
            "DENIED", user=run.session.user, role=run.session.role, succeeded=False, object=object,
            detail=" or ".join(privileges), error_code=error.code, error_message=error.text, query_id=run.query_id,
        )  # fmt: skip

    def write(self, kind: Any, *, user: str, **values: Any) -> None:
        event = AuditEvent(id=new_id(), at=self._clock.now(), kind=kind, user=user, **values)
        log = _log.info if event.succeeded else _log.warning
        log("audit", kind=event.kind, user=event.user, object=event.object, detail=event.detail, code=event.error_code)
        try:
            with self._state.begin() as state:
                state.audit.add([event])
        except SnowmeltError as error:
            _log.warning("audit_event_lost", error=str(error))


def changed(run: Run, state: StateTransaction, kind: Any, object: str, detail: str) -> None:
    """A change of users, roles or grants, noted in the transaction that makes it."""
    state.audit.add(
        [
            AuditEvent(
                id=new_id(), at=state.now, kind=kind, user=run.session.user, role=run.session.role, object=object,
                detail=detail, query_id=run.query_id,
            )
        ]
    )  # fmt: skip


def trim(state: StateTransaction, now: datetime) -> None:
    state.audit.trim(now - KEPT)
