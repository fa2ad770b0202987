"""A dynamic table under a changed definition: its rows are carried over where that can be, instead of computed anew.

They are carried over as of the versions that they were computed from, and brought to the new data timestamp by the
changes since, like those of any other refresh. Sources that only the new query reads are taken at the data timestamp.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.dynamic_tables import by_changes, declarations, pins
from snowmelt.ivm.expressions import View
from snowmelt.ivm.lowering import pruned
from snowmelt.ivm.plan import RefreshPlanner, states_of
from snowmelt.ivm.reasons import NotIncrementalError
from snowmelt.ivm.redefinition import AFTER, BEFORE, DifferentError, HeldColumn, over_rows, switched
from snowmelt.runtime.incremental import planning
from snowmelt.runtime.incremental.definitions import BoundDefinition, DefinitionCatalog, bind
from snowmelt.runtime.incremental.kept import Compiled
from snowmelt.runtime.incremental.operator_states import OperatorStates, fingerprint
from snowmelt.runtime.incremental.runs import RefreshRun
from snowmelt.runtime.pending import PendingTable
from snowmelt.runtime.writing import RowWriter
from snowmelt.state.dynamic_model import DynamicDefinition, DynamicState, RefreshMode, RowsOf
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.state.quality_model import FailureAction
from snowmelt.state.store import StateReader
from snowmelt.storage.commits import CommitResult

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_CANCELLED = "000604"
BY_CHANGES = "only rows that pass its conditions now and did not before, or the other way round, are changed"
FROM_ROWS = "they are computed from the rows that the table has"


@dataclass(frozen=True, slots=True)
class Way:
    """How the rows of the old definition become those of the new one, at the versions that they stand on."""

    bound: BoundDefinition
    """The new query at these versions."""
    planner: RefreshPlanner
    how: str
    """In words, for whoever changes the definition."""

    @property
    def by_changes(self) -> bool:
        return self.how == BY_CHANGES


@dataclass(frozen=True, slots=True)
class CarriedOver:
    """What the table holds now: the rows of its new definition, as of where it stood before."""

    dynamic: DynamicState
    result: CommitResult
    how: str


def way_from_now(
    run: Run, state: StateReader, table: CatalogObject, declared: DynamicDefinition, new: BoundDefinition
) -> Way | str:
    """How the rows that the table has would be carried over to another query, `new`; or why they can't be."""
    definition, dynamic = table.definition, state.dynamic.require(table.id)
    assert isinstance(definition, TableDefinition) and definition.dynamic is not None
    visible = state.versions.visible(table.id)
    if dynamic.reinit_reason is not None:
        return "its rows were to be computed anew before"
    if visible is None or dynamic.version is None:
        return "the table has no rows yet"
    if visible.version != dynamic.version and state.versions.foreign_since(table.id, dynamic.version):
        return "another tool wrote to the table"
    held = {"rows_of": rows_of(definition.dynamic, dynamic), "dependencies": new.dependencies}
    try:
        return find_way(run, state, table, visible.version, dynamic.model_copy(update=held), declared, run.now)
    except DifferentError as different:
        return str(different)


def find_way(
    run: Run, state: StateReader, table: CatalogObject, version: int, dynamic: DynamicState,
    declared: DynamicDefinition, at: datetime,
) -> Way:  # fmt: skip
    """`version` is what the table holds. Raises `DifferentError` when its rows have to be computed anew."""
    definition = table.definition
    assert isinstance(definition, TableDefinition) and definition.dynamic is not None and dynamic.rows_of is not None
    if dynamic.data_timestamp is None:
        raise DifferentError("the table has no rows yet")
    if dynamic.refresh_mode is RefreshMode.FULL or declared.refresh_mode is RefreshMode.FULL:
        raise DifferentError("its refresh mode is FULL")
    if declared.dimension is not None or definition.dynamic.dimension is not None:
        raise DifferentError("it is a slowly changing dimension")
    try:
        old, new = _bound(run, state, table, dynamic, declared, at)
        planners = [planning.planner_of(old), planning.planner_of(new)]
    except NotIncrementalError as error:
        raise DifferentError(str(error)) from error
    except SnowmeltError as error:
        raise DifferentError(f"what it was computed from can't be read any more ({error.message})") from error
    if old.time_dependent or new.time_dependent:
        raise DifferentError("it asks what time it is")
    tables = planning.tables_of(new)
    try:
        view, how = switched(old.query.tree, new.query.tree, tables), BY_CHANGES
    except DifferentError as different:
        try:
            view, how = _over_rows(run, table, definition, version, old, new), FROM_ROWS
        except DifferentError as error:
            raise (different if len(old.query.columns) == len(new.query.columns) else error) from error
    way = Way(new, RefreshPlanner(view), how)
    planners += [way.planner] if way.by_changes else []
    if len({_fingerprints(planner) for planner in planners}) > 1:
        raise DifferentError("what its aggregates keep between refreshes is something else")
    return way


def _bound(
    run: Run, state: StateReader, table: CatalogObject, dynamic: DynamicState, declared: DynamicDefinition, at: datetime
) -> tuple[BoundDefinition, BoundDefinition]:
    """The old and the new query, both at the versions that the table's rows were computed from."""
    rows_of = dynamic.rows_of
    assert rows_of is not None
    earlier = declared.model_copy(
        update={"query": rows_of.query, "database": rows_of.database, "schema_": rows_of.schema_}
    )

    def choose(source: CatalogObject) -> int:
        known = dynamic.frontier.get(source.id)
        return pins.version_at(state, source, at) if known is None else known

    old = bind(run, state, table.name, earlier, at, choose, rows_of.dependencies)
    gone = pins.reinit_reason(dynamic.model_copy(update={"dependencies": rows_of.dependencies}), old.dependencies)
    gone = gone or pins.forgotten(state, dynamic.frontier)
    if gone is not None:
        raise DifferentError(gone.rstrip("."))
    return old, bind(run, state, table.name, declared, at, choose, dynamic.dependencies)


def _over_rows(
    run: Run, table: CatalogObject, definition: TableDefinition, version: int, old: BoundDefinition,
    new: BoundDefinition,
) -> View:  # fmt: skip
    assert definition.dynamic is not None
    if definition.dynamic.frozen_where is not None:
        raise DifferentError("rows of a frozen region are not those of its query")
    if any(check.action is FailureAction.QUARANTINE for check in definition.quality):
        raise DifferentError("rows may be in quarantine instead of in the table")
    catalog = new.environment.relations
    assert isinstance(catalog, DefinitionCatalog)
    relation = catalog.pin(table, definition, version, None)
    assert relation.reference is not None
    held = [
        HeldColumn(column.name, produced.type, column.type != produced.type)
        if declarations.fits(produced.type, column.type)
        else None
        for column, produced in zip(definition.columns, old.query.columns, strict=False)
    ]
    view = over_rows(old.query.tree, new.query.tree, planning.tables_of(new), held, relation.reference)
    return replace(view, root=pruned(view.root))


def _fingerprints(planner: RefreshPlanner) -> frozenset[tuple[str, str]]:
    """Of all states that the view keeps. Equal ones mean the same: both views have the same operators below."""
    return frozenset((state.name, fingerprint(state)) for state in states_of(planner.view.root).values())


# -- doing it ---------------------------------------------------------------------------------------------------------


def carry_over(
    run: RefreshRun, state: StateReader, table: CatalogObject, pending: PendingTable, dynamic: DynamicState,
    at: datetime,
) -> CarriedOver:  # fmt: skip
    """Writes the rows of the new definition into the table, which is held for writing.

    Raises `DifferentError` when they have to be computed anew; what may have been written then is overwritten. That is
    also so where the new query fails over what the sources were: it counts whether it fails over what they are.
    """
    try:
        return _carried_over(run, state, table, pending, dynamic, at)
    except SnowmeltError as error:
        if error.transient or isinstance(error, errors.StatementConflictError) or error.code == _CANCELLED:
            raise
        raise DifferentError(f"over the rows there were it fails with: {error.message}") from error


def _carried_over(
    run: RefreshRun, state: StateReader, table: CatalogObject, pending: PendingTable, dynamic: DynamicState,
    at: datetime,
) -> CarriedOver:  # fmt: skip
    definition = table.definition
    assert isinstance(definition, TableDefinition) and definition.dynamic is not None
    way = find_way(run, state, table, pending.version, dynamic, definition.dynamic, at)
    states = states_of(way.planner.view.root) if way.by_changes else {}
    fingerprints = {one.name: fingerprint(one) for one in states.values()}
    carried = dynamic.model_copy(update={"frontier": dict(way.bound.versions), "rows_of": None})
    if not way.by_changes:
        recorded = OperatorStates(run, definition)
        new = planning.planner_of(way.bound)
        wanted = dict(_fingerprints(new))
        if not recorded.usable(wanted, dynamic.operator_states):
            raise DifferentError("what its aggregates keep between refreshes is missing")
        query = replace(way.bound.query, tree=planning.rows_now(run, way.planner, at))
        writer = RowWriter(run, table)
        names: Sequence[str] = [column.name for column in definition.columns]
        rows: exp.Select = writer.matched(way.bound.environment, query, names)
        return CarriedOver(carried, writer.write(rows, overwrite=True), way.how)
    compiled = Compiled(way.planner, tuple(states.values()), fingerprints)
    attempt = by_changes.Attempt(
        run, state, table, pending, carried.model_copy(update={"data_timestamp": BEFORE}), way.bound,
        lambda: compiled, AFTER, weighed=False,
    )  # fmt: skip
    applied = by_changes.changes_by_plan(attempt)
    if isinstance(applied, by_changes.InFull):
        raise DifferentError(applied.reason)
    return CarriedOver(carried.model_copy(update={"operator_states": applied.states}), applied.result, way.how)


def together(first: CommitResult, second: CommitResult) -> CommitResult:
    """What both writes did, the one after the other."""
    counted = ("rows_inserted", "rows_updated", "rows_deleted", "files_added", "files_removed", "bytes_delta")
    sums = {name: getattr(first, name) + getattr(second, name) for name in counted}
    return replace(second, **sums, committed=first.committed or second.committed)


def rows_of(before: DynamicDefinition, dynamic: DynamicState) -> RowsOf:
    """What the table's rows are of, before its definition becomes another one."""
    return dynamic.rows_of or RowsOf(
        query=before.query, database=before.database, schema=before.schema_, dependencies=dynamic.dependencies
    )
