"""WHERE, HAVING and QUALIFY: the rows for which a condition is true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from snowmelt.ivm.algebra import WEIGHT, Fresh, PlanColumn, When, all_of, columns_in, conjuncts
from snowmelt.ivm.changes import Change, ChangeRules
from snowmelt.ivm.operators.base import (
    Hoisted,
    Identified,
    Identify,
    Joined,
    Operator,
    OuterDomain,
    Passage,
    Unary,
    Unfolding,
)
from snowmelt.ivm.rendering import PlanRenderer, RenderedRows, Restriction, ScanOrigin, selected
from snowmelt.ivm.trees import call, number, quoted


@dataclass(frozen=True, eq=False)
class Filter(Unary):
    words = ""
    condition: exp.Expr
    finds_clock = True

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        return (self.condition,)

    def _filtered(self, renderer: PlanRenderer, below: exp.Select, when: When, *, weighted: bool = False) -> exp.Select:
        query = renderer.of(below, self.columns)
        query.set("expressions", [*query.expressions, *selected((), weighted=weighted)])
        query.set("where", exp.Where(this=renderer.at(self.condition, when)))
        return query

    def rows(self, renderer: PlanRenderer, when: When, restriction: Restriction | None) -> RenderedRows:
        return self.rows_meeting(renderer, when, restriction, ())

    def rows_meeting(
        self, renderer: PlanRenderer, when: When, restriction: Restriction | None, conditions: Sequence[exp.Expr]
    ) -> RenderedRows:
        below, exact = self.input.rows_meeting(renderer, when, restriction, [*conditions, self.condition])
        return self._filtered(renderer, below, when), exact

    def change(self, rules: ChangeRules) -> Change | None:
        renderer, change = rules.renderer, rules.change(self.input)
        if change is not None:
            query = self._filtered(renderer, change.query, When.NEW, weighted=True)
            change = Change(query, change.inserts_only)
        if not rules.passes_with_time(self.condition):
            return change
        # Rows that were there already, and pass only now, or not any more.
        before, after = (self._is_true(renderer, when) for when in (When.OLD, When.NEW))
        query = renderer.of(renderer.rows(self.input, When.OLD), self.columns)
        query.set("where", exp.Where(this=exp.NEQ(this=before, expression=after.copy())))
        sign = exp.Case(ifs=[exp.If(this=after, true=number(1))], default=number(-1))
        moved = query.select(exp.alias_(sign, quoted(WEIGHT)), copy=False)
        return Change(rules.sum([moved] if change is None else [change.query, moved], self.columns))

    def _is_true(self, renderer: PlanRenderer, when: When) -> exp.Expr:
        return call("coalesce", exp.Paren(this=renderer.at(self.condition, when)), exp.false())

    def passage(self) -> Passage:
        below = self.input.passage()
        return replace(below, conditions=(*below.conditions, self.condition))

    def unique_by(self, conditions: Sequence[exp.Expr]) -> tuple[PlanColumn, ...] | None:
        return self.input.unique_by([*conditions, self.condition])

    def peeled(self) -> tuple[list[exp.Expr], Operator]:
        below, node = self.input.peeled()
        return [*below, *conjuncts(self.condition)], node

    def unfold(self, block: Unfolding, *, top: bool) -> None:
        block.conditions += conjuncts(self.condition)
        self.input.unfold(block, top=top)

    def origin(self) -> ScanOrigin | None:
        below = self.input.origin()
        promise = 2 if any(isinstance(one, exp.EQ | exp.In) for one in conjuncts(self.condition)) else 1
        return replace(below, selectivity=max(below.selectivity, promise)) if below is not None else None

    def with_state(self, fresh: Fresh, inexact: frozenset[str]) -> Operator | None:
        return self.input.first_row(self.condition, inexact)

    def first_row(self, condition: exp.Expr, inexact: frozenset[str]) -> Operator | None:
        below = self.input.first_row(condition, inexact)
        return self.over([below]) if below is not None else None

    def keys_below(
        self, rules: ChangeRules, keys: tuple[PlanColumn, ...]
    ) -> tuple[Operator, tuple[PlanColumn, ...]] | None:
        return None if rules.passes_with_time(self.condition) else self.input.keys_below(rules, keys)

    def hoisted(self, free: frozenset[str]) -> Hoisted | None:
        below = self.input.hoist()
        if below is None:
            return None
        node, conditions = below
        own = conjuncts(self.condition)
        outer = [condition for condition in own if columns_in(condition) & free]
        inner = [condition for condition in own if not columns_in(condition) & free]
        return Filter(node, all_of(inner)) if inner else node, [*conditions, *outer]

    def joined_with(self, domain: OuterDomain) -> Joined:
        below, names = domain.join(self.input)
        return Filter(below, names.put_into(self.condition)), names

    def value_for(self, outer: Operator, fresh: Fresh) -> Hoisted | None:
        below = self.input.value_for(outer, fresh)
        return None if below is None else (below[0], [*below[1], self.condition])

    def identified(self, identify: Identify) -> Identified:
        below, columns = identify(self.input)
        return Filter(below, self.condition), columns


def filtered(node: Operator, condition: exp.Expr) -> Operator:
    """The node's rows that meet the condition."""
    return node.filtered_below(condition, filtered) or Filter(node, condition)
