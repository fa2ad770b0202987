"""UPDATE, DELETE and MERGE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.runtime.results import Result, counts
from snowmelt.runtime.rewriting.applying import apply_change, delete_all
from snowmelt.runtime.rewriting.binding import plan_delete, plan_merge, plan_update
from snowmelt.runtime.rewriting.plan import Act
from snowmelt.sql.statements.dml import DeleteStatement, MergeStatement, UpdateStatement

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def update(run: Run, statement: UpdateStatement) -> Result:
    table = run.target_table(statement.target)
    # The table comes first: what the statement reads of it must be what it changes.
    pending = run.open_for_write(table)
    with run.environment() as environment:
        plan = plan_update(run, environment, table, statement)
    outcome = apply_change(run, plan, pending)
    return counts(
        "UPDATE",
        number_of_rows_updated=outcome.updated,
        **{"number_of_multi-joined_rows_updated": outcome.multi_joined},
    )


def delete(run: Run, statement: DeleteStatement) -> Result:
    table = run.target_table(statement.target)
    pending = run.open_for_write(table)
    with run.environment() as environment:
        plan = plan_delete(run, environment, table, statement)
    if plan.source is None and not plan.conjuncts:
        return counts("DELETE", number_of_rows_deleted=delete_all(run, table, pending))
    return counts("DELETE", number_of_rows_deleted=apply_change(run, plan, pending).deleted)


def merge(run: Run, statement: MergeStatement) -> Result:
    table = run.target_table(statement.target)
    pending = run.open_for_write(table)
    with run.environment() as environment:
        plan = plan_merge(run, environment, table, statement)
    outcome = apply_change(run, plan, pending)
    present = {clause.act for clause in plan.clauses}
    numbers = {Act.INSERT: outcome.inserted, Act.UPDATE: outcome.updated, Act.DELETE: outcome.deleted}
    return counts("MERGE", **{f"number_of_rows_{act}": number for act, number in numbers.items() if act in present})
