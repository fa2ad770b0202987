"""LATERAL FLATTEN: each row of the input with the rows that a call makes of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from snowmelt.ivm.algebra import PlanColumn, When
from snowmelt.ivm.changes import Change, ChangeRules
from snowmelt.ivm.operators.base import Joined, OuterDomain, Unary
from snowmelt.ivm.rendering import PlanRenderer, RenderedRows, Restriction, select_from, selected
from snowmelt.ivm.trees import quoted


@dataclass(frozen=True, eq=False)
class Unnest(Unary):
    no_identity = "'Table Function'"
    words = ""
    call: exp.Expr
    items: tuple[tuple[PlanColumn, str], ...]
    """Added columns and their names in the call's rows."""

    @cached_property
    def columns(self) -> tuple[PlanColumn, ...]:
        return (*self.input.columns, *(column for column, _ in self.items))

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        return (self.call,)

    def _unnested(self, renderer: PlanRenderer, below: exp.Select, when: When, *, weighted: bool = False) -> exp.Select:
        alias = exp.TableAlias(this=quoted(renderer.alias()), columns=[quoted(column.id) for column, _ in self.items])
        added = exp.Lateral(this=renderer.at(self.call, when), alias=alias)
        query = select_from(renderer.source(below), selected(self.columns, weighted=weighted))
        query.set("joins", [exp.Join(this=added, kind="CROSS")])
        return query

    def rows(self, renderer: PlanRenderer, when: When, restriction: Restriction | None) -> RenderedRows:
        below, exact = self.rows_below(renderer, when, restriction, self.input.ids)
        return self._unnested(renderer, below, when), exact

    def change(self, rules: ChangeRules) -> Change | None:
        change = rules.change(self.input)
        if change is None:
            return None
        return Change(self._unnested(rules.renderer, change.query, When.NEW, weighted=True), change.inserts_only)

    def joined_with(self, domain: OuterDomain) -> Joined:
        below, names = domain.join(self.input)
        return replace(self, input=below, call=names.put_into(self.call)), names
