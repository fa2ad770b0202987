"""GROUP BY and DISTINCT. Keys are columns of the input and keep their ids; without keys there is always one row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from snowmelt.core.types import DataType, Kind
from snowmelt.ivm import state_rows
from snowmelt.ivm.algebra import WEIGHT, Fresh, Item, PlanColumn, When, all_of, columns_in, ids_of, passed
from snowmelt.ivm.changes import Change, ChangeRules, with_value
from snowmelt.ivm.operators.base import Hoisted, Joined, Operator, OuterDomain, Unary
from snowmelt.ivm.operators.join import Join, JoinKind
from snowmelt.ivm.operators.project import Project
from snowmelt.ivm.rendering import PlanRenderer, RenderedRows, Restriction, named
from snowmelt.ivm.states import GroupState, is_comparable, state_of, type_of
from snowmelt.ivm.trees import aggregate_name, call, column_of, is_exact, is_null, number, quoted, same

_COUNTS = {"count", "count_if", "approx_count_distinct", "regr_count"}
_LISTS = {"collect_list", "collect_set", "array_agg"}


_MOST_DIGITS = 38
_AGAIN = {"min", "max", "bool_or", "bool_and"}
"""Functions that also put the results of the first of two steps together, in the type there was."""


@dataclass(frozen=True, slots=True)
class _TwoStepAggregate:
    """One aggregate, in two."""

    first: Item | None
    """By the keys and the values; None where the values themselves are enough."""
    second: exp.Expr
    """By the keys."""
    final: exp.Expr | None = None
    """Over what the second step gave, called `_`."""


@dataclass(frozen=True, eq=False)
class Aggregate(Unary):
    no_identity = "grouping"
    keys: tuple[PlanColumn, ...]
    items: tuple[Item, ...]

    @cached_property
    def columns(self) -> tuple[PlanColumn, ...]:
        return (*self.keys, *(item.column for item in self.items))

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        return tuple(item.value for item in self.items)

    @property
    def group_keys(self) -> tuple[PlanColumn, ...]:
        return self.keys

    def unique_by(self, conditions: Sequence[exp.Expr]) -> tuple[PlanColumn, ...]:
        return self.keys

    @property
    def has_one_row(self) -> bool:
        return not self.keys

    def rows(self, renderer: PlanRenderer, when: When, restriction: Restriction | None) -> RenderedRows:
        state = renderer.states.get(id(self))
        if state is not None:
            return state_rows.of_state(renderer, self, state, when, restriction)
        below, exact = self.rows_below(renderer, when, restriction, ids_of(self.keys))
        items = [named(renderer.at(item.value, when), item.column.id) for item in self.items]
        return renderer.grouped(self.keys, items, below), exact

    def state(self, name: str, types: Mapping[str, str]) -> GroupState | None:
        return state_of(name, self, self.input.columns, types)

    def change(self, rules: ChangeRules) -> Change | None:
        keys = self.affected(rules)
        if keys is None:
            return None
        if not self.keys:
            return rules.difference(self)
        if not self.items and id(self) not in rules.renderer.states:
            change = rules.change(self.input)
            if change is not None and change.inserts_only:
                return self._first_seen(rules.renderer, keys)
        return rules.difference(self, keys)

    def affected(self, rules: ChangeRules) -> Restriction | None:
        change = rules.change(self.input)
        if change is None:
            return None
        if not self.keys:
            return Restriction("", ())
        state = rules.renderer.states.get(id(self))
        if state is None:
            return rules.distinct_keys("groups that changed", change.query, self.keys)
        rules.grows(self)
        return Restriction(state.changed, tuple((column.id, column.id) for column in self.keys))

    def grow(self, rules: ChangeRules) -> bool:
        change = rules.change(self.input)
        if change is None:
            return False
        state, query = rules.renderer.states[id(self)], change.query.copy()
        if not state.extremes:
            rules.lookups.add("sums of what changed", state_rows.addition(rules.renderer, state, query), state.added)
            return True
        if not change.inserts_only:
            query = rules.netted(query, self.input.columns)
        state_rows.grow_extremes(rules.renderer, state, self.input, query, inserts_only=change.inserts_only)
        return True

    def _first_seen(self, renderer: PlanRenderer, keys: Restriction) -> Change:
        """DISTINCT over rows that only came: those that were not there before."""
        query = renderer.of_table(keys.stage, self.keys, [theirs for _, theirs in keys.pairs])
        seen = renderer.rows(self, When.OLD, keys)
        fresh = renderer.of(query, self.keys)
        own, old = fresh.args["from_"].this.alias, f"{keys.stage}_old"

        def of(table: str, column: PlanColumn) -> exp.Column:
            return column_of(column.id, table)

        on = exp.and_(*[same(of(own, column), of(old, column)) for column in self.keys])
        fresh.set("expressions", [named(of(own, column), column.id) for column in self.keys])
        before = exp.Subquery(this=seen, alias=exp.TableAlias(this=quoted(old)))
        fresh.set("joins", [exp.Join(this=before, side="LEFT", kind="ANTI", on=on)])
        return Change(with_value(fresh, WEIGHT, 1), inserts_only=True)

    def needs(self, needed: set[str], below: Operator) -> Iterable[str]:
        return ids_of(self.keys) | columns_in(*(item.value for item in self.items if item.column.id in needed))

    def pruned(self, needed: set[str], inputs: Sequence[Operator]) -> Operator:
        return Aggregate(inputs[0], self.keys, tuple(item for item in self.items if item.column.id in needed))

    def inexact(self, found: set[str]) -> Iterable[str]:
        below = self.input.columns
        return {i.column.id for i in self.items if not is_exact(i.value, below) or columns_in(i.value) & found}

    def exact_keys(self) -> Iterable[tuple[str, Iterable[str]]]:
        return [("GROUP BY or DISTINCT", ids_of(self.keys))]

    def with_state(self, fresh: Fresh, inexact: frozenset[str]) -> Operator | None:
        """COUNT(DISTINCT x) and its like as a count over groups, where one list of values is all there is: first by the
        keys and x, then by the keys. Both keep a state. That of the first knows whether a value is new to its group or
        was the last of its kind, so that a change of a few rows needs no others."""
        found, known = _values(self.items), {column.id: column for column in self.input.columns}
        if not found or self.input.ids & inexact or not all(is_comparable(value, known) for value in found):
            return None
        values = [Item(fresh(type_of(value, known)), value) for value in found]
        steps: list[_TwoStepAggregate] = []
        for item in self.items:
            step = _step(item, [value.column for value in values], known, fresh)
            if step is None:
                return None
            steps.append(step)
        given = Project(self.input, (*passed(self.input.columns), *values))
        keys = (*self.keys, *(item.column for item in values))
        first = Aggregate(given, keys, tuple(step.first for step in steps if step.first is not None))
        seconds = tuple(Item(fresh(i.column.type), step.second) for i, step in zip(self.items, steps, strict=True))
        finals = [
            Item(item.column, _over(step.final, made.column.ref) if step.final is not None else made.column.ref)
            for item, step, made in zip(self.items, steps, seconds, strict=True)
        ]
        return Project(Aggregate(first, self.keys, seconds), (*passed(self.keys), *finals))

    def joined_with(self, domain: OuterDomain) -> Joined:
        below, names = domain.join(self.input)
        items = tuple(Item(item.column, names.put_into(item.value)) for item in self.items)
        if self.keys:
            return Aggregate(below, (*self.keys, *names.values()), items), names
        # Without keys there is a row for every value of the domain, even where nothing matched.
        renamed = {item.column.id: domain.fresh(item.column.type) for item in self.items}
        grouped = Aggregate(below, tuple(names.values()), tuple(Item(renamed[i.column.id], i.value) for i in items))
        values, own = domain.copy()
        on = all_of([same(own[name].ref, names[name].ref) for name in names])
        joined = Join(JoinKind.LEFT, values, grouped, on)
        return Project(joined, (*passed(own.values()), *self._filled(renamed))), own

    def value_for(self, outer: Operator, fresh: Fresh) -> Hoisted | None:
        """The aggregates of the inner rows that match an outer row by equality; None if it is not so simple."""
        hoisted = self.input.hoist() if not self.keys else None
        if hoisted is None or columns_in(*self.expressions) & self.free_ids:
            return None
        below, conditions = hoisted
        keys: list[Item] = []
        on: list[exp.Expr] = []
        for condition in conditions:
            sides = _sides(condition, below.ids)
            if sides is None:
                return None
            key = fresh(None)
            keys.append(Item(key, sides[0]))
            on.append(type(condition)(this=key.ref, expression=sides[1].copy()))
        used = columns_in(*self.expressions)
        kept = [column for column in below.columns if column.id in used]
        renamed = {item.column.id: fresh(item.column.type) for item in self.items}
        grouped = Aggregate(
            Project(below, (*passed(kept), *keys)),
            tuple(item.column for item in keys),
            tuple(Item(renamed[item.column.id], item.value) for item in self.items),
        )
        joined = Join(JoinKind.LEFT, outer, grouped, all_of(on))
        return Project(joined, (*passed(outer.columns), *self._filled(renamed))), []

    def _filled(self, renamed: Mapping[str, PlanColumn]) -> tuple[Item, ...]:
        """The aggregates under their own ids again, with the value of no rows where nothing was found."""
        items = []
        for item in self.items:
            value, empty = renamed[item.column.id].ref, _empty_value(item.value)
            items.append(Item(item.column, value if empty is None else call("coalesce", value, empty)))
        return tuple(items)


def _empty_value(aggregate: exp.Expr) -> exp.Expr | None:
    """What an aggregate gives for no rows, unless it is NULL."""
    name = aggregate_name(aggregate)
    if name in _COUNTS:
        return exp.cast(number(0), "BIGINT")
    return call("array") if name in _LISTS else None


def _sides(condition: exp.Expr, inner: frozenset[str]) -> tuple[exp.Expr, exp.Expr] | None:
    """An equality as (inner side, outer side); None if it is not one of those."""
    if not isinstance(condition, exp.EQ | exp.NullSafeEQ):
        return None
    for one, other in ((condition.this, condition.expression), (condition.expression, condition.this)):
        if columns_in(one) <= inner and not columns_in(other) & inner and columns_in(one):
            return one, other
    return None


def _values(items: Sequence[Item]) -> list[exp.Expr] | None:
    """The one list of values that are counted DISTINCT."""
    found: list[list[exp.Expr]] = []
    for item in items:
        for distinct in item.value.find_all(exp.Distinct):
            if distinct.expressions not in found:
                found.append(distinct.expressions)
    return found[0] if len(found) == 1 else None


def _step(
    item: Item, values: list[PlanColumn], known: Mapping[str, PlanColumn], fresh: Fresh
) -> _TwoStepAggregate | None:
    value = item.value
    if not isinstance(value, exp.Anonymous):
        return None
    name, arguments = value.name.lower(), value.expressions
    if any(isinstance(argument, exp.Distinct) for argument in arguments):
        return _of_values(name, values)
    if any(argument.find(exp.Distinct) for argument in arguments):
        return None
    if name in ("count", "count_if"):
        column = fresh(item.column.type)
        none = exp.cast(number(0), "BIGINT")
        return _TwoStepAggregate(Item(column, value), call("sum", column.ref), call("coalesce", exp.column("_"), none))
    if name in _AGAIN:
        column = fresh(item.column.type)
        return _TwoStepAggregate(Item(column, value), call(name, column.ref))
    return _sum(value, known, fresh) if name == "sum" else None


def _of_values(name: str, values: list[PlanColumn]) -> _TwoStepAggregate | None:
    if name == "count":
        there = [exp.Not(this=is_null(value.ref)) for value in values]
        return _TwoStepAggregate(None, call("count_if", exp.and_(*there)))
    return _TwoStepAggregate(None, call(name, values[0].ref)) if name in ("sum", *_AGAIN) and len(values) == 1 else None


def _sum(value: exp.Anonymous, known: Mapping[str, PlanColumn], fresh: Fresh) -> _TwoStepAggregate | None:
    """A sum of sums has room for more digits than the sum would have."""
    type_ = type_of(value.expressions[0], known)
    if type_ is None or type_.kind is not Kind.NUMBER:
        return None
    if type_.int64:
        column = fresh(type_)
        return _TwoStepAggregate(Item(column, value), call("sum", column.ref))
    digits, scale = min((type_.precision or _MOST_DIGITS) + 10, _MOST_DIGITS), type_.scale or 0
    column = fresh(DataType(Kind.NUMBER, digits, scale))
    wanted = exp.DataType.build(f"DECIMAL({digits}, {scale})", dialect="spark")
    return _TwoStepAggregate(Item(column, value), call("sum", column.ref), exp.cast(exp.column("_"), wanted))


def _over(tree: exp.Expr, column: exp.Expr) -> exp.Expr:
    return tree.transform(lambda part: column.copy() if isinstance(part, exp.Column) and part.name == "_" else part)
