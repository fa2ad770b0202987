"""Window functions that all have one partition, whose keys are columns of the input, beside the input's columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from snowmelt.ivm.algebra import Item, PlanColumn, When, all_of, columns_in, conjuncts, ids_of, passed
from snowmelt.ivm.changes import Change, ChangeRules
from snowmelt.ivm.operators.base import Joined, Operator, OuterDomain, Unary
from snowmelt.ivm.operators.filter import filtered
from snowmelt.ivm.operators.first_row import first_row
from snowmelt.ivm.operators.project import Project
from snowmelt.ivm.rendering import PlanRenderer, RenderedRows, Restriction, named, select_from, selected, total_order
from snowmelt.ivm.trees import aggregate_name, is_exact, number

_FRAMED = {"first_value", "last_value", "first", "last", "any_value", "collect_list"}
_ORDERED = _FRAMED | {"row_number", "lag", "lead", "nth_value", "ntile"}
"""Functions for which the order among equal rows counts."""
_INTEGERS = {exp.DType.INT, exp.DType.BIGINT}


@dataclass(frozen=True, eq=False)
class Windowed(Unary):
    no_identity = "'Window Function'"
    partition: tuple[PlanColumn, ...]
    items: tuple[Item, ...]

    @cached_property
    def columns(self) -> tuple[PlanColumn, ...]:
        return (*self.input.columns, *(item.column for item in self.items))

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        return tuple(item.value for item in self.items)

    @property
    def group_keys(self) -> tuple[PlanColumn, ...]:
        return self.partition

    def rows(self, renderer: PlanRenderer, when: When, restriction: Restriction | None) -> RenderedRows:
        below, exact = self.rows_below(renderer, when, restriction, ids_of(self.partition))
        items = []
        for item in self.items:
            window = renderer.at(item.value, when)
            assert isinstance(window, exp.Window)
            items.append(named(_ordered(window.copy(), self.input.columns), item.column.id))
        query = select_from(renderer.source(below), [*selected(self.input.columns), *items])
        return query, exact

    def change(self, rules: ChangeRules) -> Change | None:
        keys = self.affected(rules)
        return rules.difference(self, keys) if keys is not None else None

    def affected(self, rules: ChangeRules) -> Restriction | None:
        """A change of a row concerns its own partition, whatever windows below with these keys make of it. What those
        change need not be found out: it would be computed only to be computed again for the whole partition."""
        below, keys = self.input.keys_below(rules, self.partition) or (self.input, self.partition)
        return rules.partitions_changed(below, keys, self.partition)

    def first_row(self, condition: exp.Expr, inexact: frozenset[str]) -> Operator | None:
        item = self.items[0]
        order = item.value.args.get("order")
        if len(self.items) > 1 or aggregate_name(item.value.this) != "row_number" or order is None:
            return None
        others = [one for one in conjuncts(condition) if not _is_first(one, item.column.id)]
        if len(others) == len(conjuncts(condition)):
            return None
        below = first_row(self.input, self.partition, order.expressions, inexact)
        if below is None:
            return None
        rank = Item(item.column, exp.cast(number(1), "INT"))
        ranked = Project(below, (*passed(self.input.columns), rank))
        return filtered(ranked, all_of(others)) if others else ranked

    def unique_by(self, conditions: Sequence[exp.Expr]) -> tuple[PlanColumn, ...] | None:
        ranks = [item.column.id for item in self.items if aggregate_name(item.value.this) == "row_number"]
        asked = [one for condition in conditions for one in conjuncts(condition)]
        return self.partition if any(_is_first(one, rank) for one in asked for rank in ranks) else None

    def keys_below(
        self, rules: ChangeRules, keys: tuple[PlanColumn, ...]
    ) -> tuple[Operator, tuple[PlanColumn, ...]] | None:
        if not ids_of(keys) <= ids_of(self.partition):
            return None
        return self.input.keys_below(rules, keys) or (self.input, keys)

    def needs(self, needed: set[str], below: Operator) -> Iterable[str]:
        values = [item.value for item in self.items if item.column.id in needed]
        return needed | ids_of(self.partition) | columns_in(*values)

    def pruned(self, needed: set[str], inputs: Sequence[Operator]) -> Operator:
        items = tuple(item for item in self.items if item.column.id in needed)
        return Windowed(inputs[0], self.partition, items) if items else inputs[0]

    def inexact(self, found: set[str]) -> Iterable[str]:
        below = self.input.columns
        return {i.column.id for i in self.items if not is_exact(i.value.this, below) or columns_in(i.value) & found}

    def exact_keys(self) -> Iterable[tuple[str, Iterable[str]]]:
        orders = [item.value.args["order"] for item in self.items if item.value.args.get("order") is not None]
        return [("PARTITION BY", ids_of(self.partition)), ("OVER (ORDER BY …)", columns_in(*orders))]

    def joined_with(self, domain: OuterDomain) -> Joined:
        below, names = domain.join(self.input)
        items = tuple(Item(item.column, names.put_into(item.value)) for item in self.items)
        for item in items:
            keys = item.value.args.get("partition_by") or []
            item.value.set("partition_by", [*keys, *(column.ref for column in names.values())])
        return Windowed(below, (*self.partition, *names.values()), items), names


def _is_first(condition: exp.Expr, rank: str) -> bool:
    """Whether the condition says of a rank, which is 1 or more, that it is 1."""
    sides = _bare(condition.this), _bare(condition.expression)
    if isinstance(condition, exp.EQ) and isinstance(sides[1], exp.Column):
        sides = sides[::-1]
    column, value = sides
    if not isinstance(column, exp.Column) or column.name != rank or not isinstance(value, exp.Literal | exp.Var):
        return False
    most = 2 if isinstance(condition, exp.LT) else 1
    return isinstance(condition, exp.EQ | exp.LTE | exp.LT) and value.name in (f"{most}", f"{most}L")


def _bare(tree: exp.Expr | None) -> exp.Expr | None:
    """Without what leaves an integer as it is."""
    while isinstance(tree, exp.Paren) or (isinstance(tree, exp.Cast) and tree.to.this in _INTEGERS):
        tree = tree.this
    return tree


def _ordered(window: exp.Window, columns: Sequence[PlanColumn]) -> exp.Window:
    """Where the position of a row among its equals counts, all columns decide, so that the result is the same each
    time. RANK and RANGE frames give equals the same and must not get such an order."""
    spec = window.args.get("spec")
    rows = isinstance(spec, exp.WindowSpec) and str(spec.args.get("kind") or "").upper() == "ROWS"
    name = aggregate_name(window.this)
    if not (rows or name in _ORDERED):
        return window
    order = window.args.get("order")
    given = order.expressions if order is not None else []
    if not given and name not in _ORDERED:
        return window
    window.set("order", exp.Order(expressions=total_order(given, columns)))
    if name in _FRAMED and spec is None:
        # An order that we added must not change the frame from the whole partition to the rows so far.
        end = {"end": "CURRENT ROW"} if given else {"end": "UNBOUNDED", "end_side": "FOLLOWING"}
        window.set("spec", exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", **end))
    return window
