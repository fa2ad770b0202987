"""EXPLAIN DYNAMIC TABLE: how a table is refreshed, and why so; also for a query that no table has yet."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from snowmelt.features.dynamic_tables import altering, or_altering
from snowmelt.features.dynamic_tables.creating import visible_versions
from snowmelt.features.dynamic_tables.readable_plans import readable_query, readable_text
from snowmelt.ivm import redefinition
from snowmelt.ivm.changes import TableChange
from snowmelt.ivm.cost import ENGINE_NAMES, ComputeEngine, EngineRate, estimate
from snowmelt.ivm.plan import RefreshPlan
from snowmelt.ivm.rendering import Stage
from snowmelt.runtime.incremental import planning as incremental
from snowmelt.runtime.incremental.definitions import BoundDefinition, bind
from snowmelt.runtime.rights.plans import ExplainRow
from snowmelt.sql.statements.dynamic_tables import ExplainDynamicTable
from snowmelt.state.dynamic_model import DynamicDefinition, RefreshMode
from snowmelt.state.model import CatalogObject
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def explain(run: Run, statement: ExplainDynamicTable) -> list[ExplainRow]:
    """Steps, and what happens in them. The plan is the one for changes of every kind in every source.

    With a name and a query: first what would become of the table's rows if that were its query.
    """
    carried: list[ExplainRow] = []
    if statement.name is not None:
        table = altering.require(run, statement.name)
        declared = altering.dynamic_part(table)
        assert declared is not None
        name = table.name
        if statement.query is not None:
            # Where CREATE OR REPLACE would look names up.
            here = run.object_name(("EXPLAINED",), "EXPLAIN DYNAMIC TABLE")
            declared = declared.model_copy(
                update={"query": statement.query.text, "database": here.database, "schema_": here.schema}
            )
            carried = _carried_rows(run, table, declared)
    else:
        assert statement.query is not None
        name = run.object_name(("EXPLAINED",), "EXPLAIN DYNAMIC TABLE")
        declared = DynamicDefinition(
            query=statement.query.text, database=name.database, schema=name.schema, warehouse=""
        )
    with run.state.read() as state:
        bound = bind(run, state, name, declared, run.now, visible_versions(run))
        mode, reason = incremental.resolve_mode(declared.refresh_mode, bound)
        rows = [*carried, ExplainRow("Refresh mode", mode.value, open=True)]
        if reason is not None:
            rows.append(ExplainRow("Reason", reason))
        rows += [
            ExplainRow(item.kind.replace("_", " ").capitalize(), str(item.name), open=item.direct)
            for item in bound.dependencies
        ]
        if mode is RefreshMode.FULL:
            return [
                *rows,
                ExplainRow("Query", readable_query(bound.sources, bound.query.tree)),
                ExplainRow("Apply", "OVERWRITE"),
            ]
        return [*rows, *_cost_rows(run, state, statement, bound), *_plan_rows(bound, _plan(run, bound))]


def _carried_rows(run: Run, table: CatalogObject, declared: DynamicDefinition) -> list[ExplainRow]:
    bound = altering.bound_now(run, table.name, declared)
    way = or_altering.way_to(run, table, declared, bound)
    if isinstance(way, str):
        return [ExplainRow("Rows there are", f"computed anew: {way}", open=True)]
    kept = ExplainRow("Rows there are", f"carried over: {way.how}", open=True)
    sources = {**way.bound.sources, table.id: table}
    if not way.by_changes:
        query = readable_query(sources, way.planner.full(run.now))
        return [kept, ExplainRow("Carried over by", query)]
    plan = way.planner.plan({}, before=redefinition.BEFORE, after=redefinition.AFTER)
    steps = _plan_rows(way.bound, plan)
    return [kept, *(replace(row, name=f"Carried over: {row.name[0].lower()}{row.name[1:]}") for row in steps)]


def _cost_rows(
    run: Run, state: StateReader, statement: ExplainDynamicTable, bound: BoundDefinition
) -> list[ExplainRow]:  # fmt: skip
    """What is expected of the next refresh, either way, if it changes as many rows as the last one did."""
    if statement.name is None or statement.query is not None:
        return []
    measured = incremental.measured_so_far(state.dynamic.require(altering.require(run, statement.name).id).costs)
    work = incremental.work_of(run, state, bound, measured, max(measured.incremental_rows, 1))
    rates = run.account.engine.rates()
    expected = estimate(work, measured, rates)
    rows = [ExplainRow("Engines", "; ".join(_rate(engine, rates.of(engine)) for engine in ComputeEngine))]
    if expected is not None:
        changed = "1 changed row" if work.changed_rows == 1 else f"{work.changed_rows} changed rows"
        changes = f"{round(expected.incremental_ms)} ms ({ENGINE_NAMES[work.incremental_engine]}) for {changed}"
        rows.append(ExplainRow("Expected by changes", changes))
        full = f"{round(expected.full_ms)} ms ({ENGINE_NAMES[work.full_engine]})"
        rows.append(ExplainRow("Expected in full", full))
    return rows


def _rate(engine: ComputeEngine, rate: EngineRate) -> str:
    measured = f"measured over {rate.queries} queries" if rate.queries else "assumed until it is measured"
    start = f", {rate.start_ms / 1000:g} s to start" if rate.start_ms else ""
    return f"{ENGINE_NAMES[engine]}: {rate.query_ms:.1f} ms a query and {rate.mb_ms:.1f} ms a MB, {measured}{start}"


def _plan(run: Run, bound: BoundDefinition) -> RefreshPlan:
    planner = incremental.planner_of(bound)
    changes = {table: TableChange() for table in planner.view.root.tables}
    if not bound.time_dependent:
        return planner.plan(changes)
    return planner.plan(changes, before=run.now - timedelta(seconds=1), after=run.now)


def _plan_rows(bound: BoundDefinition, plan: RefreshPlan) -> list[ExplainRow]:
    rows = [
        ExplainRow(f"Stage {number}: {stage.name}", _described(bound, stage))
        for number, stage in enumerate(plan.stages, start=1)
    ]
    applied = [] if plan.apply.rows is None else [ExplainRow("Rows", readable_query(bound.sources, plan.apply.rows))]
    keys = f" by the keys of {plan.apply.keys}" if plan.apply.keys is not None else ""
    return [*rows, *applied, ExplainRow("Apply", f"{plan.apply.kind.value}{keys}")]


def _described(bound: BoundDefinition, stage: Stage) -> str:
    return f"{readable_text(bound.sources, stage.purpose)}: {readable_query(bound.sources, stage.query)}"
