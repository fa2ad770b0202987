"""Subqueries become joins: the conditions that name outer columns move up into the join. Where that can't be (below an
aggregate with other conditions than equality, below LIMIT, in a SELECT list), the domain of the outer values moves in.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from snowmelt.ivm.algebra import Fresh, Item, PlanColumn, all_of, passed
from snowmelt.ivm.operators.aggregate import Aggregate
from snowmelt.ivm.operators.base import Joined, Operator, OuterNames
from snowmelt.ivm.operators.inner_join import InnerJoin
from snowmelt.ivm.operators.join import Join, JoinKind
from snowmelt.ivm.operators.project import Project
from snowmelt.ivm.trees import call, column_of, number, same

_TOO_MANY = "SNOWMELT:090150:22000:Single-row subquery returns more than one row."


class Decorrelation:
    def __init__(self, fresh: Fresh) -> None:
        self._fresh = fresh

    def lateral(self, outer: Operator, inner: Operator) -> Operator:
        """Each outer row with the rows that the inner query has for it."""
        joined, conditions = self._joinable(outer, inner)
        return InnerJoin((outer, joined), tuple(conditions))

    def filtered(self, kind: JoinKind, outer: Operator, inner: Operator, condition: Sequence[exp.Expr]) -> Operator:
        """The outer rows for which the inner query has (SEMI) or has not (ANTI) a row that meets the condition."""
        joined, conditions = self._joinable(outer, inner)
        return Join(kind, outer, joined, all_of([*conditions, *condition]))

    def _joinable(self, outer: Operator, inner: Operator) -> tuple[Operator, list[exp.Expr]]:
        """The inner query without outer columns, and the conditions that join it instead."""
        return inner.hoist() or self._over_domain(outer, inner)

    def scalar(self, outer: Operator, inner: Operator, value: PlanColumn) -> tuple[Operator, exp.Expr]:
        """The outer rows with the inner query's one value, and the expression for it."""
        if not inner.passage().bottom.has_one_row:
            inner, value = self._single(inner, value)
        if not inner.free_ids:
            filtered = bool(inner.passage().conditions)
            joined = Join(JoinKind.LEFT, outer, inner, exp.true()) if filtered else InnerJoin((outer, inner), ())
            return joined, value.ref
        found = inner.value_for(outer, self._fresh)
        if found is None:
            joined_inner, on = self._over_domain(outer, inner)
            return Join(JoinKind.LEFT, outer, joined_inner, all_of(on)), value.ref
        node, guards = found
        return node, exp.Case(ifs=[exp.If(this=all_of(guards), true=value.ref)]) if guards else value.ref

    def _single(self, inner: Operator, value: PlanColumn) -> tuple[Operator, PlanColumn]:
        """A query that is not an aggregate, as one: more than one row is an error."""
        kept, count, out = self._fresh(value.type), self._fresh(None), self._fresh(value.type)
        aggregate = Aggregate(
            inner, (), (Item(kept, call("any_value", value.ref)), Item(count, call("count", number(1))))
        )
        many = exp.GT(this=count.ref, expression=number(1))
        failing = exp.If(this=many, true=call("raise_error", exp.Literal.string(_TOO_MANY)))
        checked = exp.Case(ifs=[failing], default=kept.ref)
        return Project(aggregate, (Item(out, checked),)), out

    def _over_domain(self, outer: Operator, inner: Operator) -> tuple[Operator, list[exp.Expr]]:
        """The inner query for every distinct combination of the outer values it names, and what joins it to those."""
        names = inner.free_ids
        wanted = tuple(column for column in outer.columns if column.id in names)
        values = Aggregate(Project(outer, passed(wanted)), wanted, ())
        joined, own = _OuterValues(self._fresh, values).join(inner)
        return joined, [same(column_of(name), column.ref) for name, column in own.items()]


class _OuterValues:
    """Joins the domain into a query, as deep as its columns are named."""

    def __init__(self, fresh: Fresh, values: Aggregate) -> None:
        self.fresh = fresh
        self.columns = values.keys
        self.ids = values.ids
        self._values = values

    def join(self, node: Operator) -> Joined:
        """The query with columns of its own for the domain's values, which the mapping names."""
        if node.free_ids & self.ids:
            return node.joined_with(self)
        values, names = self.copy()
        return InnerJoin((values, node), ()), names

    def copy(self) -> Joined:
        names = OuterNames((column.id, self.fresh(column.type)) for column in self.columns)
        return Project(self._values, tuple(Item(names[column.id], column.ref) for column in self.columns)), names
