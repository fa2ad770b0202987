"""Definitions and plans that were compiled once and serve the refreshes that follow.

What a query means depends on the catalog, on rights and on settings, and not on the versions of its sources. `_Mark` is
all of that: when any of it changed, nothing kept is used. A plan depends, beyond the definition, on which tables
changed and on the types of the table's states, which are its key. Whatever depends on the clock is compiled each time.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from sqlglot import exp

from snowmelt.ivm.changes import TableChange
from snowmelt.ivm.plan import RefreshPlan, RefreshPlanner, states_of
from snowmelt.ivm.rendering import moves
from snowmelt.ivm.states import GroupState
from snowmelt.runtime.incremental import planning
from snowmelt.runtime.incremental.definitions import BoundDefinition, Choose, at_versions
from snowmelt.runtime.incremental.lookups import KnownConditions
from snowmelt.runtime.incremental.operator_states import fingerprint
from snowmelt.runtime.incremental.stages import KnownQueries
from snowmelt.sql.bound import BoundQuery
from snowmelt.sql.functions.registry import SessionContext
from snowmelt.state.dynamic_model import Dependency
from snowmelt.state.model import CatalogObject, TableDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_MOST_TABLES = 2_000
_MOST_PLANS = 8
"""Of one table: other sets of its sources may have changed each time."""
PlanKey = tuple[frozenset[tuple[str, bool]], tuple[tuple[str, tuple[tuple[str, str], ...]], ...] | None]


@dataclass(frozen=True, slots=True)
class _Mark:
    """What must be the same for a compiled definition to mean the same."""

    generation: int
    """Of the catalog: every object, its columns, its tags, its policies and its place."""
    rights: int
    table: CatalogObject
    known: tuple[Dependency, ...]
    settings: SessionContext
    """Who asks, and with which parameters; without what is of the one session or moment."""


def _mark(run: Run, state: StateReader, rights: int, table: CatalogObject, known: tuple[Dependency, ...]) -> _Mark:
    context = run.context
    settings = SessionContext(
        now=datetime.min,
        time_zone=context.time_zone,
        user=context.user,
        role=context.role,
        roles=context.roles,
        secondary_roles=context.secondary_roles,
        available_roles=context.available_roles,
        database=context.database,
        schema=context.schema,
        warehouse=context.warehouse,
        token_key=context.token_key,
        parameters=context.parameters,
    )
    return _Mark(state.catalog.generation(), rights, table, known, settings)


@dataclass(slots=True)
class KeptPlan:
    plan: RefreshPlan
    queries: KnownQueries = field(default_factory=KnownQueries)
    conditions: KnownConditions = field(default_factory=dict)
    used: bool = False
    """Whether a refresh before followed it."""
    rows: exp.Select | None = None
    """The plan's rows as the table keeps them, once they were asked for."""


@dataclass(slots=True)
class Compiled:
    """A definition that can be maintained by changes. Its trees call tables as the refresh did that compiled it.

    One refresh at a time uses it: whoever refreshes a table holds it.
    """

    planner: RefreshPlanner
    states: tuple[GroupState, ...]
    fingerprints: Mapping[str, str]
    """Of the states, by name."""
    plans: OrderedDict[PlanKey, KeptPlan] = field(default_factory=OrderedDict)

    def plan(
        self, changes: Mapping[str, TableChange], before: datetime | None, after: datetime,
        types: Mapping[str, Mapping[str, str]] | None,
    ) -> KeptPlan:  # fmt: skip
        """The plan for these changed tables. Two data timestamps differ in nothing unless the clock counts."""
        key = _plan_key(changes, types)
        found = self.plans.get(key)
        if found is None:
            found = self.plans[key] = KeptPlan(
                self.planner.plan(changes, before=before, after=after, types=types)
            )  # fmt: skip
            while len(self.plans) > _MOST_PLANS:
                self.plans.popitem(last=False)
        self.plans.move_to_end(key)
        return found


def _plan_key(changes: Mapping[str, TableChange], types: Mapping[str, Mapping[str, str]] | None) -> PlanKey:
    changed = frozenset((name, change.inserts_only) for name, change in changes.items())
    stated = None if types is None else tuple((name, tuple(columns.items())) for name, columns in types.items())
    return changed, stated


@dataclass(frozen=True, slots=True)
class _Kept:
    """What a binding found, without anything of the statement that it was made for."""

    mark: _Mark
    query: BoundQuery
    dependencies: tuple[Dependency, ...]
    sources: Mapping[str, CatalogObject]
    named: Mapping[str, CatalogObject]
    bodies: Mapping[str, CatalogObject]
    compiled: Compiled


@dataclass(frozen=True, slots=True)
class PreparedDefinition:
    """A definition at the versions of one refresh, and what it was compiled to before."""

    bound: BoundDefinition
    """Its tree calls tables as the refresh did that compiled it: plans resolve these names, nobody else may."""
    compiled: Compiled


class KeptPlans:
    """The compiled definitions of an account's tables, those used last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def find(
        self, run: Run, state: StateReader, table: CatalogObject, known: tuple[Dependency, ...], at: datetime,
        choose: Choose,
    ) -> PreparedDefinition | None:  # fmt: skip
        """What was compiled for the table, at other versions; None when it has to be compiled anew.

        `known` and `choose` are those of `bind`.
        """
        with self._lock:
            kept = self._kept.get(table.id)
            if kept is not None:
                self._kept.move_to_end(table.id)
        if kept is None or kept.mark != _mark(run, state, run.account.state.rights_version(), table, known):
            return None
        definition = table.definition
        assert isinstance(definition, TableDefinition) and definition.dynamic is not None
        found = at_versions(run, state, definition.dynamic, at, choose, kept.sources)
        if found is None:
            return None
        versions, environment = found
        run.named.update(kept.named)
        run.bodies.update(kept.bodies)
        bound = BoundDefinition(
            query=kept.query, dependencies=kept.dependencies, sources=kept.sources, versions=versions,
            bounded=frozenset(), time_dependent=False, python=None, environment=environment,
        )  # fmt: skip
        return PreparedDefinition(bound, kept.compiled)

    def compile(
        self, run: Run, state: StateReader, table: CatalogObject, known: tuple[Dependency, ...], rights: int,
        bound: BoundDefinition,
    ) -> Compiled:  # fmt: skip
        """Compiles a definition that was just bound, and keeps it where later refreshes may use it.

        `rights` is the version of rights before it was bound. Raises `NotIncrementalError`.
        """
        planner = planning.planner_of(bound)
        states = tuple(states_of(planner.view.root).values())
        compiled = Compiled(planner, states, {state.name: fingerprint(state) for state in states})
        if _may_be_kept(table, bound, planner):
            mark = _mark(run, state, rights, table, known)
            kept = _Kept(
                mark, bound.query, bound.dependencies, bound.sources, dict(run.named), dict(run.bodies), compiled
            )
            with self._lock:
                self._kept[table.id] = kept
                self._kept.move_to_end(table.id)
                while len(self._kept) > _MOST_TABLES:
                    self._kept.popitem(last=False)
        return compiled


def _may_be_kept(table: CatalogObject, bound: BoundDefinition, planner: RefreshPlanner) -> bool:
    """Whether nothing in it depends on the clock, on a past shape of a source or on other tables' lags."""
    definition = table.definition
    assert isinstance(definition, TableDefinition) and definition.dynamic is not None
    plain = {f"t_{source}_{version}" for source, version in bound.versions.items()}
    trees = (tree for node in planner.view.root.walk() for tree in (*node.constants, *node.expressions))
    return (
        not bound.time_dependent
        and not bound.bounded
        and definition.dynamic.frozen_where is None
        and set(planner.view.root.tables) <= plain
        and not any(moves(tree) for tree in trees)
    )
