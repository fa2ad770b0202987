"""CREATE DYNAMIC TABLE: bound, filled and named in this order, so that nobody sees one that is not right."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, quote
from snowmelt.features.data_products import lags
from snowmelt.features.dynamic_tables import cloned, declarations, frozen, graph, pins, scheduling
from snowmelt.features.dynamic_tables import errors as refresh_errors
from snowmelt.features.dynamic_tables.backfill import backfilled
from snowmelt.features.dynamic_tables.group import refresh_graph, stood_at
from snowmelt.runtime import cloning, retention, tables
from snowmelt.runtime.incremental import filling
from snowmelt.runtime.incremental import planning as incremental
from snowmelt.runtime.incremental.definitions import BoundDefinition, Choose, bind
from snowmelt.runtime.incremental.runs import QUERY_TYPE, RefreshRun, refresh_run
from snowmelt.runtime.results import DONE, Result, status
from snowmelt.sql.statements.dynamic_tables import CreateDynamicTable
from snowmelt.sql.statements.tables import CreateTable, TableOptions
from snowmelt.state.contract_model import ContractLink
from snowmelt.state.dynamic_model import (
    DynamicDefinition,
    DynamicRefresh,
    DynamicState,
    RefreshAction,
    RefreshCosts,
    RefreshMode,
    RefreshState,
    RefreshTrigger,
)
from snowmelt.state.model import RELATIONS, CatalogObject, ObjectKind, TableDefinition
from snowmelt.state.store import StateTransaction
from snowmelt.storage.commits import CommitResult

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account
    from snowmelt.runtime.run import Run

_FIRST = "The dynamic table was created."


def existing(run: Run, name: ObjectName) -> CatalogObject | None:
    """The dynamic table of that name; raises when the name belongs to something else, or has no schema."""
    with run.state.read() as state:
        if state.catalog.database(name.database) is None:
            raise errors.not_found("Database", quote(name.database))
        if state.catalog.schema(name.parent) is None:
            raise errors.not_found("Schema", str(name.parent))
        found = state.catalog.find(name, RELATIONS)
    if found is None:
        return None
    if not isinstance(found.definition, TableDefinition) or found.definition.dynamic is None:
        raise errors.exists_as(quote(name.name), found.kind)
    return found


def create(run: Run, name: ObjectName, statement: CreateDynamicTable, replaced: str | None = None) -> None:
    """A new table, in place of the one that has the name. `replaced`: why the rows of that one can't be kept."""
    declared = declarations.declared(run, name, statement)
    warehouse = declared.initialization_warehouse or declared.warehouse
    with refresh_run(run.account, name, run.session.role, warehouse, caller=run) as inner:
        inner.copies_grants = run.copies_grants
        maker = _Maker(inner, run, name, statement, declared, replaced)
        inner.session.perform(inner, QUERY_TYPE, maker.make)


def table_statement(statement: CreateDynamicTable) -> CreateTable:
    """What the making of tables needs to know of the statement."""
    options = TableOptions(comment=statement.options.comment)
    return CreateTable(statement.name, transient=statement.transient, options=options)


@dataclass(slots=True)
class _Maker:
    run: RefreshRun
    """As the system, in the table's warehouse."""
    caller: Run
    name: ObjectName
    statement: CreateDynamicTable
    declared: DynamicDefinition
    replaced: str | None = None

    def make(self) -> Result:
        with self.run.atomic():
            self._make()
        return status(DONE, QUERY_TYPE)

    def _make(self) -> None:
        account = self.run.account
        first = self._bind(account.state.settle(), adopting=True)
        # Before the sources are refreshed for it.
        early = declarations.definition_of(self.run, self.statement, self.declared, first)
        self.run.account.lifecycle.replacing(self.run, self.name, early.columns)
        at = account.state.settle()
        now = self.declared.initialize == "ON_CREATE"
        if now:
            at = refresh_sources(account, self.caller, first, at)
        self.run.forget_tables()
        began = account.clock.now()
        with account.state.read() as state:
            choose = pins.at_timestamp(state, at) if now else visible_versions(self.run)
            bound = bind(self.run, state, self.name, self.declared, at, choose)
            mode, reason = incremental.resolve_mode(self.declared.refresh_mode, bound)
            declarations.check_sources(bound, mode)
            sources = declarations.dynamic_sources(bound)
            declarations.check_lag(self.name, self.declared.target_lag, sources)
            lags.check_table(state, self.name, self.declared.target_lag)
            declarations.check_acyclic(graph.load(state), self.name, bound)
            definition = declarations.definition_of(self.run, self.statement, self.declared, bound)
            table = tables.new_table(self.caller, self.name, table_statement(self.statement), definition)
            self.run.refreshed_id = table.id
            contract = self.caller.account.contracts.wanted(
                self.caller, self.statement.options, table, definition.columns
            )
            if self.declared.frozen_where is not None:
                filling.frozen_condition(bound.environment, definition, stored_form=False)
            whole = incremental.Filled(bound, {})
            if now and mode is not RefreshMode.FULL:
                whole = incremental.filled(self.run, table, bound)
            rows = filling.all_rows(self.run, table, whole.bound) if now else None
            shrinking = frozen.may_shrink(bound.environment, definition)
            if rows is not None and self.declared.backfill_from is not None:
                rows = backfilled(self.run, state, table, bound, rows)
        if rows is None:
            written = tables.create_storage(self.run, table)
        else:
            written = tables.create_filled(self.run, table, rows)
        dynamic = DynamicState(
            table_id=table.id,
            data_timestamp=at if now else None,
            version=written.version if now else None,
            frontier=dict(bound.versions) if now else {},
            dependencies=bound.dependencies,
            time_dependent=bound.time_dependent or shrinking,
            refresh_mode=mode,
            refresh_mode_reason=reason,
            operator_states=whole.states,
            costs=self._costs(bound, began) if now else RefreshCosts(),
        )
        self._publish(table, written, dynamic, bound, at if now else None, contract)

    def _costs(self, bound: BoundDefinition, began: datetime) -> RefreshCosts:
        elapsed = round((self.run.account.clock.now() - began).total_seconds() * 1000)
        with self.run.state.read() as state:
            rows = incremental.source_rows(state, bound)
        engine = self.run.account.engine.engine_since(self.run.tag)
        return incremental.costs_after(RefreshCosts(), elapsed, engine, changed_rows=None, rows=rows)

    def _bind(self, at: datetime, *, adopting: bool) -> BoundDefinition:
        """The query at what is visible now, to learn what it reads."""
        with self.run.state.read() as state:
            bound = bind(self.run, state, self.name, self.declared, at, visible_versions(self.run))
        if adopting:
            pins.adopt_foreign(self.run.account, bound.sources)
        return bound

    def _publish(
        self,
        table: CatalogObject,
        written: tables.FirstVersion,
        dynamic: DynamicState,
        bound: BoundDefinition,
        at: datetime | None,
        contract: ContractLink | None,
    ) -> None:
        started = self.run.now
        made: list[DynamicRefresh] = []

        def also(state: StateTransaction) -> None:
            replaced = state.catalog.find(self.name, [ObjectKind.TABLE])
            if replaced is not None:
                state.dynamic.end_graph(replaced.id, state.now)
            for source in declarations.track_changes(state, bound):
                state.catalog.update(source)
            retention.extend(state, table.id, self.statement.options.max_data_extension_time_in_days)
            stored = scheduling.begin_entry(state, table, dynamic, ("CREATE_DYNAMIC_TABLE",))
            if at is not None:
                row = self._history(stored, at, started, written)
                made.append(row.model_copy(update={"ended_at": state.now}))
                state.dynamic.record_refresh(made[-1])

        # The run is the refresh's, whose statement says nothing.
        self.run.annotations = self.statement.annotations
        tables.publish(
            self.run,
            table,
            written,
            replacing=self.statement.or_replace or self.statement.or_alter,
            retention_days=self.statement.options.data_retention_time_in_days,
            contract=contract,
            also=also,
        )
        for row in made:
            self.run.account.events.refresh_ended(row)

    def _why(self, mode: RefreshMode) -> str | None:
        if self.replaced is not None:
            return f"The dynamic table was replaced: {self.replaced}."
        return None if mode is RefreshMode.FULL else _FIRST

    def _history(
        self, dynamic: DynamicState, at: datetime, started: datetime, written: tables.FirstVersion
    ) -> DynamicRefresh:
        result = CommitResult(written.version, rows_inserted=written.rows)
        mode = dynamic.refresh_mode
        return DynamicRefresh(
            id=str(uuid.uuid4()),
            table_id=dynamic.table_id,
            name=self.name,
            state=RefreshState.SUCCEEDED,
            query_id=self.run.query_id,
            data_timestamp=at,
            started_at=started,
            statistics=created_counts(result),
            action=RefreshAction.FULL if mode is RefreshMode.FULL else RefreshAction.REINITIALIZE,
            reinit_reason=self._why(mode),
            trigger=RefreshTrigger.CREATION,
            target_lag=self.declared.target_lag,
            graph_valid_from=dynamic.graph_since,
            warehouse=self.run.session.warehouse,
            version=written.version,
            frontier=dynamic.frontier,
        )


def refresh_sources(account: Account, caller: Run, bound: BoundDefinition, at: datetime) -> datetime:
    """Brings the dynamic tables that a query reads to one data timestamp, which is the new table's too."""
    ids = [
        table.id
        for table in declarations.dynamic_sources(bound)
        if isinstance(table.definition, TableDefinition)
        and table.definition.dynamic is not None
        and table.definition.dynamic.scheduled
    ]
    while ids:
        outcomes = refresh_graph(account, ids, RefreshTrigger.CREATION, caller=caller)
        failed = [str(outcomes[id].name) for id in ids if not outcomes[id].succeeded]
        if failed:
            raise refresh_errors.inputs_failed(", ".join(failed))
        at = max(outcomes[id].data_timestamp for id in ids)
        if all(stood_at(account, id, at) for id in ids):
            break
        # Somebody else brought one of them beyond it meanwhile.
        caller.check_cancelled()
    return at


def created_counts(result: CommitResult) -> dict[str, int]:
    return {"numInsertedRows": result.rows_inserted, "numDeletedRows": 0, "numCopiedRows": 0}


def visible_versions(run: Run) -> Choose:
    """What anybody would read now."""

    def choose(table: CatalogObject) -> int:
        with run.state.read() as state:
            visible = state.versions.visible(table.id)
        if visible is None:
            raise errors.not_found("Object", str(table.name))
        return visible.version

    return choose


# -- CLONE ------------------------------------------------------------------------------------------------------------


def clone(run: Run, name: ObjectName, statement: CreateDynamicTable) -> None:
    """A copy of a dynamic table with its rows and its frontier, which is suspended until somebody resumes it."""
    assert statement.clone is not None
    source = run.find_table(statement.clone.name)
    if not isinstance(source.definition, TableDefinition) or source.definition.dynamic is None:
        raise errors.wrong_kind(source.kind, "DYNAMIC_TABLE")
    point = statement.clone.point
    when = cloning.time_travel(point) if point is not None else None
    with run.state.read() as state:
        if state.dynamic.require(source.id).data_timestamp is None:
            raise errors.compilation("002739", "22000", "Cannot clone an uninitialized dynamic table.")
        version, definition = cloning.version_and_shape(run, state, source, when)
        if state.dynamic.refresh_of_version(source.id, version) is None:
            raise errors.time_travel_unavailable(source.name.name)
    assert definition.dynamic is not None
    options = statement.options
    changed: dict[str, object] = {"is_clone": True, "head": statement.head}
    if definition.dynamic.dimension is not None:
        # The events are kept by and for the original.
        changed["dimension"] = replace(definition.dynamic.dimension, landing=None)
    if options.target_lag is not None:
        changed |= {"target_lag": options.target_lag.seconds, "scheduler": None}
    if options.warehouse is not None:
        changed["warehouse"] = declarations.warehouse(run, options.warehouse)
    days = options.data_retention_time_in_days
    retention.check(days, transient=statement.transient)
    definition = definition.model_copy(
        update={"transient": statement.transient, "dynamic": definition.dynamic.model_copy(update=changed)}
    )
    table = tables.new_table(run, name, table_statement(statement), definition, source.comment)
    written = cloning.link_files(run, source, version, table)

    def also(state: StateTransaction) -> None:
        cloning.inherit(run, state, source, version, table)
        retention.extend(state, table.id, options.max_data_extension_time_in_days)
        replaced = state.catalog.find(name, [ObjectKind.TABLE])
        if replaced is not None:
            state.dynamic.end_graph(replaced.id, state.now)
        cloned.add(state, source, version, table, written.version)

    tables.publish(run, table, written, replacing=statement.or_replace, retention_days=days, also=also)
