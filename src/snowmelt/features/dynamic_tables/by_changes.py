"""A refresh by what changed in the sources: read the changes, plan, run the stages, apply."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pyarrow as pa
from sqlglot import exp

from snowmelt.core import types
from snowmelt.core.faults import reached
from snowmelt.features.dynamic_tables.change_sets import ChangeSet, ChangeSets
from snowmelt.features.dynamic_tables.frozen import Region, may_shrink
from snowmelt.features.dynamic_tables.readable_plans import costs_to_json
from snowmelt.ivm.algebra import TARGET, WEIGHT, table_name
from snowmelt.ivm.changes import TableChange
from snowmelt.ivm.cost import ENGINE_NAMES, estimate
from snowmelt.ivm.expressions import View
from snowmelt.ivm.operators.base import Operator
from snowmelt.ivm.operators.scan import Scan
from snowmelt.ivm.plan import ApplyKind, RefreshPlan
from snowmelt.ivm.reasons import NotIncrementalError
from snowmelt.ivm.top_rows import LAST, TopRows
from snowmelt.runtime.incremental import planning as incremental
from snowmelt.runtime.incremental.applying import DivergedError, Target, TooLargeError, weight_column
from snowmelt.runtime.incremental.definitions import BoundDefinition, DefinitionCatalog
from snowmelt.runtime.incremental.kept import Compiled, KeptPlan
from snowmelt.runtime.incremental.lookups import Lookups, LookupSide, Searched
from snowmelt.runtime.incremental.operator_states import OperatorStates, types_of
from snowmelt.runtime.incremental.runs import RefreshRun
from snowmelt.runtime.incremental.stages import ROWS, StageRunner
from snowmelt.runtime.pending import PendingTable
from snowmelt.runtime.staged_rows import are_better_in_a_file, as_file, needs_file
from snowmelt.runtime.writing import RowWriter
from snowmelt.sql.dialect import identifier
from snowmelt.state.dynamic_model import DynamicState, OperatorState, RefreshMode
from snowmelt.state.model import CatalogObject, Column, TableDefinition, TableShape
from snowmelt.state.store import StateReader
from snowmelt.storage.commits import CommitResult

_MOST_CHANGES = 2_000_000
"""Rows of changes that are held in memory; beyond, the table is recomputed."""
_TOP_ROWS = "top rows"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One refresh that need not start from nothing: everything its plan may look at."""

    run: RefreshRun
    state: StateReader
    table: CatalogObject
    pending: PendingTable
    """The table, held for writing; its version is what the table holds now."""
    dynamic: DynamicState
    """Where the table stands: its frontier is what `pending.base` was computed from."""
    bound: BoundDefinition
    """The query at the new versions."""
    compile: Callable[[], Compiled]
    """What the query was compiled to, now or by a refresh before."""
    data_timestamp: datetime
    weighed: bool = True
    """Whether a full refresh may be preferred where it is expected to be cheaper."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What an incremental refresh did."""

    result: CommitResult
    details: dict[str, Any]
    states: dict[str, OperatorState]


@dataclass(frozen=True, slots=True)
class InFull:
    """Why a full refresh is to do it."""

    reason: str
    cheaper: bool = False
    """A refresh by changes was possible, and would have taken longer."""


class CostlyError(Exception):
    """A full refresh is expected to be the cheaper one."""


def changes_by_plan(attempt: Attempt) -> Applied | InFull:
    """Brings the table to the new versions by what changed, unless a full refresh is to do it.

    Writes through `run.open_for_write` and `transactions.wrote`, as every writer does.
    """
    definition = attempt.table.definition
    assert isinstance(definition, TableDefinition) and definition.dynamic is not None
    if may_shrink(attempt.bound.environment, definition):
        return InFull("Rows may leave the frozen region as time goes by.")
    try:
        with closing(_ChangeRefresh(attempt)) as refresh:
            return refresh.refresh()
    except CostlyError as error:
        return InFull(str(error), cheaper=True)
    except (TooLargeError, NotIncrementalError, DivergedError) as error:
        return InFull(str(error))


class _ChangeRefresh:
    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.run = attempt.run
        catalog = attempt.bound.environment.relations
        assert isinstance(catalog, DefinitionCatalog)
        self.catalog = catalog
        self.compiled = attempt.compile()
        self.planner = self.compiled.planner
        self.sources = self._sources()
        self.region = _region(attempt)
        outside = self.region.outside_of if self.region is not None else None
        self.target = Target(attempt.run, attempt.table, attempt.pending, outside)
        self.sides: dict[str, LookupSide] = {}
        self.searched: dict[str, Searched] = {}

    def _sources(self) -> dict[str, CatalogObject]:
        """The tables that the plan scans, by what the query calls them."""
        bound = self.attempt.bound
        return {
            table_reference: source
            for table_reference in self.planner.view.root.tables
            for source in bound.sources.values()
            if table_reference.startswith(f"t_{source.id}_")
        }

    def refresh(self) -> Applied:
        self.target.check_writable()
        began, span = time.monotonic(), self.run.account.tracing.span
        store, recorded = OperatorStates(self.run, self.target.definition), self.attempt.dynamic.operator_states
        with span("read changes"):
            estimates = self._weighed() if self.attempt.weighed else {}
            states = self._states(store)
            relations, changes = self._relations()
        relations.update(states)
        kept = self._plan(changes)
        plan = kept.plan
        changed_rows = sum(change.rows.num_rows for change in changes.values())
        details = {
            "changed_rows": changed_rows,
            "stages": len(plan.stages),
            "apply": plan.apply.kind.value,
            "compiled": not kept.used,
            **estimates,
        }
        kept.used = True
        if plan.apply.kind is ApplyKind.NOTHING:
            return Applied(self._unchanged, details, dict(recorded))
        read = time.monotonic()
        runner = self._runner(relations, changes, kept)
        wanted = {state.added for state in plan.additions} | ({plan.apply.keys} if plan.apply.keys else set())
        runner.run(plan.stages, frozenset(wanted))
        unchanged = plan.apply.keys is not None and not runner.rows_of(plan.apply.keys).num_rows
        rows = None if unchanged else self._rows(kept, runner)
        reached("stages-computed")
        computed = time.monotonic()
        with span("apply", kind=plan.apply.kind.value, rows=rows.num_rows if rows is not None else 0):
            result = self._unchanged if rows is None else self.target.apply(plan.apply, rows, self._keys(plan, runner))
            grown = {s.name: store.add(s, recorded[s.name], runner.rows_of(s.added)) for s in plan.additions}
        times = {
            "readTimeMs": round((read - began) * 1000),
            "computeTimeMs": round((computed - read) * 1000),
            "applyTimeMs": round((time.monotonic() - computed) * 1000),
        }
        costs = {"jobs": runner.jobs, "stage_costs": self._costs(kept, runner), **times}
        return Applied(result, {**details, **costs}, {**recorded, **grown})

    def _costs(self, kept: KeptPlan, runner: StageRunner) -> list[dict[str, Any]]:
        return costs_to_json(self.attempt.bound.sources, kept.plan, kept.rows, runner)

    @property
    def _unchanged(self) -> CommitResult:
        return CommitResult(self.attempt.pending.version, committed=False)

    def _states(self, store: OperatorStates) -> dict[str, exp.Expr]:
        """What Spark calls the states of the plan. Raises when they are not those of the table as it is."""
        recorded = self.attempt.dynamic.operator_states
        states = self.compiled.states
        if not store.usable(self.compiled.fingerprints, recorded):
            raise TooLargeError("the states of its aggregates are missing")
        if not recorded:
            return {}
        self.searched = {state.stored: store.searched(recorded[state.name]) for state in states}
        return {state.stored: store.relation(state, recorded[state.name]) for state in states}

    def _plan(self, changes: Mapping[str, ChangeSet]) -> KeptPlan:
        recorded = self.attempt.dynamic.operator_states
        return self.compiled.plan(
            {name: TableChange(change.inserts_only) for name, change in changes.items() if change.rows.num_rows},
            self.attempt.dynamic.data_timestamp,
            self.attempt.data_timestamp,
            types_of(recorded) if recorded else None,
        )

    def _runner(
        self, relations: Mapping[str, exp.Expr], changes: Mapping[str, ChangeSet], kept: KeptPlan
    ) -> StageRunner:
        rows = {table_name(name, "change"): change.rows for name, change in changes.items()}
        inputs = {name: data for name, data in rows.items() if name not in relations}
        lookups = Lookups(self.run.account.store, self.sides, self.searched, kept.conditions)
        return StageRunner(self.run, relations, inputs, rows, lookups, kept.queries)

    def _weighed(self) -> dict[str, Any]:
        """The estimates, for the history. Raises, before anything is read, when a full refresh is to be preferred."""
        account, versions = self.run.account, self.attempt.state.versions
        changed_rows = 0
        for source in self.sources.values():
            new, old = self.attempt.bound.versions[source.id], self.attempt.dynamic.frontier[source.id]
            assert isinstance(source.definition, TableDefinition)
            if new != old:
                ranges = versions.change_ranges(source.id, old, new)
                changed_rows += account.services[ChangeSets].count(account, source.definition.location, ranges)
        if changed_rows > _MOST_CHANGES:
            raise TooLargeError(f"{changed_rows} changed rows")
        return self._chosen(changed_rows)

    def _chosen(self, changed_rows: int) -> dict[str, Any]:
        definition = self.target.definition.dynamic
        assert definition is not None
        measured = incremental.measured_so_far(self.attempt.dynamic.costs)
        if measured.full_ms is None:
            return {}
        work = incremental.work_of(self.run, self.attempt.state, self.attempt.bound, measured, changed_rows)
        rates = self.run.account.engine.rates()
        expected = estimate(work, measured, rates)
        assert expected is not None
        estimates = {
            "estimatedFullMs": round(expected.full_ms),
            "estimatedIncrementalMs": round(expected.incremental_ms),
            "fullEngine": work.full_engine.value,
            "incrementalEngine": work.incremental_engine.value,
            "quickQueryMs": round(rates.quick.query_ms, 1),
            "sparkQueryMs": round(rates.spark.query_ms, 1),
        }
        if definition.refresh_mode is not RefreshMode.INCREMENTAL and expected.prefers_full:
            raise CostlyError(
                f"{changed_rows} changed rows: expected {round(expected.incremental_ms)} ms by changes "
                f"({ENGINE_NAMES[work.incremental_engine]}), {round(expected.full_ms)} ms in full "
                f"({ENGINE_NAMES[work.full_engine]})"
            )
        return estimates

    def _relations(self) -> tuple[dict[str, exp.Expr], dict[str, ChangeSet]]:
        """What each side of each source is called, and the changes of those that changed."""
        relations: dict[str, exp.Expr] = {}
        changes: dict[str, ChangeSet] = {}
        used = _used_columns(self.planner.view)
        for reference, source in self.sources.items():
            new = self.attempt.bound.versions[source.id]
            old = self.attempt.dynamic.frontier[source.id]
            present = self._present(reference, source)
            relations[table_name(reference, "new")] = exp.Table(this=identifier(present))
            names = tuple(used[reference])
            self.sides[table_name(reference, "new")] = self._side(source, present, new, names)
            if new == old:
                continue
            definition = source.definition
            assert isinstance(definition, TableDefinition)
            shapes = [item for item in self.catalog.state.shapes.all(source.id) if item.last_version >= old]
            for shape in shapes:
                _check_same_columns(source, used[reference], shape)
            account = self.run.account
            found = account.services[ChangeSets].read(
                account, self.attempt.state, source, used[reference], (old, new), _MOST_CHANGES
            )
            if found is None:
                raise TooLargeError("too many changes")
            changes[reference] = found
            kinds = {column.name: column for column in definition.columns}
            columns = [kinds[name] for name in found.rows.column_names if name != WEIGHT]
            documents = any(column.type.is_semi_structured for column in columns)
            if any(map(needs_file, columns)) or (documents and are_better_in_a_file(found.rows, columns)):
                staged = as_file(self.run, found.rows, (*columns, Column(name=WEIGHT, type=types.INTEGER)))
                relations[table_name(reference, "change")] = exp.Table(this=identifier(staged))
            before = self.catalog.pin(source, definition, old, shapes[0] if shapes else None)
            assert before.reference is not None
            relations[table_name(reference, "old")] = exp.Table(this=identifier(before.reference))
            self.sides[table_name(reference, "old")] = self._side(source, before.reference, old, names)
        return relations, changes

    def _present(self, reference: str, source: CatalogObject) -> str:
        """What this refresh calls the new side of a table. The plan may be of one before, with another version."""
        plain = f"t_{source.id}_{self.attempt.bound.versions[source.id]}"
        return plain if plain in self.run.tables else reference

    def _side(self, source: CatalogObject, reference: str, version: int, names: tuple[str, ...]) -> LookupSide:
        files = self.run.tables[reference]
        return LookupSide(source, version, files.sources is None and files.delta_path is None, names)

    def close(self) -> None:
        self.run.remove_staged()

    def _rows(self, kept: KeptPlan, runner: StageRunner) -> pa.Table:
        top = kept.plan.apply.top
        found = self._top_rows(top, runner) if top is not None else None
        if found is not None:
            return found
        if kept.rows is None:
            kept.rows = self._stored(kept.plan)
        return runner.fetch(kept.rows, ROWS)

    def _top_rows(self, top: TopRows, runner: StageRunner) -> pa.Table | None:
        """The table's new rows from those it has, if that is enough to know them."""
        produced = list(zip(self.attempt.bound.query.columns, self.target.definition.columns, strict=True))
        as_they_are = all(made.type == kept.type and kept.nullable for made, kept in produced)
        if not as_they_are or self.region is not None:
            return None
        names = {made.key: kept.name for made, kept in produced}
        present = self.target.rows()
        runner.keep(TARGET, pa.table({made: present.column(kept) for made, kept in names.items()}))
        found = runner.fetch(top.query, _TOP_ROWS)
        indexes = top.indexes(found.column(WEIGHT).to_pylist(), found.column(LAST).to_pylist())
        if indexes is None:
            return None
        return pa.table({names[made]: found.column(id_) for made, id_ in top.names}).take(pa.array(indexes, pa.int64()))

    def _stored(self, plan: RefreshPlan) -> exp.Select:
        """The plan's rows as the table keeps them, cast and checked."""
        assert plan.apply.rows is not None
        bound = self.attempt.bound
        rows = RowWriter(self.run, self.attempt.table).matched(
            bound.environment, replace(bound.query, tree=plan.apply.rows), self.target.names
        )
        weighted = plan.apply.kind in (ApplyKind.APPEND, ApplyKind.BAG)
        rows = rows.select(weight_column()) if weighted else rows
        return self.region.outside(rows, weighted=weighted) if self.region is not None else rows

    def _keys(self, plan: RefreshPlan, runner: StageRunner) -> pa.Table | None:
        """The keys that are replaced, under the names of the table's columns."""
        if plan.apply.keys is None:
            return None
        produced = {c.key: column.name for c, column in zip(
            self.attempt.bound.query.columns, self.target.definition.columns, strict=True
        )}  # fmt: skip
        found = runner.rows_of(plan.apply.keys)
        pairs = [(produced[own], theirs) for own, theirs in plan.apply.key_columns]
        return pa.table({own: found.column(theirs) for own, theirs in pairs})


def _region(attempt: Attempt) -> Region | None:
    definition = attempt.table.definition
    assert isinstance(definition, TableDefinition) and definition.dynamic is not None
    if definition.dynamic.frozen_where is None:
        return None
    return Region(attempt.run, attempt.bound.environment, attempt.table)


def _check_same_columns(source: CatalogObject, used: Iterable[str], shape: TableShape) -> None:
    """Raises when one of the columns had another name or form on disk in versions of that shape, or was another one:
    dropped, and added since. Its values may then be others in all rows without a row that changed."""
    definition = source.definition
    assert isinstance(definition, TableDefinition)
    now = {column.name: column.type.stored for column in definition.columns}
    then = {column.name: column.type.stored for column in shape.definition.columns}
    stored = {past.name: past.stored for past in shape.columns}
    for name in used:
        if stored.get(name) != name or then[name] != now[name]:
            raise TooLargeError(f"column '{name}' of {source.name} was replaced")


def _used_columns(view: View) -> Mapping[str, list[str]]:
    used: dict[str, dict[str, None]] = {}
    nodes: list[Operator] = list(view.root.walk())
    for node in nodes:
        if isinstance(node, Scan):
            used.setdefault(node.table, {}).update(dict.fromkeys(name for _, name in node.items))
    return {table: list(names) for table, names in used.items()}
