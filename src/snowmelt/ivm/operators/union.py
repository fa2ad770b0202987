"""UNION ALL: columns correspond by their position."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from snowmelt.ivm.algebra import Item, PlanColumn, When, passed
from snowmelt.ivm.changes import Change, ChangeRules, weighted
from snowmelt.ivm.operators.base import Identified, Identify, Joined, Operator, OuterDomain, OuterNames
from snowmelt.ivm.operators.project import Project, only
from snowmelt.ivm.rendering import PlanRenderer, RenderedRows, Restriction
from snowmelt.ivm.trees import call


@dataclass(frozen=True, eq=False)
class Union(Operator):
    branches: tuple[Operator, ...]
    outputs: tuple[PlanColumn, ...]

    @property
    def columns(self) -> tuple[PlanColumn, ...]:
        return self.outputs

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return self.branches

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        return ()

    def over(self, inputs: Sequence[Operator]) -> Operator:
        return replace(self, branches=tuple(inputs))

    def rows(self, renderer: PlanRenderer, when: When, restriction: Restriction | None) -> RenderedRows:
        branches = []
        exact = True
        for branch in self.branches:
            names = {out.id: own.id for out, own in zip(self.outputs, branch.columns, strict=True)}
            inside = restriction.renamed(names) if restriction is not None else None
            below, whole = renderer.some_rows(branch, when, inside)
            exact = exact and whole
            branches.append(renderer.of(below, self.outputs, [column.id for column in branch.columns]))
        return renderer.united(branches, [column.id for column in self.outputs]), exact

    def change(self, rules: ChangeRules) -> Change | None:
        terms: list[exp.Select] = []
        inserts_only = True
        for branch in self.branches:
            change = rules.change(branch)
            if change is not None:
                query = rules.renderer.of(change.query, self.outputs, [column.id for column in branch.columns])
                terms.append(weighted(query))
                inserts_only = inserts_only and change.inserts_only
        return Change(rules.sum(terms, self.columns), inserts_only) if terms else None

    def _positions(self, needed: set[str]) -> list[int]:
        return [position for position, column in enumerate(self.outputs) if column.id in needed] or [0]

    def needs(self, needed: set[str], below: Operator) -> Iterable[str]:
        return {below.columns[position].id for position in self._positions(needed)}

    def pruned(self, needed: set[str], inputs: Sequence[Operator]) -> Operator:
        positions = self._positions(needed)
        branches = [
            only(below, [branch.columns[position] for position in positions])
            for branch, below in zip(self.branches, inputs, strict=True)
        ]
        return Union(tuple(branches), tuple(self.outputs[position] for position in positions))

    def inexact(self, found: set[str]) -> Iterable[str]:
        pairs = [pair for branch in self.branches for pair in zip(self.outputs, branch.columns, strict=True)]
        return {out.id for out, own in pairs if own.id in found}

    def joined_with(self, domain: OuterDomain) -> Joined:
        names = OuterNames((column.id, domain.fresh(column.type)) for column in domain.columns)
        branches: list[Operator] = []
        for branch in self.branches:
            below, own = domain.join(branch)
            branches.append(Project(below, passed([*branch.columns, *(own[name] for name in names)])))
        return Union(tuple(branches), (*self.outputs, *names.values())), names

    def identified(self, identify: Identify) -> Identified:
        """Rows of different branches are different rows, even if they come from the same one."""
        branches = []
        for position, branch in enumerate(self.branches):
            below, columns = identify(branch)
            items = [Item(PlanColumn(identify.fresh().id, column.type), column.ref) for column in branch.columns]
            parts = [exp.Literal.string(str(position)), *(column.ref for column in columns)]
            whole = call("concat_ws", exp.Literal.string("/"), *parts)
            branches.append(Project(below, (*items, Item(identify.fresh(), whole))))
        column = identify.fresh()
        return Union(tuple(branches), (*self.outputs, column)), (column,)
