"""Choosing who carries a change out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.core.faults import reached
from snowmelt.runtime.pending import PendingTable
from snowmelt.runtime.rewriting.by_spark import SparkChange
from snowmelt.runtime.rewriting.decided import DecidedChange
from snowmelt.runtime.rewriting.local import ChangedCounts, LocalChange
from snowmelt.runtime.rewriting.plan import Act, ChangePlan, RewriteClause
from snowmelt.state.model import CatalogObject, TableDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def apply_change(run: Run, plan: ChangePlan, pending: PendingTable) -> ChangedCounts:
    """Changes the rows, and notes the commit in the statement's transaction. Nothing to change: no commit."""
    outcome = LocalChange(run, plan, pending).attempt()
    if outcome is not None:
        return outcome
    change = DecidedChange(run, plan, pending)
    return change.apply() if change.possible else SparkChange(run, plan, pending).apply()


def delete_all(run: Run, table: CatalogObject, pending: PendingTable) -> int:
    """DELETE without a condition: the files are forgotten, none is read. Returns how many rows there were."""
    assert isinstance(table.definition, TableDefinition)
    store, location = run.account.store, table.definition.location
    if store.row_count(location, pending.version) == 0:
        return 0
    if table.definition.spark_only or not store.rewritable(location, pending.version):
        plan = ChangePlan("DELETE", table, None, (), (RewriteClause(Act.DELETE),))
        return SparkChange(run, plan, pending).apply().deleted
    reached("before-commit")
    result = store.clear(location, pending.version, run.transaction.tag(run.query_id), "DELETE")
    reached("after-commit")
    run.account.transactions.wrote(pending, result, "DELETE", run.query_id)
    return result.rows_deleted
