"""All checks of a table over the rows that it has, because somebody asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.features.quality.looked_at import WrittenTable
from snowmelt.features.quality.results import result_of
from snowmelt.features.quality.row_checks import RowChecks
from snowmelt.features.quality.runs import GateRun, gate_run
from snowmelt.features.quality.table_checks import TableChecks
from snowmelt.govern.quality import verdicts
from snowmelt.govern.quality.kinds import is_row_check
from snowmelt.govern.quality.verdicts import CheckVerdict
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.state.quality_model import QualityResult

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

OPERATION = "RUN"
CREATED = "CREATE TABLE"


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
        found = _verdicts(inner, table, visible.version, visible.rows)
    kept = [result_of(table, item, run.now, OPERATION, run.query_id, visible.version) for item in found]
    with account.state.begin() as state:
        state.quality.record(kept)
    account.events.checks_ended(table, kept)
    return kept


def check_new(run: Run, table: CatalogObject, version: int, rows: int) -> list[QualityResult]:
    """Looks at a table that is about to take the place of another, with the checks of that one.

    Raises when it must not become visible. Rows can't be quarantined here: there is no write to take them out of.
    """
    definition, account = table.definition, run.account
    assert isinstance(definition, TableDefinition)
    with gate_run(account, table, None, run.query_id) as inner:
        found = _verdicts(inner, table, version, rows)
    kept = [result_of(table, item, run.now, CREATED, run.query_id, version) for item in found]
    stopping = [item for item in found if item.stops or item.tolerated]
    if stopping:
        reasons = [f"{item.check.name}: {item.message}" for item in stopping]
        if any(item.tolerated for item in stopping):
            reasons.append("rows can't be quarantined while a table is created: create it without rows, and INSERT")
        raise errors.QualityFailedError(str(table.name), reasons)
    account.events.checks_ended(table, kept)
    return kept


def _verdicts(run: GateRun, table: CatalogObject, version: int, row_count: int) -> list[CheckVerdict]:
    definition = table.definition
    assert isinstance(definition, TableDefinition)
    written = WrittenTable(run, table, None, run.account.store.files(definition.location, version))
    rows = [check for check in definition.quality if is_row_check(check)]
    others = TableChecks(written, [check for check in definition.quality if not is_row_check(check)], row_count, None)
    found: list[CheckVerdict] = []
    measured: Sequence[float | None] | None = None
    if rows:
        counted = RowChecks(written, rows).counted(also=others.aggregates())
        pairs = zip(rows, counted.failed, strict=True)
        found += [verdicts.of_rows(check, failed, counted.checked) for check, failed in pairs]
        measured = counted.measured
    return found + others.verdicts(measured)
