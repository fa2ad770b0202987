"""EXPLAIN DYNAMIC TABLE: how a table is refreshed, and why so; also for a query that no table has yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from snowmelt.service.dynamic_tables import altering, incremental
from snowmelt.service.dynamic_tables.creating import visible_versions
from snowmelt.service.dynamic_tables.definitions import BoundDefinition, bind
from snowmelt.sql.dialect import identifier, to_spark_sql
from snowmelt.sql.statements.dynamic_tables import ExplainDynamicTable
from snowmelt.state.dynamic_model import DynamicDefinition

if TYPE_CHECKING:
    from snowmelt.service.run import Run


def _readable(bound: BoundDefinition) -> exp.Expr:
    """The query with the names of the tables in place of those of their versions."""
    tree = bound.query.tree.copy()
    for node in tree.find_all(exp.Table):
        for id, table in bound.sources.items():
            if node.name.startswith(f"t_{id}_"):
                node.set("this", identifier(str(table.name)))
    return tree


def explain(run: Run, statement: ExplainDynamicTable) -> list[list[str]]:
    """Pairs of a step and what happens in it."""
    if statement.name is not None:
        table = altering.require(run, statement.name)
        declared = altering.dynamic_part(table)
        assert declared is not None
        name = table.name
    else:
        assert statement.query is not None
        name = run.object_name(("EXPLAINED",), "EXPLAIN DYNAMIC TABLE")
        declared = DynamicDefinition(
            query=statement.query.text, database=name.database, schema=name.schema, warehouse=""
        )
    with run.account.state.read() as state:
        bound = bind(run, state, name, declared, run.now, visible_versions(run))
    mode, reason = incremental.resolve_mode(declared.refresh_mode, bound)
    rows = [["Refresh mode", mode.value]]
    if reason is not None:
        rows.append(["Reason", reason])
    rows += [[item.kind.replace("_", " ").capitalize(), str(item.name)] for item in bound.dependencies]
    rows.append(["Query", to_spark_sql(_readable(bound))])
    rows.append(["Apply", "overwrite"])
    return rows
