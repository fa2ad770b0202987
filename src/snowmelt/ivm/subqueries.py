"""Subqueries become joins: by moving the conditions that name outer columns up, or by the domain of their values.

Most correlated subqueries name outer columns only in conditions of WHERE. Those conditions move up into the join. Where
that can't be (below an aggregate with other conditions than equality, below LIMIT, in a SELECT list), the distinct
values of the outer columns are joined into the subquery, which then has a result for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from snowmelt.core.types import DataType
from snowmelt.ivm.algebra import (
    Aggregate,
    Column,
    Constant,
    Filter,
    InnerJoin,
    Item,
    Join,
    JoinKind,
    Limit,
    Node,
    Project,
    Scan,
    Union,
    Unnest,
    Window,
    all_of,
    columns_in,
    conjuncts,
)
from snowmelt.ivm.reasons import NotIncrementalError, Reason
from snowmelt.ivm.trees import aggregate_name, call, number, same, substituted

Fresh = Callable[[DataType | None], Column]
_COUNTS = {"count", "count_if", "approx_count_distinct", "regr_count"}
_LISTS = {"collect_list", "collect_set", "array_agg"}
_TOO_MANY = "SNOWMELT:090150:22000:Single-row subquery returns more than one row."


def free_ids(node: Node) -> frozenset[str]:
    """The ids that the node's expressions name and nothing in it produces."""
    used: set[str] = set()
    made: set[str] = set()
    for below in node.walk():
        made |= below.ids
        for tree in below.expressions:
            used |= columns_in(tree)
    return frozenset(used - made)


def passed(columns: Sequence[Column]) -> tuple[Item, ...]:
    """Columns as they are."""
    return tuple(Item(column, column.ref) for column in columns)


def empty_value(aggregate: exp.Expr) -> exp.Expr:
    """What an aggregate gives for no rows."""
    name = aggregate_name(aggregate)
    if name in _COUNTS:
        return exp.cast(number(0), "BIGINT")
    return call("array") if name in _LISTS else exp.null()


class Decorrelation:
    def __init__(self, fresh: Fresh) -> None:
        self._fresh = fresh

    # -- joins ----------------------------------------------------------------------------------------------------

    def lateral(self, outer: Node, inner: Node) -> Node:
        """Each outer row with the rows that the inner query has for it."""
        joined, conditions = self._joinable(outer, inner)
        return InnerJoin((outer, joined), tuple(conditions))

    def filtered(self, kind: JoinKind, outer: Node, inner: Node, condition: Sequence[exp.Expr]) -> Node:
        """The outer rows for which the inner query has (SEMI) or has not (ANTI) a row that meets the condition."""
        joined, conditions = self._joinable(outer, inner)
        return Join(kind, outer, joined, all_of([*conditions, *condition]))

    def _joinable(self, outer: Node, inner: Node) -> tuple[Node, list[exp.Expr]]:
        """The inner query without outer columns, and the conditions that join it instead."""
        if not free_ids(inner):
            return inner, []
        hoisted = _hoisted(inner)
        if hoisted is not None:
            return hoisted
        pushed, domain = self._over_domain(outer, inner)
        return pushed, [same(exp.column(_quoted(name)), column.ref) for name, column in domain.items()]

    # -- values ---------------------------------------------------------------------------------------------------

    def scalar(self, outer: Node, inner: Node, value: Column) -> tuple[Node, exp.Expr]:
        """The outer rows with the inner query's one value, and the expression for it."""
        path, aggregate = _below_projections(inner)
        if aggregate is None:
            inner, value = self._single(inner, value)
            path, aggregate = _below_projections(inner)
        assert aggregate is not None
        if not free_ids(inner):
            return self._uncorrelated(outer, inner, value, path)
        joined = self._grouped_by_outer(outer, aggregate)
        if joined is None:
            pushed, domain = self._over_domain(outer, inner)
            on = [same(exp.column(_quoted(name)), column.ref) for name, column in domain.items()]
            return Join(JoinKind.LEFT, outer, pushed, all_of(on)), value.ref
        node, guards = joined, []
        for step in reversed(path):
            if isinstance(step, Filter):
                guards.append(step.condition)
            else:
                assert isinstance(step, Project)
                kept = [c for c in node.columns if c.id not in step.ids]
                node = Project(node, (*passed(kept), *step.items))
        tree: exp.Expr = value.ref
        if guards:
            tree = exp.Case(ifs=[exp.If(this=all_of(guards), true=tree)])
        return node, tree

    def _single(self, inner: Node, value: Column) -> tuple[Node, Column]:
        """A query that is not an aggregate, as one: more than one row is an error."""
        kept, count, out = self._fresh(value.type), self._fresh(None), self._fresh(value.type)
        aggregate = Aggregate(
            inner, (), (Item(kept, call("any_value", value.ref)), Item(count, call("count", number(1))))
        )
        many = exp.GT(this=count.ref, expression=number(1))
        failing = exp.If(this=many, true=call("raise_error", exp.Literal.string(_TOO_MANY)))
        checked = exp.Case(ifs=[failing], default=kept.ref)
        return Project(aggregate, (Item(out, checked),)), out

    def _uncorrelated(self, outer: Node, inner: Node, value: Column, path: Sequence[Node]) -> tuple[Node, exp.Expr]:
        if any(isinstance(step, Filter) for step in path):
            return Join(JoinKind.LEFT, outer, inner, exp.true()), value.ref
        return InnerJoin((outer, inner), ()), value.ref

    def _grouped_by_outer(self, outer: Node, aggregate: Aggregate) -> Node | None:
        """The outer rows with the aggregates of the inner rows that match them by equality; None if not so simple."""
        hoisted = _hoisted(aggregate.input)
        if hoisted is None or any(columns_in(item.value) & free_ids(aggregate) for item in aggregate.items):
            return None
        below, conditions = hoisted
        keys: list[Item] = []
        on: list[exp.Expr] = []
        for condition in conditions:
            sides = _sides(condition, below.ids)
            if sides is None:
                return None
            key = self._fresh(None)
            keys.append(Item(key, sides[0]))
            on.append(type(condition)(this=key.ref, expression=sides[1].copy()))
        used = frozenset().union(*(columns_in(item.value) for item in aggregate.items))
        kept = [column for column in below.columns if column.id in used]
        renamed = {item.column.id: self._fresh(item.column.type) for item in aggregate.items}
        grouped = Aggregate(
            Project(below, (*passed(kept), *keys)),
            tuple(item.column for item in keys),
            tuple(Item(renamed[item.column.id], item.value) for item in aggregate.items),
        )
        joined = Join(JoinKind.LEFT, outer, grouped, all_of(on))
        return Project(joined, (*passed(outer.columns), *_filled(aggregate, renamed)))

    # -- by the domain of the outer values ------------------------------------------------------------------------

    def _over_domain(self, outer: Node, inner: Node) -> tuple[Node, dict[str, Column]]:
        """The inner query for every distinct combination of the outer values it names."""
        names = free_ids(inner)
        wanted = [column for column in outer.columns if column.id in names]
        values = Aggregate(Project(outer, passed(wanted)), tuple(wanted), ())
        return _Push(self._fresh, values).push(inner)


class _Push:
    """Joins the domain into a query, as deep as its columns are named."""

    def __init__(self, fresh: Fresh, domain: Aggregate) -> None:
        self._fresh = fresh
        self._domain = domain

    def push(self, node: Node) -> tuple[Node, dict[str, Column]]:
        """The query with columns of its own for the domain's values, which the mapping names."""
        if not free_ids(node) & self._domain.ids:
            values, names = self._copy()
            return InnerJoin((values, node), ()), names
        match node:
            case Filter():
                below, names = self.push(node.input)
                return Filter(below, substituted(node.condition, _refs(names))), names
            case Project():
                below, names = self.push(node.input)
                return Project(below, (*_replaced(node.items, names), *passed(list(names.values())))), names
            case InnerJoin():
                return self._inner(node)
            case Join():
                return self._join(node)
            case Aggregate():
                return self._aggregate(node)
            case Window():
                below, names = self.push(node.input)
                partition = (*node.partition, *names.values())
                return Window(below, partition, tuple(_partitioned(i, names) for i in node.items)), names
            case Union():
                return self._union(node)
            case Unnest():
                below, names = self.push(node.input)
                return replace(node, input=below, call=substituted(node.call, _refs(names))), names
            case Limit():
                return self._limit(node)
            case Scan() | Constant():
                raise AssertionError("a leaf has no expressions")
        raise NotIncrementalError(Reason.UNSUPPORTED_OPERATOR, "correlated subquery", "Write it as a join.")

    def _copy(self) -> tuple[Node, dict[str, Column]]:
        names = {column.id: self._fresh(column.type) for column in self._domain.keys}
        items = tuple(Item(names[column.id], column.ref) for column in self._domain.keys)
        return Project(self._domain, items), names

    def _inner(self, node: InnerJoin) -> tuple[Node, dict[str, Column]]:
        names: dict[str, Column] | None = None
        parts: list[Node] = []
        conditions: list[exp.Expr] = []
        for part in node.parts:
            if not free_ids(part) & self._domain.ids:
                parts.append(part)
                continue
            pushed, own = self.push(part)
            parts.append(pushed)
            if names is None:
                names = own
            else:
                conditions += [same(names[name].ref, own[name].ref) for name in names]
        if names is None:
            values, names = self._copy()
            parts.insert(0, values)
        conditions += [substituted(condition, _refs(names)) for condition in node.conditions]
        return InnerJoin(tuple(parts), tuple(conditions)), names

    def _join(self, node: Join) -> tuple[Node, dict[str, Column]]:
        left, names = self.push(node.left)
        condition = substituted(node.condition, _refs(names))
        right = node.right
        if free_ids(right) & self._domain.ids:
            right, own = self.push(right)
            condition = all_of([condition, *(same(names[name].ref, own[name].ref) for name in names)])
        pushed: Node = Join(node.kind, left, right, condition)
        if node.kind is JoinKind.LEFT and right is not node.right:
            pushed = Project(pushed, passed([*node.columns, *names.values()]))
        return pushed, names

    def _aggregate(self, node: Aggregate) -> tuple[Node, dict[str, Column]]:
        below, names = self.push(node.input)
        items = _replaced(node.items, names)
        if node.keys:
            return Aggregate(below, (*node.keys, *names.values()), items), names
        # Without keys there is a row for every value of the domain, even where nothing matched.
        renamed = {item.column.id: self._fresh(item.column.type) for item in node.items}
        grouped = Aggregate(below, tuple(names.values()), tuple(Item(renamed[i.column.id], i.value) for i in items))
        values, own = self._copy()
        on = all_of([same(own[name].ref, names[name].ref) for name in names])
        joined = Join(JoinKind.LEFT, values, grouped, on)
        return Project(joined, (*passed(list(own.values())), *_filled(node, renamed))), own

    def _union(self, node: Union) -> tuple[Node, dict[str, Column]]:
        names = {column.id: self._fresh(column.type) for column in self._domain.keys}
        branches: list[Node] = []
        for branch in node.branches:
            pushed, own = self.push(branch)
            branches.append(Project(pushed, passed([*branch.columns, *(own[name] for name in names)])))
        return Union(tuple(branches), (*node.outputs, *names.values())), names

    def _limit(self, node: Limit) -> tuple[Node, dict[str, Column]]:
        below, names = self.push(node.input)
        place = self._fresh(None)
        order = exp.Order(expressions=[substituted(item, _refs(names)) for item in node.order])
        window = exp.Window(
            this=call("row_number"),
            partition_by=[column.ref for column in names.values()],
            order=order,
            over="OVER",
        )
        numbered = Window(below, tuple(names.values()), (Item(place, window),))
        bounds: list[exp.Expr] = [exp.GT(this=place.ref, expression=number(node.offset))]
        if node.count is not None:
            bounds.append(exp.LTE(this=place.ref, expression=number(node.offset + node.count)))
        kept = Filter(numbered, all_of(bounds))
        return Project(kept, passed([*node.columns, *names.values()])), names


def _hoisted(node: Node) -> tuple[Node, list[exp.Expr]] | None:
    """The node without the conditions that name outer columns, and those conditions; None when that can't be."""
    free = free_ids(node)
    if not free:
        return node, []
    if isinstance(node, Filter):
        below = _hoisted(node.input)
        if below is None:
            return None
        own = conjuncts(node.condition)
        outer = [condition for condition in own if columns_in(condition) & free]
        inner = [condition for condition in own if not columns_in(condition) & free]
        return (Filter(below[0], all_of(inner)) if inner else below[0]), [*below[1], *outer]
    if isinstance(node, Project):
        below = _hoisted(node.input)
        if below is None or any(columns_in(item.value) & free for item in node.items):
            return None
        needed = frozenset().union(*(columns_in(condition) for condition in below[1])) - node.ids
        extra = [column for column in below[0].columns if column.id in needed]
        return Project(below[0], (*node.items, *passed(extra))), below[1]
    if isinstance(node, InnerJoin):
        return _hoisted_join(node, free)
    if isinstance(node, Join) and not (free_ids(node.right) | (columns_in(node.condition) & free)):
        below = _hoisted(node.left)
        return None if below is None else (replace(node, left=below[0]), below[1])
    return None


def _hoisted_join(node: InnerJoin, free: frozenset[str]) -> tuple[Node, list[exp.Expr]] | None:
    parts: list[Node] = []
    found: list[exp.Expr] = []
    for part in node.parts:
        below = _hoisted(part)
        if below is None:
            return None
        parts.append(below[0])
        found += below[1]
    found += [condition for condition in node.conditions if columns_in(condition) & free]
    kept = tuple(condition for condition in node.conditions if not columns_in(condition) & free)
    return InnerJoin(tuple(parts), kept), found


def _below_projections(node: Node) -> tuple[list[Node], Aggregate | None]:
    """The projections and filters above an aggregate without keys, outermost first; None if there is none."""
    path: list[Node] = []
    while isinstance(node, Project | Filter):
        path.append(node)
        node = node.input
    return path, node if isinstance(node, Aggregate) and not node.keys else None


def _sides(condition: exp.Expr, inner: frozenset[str]) -> tuple[exp.Expr, exp.Expr] | None:
    """An equality as (inner side, outer side); None if it is not one of those."""
    if not isinstance(condition, exp.EQ | exp.NullSafeEQ):
        return None
    for one, other in ((condition.this, condition.expression), (condition.expression, condition.this)):
        if columns_in(one) <= inner and not columns_in(other) & inner and columns_in(one):
            return one, other
    return None


def _filled(aggregate: Aggregate, renamed: dict[str, Column]) -> tuple[Item, ...]:
    """The aggregates under their own ids again, with the value of no rows where nothing was found."""
    items = []
    for item in aggregate.items:
        value: exp.Expr = renamed[item.column.id].ref
        empty = empty_value(item.value)
        items.append(Item(item.column, value if isinstance(empty, exp.Null) else call("coalesce", value, empty)))
    return tuple(items)


def _replaced(items: Sequence[Item], names: dict[str, Column]) -> tuple[Item, ...]:
    return tuple(Item(item.column, substituted(item.value, _refs(names))) for item in items)


def _partitioned(item: Item, names: dict[str, Column]) -> Item:
    window = substituted(item.value, _refs(names))
    assert isinstance(window, exp.Window)
    window.set("partition_by", [*(window.args.get("partition_by") or []), *(c.ref for c in names.values())])
    return Item(item.column, window)


def _refs(names: dict[str, Column]) -> dict[str, exp.Expr]:
    return {name: column.ref for name, column in names.items()}


def _quoted(name: str) -> exp.Identifier:
    return exp.Identifier(this=name, quoted=True)
