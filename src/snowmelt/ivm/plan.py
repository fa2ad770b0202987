"""The refresh plan: named stages, then one step that applies what they found to the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlglot import exp

from snowmelt.ivm.algebra import WEIGHT, When, ids_of
from snowmelt.ivm.changes import ChangeRules, TableChange
from snowmelt.ivm.expressions import View
from snowmelt.ivm.operators.base import Operator, Passage
from snowmelt.ivm.reasons import NotIncrementalError, Reason
from snowmelt.ivm.rendering import PlanRenderer, Restriction, Stage, moves
from snowmelt.ivm.states import GroupState
from snowmelt.ivm.top_rows import TopRows
from snowmelt.ivm.trees import column_of, quoted
from snowmelt.sql.notes import note_of


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
    additions: tuple[GroupState, ...] = ()
    """States that grow by the rows of a stage, which is called `added`."""


@dataclass(frozen=True, slots=True)
class InitialPlan:
    """How to fill a table from nothing: the states one after the other, then all rows, which are read from them."""

    states: tuple[tuple[GroupState, exp.Select], ...]
    rows: exp.Select


class RefreshPlanner:
    """Plans the refreshes of one view. Raises `NotIncrementalError` for a view that has none."""

    def __init__(self, view: View) -> None:
        check(view.root)
        self.view = view
        self._inexact = view.root.inexact_ids

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
        renderer = PlanRenderer(frozenset(changes), instants, states)
        rules = ChangeRules(renderer, changes, time_moved=bool(instants) and before != after)
        apply = self._apply(rules)
        grown = tuple(states[id(node)] for node in self.view.root.walk() if id(node) in states and rules.grows(node))
        return RefreshPlan(tuple(rules.lookups.stages), apply, grown)

    def initial(self, at: datetime | None = None) -> InitialPlan:
        states = states_of(self.view.root)
        renderer = PlanRenderer(frozenset(), {When.NEW: at} if at is not None else {}, states)
        stateful = [node for node in self.view.root.walk() if id(node) in states]
        below = [renderer.rows(node.inputs[0], When.NEW) for node in stateful]
        queries = tuple(
            (states[id(node)], node.state_rows(renderer, states[id(node)], rows))
            for node, rows in zip(stateful, below, strict=True)
        )
        return InitialPlan(queries, self._named(renderer, renderer.rows(self.view.root, When.NEW)))

    def full(self, at: datetime | None = None) -> exp.Select:
        """The whole result, over the new versions of the tables."""
        renderer = PlanRenderer(frozenset(), {When.NEW: at} if at is not None else {})
        return self._named(renderer, renderer.rows(self.view.root, When.NEW))

    def _apply(self, rules: ChangeRules) -> Apply:
        root = self.view.root
        passage = root.passage()
        bottom = passage.bottom
        # Rows of groups that did not change come and go with time where a filter above them asks for it.
        passing = rules.passes_with_time(*passage.conditions)
        if bottom.group_keys and not passing:
            replaced = self._replace(rules, passage)
            if replaced is not None:
                return replaced
        if bottom.group_keys == ():
            if all(rules.change(below) is None for below in bottom.inputs) and not passing:
                return Apply(ApplyKind.NOTHING)
            top = self._top(rules, passage) if not passage.conditions else None
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

    def _replace(self, rules: ChangeRules, passage: Passage) -> Apply | None:
        """Replaces whole groups or partitions, if the table has all columns of their keys."""
        if not all(column.id in passage.names for column in passage.bottom.group_keys or ()):
            return None
        affected = passage.bottom.affected(rules)
        if affected is None:
            return Apply(ApplyKind.NOTHING)
        keyed = affected.renamed(passage.names)
        assert keyed is not None
        return self._replaced(rules, keyed)

    def _top(self, rules: ChangeRules, passage: Passage) -> TopRows | None:
        if self._inexact & passage.bottom.ids:
            return None
        outputs = {column.id: name for name, column in self.view.outputs}
        names = {own: outputs[there] for own, there in passage.names.items() if there in outputs}
        return passage.bottom.top_rows(rules, names)

    def _replace_exact(self, rules: ChangeRules, change: exp.Select) -> Apply:
        """Replaces rows by all columns that are the same each time, for results that have others too."""
        root = self.view.root
        exact = [column for column in root.columns if column.id not in self._inexact and not column.is_variant]
        if not exact:
            return Apply(ApplyKind.OVERWRITE, self._named(rules.renderer, rules.renderer.rows(root, When.NEW)))
        return self._replaced(rules, rules.distinct_keys("rows that changed, by their exact columns", change, exact))

    def _replaced(self, rules: ChangeRules, keys: Restriction) -> Apply:
        rows = rules.renderer.rows(self.view.root, When.NEW, keys)
        names = {column.id: name for name, column in self.view.outputs}
        return Apply(
            ApplyKind.REPLACE,
            self._named(rules.renderer, rows),
            keys.stage,
            tuple((names[own], theirs) for own, theirs in keys.pairs),
        )

    def _named(self, renderer: PlanRenderer, rows: exp.Select) -> exp.Select:
        """The rows under the names of the table's columns."""
        return exp.select(*[exp.alias_(column.ref, quoted(name)) for name, column in self.view.outputs]).from_(
            renderer.source(rows)
        )

    def _weighted_out(self, rules: ChangeRules, query: exp.Select) -> exp.Select:
        return self._named(rules.renderer, query).select(column_of(WEIGHT), copy=False)


def states_of(root: Operator, types: Mapping[str, Mapping[str, str]] | None = None) -> dict[int, GroupState]:
    """The states of a view by the identity of their nodes, inner ones first; they have the same names each time."""
    found: dict[int, GroupState] = {}
    for node in root.walk():
        # What is not the same when it is computed again can't be taken from a sum that it was added to.
        if node.tables and not any(below.ids & root.inexact_ids for below in node.inputs):
            name = f"a{len(found) + 1}"
            state = node.state(name, (types or {}).get(name, {}))
            if state is not None:
                found[id(node)] = state
    return found


def derived_key(view: View) -> tuple[str, ...]:
    """Columns of the result that no two rows have the same values in, by the form of the query: those of GROUP BY, of
    DISTINCT, or of QUALIFY ROW_NUMBER() OVER (PARTITION BY …) = 1. Empty where it does not say so."""
    key = view.root.unique_by(()) or ()
    outputs = {column.id: name for name, column in reversed(view.outputs)}
    return tuple(outputs[column.id] for column in key) if ids_of(key) <= outputs.keys() else ()


def check(root: Operator) -> None:
    """Raises the first reason why the query is not incremental."""
    for node in root.walk():
        for tree in (*node.constants, *node.expressions):
            _check_functions(tree, may_move=node.finds_clock)
        problem = node.problem()
        if problem is not None:
            raise problem
    for node in root.walk():
        for where, keys in node.exact_keys():
            if not root.inexact_ids.isdisjoint(keys):
                raise NotIncrementalError(
                    Reason.INEXACT_KEY,
                    f"{where} by a value that is not the same each time it is computed"
                    " (a sum of FLOAT, ANY_VALUE, a list)",
                    "Round or cast it to NUMBER before it is used as a key.",
                )


def _check_functions(tree: exp.Expr, *, may_move: bool) -> None:
    for part in tree.walk():
        name = note_of(part).volatile
        if name is not None:
            raise NotIncrementalError(
                Reason.VOLATILE_FUNCTION,
                name,
                "It gives another value each time: compute it in a table first.",
                note_of(part).position,
            )
    if not may_move and moves(tree):
        raise NotIncrementalError(
            Reason.CLOCK_OUTSIDE_WHERE,
            "the current time outside WHERE, HAVING and QUALIFY",
            "Use it only there, or compute it in a table first.",
            next((note_of(part).position for part in tree.walk() if note_of(part).clock is not None), None),
        )
