"""The refresh plan: named stages, then one step that applies what they found to the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlglot import exp

from snowmelt.ivm.algebra import Aggregate, Filter, Limit, Node, Project, Window
from snowmelt.ivm.changes import Rules, Stage, TableChange
from snowmelt.ivm.checks import check
from snowmelt.ivm.exactness import inexact_ids
from snowmelt.ivm.lowering import View
from snowmelt.ivm.rendering import WEIGHT, Renderer, Restriction, When, quoted
from snowmelt.ivm.states import State, states_of
from snowmelt.ivm.top_rows import TopRows, top_rows


class ApplyKind(StrEnum):
    NOTHING = "NOTHING"
    """Nothing can have changed."""
    APPEND = "APPEND"
    """Rows with weights, all above 0."""
    BAG = "BAG"
    """Rows with weights: so many more or fewer of each."""
    REPLACE = "REPLACE"
    """All rows with the keys of a stage go; the given rows come."""
    OVERWRITE = "OVERWRITE"
    """All rows go; the given rows come."""


@dataclass(frozen=True, slots=True)
class Apply:
    kind: ApplyKind
    rows: exp.Select | None = None
    """With the names of the table's columns, and for APPEND and BAG the weight."""
    keys: str | None = None
    """For REPLACE: the stage that has the keys."""
    key_columns: tuple[tuple[str, str], ...] = ()
    """For REPLACE: columns of the table, and the stage's names for them."""
    top: TopRows | None = None
    """For OVERWRITE: a way to the rows that is shorter, if it leads there."""


@dataclass(frozen=True, slots=True)
class RefreshPlan:
    stages: tuple[Stage, ...]
    apply: Apply
    additions: tuple[State, ...] = ()
    """States that grow by the rows of a stage, which is called `added`."""


@dataclass(frozen=True, slots=True)
class InitialPlan:
    """How to fill a table from nothing: the states one after the other, then all rows, which are read from them."""

    states: tuple[tuple[State, exp.Select], ...]
    rows: exp.Select


class Planner:
    """Plans the refreshes of one view. Raises `NotIncrementalError` for a view that has none."""

    def __init__(self, view: View) -> None:
        check(view.root)
        self.view = view
        self._inexact = inexact_ids(view.root)

    def plan(
        self,
        changes: Mapping[str, TableChange],
        *,
        before: datetime | None = None,
        after: datetime | None = None,
        types: Mapping[str, Mapping[str, str]] | None = None,
    ) -> RefreshPlan:
        """The plan for these changed tables; `before` and `after` are the data timestamps, where the clock counts.

        `types` are Spark's types of the states' columns, by state; without it, no state is used.
        """
        instants = {When.OLD: before, When.NEW: after} if before is not None and after is not None else {}
        states = states_of(self.view.root, types) if types is not None else {}
        renderer = Renderer(frozenset(changes), instants, states)
        rules = Rules(renderer, changes, time_moved=bool(instants) and before != after)
        apply = self._apply(rules)
        for state in states.values():
            rules.grows(state)
        return RefreshPlan(tuple(rules.stages), apply, tuple(s for s in states.values() if rules.grows(s)))

    def initial(self, at: datetime | None = None) -> InitialPlan:
        states = states_of(self.view.root)
        renderer = Renderer(frozenset(), {When.NEW: at} if at is not None else {}, states)
        queries = tuple((state, renderer.initial(state)) for state in states.values())
        return InitialPlan(queries, self._named(renderer, renderer.rows(self.view.root, When.NEW)))

    def full(self, at: datetime | None = None) -> exp.Select:
        """The whole result, over the new versions of the tables."""
        renderer = Renderer(frozenset(), {When.NEW: at} if at is not None else {})
        return self._named(renderer, renderer.rows(self.view.root, When.NEW))

    def _apply(self, rules: Rules) -> Apply:
        root = self.view.root
        grouped, filters = _below_projections(root)
        # Rows of groups that did not change come and go with time where a filter above them asks for it.
        passing = any(rules.passes_with_time(step.condition) for step in filters)
        if isinstance(grouped, Aggregate | Window) and not passing:
            replaced = self._replace(rules, grouped)
            if replaced is not None:
                return replaced
        if isinstance(grouped, Limit) or (isinstance(grouped, Aggregate) and not grouped.keys):
            if rules.change(grouped.input) is None and not passing:
                return Apply(ApplyKind.NOTHING)
            top = self._top(rules, grouped) if isinstance(grouped, Limit) and not filters else None
            rows = self._named(rules.renderer, rules.renderer.rows(root, When.NEW))
            return Apply(ApplyKind.OVERWRITE, rows, top=top)
        change = rules.change(root)
        if change is None:
            return Apply(ApplyKind.NOTHING)
        if change.inserts_only:
            return Apply(ApplyKind.APPEND, self._weighted_out(rules, change.query))
        if self._inexact & {column.id for _, column in self.view.outputs}:
            return self._replace_exact(rules, change.query)
        netted = rules.netted(change.query, root.columns)
        return Apply(ApplyKind.BAG, self._weighted_out(rules, netted))

    def _replace(self, rules: Rules, grouped: Aggregate | Window) -> Apply | None:
        """By group or partition, if the table has all their keys."""
        keys = grouped.keys if isinstance(grouped, Aggregate) else grouped.partition
        outputs = _traced(self.view.root, grouped)
        if not keys or not all(column.id in outputs for column in keys):
            return None
        affected = rules.affected(grouped)
        if affected is None:
            return Apply(ApplyKind.NOTHING)
        keyed = affected.renamed(outputs)
        assert keyed is not None
        return self._replaced(rules, keyed)

    def _top(self, rules: Rules, limit: Limit) -> TopRows | None:
        if self._inexact & limit.ids:
            return None
        outputs = {column.id: name for name, column in self.view.outputs}
        traced = _traced(self.view.root, limit)
        return top_rows(rules, limit, {own: outputs[there] for own, there in traced.items() if there in outputs})

    def _replace_exact(self, rules: Rules, change: exp.Select) -> Apply:
        """By all columns that are the same each time, for results that have others too."""
        root = self.view.root
        exact = [
            column
            for column in root.columns
            if column.id not in self._inexact and not (column.type is not None and column.type.is_semi_structured)
        ]
        if not exact:
            return Apply(ApplyKind.OVERWRITE, self._named(rules.renderer, rules.renderer.rows(root, When.NEW)))
        return self._replaced(rules, rules.distinct_keys("rows that changed, by their exact columns", change, exact))

    def _replaced(self, rules: Rules, keys: Restriction) -> Apply:
        rows = rules.renderer.rows(self.view.root, When.NEW, keys)
        names = {column.id: name for name, column in self.view.outputs}
        return Apply(
            ApplyKind.REPLACE,
            self._named(rules.renderer, rows),
            keys.stage,
            tuple((names[own], theirs) for own, theirs in keys.pairs),
        )

    def _named(self, renderer: Renderer, rows: exp.Select) -> exp.Select:
        """The rows under the names of the table's columns."""
        return exp.select(*[exp.alias_(column.ref, quoted(name)) for name, column in self.view.outputs]).from_(
            renderer.source(rows)
        )

    def _weighted_out(self, rules: Rules, query: exp.Select) -> exp.Select:
        return self._named(rules.renderer, query).select(exp.column(quoted(WEIGHT)), copy=False)


def _below_projections(node: Node) -> tuple[Node, list[Filter]]:
    """The first node that is neither a projection nor a filter, and the filters above it."""
    filters: list[Filter] = []
    while isinstance(node, Project | Filter):
        filters += [node] if isinstance(node, Filter) else []
        node = node.input
    return node, filters


def _traced(root: Node, grouped: Node) -> dict[str, str]:
    """Ids of the grouped node's columns, and the root's ids for them, where they come through unchanged."""
    path: list[Node] = []
    node = root
    while node is not grouped:
        path.append(node)
        assert isinstance(node, Project | Filter)
        node = node.input
    names = {column.id: column.id for column in grouped.columns}
    for step in reversed(path):
        if isinstance(step, Project):
            passed = {i.value.name: i.column.id for i in step.items if isinstance(i.value, exp.Column)}
            names = {own: passed[there] for own, there in names.items() if there in passed}
    return names
