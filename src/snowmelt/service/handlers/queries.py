"""SELECT and EXPLAIN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snowmelt.core import types
from snowmelt.service.results import Result, ResultColumn, table_result
from snowmelt.service.sequences import unnumbered
from snowmelt.sql.dialect import to_spark_sql
from snowmelt.sql.statements.base import Explain, Query, Statement

if TYPE_CHECKING:
    from snowmelt.service.run import Run


def select(run: Run, statement: Query) -> Result:
    return run.fetch(run.bind_query(statement.text))


def explain(run: Run, statement: Explain) -> Result:
    """The Spark SQL that the query becomes, and Spark's plan for it."""
    bound = run.bind_query(statement.text)
    spark_sql = to_spark_sql(unnumbered(bound.tree))
    plan = run.account.engine.to_arrow(f"EXPLAIN FORMATTED {spark_sql}", list(run.tables.values()), inputs=run.inputs)
    rows = [["Spark SQL", spark_sql], ["Spark plan", str(plan.column(0)[0].as_py())]]
    return table_result([ResultColumn("step", types.VARCHAR), ResultColumn("text", types.VARCHAR)], rows)


HANDLERS: dict[type[Statement], Any] = {Query: select, Explain: explain}
