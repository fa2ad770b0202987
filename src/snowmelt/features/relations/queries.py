"""SELECT and EXPLAIN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snowmelt.runtime.results import Result
from snowmelt.runtime.rights import plans
from snowmelt.runtime.rights.plans import ExplainRow
from snowmelt.runtime.sequences import unnumbered
from snowmelt.sql.dialect import to_spark_sql
from snowmelt.sql.statements.base import Explain, Query, Statement

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def select(run: Run, statement: Query) -> Result:
    return run.fetch(run.bind_query(statement.text))


def explain(run: Run, statement: Explain) -> Result:
    """The Spark SQL that the query becomes, and Spark's plan for it."""
    bound = run.bind_query(statement.text)
    spark_sql = to_spark_sql(unnumbered(bound.tree))
    plan = run.account.engine.to_arrow(f"EXPLAIN FORMATTED {spark_sql}", list(run.tables.values()), inputs=run.inputs)
    shown = plans.without_addresses(str(plan.column(0)[0].as_py()))
    return plans.explained(run, [ExplainRow("Spark SQL", spark_sql), ExplainRow("Spark plan", shown)])


HANDLERS: dict[type[Statement], Any] = {Query: select, Explain: explain}
