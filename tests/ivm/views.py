"""Refreshes with one choice of the planner taken away: all must come to the same rows."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sqlglot import exp

from snowmelt.ivm.algebra import When
from snowmelt.ivm.changes import ChangeRules, TableChange
from snowmelt.ivm.lowering import lower
from snowmelt.ivm.plan import Apply, ApplyKind, RefreshPlanner
from snowmelt.ivm.rendering import PlanRenderer, Restriction, RowSource
from tests.ivm.duck import Row, View


class _BagPlanner(RefreshPlanner):
    """Never by key: every row that changed, with its weight."""

    def _apply(self, rules: ChangeRules) -> Apply:
        if self._inexact & {column.id for _, column in self.view.outputs}:
            # Their old values can't be found again.
            return super()._apply(rules)
        change = rules.change(self.view.root)
        if change is None:
            return Apply(ApplyKind.NOTHING)
        netted = rules.netted(change.query, self.view.root.columns)
        return Apply(ApplyKind.BAG, self._weighted_out(rules, netted))


class BagView(View):
    def _planner(self) -> RefreshPlanner:
        return _BagPlanner(lower(self.bound.tree, self.tables))


class GeneralView(View):
    """Inserts are not known to be inserts, so that no rule takes its shortcut for them."""

    def _note(self, net: Counter[Row]) -> TableChange:
        return TableChange(inserts_only=False)


class StatefulView(View):
    """Sums are kept beside the table, and what changed is added to them."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options, states=True)


class UnpushedRenderer(PlanRenderer):
    """Restrictions are tested above a node, never pushed below it."""

    def some_rows(self, node: RowSource, when: When, restriction: Restriction | None) -> tuple[exp.Select, bool]:
        return super().some_rows(node, when, None)[0], restriction is None
