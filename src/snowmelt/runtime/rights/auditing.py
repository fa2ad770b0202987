"""Writing the audit log. An event that can't be stored is logged; it never fails the statement."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import structlog

from snowmelt.core.clock import Clock
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.text import storable
from snowmelt.runtime.protocols import AuditedStatement
from snowmelt.state.access_model import AuditEvent
from snowmelt.state.ids import new_id
from snowmelt.state.store import StateStore, StateTransaction

KEPT = timedelta(days=365)
_MOST_WAITING = 10_000
_log = structlog.get_logger(__name__)


class AuditLog:
    """Takes events at once, even inside a transaction, and stores them at the next `flush`: when the statement that
    failed has ended, when a login has been answered, and before anybody reads them."""

    def __init__(self, state: StateStore, clock: Clock) -> None:
        self._state = state
        self._clock = clock
        self._waiting: list[AuditEvent] = []
        self.set_aside = 0
        """How many events could not be stored, or found no room. The log of the process has them."""
        self._lock = threading.Lock()

    def denied(self, run: AuditedStatement, privileges: tuple[str, ...], object: str, error: SnowmeltError) -> None:
        """Somebody asked for what their roles do not allow."""
        self.write(
            "DENIED", user=run.session.user, role=run.session.role, succeeded=False, object=object,
            detail=" or ".join(privileges), error_code=error.code, error_message=error.message, query_id=run.query_id,
        )  # fmt: skip

    def write(self, kind: Any, *, user: str, **values: Any) -> None:
        values = {name: storable(value) if isinstance(value, str) else value for name, value in values.items()}
        event = AuditEvent(id=new_id(), at=self._clock.now(), kind=kind, user=storable(user), **values)
        log = _log.debug if event.succeeded else _log.info
        log("audit", kind=event.kind, user=event.user, object=event.object, detail=event.detail, code=event.error_code)
        with self._lock:
            if len(self._waiting) >= _MOST_WAITING:
                self.set_aside += 1
            else:
                self._waiting.append(event)

    def flush(self) -> None:
        """Stores what waits. Must not be called inside a state transaction."""
        with self._lock:
            events, self._waiting = self._waiting, []
        if not events:
            return
        try:
            self._store(events)
        except (SnowmeltError, ValueError):
            for event in events:
                self._store_alone(event)

    def _store(self, events: list[AuditEvent]) -> None:
        with self._state.begin() as state:
            state.audit.add(events)

    def _store_alone(self, event: AuditEvent) -> None:
        """An event that can't be stored does not keep the others from being stored."""
        try:
            self._store([event])
        except (SnowmeltError, ValueError) as error:
            self.set_aside += 1
            _log.warning("audit_event_lost", error=str(error)[:200], kind=event.kind, set_aside=self.set_aside)


def changed(run: AuditedStatement, state: StateTransaction, kind: Any, object: str, detail: str) -> None:
    """A change of users, roles or grants, noted in the transaction that makes it."""
    state.audit.add(
        [
            AuditEvent(
                id=new_id(), at=state.now, kind=kind, user=run.session.user, role=run.session.role, object=object,
                detail=detail, query_id=run.query_id,
            )
        ]
    )  # fmt: skip
