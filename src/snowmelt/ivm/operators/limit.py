"""ORDER BY … LIMIT: the order is total, so that the rows are the same each time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from snowmelt.ivm import top_rows
from snowmelt.ivm.algebra import Item, PlanColumn, When, all_of, passed
from snowmelt.ivm.changes import Change, ChangeRules
from snowmelt.ivm.operators.base import Joined, OuterDomain, Unary
from snowmelt.ivm.operators.filter import Filter
from snowmelt.ivm.operators.project import Project
from snowmelt.ivm.operators.windowed import Windowed
from snowmelt.ivm.rendering import PlanRenderer, RenderedRows, Restriction, total_order
from snowmelt.ivm.trees import call, number


@dataclass(frozen=True, eq=False)
class Limit(Unary):
    no_identity = "LIMIT"
    words = "ORDER BY … LIMIT"
    order: tuple[exp.Ordered, ...]
    count: int | None
    offset: int = 0

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        return self.order

    @property
    def group_keys(self) -> tuple[PlanColumn, ...]:
        return ()

    def rows(self, renderer: PlanRenderer, when: When, restriction: Restriction | None) -> RenderedRows:
        query = renderer.of(renderer.rows(self.input, when), self.columns)
        query.set("order", exp.Order(expressions=total_order(self.order, self.input.columns)))
        if self.count is not None:
            query.set("limit", exp.Limit(expression=number(self.count)))
        if self.offset:
            query.set("offset", exp.Offset(expression=number(self.offset)))
        return query, False

    def change(self, rules: ChangeRules) -> Change | None:
        return rules.difference(self) if rules.change(self.input) is not None else None

    def top_rows(self, rules: ChangeRules, names: Mapping[str, str]) -> top_rows.TopRows | None:
        change = rules.change(self.input)
        if change is None or self.offset or self.count is None:
            return None
        return top_rows.top_rows(rules, change, self.columns, self.order, self.count, names)

    def joined_with(self, domain: OuterDomain) -> Joined:
        """The rows of each value of the domain, by their numbers."""
        below, names = domain.join(self.input)
        row_number = domain.fresh(None)
        window = exp.Window(
            this=call("row_number"),
            partition_by=[column.ref for column in names.values()],
            order=exp.Order(expressions=[names.put_into(item) for item in self.order]),
            over="OVER",
        )
        numbered = Windowed(below, tuple(names.values()), (Item(row_number, window),))
        bounds: list[exp.Expr] = [exp.GT(this=row_number.ref, expression=number(self.offset))]
        if self.count is not None:
            bounds.append(exp.LTE(this=row_number.ref, expression=number(self.offset + self.count)))
        return Project(Filter(numbered, all_of(bounds)), passed([*self.columns, *names.values()])), names
