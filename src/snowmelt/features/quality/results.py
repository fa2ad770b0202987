"""Results of checks as they are kept."""

from __future__ import annotations

from datetime import datetime

from snowmelt.govern.quality.kinds import rule_of
from snowmelt.govern.quality.verdicts import CheckVerdict
from snowmelt.state.ids import new_id
from snowmelt.state.model import CatalogObject
from snowmelt.state.quality_model import QualityResult, ResultStatus


def result_of(
    table: CatalogObject, verdict: CheckVerdict, at: datetime, operation: str, query_id: str | None, version: int
) -> QualityResult:
    check = verdict.check
    return QualityResult(
        id=new_id(),
        table_id=table.id,
        table=table.name,
        check=check.name,
        kind=check.kind,
        family=rule_of(check).family,
        severity=check.severity,
        action=check.action,
        status=ResultStatus.PASSED if verdict.passed else ResultStatus.FAILED,
        measured_at=at,
        operation=operation,
        query_id=query_id,
        version=version,
        value=verdict.value,
        rows_checked=verdict.rows_checked,
        rows_failed=verdict.rows_failed,
        message=verdict.message,
        profile=verdict.profile,
    )
