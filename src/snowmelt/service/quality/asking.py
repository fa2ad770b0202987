"""All checks of a table over the rows that it has, because somebody asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from snowmelt.govern.quality import verdicts
from snowmelt.govern.quality.kinds import is_row_check
from snowmelt.govern.quality.verdicts import Verdict
from snowmelt.service.quality.looked_at import Written
from snowmelt.service.quality.results import result_of
from snowmelt.service.quality.row_checks import RowChecks
from snowmelt.service.quality.runs import gate_run
from snowmelt.service.quality.table_checks import TableChecks
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.state.quality_model import QualityResult

if TYPE_CHECKING:
    from snowmelt.service.run import Run

OPERATION = "RUN"


def run_checks(run: Run, table: CatalogObject) -> list[QualityResult]:
    """Looks at what is visible and changes nothing of it; the results are kept."""
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    account = run.account
    with account.state.read() as state:
        visible = state.versions.visible(table.id)
    if not definition.quality or visible is None:
        return []
    with gate_run(account, table, None, run.query_id) as inner:
        written = Written(inner, table, None, account.store.files(definition.location, visible.version))
        rows = [check for check in definition.quality if is_row_check(check)]
        others = TableChecks(
            written, [check for check in definition.quality if not is_row_check(check)], visible.rows, None
        )
        found: list[Verdict] = []
        measured: Sequence[float | None] | None = None
        if rows:
            counted = RowChecks(written, rows).counted(also=others.aggregates())
            pairs = zip(rows, counted.failed, strict=True)
            found += [verdicts.of_rows(check, failed, counted.checked) for check, failed in pairs]
            measured = counted.measured
        found += others.verdicts(measured)
        kept = [result_of(table, item, run.now, OPERATION, run.query_id, visible.version) for item in found]
    with account.state.begin() as state:
        state.quality.record(kept)
    account.run_events.checked(table, kept)
    return kept
