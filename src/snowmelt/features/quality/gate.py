"""The gate: what a transaction is about to make visible must pass the checks of its tables, or does not become so.

Everything here happens between the transaction's Delta commits and its flip, where nobody else sees them. See
`docs/design/quality.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import structlog

from snowmelt.core import errors
from snowmelt.core.faults import reached
from snowmelt.core.names import ObjectName
from snowmelt.features.quality import asking, keeping, quarantine, results
from snowmelt.features.quality.looked_at import WrittenTable
from snowmelt.features.quality.row_checks import FailedRows, RowChecks
from snowmelt.features.quality.runs import GateRun, gate_run
from snowmelt.features.quality.table_checks import TableChecks
from snowmelt.govern.quality import verdicts
from snowmelt.govern.quality.kinds import is_row_check
from snowmelt.govern.quality.verdicts import CheckVerdict
from snowmelt.runtime.pending import PendingTable, Transaction
from snowmelt.runtime.writing import RowWriter
from snowmelt.state.quality_model import FailureAction, QualityResult
from snowmelt.storage.rewrite import FILE, ROW, RowChanges

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account
    from snowmelt.runtime.run import Run
    from snowmelt.state.model import CatalogObject, TableDefinition

MOST_QUARANTINED = 1_000_000
"""With more bad rows than that the write fails: something else is wrong with it than its rows."""
_PASSED_OVER = frozenset({"OPTIMIZE", "ALTER TABLE"})
"""What writes no rows that were not there."""
_log = structlog.get_logger(__name__)


class QualityGate:
    """One for an account."""

    def __init__(self, account: Account) -> None:
        self._account = account

    def check(self, transaction: Transaction, items: Sequence[PendingTable]) -> None:
        """Called before every commit with the tables that have checks. Raises when one must not become visible."""
        for item in items:
            if item.operation not in _PASSED_OVER:
                with gate_run(self._account, item.table, transaction, item.query_id) as run:
                    _Gate(run, transaction, item).check()

    def check_new(self, run: Run, table: CatalogObject, version: int, rows: int) -> list[QualityResult]:
        """Called before a table with rows takes the place of one that has checks. Raises when it must not."""
        return asking.check_new(run, table, version, rows)

    def with_kept_checks(self, run: Run, name: ObjectName, definition: TableDefinition) -> TableDefinition:
        return keeping.with_kept_checks(run, name, definition)


class _Gate:
    def __init__(self, run: GateRun, transaction: Transaction, item: PendingTable) -> None:
        self.run = run
        self.account = run.account
        self.transaction = transaction
        self.item = item
        self.operation, self.query_id = item.operation, item.query_id
        checks = item.definition.quality
        self.row_checks = [check for check in checks if is_row_check(check)]
        self.table_checks = [check for check in checks if not is_row_check(check)]
        self.quarantined: dict[str, int] = {}
        self.measured: Sequence[float | None] | None = None
        """What the table checks ask for, where the row checks had to read all rows anyway."""

    def check(self) -> None:
        found = self._rows()
        self._stop(found)
        found += self._table()
        self._stop(found)
        for verdict in found:
            if not verdict.passed:
                _log.warning(
                    "quality_check_failed", table=str(self.item.table.name), check=verdict.check.name,
                    reason=verdict.message,
                )  # fmt: skip
        kept = self._results(found)
        self.transaction.at_commit.append(lambda state: state.quality.record(kept))
        self.account.events.checks_ended(self.item.table, kept)
        reached("quality-passed")

    def _written(self) -> WrittenTable:
        item, store = self.item, self.account.store
        before = store.files(item.definition.location, item.base.version)
        after = store.files(item.definition.location, item.version)
        # A statement that replaced all rows may have failed and been taken back since.
        replaced = item.replaced and before.by_path.keys().isdisjoint(after.by_path)
        return WrittenTable(self.run, item.table, before, after, replaced, one_statement=not item.undone)

    # -- rows -----------------------------------------------------------------------------------------------------

    def _rows(self) -> list[CheckVerdict]:
        written = self._written()
        if not self.row_checks or not written.added:
            return []
        also = self._on_table(written).aggregates() if written.is_whole else ()
        counted = RowChecks(written, self.row_checks).counted(also)
        failed = {check.name: count for check, count in zip(self.row_checks, counted.failed, strict=True)}
        if written.is_whole and not any(counted.failed):
            self.measured = counted.measured
        suspects = RowChecks(written, [check for check in self.row_checks if failed[check.name]])
        rows: FailedRows | None = None
        quarantines = any(check.action is FailureAction.QUARANTINE for check in suspects.checks)
        if quarantines or (suspects.checks and not written.exact):
            rows = suspects.failing(MOST_QUARANTINED)
            if rows is None:
                raise errors.QualityFailedError(str(self.item.table.name), [f"more than {MOST_QUARANTINED} rows fail"])
            for index, check in enumerate(suspects.checks):
                failed[check.name] = sum(index in one for one in rows.failed)
        found = [verdicts.of_rows(check, failed[check.name], counted.checked) for check in self.row_checks]
        if rows is not None and not any(verdict.stops for verdict in found):
            self._quarantine(written, suspects, rows)
        return found

    def _quarantine(self, written: WrittenTable, looked: RowChecks, rows: FailedRows) -> None:
        """Takes the rows that fail such a check out of what was written, and keeps them beside it."""
        indexes = {
            index for index, check in enumerate(looked.checks) if check.action is FailureAction.QUARANTINE
        }  # fmt: skip
        chosen = [row for row, failed in enumerate(rows.failed) if indexes & set(failed)]
        if not chosen:
            return
        taken = FailedRows(
            rows.rows.take(chosen), tuple(tuple(p for p in rows.failed[row] if p in indexes) for row in chosen)
        )
        kept_in = quarantine.ensure(self.run.session, self.item.table)
        self._take_out(written, looked, taken, sorted(indexes))
        reached("quality-taken-out")
        quarantine.put(self.run, kept_in, taken, looked.checks)
        self.transaction.quarantined[self.item.table.name] = len(chosen)
        for index in indexes:
            self.quarantined[looked.checks[index].name] = sum(index in failed for failed in taken.failed)
        reached("quality-quarantined")

    def _take_out(self, written: WrittenTable, looked: RowChecks, rows: FailedRows, checks: Sequence[int]) -> None:
        """Rows that only came are written once more without the bad ones, so that no stream ever shows those."""
        item, run = self.item, self.run
        if written.only_added:
            passing = looked.passing(checks)
            self.account.transactions.take_back(self.transaction, item)
            RowWriter(run, item.table).write(passing, overwrite=written.replaced)
        else:
            location = item.definition.location
            if not self.account.store.rewritable(location, item.version) or item.definition.spark_only:
                raise errors.QualityFailedError(
                    str(item.table.name), ["rows of a table that only Spark can write can't be quarantined"]
                )
            changes = RowChanges(deleted=rows.rows.select([FILE, ROW]))
            result = self.account.store.rewrite(
                location, item.version, changes, self.transaction.tag(self.query_id), "DELETE",
                origins=item.definition.change_tracking,
            )  # fmt: skip
            self.account.transactions.wrote(item, result, self.operation, self.query_id)
        item.operation, item.query_id = self.operation, self.query_id

    # -- the table ------------------------------------------------------------------------------------------------

    def _table(self) -> list[CheckVerdict]:
        if not self.table_checks:
            return []
        return self._on_table(self._written()).verdicts(self.measured)

    def _on_table(self, written: WrittenTable) -> TableChecks:
        return TableChecks(written, self.table_checks, self.item.rows, self.item.base.rows)

    # -- what follows ---------------------------------------------------------------------------------------------

    def _stop(self, found: Sequence[CheckVerdict]) -> None:
        """Raises when one of them must not become visible; what was found out is kept all the same."""
        stopping = [verdict for verdict in found if verdict.stops]
        if not stopping:
            return
        self.quarantined.clear()
        kept = self._results(found)
        suspends = any(verdict.check.action is FailureAction.SUSPEND for verdict in stopping)
        table = self.item.table
        with self.account.state.begin() as state:
            state.quality.record(kept)
            if suspends:
                self.account.lifecycle.refused_by_checks(state, table, self.transaction.task_id)
        self.account.events.checks_ended(table, kept)
        reached("quality-refused")
        raise errors.QualityFailedError(
            str(table.name), [f"{verdict.check.name}: {verdict.message}" for verdict in stopping]
        )

    def _results(self, found: Sequence[CheckVerdict]) -> list[QualityResult]:
        made = [
            results.result_of(
                self.item.table, verdict, self.run.now, self.operation, self.query_id, self.item.version
            )
            for verdict in found
        ]  # fmt: skip
        return [item.model_copy(update={"rows_quarantined": self.quarantined.get(item.check, 0)}) for item in made]
