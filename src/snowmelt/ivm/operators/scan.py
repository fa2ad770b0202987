"""A table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from snowmelt.core.types import Kind
from snowmelt.ivm.algebra import IDENTITY, PlanColumn, When, table_name
from snowmelt.ivm.changes import Change, ChangeRules, weighted
from snowmelt.ivm.operators.base import Identified, Identify, Leaf
from snowmelt.ivm.rendering import PlanRenderer, RenderedRows, Restriction, ScanOrigin, moves


@dataclass(frozen=True, eq=False)
class Scan(Leaf):
    table: str

    @cached_property
    def tables(self) -> frozenset[str]:
        return frozenset({self.table})

    def rows(self, renderer: PlanRenderer, when: When, restriction: Restriction | None) -> RenderedRows:
        return self.rows_meeting(renderer, when, restriction, ())

    def rows_meeting(
        self, renderer: PlanRenderer, when: When, restriction: Restriction | None, conditions: Sequence[exp.Expr]
    ) -> RenderedRows:
        """A restriction makes them a stage, which storage may find by itself."""
        source = table_name(self.table, side := renderer.lookups.side(self.table, when))
        rows = renderer.of_table(source, self.columns, [name for _, name in self.items])
        if restriction is None:
            return rows, True
        still = tuple(condition for condition in conditions if not moves(condition))
        rows = renderer.of(rows, self.columns)
        if still:
            rows = renderer.of(rows.where(*[condition.copy() for condition in still], copy=False), self.columns)
        names = {column.id: name for column, name in self.items}
        query = renderer.restricted(rows, restriction)
        stage = renderer.lookups.look_up(source, names, restriction, query, still)
        renderer.lookups.remember(self, side, stage)
        return renderer.of_table(stage, self.columns), True

    def change(self, rules: ChangeRules) -> Change:
        source = table_name(self.table, "change")
        query = rules.renderer.of_table(source, self.columns, [name for _, name in self.items])
        return Change(weighted(query), rules.tables[self.table].inserts_only)

    def origin(self) -> ScanOrigin:
        names = {column.id: name for column, name in self.items}
        searched = not any(column.is_variant or _is_time(column) for column in self.columns)
        return ScanOrigin(self, self.table, names, {id_: id_ for id_ in names}, searched)

    def identified(self, identify: Identify) -> Identified:
        column = identify.fresh()
        return replace(self, items=(*self.items, (column, IDENTITY))), (column,)


def _is_time(column: PlanColumn) -> bool:
    return column.type is not None and column.type.kind is Kind.TIME
