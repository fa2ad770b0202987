"""LEFT, SEMI and ANTI join: what follows the left side row by row. RIGHT is swapped, FULL is a union."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from sqlglot import exp

from snowmelt.ivm.algebra import WEIGHT, Fresh, Item, PlanColumn, When, all_of, columns_in, conjuncts, passed
from snowmelt.ivm.changes import Change, ChangeRules, tables_in, with_value
from snowmelt.ivm.operators.base import Hoisted, Identified, Identify, Joined, Operator, OuterDomain, Unfolding
from snowmelt.ivm.operators.filter import filtered
from snowmelt.ivm.operators.project import Project
from snowmelt.ivm.operators.union import Union
from snowmelt.ivm.reasons import NoIdentityError
from snowmelt.ivm.rendering import PlanRenderer, RenderedRows, Restriction, moves, restriction_by, select_from, selected
from snowmelt.ivm.trees import quoted, same


class JoinKind(StrEnum):
    LEFT = "LEFT"
    SEMI = "SEMI"
    ANTI = "ANTI"


@dataclass(frozen=True, eq=False)
class Join(Operator):
    words = "A join"
    kind: JoinKind
    left: Operator
    right: Operator
    condition: exp.Expr

    @cached_property
    def columns(self) -> tuple[PlanColumn, ...]:
        return (*self.left.columns, *self.right.columns) if self.kind is JoinKind.LEFT else self.left.columns

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return (self.left, self.right)

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        return (self.condition,)

    def over(self, inputs: Sequence[Operator]) -> Operator:
        return replace(self, left=inputs[0], right=inputs[1])

    def _matched(
        self, renderer: PlanRenderer, left: exp.Expr, right: exp.Expr, when: When, *, weighted: bool = False
    ) -> exp.Select:
        query = select_from(renderer.source(left), selected(self.columns, weighted=weighted))
        join = exp.Join(this=renderer.source(right), side="LEFT", on=renderer.at(self.condition, when))
        if self.kind is not JoinKind.LEFT:
            join.set("kind", self.kind.value)
        query.set("joins", [join])
        return query

    def unfold(self, block: Unfolding, *, top: bool) -> None:
        if top:
            block.joins.append(self)
            self.left.unfold(block, top=True)
        else:
            block.parts.append(self)

    def rows(self, renderer: PlanRenderer, when: When, restriction: Restriction | None) -> RenderedRows:
        inside = restriction.only(self.left.ids) if restriction is not None else None
        left, exact = renderer.some_rows(self.left, when, inside)
        # Of the right side, what the left one's restriction says of columns that must be equal.
        across = inside.spread(conjuncts(self.condition)).only(self.right.ids) if inside is not None else None
        right = renderer.rows(self.right, when, across)
        return self._matched(renderer, left, right, when), exact and inside == restriction

    def change(self, rules: ChangeRules) -> Change | None:
        left, right = rules.change(self.left), rules.change(self.right)
        terms: list[exp.Select] = []
        if left is not None:
            known = rules.key_columns(self.left, left)
            near = restriction_by(self.right, conjuncts(self.condition), known)
            matches = rules.renderer.rows(self.right, When.NEW, near)
            query = rules.latest(self.left, left).query
            terms.append(self._matched(rules.renderer, query, matches, When.NEW, weighted=True))
        if right is not None:
            terms += self._rematched(rules, right)
        if not terms:
            return None
        return Change(rules.sum(terms, self.columns), left is not None and right is None and left.inserts_only)

    def _rematched(self, rules: ChangeRules, right: Change) -> list[exp.Select]:
        """The left rows that a change on the right may concern, matched with what is there now, less what was."""
        renderer, lookups, conditions = rules.renderer, rules.lookups, conjuncts(self.condition)
        known = rules.key_columns(self.right, right)
        changes = rules.keep(self.right, rules.latest(self.right, right))
        lookups.forget()
        rows = renderer.rows(self.left, When.OLD, restriction_by(self.left, conditions, known))
        affected = renderer.of(rows, self.left.columns)
        source = renderer.source(exp.Table(this=quoted(changes)))
        join = exp.Join(this=source, side="LEFT", kind="SEMI", on=renderer.at(self.condition, When.NEW))
        affected.set("joins", [join])
        stage = lookups.add(f"rows of {tables_in(self.left)} that they concern", affected)
        near = lookups.found(self.left, When.OLD) or {c.id: (stage, c.id) for c in self.left.columns}
        terms = []
        for when, weight in ((When.NEW, 1), (When.OLD, -1)):
            mine = with_value(renderer.of_table(stage, self.left.columns), WEIGHT, weight)
            theirs = renderer.rows(self.right, when, restriction_by(self.right, conditions, near))
            terms.append(self._matched(renderer, mine, theirs, when, weighted=True))
        return terms

    def hoisted(self, free: frozenset[str]) -> Hoisted | None:
        if self.right.free_ids | (columns_in(self.condition) & free):
            return None
        below = self.left.hoist()
        return None if below is None else (replace(self, left=below[0]), below[1])

    def joined_with(self, domain: OuterDomain) -> Joined:
        left, names = domain.join(self.left)
        condition = names.put_into(self.condition)
        right = self.right
        if right.free_ids & domain.ids:
            right, own = domain.join(right)
            condition = all_of([condition, *(same(names[name].ref, own[name].ref) for name in names)])
        joined: Operator = Join(self.kind, left, right, condition)
        if self.kind is JoinKind.LEFT and right is not self.right:
            joined = Project(joined, passed([*self.columns, *names.values()]))
        return joined, names

    def identified(self, identify: Identify) -> Identified:
        outer = self.kind is JoinKind.LEFT
        raise NoIdentityError("joins of type '[LEFT_OUTER_JOIN]'" if outer else "subqueries")


def left_join(left: Operator, right: Operator, condition: exp.Expr) -> Operator:
    """What moves with the clock and concerns the right side alone is a filter of that side."""
    parts = conjuncts(condition)
    moving = [part for part in parts if moves(part) and columns_in(part) <= right.ids]
    if not moving:
        return Join(JoinKind.LEFT, left, right, condition)
    rest = [part for part in parts if part not in moving]
    return Join(JoinKind.LEFT, left, filtered(right, all_of(moving)), all_of(rest))


def full_join(left: Operator, right: Operator, condition: exp.Expr, fresh: Fresh) -> Operator:
    """The left join and, padded, the right rows without a match; columns correspond by their position."""
    padded = tuple(Item(fresh(column.type), exp.null()) for column in left.columns)
    unmatched = Project(Join(JoinKind.ANTI, right, left, condition), (*padded, *passed(right.columns)))
    matched = Project(Join(JoinKind.LEFT, left, right, condition), passed((*left.columns, *right.columns)))
    outputs = tuple(fresh(column.type) for column in matched.columns)
    return Union((matched, unmatched), outputs)
