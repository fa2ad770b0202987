"""Rows that never change: VALUES, SELECT without FROM, GENERATOR."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from snowmelt.ivm.algebra import When
from snowmelt.ivm.changes import ChangeRules
from snowmelt.ivm.operators.base import Identified, Identify, Leaf
from snowmelt.ivm.rendering import PlanRenderer, RenderedRows, Restriction


@dataclass(frozen=True, eq=False)
class Constant(Leaf):
    query: exp.Query

    @property
    def constants(self) -> tuple[exp.Expr, ...]:
        return (self.query,)

    def rows(self, renderer: PlanRenderer, when: When, restriction: Restriction | None) -> RenderedRows:
        return renderer.of(self.query, self.columns, [name for _, name in self.items]), False

    def change(self, rules: ChangeRules) -> None:
        return None

    def identified(self, identify: Identify) -> Identified:
        return self, ()
