"""Results of quality checks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import bindparam, delete, insert, select

from snowmelt.state.quality_model import QualityResult
from snowmelt.state.repository import Repository, chunks
from snowmelt.state.tables import QUALITY_RESULTS

_R = QUALITY_RESULTS.c
_LAST = (
    select(_R.record)
    .where(_R.table_id == bindparam("of_table"), _R.check_name == bindparam("of_check"))
    .order_by(_R.measured_at.desc(), _R.id.desc())
    .limit(bindparam("at_most"))
)


class Quality(Repository):
    def record(self, results: Sequence[QualityResult]) -> None:
        self._writing()
        rows = [
            {
                "id": result.id,
                "table_id": result.table_id,
                "check_name": result.check,
                "measured_at": result.measured_at,
                "record": result.model_dump_json(),
            }
            for result in results
        ]
        if rows:
            self._execute(insert(QUALITY_RESULTS), rows)

    def last(self, table_id: str, check: str, limit: int) -> list[QualityResult]:
        """The newest results of a check, the newest first."""
        values = {"of_table": table_id, "of_check": check, "at_most": limit}
        return [QualityResult.model_validate_json(record) for record in self._execute(_LAST, values).scalars()]

    def history(
        self, table_ids: Sequence[str], since: datetime | None = None, until: datetime | None = None
    ) -> list[QualityResult]:
        """The results of tables, the newest first."""
        found: list[QualityResult] = []
        for part in chunks(list(table_ids)):
            query = select(_R.record).where(_R.table_id.in_(part))
            if since is not None:
                query = query.where(_R.measured_at >= since)
            if until is not None:
                query = query.where(_R.measured_at <= until)
            found += [QualityResult.model_validate_json(record) for record in self._execute(query).scalars()]
        return sorted(found, key=lambda result: (result.measured_at, result.id), reverse=True)

    def move(self, old_id: str, new_id: str) -> None:
        """What was measured of a table is what its successor is compared with."""
        found = self.history([old_id])
        if found:
            self.delete_for(old_id)
            self.record([result.model_copy(update={"table_id": new_id}) for result in reversed(found)])

    def delete_for(self, table_id: str) -> None:
        self._writing()
        self._execute(delete(QUALITY_RESULTS).where(_R.table_id == table_id))
