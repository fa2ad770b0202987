"""Inner join of any number of inputs, each change of which is joined with all the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from snowmelt.ivm.algebra import WEIGHT, PlanColumn, When, all_of, columns_in, conjuncts
from snowmelt.ivm.changes import Change, ChangeRules, tables_in
from snowmelt.ivm.operators.base import (
    Hoisted,
    Identified,
    Identify,
    Joined,
    Operator,
    OuterDomain,
    OuterNames,
    Unfolding,
)
from snowmelt.ivm.operators.filter import Filter, filtered
from snowmelt.ivm.rendering import PlanRenderer, RenderedRows, Restriction, moves, nearest, select_from, selected
from snowmelt.ivm.trees import same

_Parts = Sequence[tuple[exp.Expr, frozenset[str]]]
"""Queries, and the ids that each of them has."""


@dataclass(frozen=True, eq=False)
class InnerJoin(Operator):
    words = "A join"
    parts: tuple[Operator, ...]
    conditions: tuple[exp.Expr, ...]

    @cached_property
    def columns(self) -> tuple[PlanColumn, ...]:
        return tuple(column for part in self.parts for column in part.columns)

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return self.parts

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        return self.conditions

    @cached_property
    def _conjuncts(self) -> list[exp.Expr]:
        return [one for condition in self.conditions for one in conjuncts(condition)]

    def over(self, inputs: Sequence[Operator]) -> Operator:
        return replace(self, parts=tuple(inputs))

    def rows(self, renderer: PlanRenderer, when: When, restriction: Restriction | None) -> RenderedRows:
        if restriction is None:
            met = [renderer.some_rows(part, when, None) for part in self.parts]
        else:
            met = self._restricted(renderer, when, restriction)
        parts = [(query, part.ids) for (query, _), part in zip(met, self.parts, strict=True)]
        exact = restriction is None or any(whole for _, whole in met)
        return self._joined(renderer, parts, when), exact

    def _restricted(self, renderer: PlanRenderer, when: When, restriction: Restriction) -> list[RenderedRows]:
        """The rows of each part, restricted by what was found of those before it, and whether the restriction itself
        holds for all of them."""
        spread, lookups = restriction.spread(self._conjuncts), renderer.lookups
        known = {own: (spread.stage, theirs) for own, theirs in spread.pairs}
        found: dict[int, RenderedRows] = {}
        waiting = [(part, when) for part in self.parts]
        while waiting:
            chosen, inside = nearest(waiting, self._conjuncts, known, lookups.narrowed)
            waiting.remove(chosen)
            part = chosen[0]
            lookups.forget()
            query, whole = renderer.some_rows(part, when, inside)
            found[id(part)] = query, whole and inside is not None and inside.covers(restriction)
            known.update(lookups.found(part, when))
        return [found[id(part)] for part in self.parts]

    def _joined(self, renderer: PlanRenderer, parts: _Parts, when: When, *, weighted: bool = False) -> exp.Select:
        """The parts joined, the first one first, then whatever a condition connects to what is there."""
        query = select_from(renderer.source(parts[0][0]), selected(self.columns, weighted=weighted))
        bound = set(parts[0][1])
        waiting = list(parts[1:])
        left = [renderer.at(condition, when) for condition in self.conditions]
        joins = []
        while waiting:
            chosen = next((part for part in waiting if _connects(left, bound, part[1])), waiting[0])
            waiting.remove(chosen)
            bound |= chosen[1]
            on = [condition for condition in left if columns_in(condition) <= bound]
            left = [condition for condition in left if condition not in on]
            join = exp.Join(this=renderer.source(chosen[0]), kind="INNER" if on else "CROSS")
            if on:
                join.set("on", all_of(on))
            joins.append(join)
        query.set("joins", joins)
        if left:
            query.set("where", exp.Where(this=all_of(left)))
        return query

    def change(self, rules: ChangeRules) -> Change | None:
        """The change of each part with the new rows of the parts before it and the old rows of those behind."""
        terms: list[exp.Select] = []
        inserts_only = True
        for position, part in enumerate(self.parts):
            change = rules.change(part)
            if change is None:
                continue
            inserts_only = inserts_only and change.inserts_only
            terms.append(self._term(rules, position, change))
        return Change(rules.sum(terms, self.columns), inserts_only) if terms else None

    def _term(self, rules: ChangeRules, position: int, change: Change) -> exp.Select:
        """A part's change joined with the other parts, of which only the rows are read that it can meet."""
        renderer, lookups, part = rules.renderer, rules.lookups, self.parts[position]
        sides = [(other, When.NEW if index < position else When.OLD) for index, other in enumerate(self.parts)]
        waiting = [*sides[:position], *sides[position + 1 :]]
        known = rules.key_columns(part, change)
        parts: list[tuple[exp.Expr, frozenset[str]]] = [(rules.latest(part, change).query, part.ids | {WEIGHT})]
        while waiting:
            chosen, restriction = nearest(waiting, self._conjuncts, known, lookups.narrowed)
            waiting.remove(chosen)
            other, when = chosen
            lookups.forget()
            query = renderer.rows(other, when, restriction)
            found = lookups.found(other, when)
            if restriction is not None and not found:
                name = lookups.add(f"rows of {tables_in(other)} that the changes meet", query)
                query = renderer.of_table(name, other.columns)
                found = {column.id: (name, column.id) for column in other.columns}
            known.update(found)
            parts.append((query, other.ids))
        return self._joined(renderer, parts, When.NEW, weighted=True)

    @property
    def joining(self) -> tuple[exp.Expr, ...]:
        return self.conditions

    def joined_by(self, conditions: Sequence[exp.Expr]) -> Operator:
        return replace(self, conditions=tuple(conditions))

    def unfold(self, block: Unfolding, *, top: bool) -> None:
        block.conditions += self.conditions
        for part in self.parts:
            part.unfold(block, top=False)

    def hoisted(self, free: frozenset[str]) -> Hoisted | None:
        parts: list[Operator] = []
        found: list[exp.Expr] = []
        for part in self.parts:
            below = part.hoist()
            if below is None:
                return None
            parts.append(below[0])
            found += below[1]
        found += [condition for condition in self.conditions if columns_in(condition) & free]
        kept = tuple(condition for condition in self.conditions if not columns_in(condition) & free)
        return InnerJoin(tuple(parts), kept), found

    def joined_with(self, domain: OuterDomain) -> Joined:
        names: OuterNames | None = None
        parts: list[Operator] = []
        conditions: list[exp.Expr] = []
        for part in self.parts:
            if not part.free_ids & domain.ids:
                parts.append(part)
                continue
            joined, own = domain.join(part)
            parts.append(joined)
            if names is None:
                names = own
            else:
                conditions += [same(names[name].ref, own[name].ref) for name in names]
        if names is None:
            values, names = domain.copy()
            parts.insert(0, values)
        conditions += [names.put_into(condition) for condition in self.conditions]
        return InnerJoin(tuple(parts), tuple(conditions)), names

    def identified(self, identify: Identify) -> Identified:
        found = [identify(part) for part in self.parts]
        return self.over([part for part, _ in found]), tuple(c for _, columns in found for c in columns)


def _connects(conditions: Sequence[exp.Expr], bound: set[str], part: frozenset[str]) -> bool:
    for condition in conditions:
        names = columns_in(condition)
        if names & bound and names & part and names <= bound | part and isinstance(condition, exp.EQ | exp.NullSafeEQ):
            return True
    return False


def inner_join(parts: Sequence[Operator], conditions: Sequence[exp.Expr]) -> Operator:
    """The parts joined, each condition as deep as the columns it names are."""
    found = list(parts)
    joining: list[exp.Expr] = []
    above: list[exp.Expr] = []
    for condition in conditions:
        names = columns_in(condition)
        position = next((index for index, part in enumerate(parts) if names and names <= part.ids), None)
        if position is None:
            # What moves with the clock stays a filter, which knows how to find the rows that come and go with time.
            (above if moves(condition) else joining).append(condition)
        else:
            found[position] = filtered(found[position], condition)
    node = InnerJoin(tuple(found), tuple(joining)) if len(found) > 1 else found[0]
    above += joining if len(found) == 1 else []
    return Filter(node, all_of(above)) if above else node
