"""The first row of each group in an order, as `QUALIFY ROW_NUMBER() OVER (…) = 1` asks for, with a state.

The state has the first row of every group. A row that came need only be compared with it; only where it went, and no
row came that stands before it, are the rows of that group read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from snowmelt.core.types import Kind
from snowmelt.ivm import first_rows, state_rows
from snowmelt.ivm.algebra import PlanColumn, When, columns_in, ids_of
from snowmelt.ivm.changes import Change, ChangeRules
from snowmelt.ivm.operators.base import Operator, Unary
from snowmelt.ivm.rendering import PlanRenderer, RenderedRows, Restriction
from snowmelt.ivm.states import EQUAL_IS_SAME, GroupState

_KEPT = EQUAL_IS_SAME | {Kind.FLOAT, Kind.BINARY}
"""Kinds whose values are stored and read again as they were."""


@dataclass(frozen=True, eq=False)
class FirstRow(Unary):
    no_identity = "'Window Function'"
    keys: tuple[PlanColumn, ...]
    order: tuple[exp.Expr, ...]

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        return self.order

    @property
    def group_keys(self) -> tuple[PlanColumn, ...]:
        return self.keys

    def unique_by(self, conditions: Sequence[exp.Expr]) -> tuple[PlanColumn, ...]:
        return self.keys

    def rows(self, renderer: PlanRenderer, when: When, restriction: Restriction | None) -> RenderedRows:
        state = renderer.states.get(id(self))
        if state is not None:
            return state_rows.of_state(renderer, self, state, when, restriction)
        below, exact = self.rows_below(renderer, when, restriction, ids_of(self.keys))
        return first_rows.first(renderer, self, below, when), exact

    def state(self, name: str, types: Mapping[str, str]) -> GroupState | None:
        return first_rows.state_of(name, self, types)

    def state_rows(self, renderer: PlanRenderer, state: GroupState, rows: exp.Select) -> exp.Select:
        return first_rows.initial(renderer, self, state, rows)

    def change(self, rules: ChangeRules) -> Change | None:
        keys = self.affected(rules)
        return rules.difference(self, keys) if keys is not None else None

    def affected(self, rules: ChangeRules) -> Restriction | None:
        state = rules.renderer.states.get(id(self))
        if state is not None:
            return state_rows.restriction_to(state, state.changed) if rules.grows(self) else None
        below, keys = self.input.keys_below(rules, self.keys) or (self.input, self.keys)
        return rules.partitions_changed(below, keys, self.keys)

    def keys_below(
        self, rules: ChangeRules, keys: tuple[PlanColumn, ...]
    ) -> tuple[Operator, tuple[PlanColumn, ...]] | None:
        if not ids_of(keys) <= ids_of(self.keys):
            return None
        return self.input.keys_below(rules, keys) or (self.input, keys)

    def needs(self, needed: set[str], below: Operator) -> Iterable[str]:
        return needed | ids_of(self.keys) | columns_in(*self.order)

    def exact_keys(self) -> Iterable[tuple[str, Iterable[str]]]:
        return [("PARTITION BY", ids_of(self.keys)), ("OVER (ORDER BY …)", columns_in(*self.order))]

    def grow(self, rules: ChangeRules) -> bool:
        change = rules.change(self.input)
        if change is None:
            return False
        query = change.query.copy() if change.inserts_only else rules.netted(change.query, self.input.columns)
        state = rules.renderer.states[id(self)]
        first_rows.grow(rules.renderer, self, self.input, state, query, inserts_only=change.inserts_only)
        return True


def first_row(
    below: Operator, keys: tuple[PlanColumn, ...], order: Sequence[exp.Expr], inexact: frozenset[str]
) -> FirstRow | None:
    """None where a state can't keep the rows, and where it would be of no use: the rows of a table that have a key are
    found by it."""
    others = below.ids - ids_of(keys)
    kinds = {column.id: column.type.kind if column.type is not None else None for column in below.columns}
    kept = all(kinds[id_] in _KEPT for id_ in others) and all(kinds[key.id] in EQUAL_IS_SAME for key in keys)
    if not others or not keys or not kept or below.ids & inexact:
        return None
    origin = below.origin()
    if origin is not None and origin.searched and any(key.id in origin.columns for key in keys):
        return None
    return FirstRow(below, keys, tuple(order))
