"""When warehouses were up, for what they cost."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import or_, select

from snowmelt.state.model import WarehouseUsage
from snowmelt.state.repository import Repository
from snowmelt.state.tables import WAREHOUSE_USAGE

_C = WAREHOUSE_USAGE.c


class Usage(Repository):
    def record(self, *spans: WarehouseUsage) -> None:
        """Add spans, replacing those with the same id."""
        self._writing()
        rows = [
            {
                "id": span.id,
                "warehouse_id": span.warehouse_id,
                "started_at": span.started_at,
                "ended_at": span.ended_at,
                "record": span.model_dump_json(),
            }
            for span in spans
        ]
        self._upsert(WAREHOUSE_USAGE, rows)

    def open(self) -> list[WarehouseUsage]:
        """The spans that have not ended."""
        records = self._execute(select(_C.record).where(_C.ended_at.is_(None))).scalars()
        return [WarehouseUsage.model_validate_json(record) for record in records]

    def between(self, start: datetime, end: datetime) -> list[WarehouseUsage]:
        """Spans that overlap with the time from `start` to `end`, the oldest first."""
        query = (
            select(_C.record)
            .where(_C.started_at < end, or_(_C.ended_at.is_(None), _C.ended_at > start))
            .order_by(_C.started_at, _C.id)
        )
        return [WarehouseUsage.model_validate_json(record) for record in self._execute(query).scalars()]
