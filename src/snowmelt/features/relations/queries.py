"""SELECT and EXPLAIN."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from snowmelt.engine.quick.scopes import DuckQuery as QuickQuery
from snowmelt.runtime.results import Result
from snowmelt.runtime.rights import plans
from snowmelt.runtime.rights.plans import ExplainRow
from snowmelt.runtime.sequences import unnumbered
from snowmelt.sql.dialect import to_spark_sql
from snowmelt.sql.output import presented
from snowmelt.sql.statements.base import Explain, Query

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def select(run: Run, statement: Query) -> Result:
    kept = run.account.kept_queries
    known = kept.answer(run)
    if known is not None:
        return known
    mark = kept.mark(run)
    bound = run.bind_query(statement.text)
    noted: list[QuickQuery] = []
    result = run.fetch(bound, noted.append)
    kept.remember(run, mark, result, noted[0] if noted else None)
    return result


def explain(run: Run, statement: Explain) -> Result:
    """The lane that would compute the query, the Spark SQL that it becomes, and Spark's plan for it."""
    bound = run.bind_query(statement.text)
    engine, tree, tables = run.account.engine, unnumbered(bound.tree), list(run.tables.values())
    reason = engine.reason_against(presented(replace(bound, tree=tree)), tables, run.inputs, run.lane)
    lane = "quick: computed in this process" if reason is None else f"Spark. Not for the quick lane: {reason}"
    spark_sql = to_spark_sql(tree)
    plan = engine.to_arrow(f"EXPLAIN FORMATTED {spark_sql}", tables, inputs=run.inputs)
    shown = plans.without_addresses(str(plan.column(0)[0].as_py()))
    rows = [ExplainRow("Lane", lane, open=True), ExplainRow("Spark SQL", spark_sql), ExplainRow("Spark plan", shown)]
    return plans.explained(run, rows)
