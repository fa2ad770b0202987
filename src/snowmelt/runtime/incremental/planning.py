"""Incremental refresh: what a mode means for a query, and what a table needs before changes can be applied to it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import datetime

from sqlglot import exp

from snowmelt.core.config import QuickMode
from snowmelt.ivm import plan
from snowmelt.ivm.algebra import Tables, table_name
from snowmelt.ivm.cost import ComputeEngine, Measured, Work
from snowmelt.ivm.lowering import lower, lowered
from snowmelt.ivm.operators.limit import Limit
from snowmelt.ivm.operators.windowed import Windowed
from snowmelt.ivm.plan import RefreshPlanner
from snowmelt.ivm.reasons import NotIncrementalError, Reason
from snowmelt.runtime import errors
from snowmelt.runtime.incremental.definitions import BoundDefinition, DefinitionCatalog
from snowmelt.runtime.incremental.operator_states import OperatorStates
from snowmelt.runtime.incremental.runs import RefreshRun
from snowmelt.runtime.incremental.stages import QUICK_ROWS, resolved
from snowmelt.runtime.run import Run
from snowmelt.sql.dialect import identifier
from snowmelt.state.dynamic_model import OperatorState, RefreshCosts, RefreshMode
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.state.store import StateReader


def source_rows(state: StateReader, bound: BoundDefinition) -> int:
    return sum(version.rows for version in state.versions.snapshot(list(bound.versions)).values())


def measured_so_far(costs: RefreshCosts) -> Measured:
    return Measured(
        costs.full_ms, costs.full_rows, costs.incremental_ms, costs.incremental_rows,
        costs.full_engine, costs.incremental_engine,
    )  # fmt: skip


def work_of(
    run: Run, state: StateReader, bound: BoundDefinition, measured: Measured, changed_rows: int
) -> Work:  # fmt: skip
    """What a refresh is faced with, and which engine is expected to compute it either way.

    A table whose query the quick lane declined before is not expected to get through it now.
    """
    versions = state.versions.snapshot(list(bound.versions)).values()
    size = sum(version.bytes for version in versions)
    mode, small = run.account.engine.mode, run.account.settings.small_query_bytes
    full, incremental = measured.full_engine, ComputeEngine.QUICK
    if mode is QuickMode.OFF or (mode is not QuickMode.ALL and size > small):
        full = ComputeEngine.SPARK
    declined = measured.incremental_ms is not None and measured.incremental_engine is ComputeEngine.SPARK
    if mode is QuickMode.OFF or changed_rows > QUICK_ROWS or (declined and measured.incremental_rows <= QUICK_ROWS):
        incremental = ComputeEngine.SPARK
    return Work(changed_rows, sum(version.rows for version in versions), size, full, incremental)


def costs_after(
    before: RefreshCosts, milliseconds: int, engine: ComputeEngine, *, changed_rows: int | None, rows: int,
    chose_full: bool = False, compiled: bool = False,
) -> RefreshCosts:  # fmt: skip
    """What is known after a refresh, by changes or (`changed_rows` is None) in full."""
    measured = measured_so_far(before)
    if changed_rows is None:
        measured = measured.with_full(milliseconds, rows, engine)
    else:
        measured = measured.with_incremental(milliseconds, changed_rows, engine, compiled=compiled)
    return RefreshCosts(**asdict(measured), chose_full=chose_full)


def resolve_mode(configured: RefreshMode, bound: BoundDefinition) -> tuple[RefreshMode, str | None]:
    """What a configured mode means for a query, and why. Never AUTO."""
    if configured is RefreshMode.FULL:
        return RefreshMode.FULL, "USER_SPECIFIED_FULL_REFRESH"
    try:
        planner_of(bound)
    except NotIncrementalError as error:
        if configured is RefreshMode.INCREMENTAL:
            raise errors.not_incremental(f"{error.operator} ({error.reason})", error.advice) from error
        return RefreshMode.FULL, str(error)
    return (RefreshMode.INCREMENTAL if configured is RefreshMode.AUTO else configured), None


def planner_of(bound: BoundDefinition) -> RefreshPlanner:
    """Raises `NotIncrementalError` when the query can't be maintained by its changes."""
    if bound.python is not None:
        raise NotIncrementalError(
            Reason.PYTHON,
            f"the Python function {bound.python}",
            "its changes can't be derived; return SQL text or DataFrame code where you can",
        )
    return RefreshPlanner(lower(bound.query.tree, tables_of(bound)))


def derived_key(bound: BoundDefinition) -> tuple[int, ...]:
    """The positions of the columns that tell the rows of a query apart, where its form says so; of any mode."""
    if bound.python is not None:
        return ()
    try:
        view, _ = lowered(bound.query.tree, tables_of(bound))
    except NotIncrementalError:
        return ()
    keys = [column.key for column in bound.query.columns]
    return tuple(sorted({keys.index(name) for name in plan.derived_key(view)}))


@dataclass(frozen=True, slots=True)
class Filled:
    """A query over states that were just computed."""

    bound: BoundDefinition
    states: dict[str, OperatorState]


def filled(run: RefreshRun, table: CatalogObject, bound: BoundDefinition) -> Filled:
    """The states of the table's aggregates from nothing, and the definition with a query that reads them.

    That query leaves nothing to chance either, as `reproducible` has it.
    """
    definition = table.definition
    assert isinstance(definition, TableDefinition) and definition.dynamic is not None
    try:
        initial = planner_of(bound).initial(bound.environment.context.now)
    except NotIncrementalError:
        return Filled(bound, {})
    if not initial.states:
        return Filled(reproducible(bound), {})
    relations = _present(run)
    states = OperatorStates(run, definition)
    made = states.fill(initial, relations)
    relations.update({state.stored: states.relation(state, made[state.name]) for state, _ in initial.states})
    query = replace(bound.query, tree=resolved(initial.rows, relations))
    return Filled(replace(bound, query=query), made)


def reproducible(bound: BoundDefinition) -> BoundDefinition:
    """The definition with a query in which nothing is left to chance: where rows are equal in an order that decides
    (ROW_NUMBER, LIMIT), their other columns decide too. Refreshes and checks then agree."""
    try:
        planner = planner_of(bound)
    except NotIncrementalError:
        return bound
    if not any(isinstance(node, Windowed | Limit) for node in planner.view.root.walk()):
        return bound
    catalog = bound.environment.relations
    assert isinstance(catalog, DefinitionCatalog)
    tree = rows_now(catalog.run, planner, bound.environment.context.now)
    return replace(bound, query=replace(bound.query, tree=tree))


def rows_now(run: Run, planner: RefreshPlanner, at: datetime) -> exp.Select:
    """All rows of a view over what the run has pinned."""
    return resolved(planner.full(at), _present(run))


def _present(run: Run) -> dict[str, exp.Expr]:
    """What the new sides of tables are called, which the query itself reads."""
    return {table_name(name, "new"): exp.Table(this=identifier(name)) for name in run.tables}


def tables_of(bound: BoundDefinition) -> Tables:
    """The columns of every table that the query reads."""
    catalog = bound.environment.relations
    assert isinstance(catalog, DefinitionCatalog)
    return {
        reference: tuple((column.name, column.type) for column in files.columns)
        for reference, files in catalog.run.tables.items()
    }
