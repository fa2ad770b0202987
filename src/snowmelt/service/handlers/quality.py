"""EXECUTE QUALITY CHECKS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snowmelt.service.metadata.columns import result
from snowmelt.service.quality.asking import run_checks
from snowmelt.service.quality.listing import HISTORY_COLUMNS, history_row
from snowmelt.service.results import Result
from snowmelt.sql.statements.base import Statement
from snowmelt.sql.statements.quality import ExecuteQualityChecks

if TYPE_CHECKING:
    from snowmelt.service.run import Run


def execute_checks(run: Run, statement: ExecuteQualityChecks) -> Result:
    table = run.find_table(statement.name)
    rows = [history_row(item, table) for item in run_checks(run, table)]
    return result(HISTORY_COLUMNS, rows, "EXECUTE_QUALITY_CHECKS")


HANDLERS: dict[type[Statement], Any] = {ExecuteQualityChecks: execute_checks}
