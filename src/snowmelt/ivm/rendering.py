"""From the algebra back to Spark SQL: the rows of a node at the old or the new versions of its tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import count
from typing import Protocol

from sqlglot import exp

from snowmelt.ivm.algebra import (
    Aggregate,
    Column,
    Constant,
    Filter,
    InnerJoin,
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
    equal_columns,
)
from snowmelt.ivm.states import AGE, ROWS, State
from snowmelt.ivm.trees import aggregate_name, call, mapped, number, same
from snowmelt.sql.notes import note_of

WEIGHT = "__w"


class When(StrEnum):
    OLD = "old"
    NEW = "new"


def table_name(table: str, when: When | str) -> str:
    """What a plan calls one side of a table: `old`, `new` or `change`."""
    return f"{table}__{when}"


def quoted(name: str) -> exp.Identifier:
    return exp.Identifier(this=name, quoted=True)


@dataclass(frozen=True, slots=True)
class Restriction:
    """Only the rows whose columns are, NULLs included, in some row of a stage."""

    stage: str
    pairs: tuple[tuple[str, str], ...]
    """Ids of the node's columns, and the names of the stage's."""

    def only(self, ids: frozenset[str] | set[str]) -> Restriction | None:
        pairs = tuple(pair for pair in self.pairs if pair[0] in ids)
        return Restriction(self.stage, pairs) if pairs else None

    def covers(self, other: Restriction) -> bool:
        """Whether it says all that the other one says."""
        return self.stage == other.stage and set(self.pairs) >= set(other.pairs)

    def renamed(self, names: Mapping[str, str]) -> Restriction | None:
        pairs = tuple((names[own], theirs) for own, theirs in self.pairs if own in names)
        return Restriction(self.stage, pairs) if pairs else None


class Finder(Protocol):
    """Makes stages of the rows that a restriction leaves."""

    def look_up(self, scan: Scan, side: When, restriction: Restriction, conditions: Sequence[exp.Expr]) -> str:
        """Of the rows of a table only those count that meet the conditions."""
        ...

    def look_up_state(self, state: State, names: Sequence[str], restriction: Restriction, query: exp.Select) -> str:
        """Rows of a state, given their names and the query for them."""
        ...

    def restricted_parts(self, node: InnerJoin, when: When, restriction: Restriction) -> list[tuple[exp.Select, bool]]:
        """The rows of the parts of a join, each part restricted by what was found of those before it, and whether the
        restriction itself holds for all of them."""
        ...


class Renderer:
    """`changed` names the tables whose old and new versions differ; `instants` are what the clock says at each."""

    def __init__(
        self,
        changed: frozenset[str],
        instants: Mapping[When, datetime],
        states: Mapping[int, State] | None = None,
    ) -> None:
        self._changed = changed
        self._instants = instants
        self._numbers = count(1)
        self.states = states or {}
        self.grows: Callable[[State], bool] = lambda _: False
        """Whether this refresh adds to a state; asked before its new rows are read."""
        self._finder: Finder | None = None

    @property
    def finder(self) -> Finder:
        """Who finds restricted rows; whoever restricts says so first."""
        assert self._finder is not None
        return self._finder

    @finder.setter
    def finder(self, finder: Finder) -> None:
        self._finder = finder

    # -- rows -----------------------------------------------------------------------------------------------------

    def rows(self, node: Node, when: When, restriction: Restriction | None = None) -> exp.Select:
        """The node's rows, restricted."""
        query, exact = self.some_rows(node, when, restriction)
        if restriction is None or exact:
            return query
        return self._restricted(self.of(query, node.columns), restriction)

    def some_rows(self, node: Node, when: When, restriction: Restriction | None) -> tuple[exp.Select, bool]:
        """The node's rows, and whether the restriction holds for all of them: pushing it down may lose a part."""
        match node:
            case Scan():
                return self._scan(node, when, restriction)
            case Constant():
                return self.of(node.query, node.columns, [name for _, name in node.items]), False
            case Project():
                return self._project(node, when, restriction)
            case Filter():
                return self._filter(node, when, restriction)
            case Union():
                return self._union(node, when, restriction)
            case InnerJoin():
                return self._inner(node, when, restriction)
            case Join():
                return self._join(node, when, restriction)
            case Aggregate():
                return self._aggregate(node, when, restriction)
            case Window():
                return self._window(node, when, restriction)
            case Unnest():
                inside = restriction.only(node.input.ids) if restriction is not None else None
                below, exact = self.some_rows(node.input, when, inside)
                return self.unnested(below, node, when), exact and inside == restriction
            case Limit():
                return self.limited(self.rows(node.input, when), node), False
        raise AssertionError(node)

    def _filter(self, node: Filter, when: When, restriction: Restriction | None) -> tuple[exp.Select, bool]:
        steps = [node]
        while isinstance(steps[-1].input, Filter):
            steps.append(steps[-1].input)
        below = steps[-1].input
        if isinstance(below, Scan):
            query, exact = self._scan(below, when, restriction, [step.condition for step in steps])
        else:
            query, exact = self.some_rows(below, when, restriction)
        for step in reversed(steps):
            query = self.filtered(query, step, when)
        return query, exact

    def _scan(
        self, node: Scan, when: When, restriction: Restriction | None, conditions: Sequence[exp.Expr] = ()
    ) -> tuple[exp.Select, bool]:
        side = when if node.table in self._changed else When.NEW
        if restriction is None:
            return self._side(node, side), True
        stage = self.finder.look_up(node, side, restriction, conditions)
        return self.of(exp.Table(this=quoted(stage)), node.columns), True

    def looked_up(
        self, node: Scan, side: When, restriction: Restriction, conditions: Sequence[exp.Expr] = ()
    ) -> exp.Select:
        """The query of such a stage."""
        rows = self.of(self._side(node, side), node.columns)
        if conditions:
            rows = self.of(rows.where(*[condition.copy() for condition in conditions], copy=False), node.columns)
        return self._restricted(rows, restriction)

    def _side(self, node: Scan, side: When) -> exp.Select:
        table = exp.Table(this=quoted(table_name(node.table, side)))
        return self.of(table, node.columns, [name for _, name in node.items])

    def _project(self, node: Project, when: When, restriction: Restriction | None) -> tuple[exp.Select, bool]:
        inside = None
        if restriction is not None:
            plain = {i.column.id: i.value.name for i in node.items if isinstance(i.value, exp.Column)}
            inside = restriction.renamed(plain)
        below, exact = self.some_rows(node.input, when, inside)
        whole = restriction is None or (inside is not None and len(inside.pairs) == len(restriction.pairs))
        return self.projected(below, node, when), exact and whole

    def _union(self, node: Union, when: When, restriction: Restriction | None) -> tuple[exp.Select, bool]:
        branches = []
        exact = True
        for branch in node.branches:
            names = {out.id: own.id for out, own in zip(node.outputs, branch.columns, strict=True)}
            inside = restriction.renamed(names) if restriction is not None else None
            below, whole = self.some_rows(branch, when, inside)
            exact = exact and whole
            branches.append(self.of(below, node.outputs, [column.id for column in branch.columns]))
        return self.united(branches, [column.id for column in node.outputs]), exact

    def _inner(self, node: InnerJoin, when: When, restriction: Restriction | None) -> tuple[exp.Select, bool]:
        if restriction is None:
            met = [self.some_rows(part, when, None) for part in node.parts]
        else:
            met = self.finder.restricted_parts(node, when, restriction)
        parts = [(query, part.ids) for (query, _), part in zip(met, node.parts, strict=True)]
        exact = restriction is None or any(whole for _, whole in met)
        return self.joined(parts, node.conditions, node.columns, when), exact

    def _join(self, node: Join, when: When, restriction: Restriction | None) -> tuple[exp.Select, bool]:
        inside = restriction.only(node.left.ids) if restriction is not None else None
        left, exact = self.some_rows(node.left, when, inside)
        across = across_join(node, inside) if inside is not None else None
        right = self.rows(node.right, when, across)
        return self.matched(node, left, right, when), exact and inside == restriction

    def _aggregate(self, node: Aggregate, when: When, restriction: Restriction | None) -> tuple[exp.Select, bool]:
        state = self.states.get(id(node))
        if state is not None:
            return self._from_state(state, when, restriction)
        keys = {column.id for column in node.keys}
        inside = restriction.only(keys) if restriction is not None else None
        below, exact = self.some_rows(node.input, when, inside)
        return self.grouped(below, node, when), exact and inside == restriction

    def _from_state(self, state: State, when: When, restriction: Restriction | None) -> tuple[exp.Select, bool]:
        keys = state.node.keys
        inside = restriction.only({column.id for column in keys}) if restriction is not None else None
        names = [*(column.id for column in keys), *state.names]
        branches = [self.stored(state, inside)]
        if when is When.NEW and self.grows(state):
            added = self.named(state.added, names)
            mine = inside is not None and inside.stage != state.changed
            branches.append(self._restricted(added, inside) if inside is not None and mine else added)
        totals = [_as(state.together(name), name) for name in state.names]
        sums = self.by_key(state.node, totals, self.united(branches, names))
        if keys:
            there = exp.NEQ(this=call("sum", exp.column(quoted(ROWS))), expression=number(0))
            sums.set("having", exp.Having(this=there))
        finals = [_as(state.finals[item.column.id].copy(), item.column.id) for item in state.node.items]
        rows = exp.select(*[_as(key.ref, key.id) for key in keys], *finals).from_(self.source(sums))
        return rows, inside == restriction

    def stored(self, state: State, restriction: Restriction | None) -> exp.Select:
        """The rows of a state before the refresh, restricted by its keys."""
        names = [*(column.id for column in state.node.keys), *state.names]
        rows = self.named(state.stored, names)
        if restriction is None:
            return rows
        query = self._restricted(rows, restriction)
        return self.named(self.finder.look_up_state(state, names, restriction, query), names)

    def named(self, table: str, names: Sequence[str]) -> exp.Select:
        """Columns of a stage or a state."""
        columns = [_as(exp.column(quoted(name)), name) for name in names]
        return exp.select(*columns).from_(self.source(exp.Table(this=quoted(table))))

    def initial(self, state: State) -> exp.Select:
        """The rows of a state, computed from nothing."""
        node = state.node
        values = [_as(exp.cast(call("count", number(1)), "BIGINT"), ROWS)]
        values += [_as(self.at(partial.initial, When.NEW), partial.name) for partial in state.partials]
        if state.extremes:
            values.append(_as(exp.cast(number(0), "BIGINT"), AGE))
        return self.by_key(node, values, self.rows(node.input, When.NEW))

    def addition(self, state: State, change: exp.Select) -> exp.Select:
        """What a change of its input adds to a state; of extremes, those of what came and of what went."""
        values = [_as(call("sum", exp.column(quoted(WEIGHT))), ROWS)]
        for partial in state.partials:
            values.append(_as(state.typed(partial.name, self.at(partial.change, When.NEW)), partial.name))
            if partial.gone is not None:
                values.append(_as(self.at(partial.gone, When.NEW), partial.gone_name))
        return self.by_key(state.node, values, change)

    def _window(self, node: Window, when: When, restriction: Restriction | None) -> tuple[exp.Select, bool]:
        keys = {column.id for column in node.partition}
        inside = restriction.only(keys) if restriction is not None else None
        below, exact = self.some_rows(node.input, when, inside)
        return self.windowed(below, node, when), exact and inside == restriction

    # -- one operator over given rows -----------------------------------------------------------------------------

    def of(self, source: exp.Expr, columns: Sequence[Column], names: Sequence[str] | None = None) -> exp.Select:
        """SELECT columns FROM a table or query in which they may have other names."""
        origin = names or [column.id for column in columns]
        return exp.select(*[_as(exp.column(quoted(n)), c.id) for n, c in zip(origin, columns, strict=True)]).from_(
            self.source(source)
        )

    def source(self, tree: exp.Expr) -> exp.Expr:
        alias = exp.TableAlias(this=quoted(f"t{next(self._numbers)}"))
        if isinstance(tree, exp.Table):
            tree.set("alias", alias)
            return tree
        return exp.Subquery(this=tree, alias=alias)

    def projected(self, below: exp.Select, node: Project, when: When, *, weighted: bool = False) -> exp.Select:
        items = [_as(self.at(item.value, when), item.column.id) for item in node.items]
        return exp.select(*items, *_weight(weighted)).from_(self.source(below))

    def filtered(self, below: exp.Select, node: Filter, when: When, *, weighted: bool = False) -> exp.Select:
        query = self.of(below, node.columns)
        query.set("expressions", [*query.expressions, *_weight(weighted)])
        query.set("where", exp.Where(this=self.at(node.condition, when)))
        return query

    def unnested(self, below: exp.Select, node: Unnest, when: When, *, weighted: bool = False) -> exp.Select:
        alias = f"t{next(self._numbers)}"
        added = exp.Lateral(
            this=self.at(node.call, when),
            alias=exp.TableAlias(this=quoted(alias), columns=[quoted(column.id) for column, _ in node.items]),
        )
        query = exp.select(*[_as(column.ref, column.id) for column in node.columns], *_weight(weighted))
        query = query.from_(self.source(below))
        query.set("joins", [exp.Join(this=added, kind="CROSS")])
        return query

    def limited(self, below: exp.Select, node: Limit) -> exp.Select:
        query = self.of(below, node.columns)
        query.set("order", exp.Order(expressions=total_order(node.order, node.input.columns)))
        if node.count is not None:
            query.set("limit", exp.Limit(expression=number(node.count)))
        if node.offset:
            query.set("offset", exp.Offset(expression=number(node.offset)))
        return query

    def grouped(self, below: exp.Select, node: Aggregate, when: When) -> exp.Select:
        items = [_as(self.at(item.value, when), item.column.id) for item in node.items]
        return self.by_key(node, items, below)

    def by_key(self, node: Aggregate, values: Sequence[exp.Expr], below: exp.Expr) -> exp.Select:
        """The values of each group."""
        query = exp.select(*[_as(key.ref, key.id) for key in node.keys], *values).from_(self.source(below))
        if node.keys:
            query.set("group", exp.Group(expressions=[key.ref for key in node.keys]))
        return query

    def windowed(self, below: exp.Select, node: Window, when: When) -> exp.Select:
        items = []
        for item in node.items:
            window = self.at(item.value, when)
            assert isinstance(window, exp.Window)
            items.append(_as(_ordered_window(window.copy(), node.input.columns), item.column.id))
        return exp.select(*[_as(c.ref, c.id) for c in node.input.columns], *items).from_(self.source(below))

    def matched(self, node: Join, left: exp.Expr, right: exp.Expr, when: When, *, weighted: bool = False) -> exp.Select:
        """LEFT, SEMI or ANTI of two given relations."""
        query = exp.select(*[_as(column.ref, column.id) for column in node.columns], *_weight(weighted))
        query = query.from_(self.source(left))
        join = exp.Join(this=self.source(right), side="LEFT", on=self.at(node.condition, when))
        if node.kind is not JoinKind.LEFT:
            join.set("kind", node.kind.value)
        query.set("joins", [join])
        return query

    def joined(
        self,
        parts: Sequence[tuple[exp.Expr, frozenset[str]]],
        conditions: Sequence[exp.Expr],
        columns: Sequence[Column],
        when: When,
        *,
        weighted: bool = False,
    ) -> exp.Select:
        """The parts joined, the first one first, then whatever a condition connects to what is there."""
        query = exp.select(*[_as(column.ref, column.id) for column in columns], *_weight(weighted))
        query = query.from_(self.source(parts[0][0]))
        bound = set(parts[0][1])
        waiting = list(parts[1:])
        left = [self.at(condition, when) for condition in conditions]
        joins = []
        while waiting:
            chosen = next((part for part in waiting if _connects(left, bound, part[1])), waiting[0])
            waiting.remove(chosen)
            bound |= chosen[1]
            on = [condition for condition in left if columns_in(condition) <= bound]
            left = [condition for condition in left if condition not in on]
            join = exp.Join(this=self.source(chosen[0]), kind="INNER" if on else "CROSS")
            if on:
                join.set("on", all_of(on))
            joins.append(join)
        query.set("joins", joins)
        if left:
            query.set("where", exp.Where(this=all_of(left)))
        return query

    def united(self, branches: Sequence[exp.Select], names: Sequence[str]) -> exp.Select:
        """UNION ALL, as a SELECT."""
        if len(branches) == 1:
            return branches[0]
        tree: exp.Query = branches[0]
        for branch in branches[1:]:
            tree = exp.Union(this=tree, expression=branch, distinct=False)
        return exp.select(*[_as(exp.column(quoted(name)), name) for name in names]).from_(self.source(tree))

    def _restricted(self, query: exp.Select, restriction: Restriction) -> exp.Select:
        alias = f"t{next(self._numbers)}"
        mine = query.args["from_"].this.alias
        query.set("expressions", [
            _as(exp.column(quoted(item.alias), table=quoted(mine)), item.alias) for item in query.expressions
        ])  # fmt: skip
        on = all_of([
            same(exp.column(quoted(own), table=quoted(mine)), exp.column(quoted(theirs), table=quoted(alias)))
            for own, theirs in restriction.pairs
        ])  # fmt: skip
        keys = exp.Table(this=quoted(restriction.stage), alias=exp.TableAlias(this=quoted(alias)))
        query.set("joins", [exp.Join(this=keys, side="LEFT", kind="SEMI", on=on)])
        return query

    def at(self, tree: exp.Expr, when: When) -> exp.Expr:
        """The expression with what the clock said at that side."""
        if not any(note_of(node).clock for node in tree.walk()):
            return tree.copy()

        def change(node: exp.Expr) -> exp.Expr | None:
            clock = note_of(node).clock
            return clock(self._instants[when]) if clock is not None else None

        return mapped(tree, change)


def moves(tree: exp.Expr) -> bool:
    """Whether the expression depends on the clock."""
    return any(note_of(node).clock is not None for node in tree.walk())


def across_join(node: Join, restriction: Restriction) -> Restriction | None:
    """What the restriction of the left side says of the right, through columns that must be equal."""
    return spread(restriction, conjuncts(node.condition)).only(node.right.ids)


def spread(restriction: Restriction, conditions: Sequence[exp.Expr]) -> Restriction:
    """The restriction with the columns that are equal to restricted ones, as far as that goes."""
    pairs = dict(restriction.pairs)
    grown = True
    while grown:
        grown = False
        for condition in conditions:
            equal = equal_columns(condition)
            for one, other in (equal, equal[::-1]) if equal is not None else ():
                if one in pairs and other not in pairs:
                    pairs[other] = pairs[one]
                    grown = True
    return Restriction(restriction.stage, tuple(pairs.items()))


def _connects(conditions: Sequence[exp.Expr], bound: set[str], part: frozenset[str]) -> bool:
    for condition in conditions:
        names = columns_in(condition)
        if names & bound and names & part and names <= bound | part and isinstance(condition, exp.EQ | exp.NullSafeEQ):
            return True
    return False


_PLACED = {"row_number", "lag", "lead", "first_value", "last_value", "nth_value", "ntile", "first", "last", "any_value",
           "collect_list"}  # fmt: skip


def _ordered_window(window: exp.Window, columns: Sequence[Column]) -> exp.Window:
    """Where the place of a row among its equals counts, all columns decide, so that the result is the same each time.

    RANK and RANGE frames give equals the same and must not get such an order.
    """
    spec = window.args.get("spec")
    rows = isinstance(spec, exp.WindowSpec) and str(spec.args.get("kind") or "").upper() == "ROWS"
    name = aggregate_name(window.this)
    if not (rows or name in _PLACED):
        return window
    order = window.args.get("order")
    given = order.expressions if order is not None else []
    if not given and name not in _PLACED:
        return window
    window.set("order", exp.Order(expressions=total_order(given, columns)))
    if name in ("first_value", "last_value", "first", "last", "any_value", "collect_list") and spec is None:
        window.set("spec", _default_frame(ordered=bool(given)))
    return window


def _default_frame(*, ordered: bool) -> exp.WindowSpec:
    """An order that we added must not change the frame from the whole partition to the rows so far."""
    if ordered:
        return exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW")
    return exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="UNBOUNDED", end_side="FOLLOWING")


def total_order(order: Sequence[exp.Expr], columns: Sequence[Column]) -> list[exp.Expr]:
    given = [item.copy() for item in order]
    named = {item.this.name for item in given if isinstance(item.this, exp.Column)}
    rest = [c for c in columns if c.id not in named and not (c.type is not None and c.type.is_semi_structured)]
    return [*given, *(exp.Ordered(this=column.ref, nulls_first=True) for column in rest)]


def _as(tree: exp.Expr, name: str) -> exp.Expr:
    return exp.alias_(tree, quoted(name), copy=False)


def _weight(weighted: bool) -> list[exp.Expr]:
    return [exp.column(quoted(WEIGHT))] if weighted else []
