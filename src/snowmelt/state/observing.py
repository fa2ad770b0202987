"""Freshness over time, drift of sources, alerts and messages."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete, or_, select

from snowmelt.state.observing_model import AlertStanding, FreshnessSpan, Notification, SchemaDrift
from snowmelt.state.repository import Repository
from snowmelt.state.tables import ALERT_STANDINGS, FRESHNESS_SPANS, NOTIFICATIONS, SCHEMA_DRIFTS

_F = FRESHNESS_SPANS.c
_D = SCHEMA_DRIFTS.c
_A = ALERT_STANDINGS.c
_N = NOTIFICATIONS.c


class Observations(Repository):
    # -- freshness ------------------------------------------------------------------------------------------------

    def open_spans(self) -> list[FreshnessSpan]:
        """The span of each object that has not ended."""
        records = self._execute(select(_F.record).where(_F.until.is_(None))).scalars()
        return [FreshnessSpan.model_validate_json(record) for record in records]

    def spans(self, start: datetime, end: datetime) -> list[FreshnessSpan]:
        """Spans that overlap with that time, the oldest first."""
        query = (
            select(_F.record)
            .where(_F.since <= end, or_(_F.until.is_(None), _F.until > start))
            .order_by(_F.since, _F.object_id)
        )
        return [FreshnessSpan.model_validate_json(record) for record in self._execute(query).scalars()]

    def put_spans(self, spans: list[FreshnessSpan]) -> None:
        """Adds spans, or replaces those of the same object and beginning."""
        self._writing()
        rows = [
            {"object_id": span.object_id, "since": span.since, "until": span.until, "record": span.model_dump_json()}
            for span in spans
        ]
        if rows:
            self._upsert(FRESHNESS_SPANS, rows)

    # -- drift ----------------------------------------------------------------------------------------------------

    def add_drift(self, drift: SchemaDrift) -> None:
        self._writing()
        row = {"id": drift.id, "object_id": drift.object_id, "found_at": drift.found_at}
        self._upsert(SCHEMA_DRIFTS, [{**row, "record": drift.model_dump_json()}])

    def drifts(self, start: datetime, end: datetime) -> list[SchemaDrift]:
        """The newest first."""
        query = select(_D.record).where(_D.found_at.between(start, end)).order_by(_D.found_at.desc(), _D.id)
        return [SchemaDrift.model_validate_json(record) for record in self._execute(query).scalars()]

    # -- alerts ---------------------------------------------------------------------------------------------------

    def standings(self) -> dict[str, AlertStanding]:
        """By their keys."""
        records = self._execute(select(_A.record).order_by(_A.alert_key)).scalars()
        return {found.key: found for found in map(AlertStanding.model_validate_json, records)}

    def put_standing(self, standing: AlertStanding) -> None:
        self._writing()
        self._upsert(ALERT_STANDINGS, [{"alert_key": standing.key, "record": standing.model_dump_json()}])

    def forget_standing(self, key: str) -> None:
        """Removes an alert whose condition no longer holds."""
        self._writing()
        self._execute(delete(ALERT_STANDINGS).where(_A.alert_key == key))

    def add_notification(self, notification: Notification) -> None:
        self._writing()
        row = {"id": notification.id, "sent_at": notification.sent_at, "record": notification.model_dump_json()}
        self._upsert(NOTIFICATIONS, [row])

    def notifications(self, start: datetime, end: datetime) -> list[Notification]:
        """The newest first."""
        query = select(_N.record).where(_N.sent_at.between(start, end)).order_by(_N.sent_at.desc(), _N.id)
        return [Notification.model_validate_json(record) for record in self._execute(query).scalars()]

    # -- forgetting -----------------------------------------------------------------------------------------------

    def delete_for(self, object_id: str) -> None:
        self._writing()
        self._execute(delete(FRESHNESS_SPANS).where(_F.object_id == object_id))
        self._execute(delete(SCHEMA_DRIFTS).where(_D.object_id == object_id))
