"""The rows of a state that has the first row of each group in an order: from nothing, and what a change adds.

Each column of a first row is kept as an extreme is: of the rows that a group has in the state, the newest counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from sqlglot import exp

from snowmelt.ivm.algebra import WEIGHT, PlanColumn, When, ids_of
from snowmelt.ivm.rendering import PlanRenderer, Restriction, RowSource, named, select_from, selected, total_order
from snowmelt.ivm.state_rows import joined_to_changed, restriction_to, stored
from snowmelt.ivm.states import AGE, ROWS, GroupState, Partial
from snowmelt.ivm.trees import call, column_of, is_null, number

_RANK, _MARK = "rank", "mark"
_OLD, _FIRST, _LOST, _AGAIN = "old_", "first_", "lost_", "again_"
"""Prefixes for the columns of joined relations."""


class OrderedGroups(Protocol):
    """An operator whose groups have an order: what finding their first rows asks of it."""

    @property
    def columns(self) -> tuple[PlanColumn, ...]: ...

    @property
    def keys(self) -> tuple[PlanColumn, ...]: ...

    @property
    def order(self) -> tuple[exp.Expr, ...]: ...


def state_of(name: str, node: OrderedGroups, types: Mapping[str, str]) -> GroupState:
    partials = tuple(
        # By the order as well, which decides what the value is: states are told apart by it.
        Partial(f"p{index}", _over(call("first_value", column.ref), node, node.order), column.ref, column.ref)
        for index, column in enumerate(_others(node), 1)
    )
    finals = {column.id: column_of(partial.name) for column, partial in zip(_others(node), partials, strict=True)}
    return GroupState(name, node, partials, finals, types)


def first(renderer: PlanRenderer, node: OrderedGroups, rows: exp.Expr, when: When) -> exp.Select:
    """The first rows of some rows."""
    return renderer.of(_ranked(renderer, node, rows, when), node.columns).where(_is_first(), copy=False)


def initial(renderer: PlanRenderer, node: OrderedGroups, state: GroupState, rows: exp.Select) -> exp.Select:
    """The rows of the state, computed from nothing but the rows of the operator's input."""
    numbers = {ROWS: 1, AGE: 0}
    values = [named(exp.cast(number(value), "BIGINT"), name) for name, value in numbers.items()]
    query = first(renderer, node, rows, When.NEW)
    return select_from(renderer.source(query), [*selected(node.keys), *_kept(node, state), *values])


def grow(
    renderer: PlanRenderer, node: OrderedGroups, below: RowSource, state: GroupState, change: exp.Select, *,
    inserts_only: bool,
) -> None:  # fmt: skip
    """Adds the stages that find what a refresh adds to the state, given the operator's input and how it changed. The
    change must be netted: a row that came and went again was never there."""
    add = renderer.lookups.add
    changes = add("what came and went", change, f"{state.name}__change")
    keys = renderer.of_table(changes, node.keys)
    keys.set("distinct", exp.Distinct())
    add("groups that changed", keys, state.changed)
    before = _before(renderer, state, changes)
    found = add(
        "first rows of what was and what came", _found(renderer, node, state, before, changes, inserts_only),
        f"{state.name}__first",
    )  # fmt: skip
    kept = [PlanColumn(partial.name) for partial in state.partials]
    marked = [*node.keys, *kept, PlanColumn(_MARK)]
    joined = [(before.copy(), _OLD), (renderer.of_table(found, marked), _FIRST)]
    if not inserts_only:
        lost, again = f"{state.name}__lost", f"{state.name}__again"
        add("groups whose first row went", _lost(renderer, node, state, found, changes), lost)
        add("their first rows, read again", _again(renderer, node, below, state, lost), again)
        joined.append((renderer.of_table(lost, [*node.keys, PlanColumn(_MARK)]), _LOST))
        joined.append((renderer.of_table(again, marked), _AGAIN))
    add("first rows of groups that changed", _added(renderer, node, state, joined), state.added)


def _before(renderer: PlanRenderer, state: GroupState, changes: str) -> exp.Select:
    """What the state has of the groups that changed."""
    values = [named(state.together(name), name) for name in state.names]
    return renderer.grouped(state.node.keys, values, stored(renderer, state, restriction_to(state, changes)))


def _found(
    renderer: PlanRenderer, node: OrderedGroups, state: GroupState, before: exp.Select, changes: str, inserts_only: bool
) -> exp.Select:  # fmt: skip
    """The first among the row that was the first and those that came. Of two that are equal, the one that came."""
    came = renderer.of_table(changes, node.columns)
    if not inserts_only:
        came.where(exp.GT(this=column_of(WEIGHT), expression=number(0)), copy=False)
    was = [named(column_of(partial.name), column.id) for column, partial in _pairs(node, state)]
    old = select_from(renderer.source(before.copy()), [*selected(node.keys), *was])
    old.where(exp.NEQ(this=column_of(ROWS), expression=number(0)), copy=False)
    ids = [column.id for column in node.columns]
    marked = [renderer.of(rows, node.columns).select(named(number(mark), _MARK), copy=False)
              for mark, rows in enumerate((came, old))]  # fmt: skip
    ranked = _ranked(renderer, node, renderer.united(marked, [*ids, _MARK]), When.NEW, marked=True)
    query = select_from(renderer.source(ranked), [*selected(node.keys), *_kept(node, state), column_of(_MARK)])
    return query.where(_is_first(), copy=False)


def _lost(renderer: PlanRenderer, node: OrderedGroups, state: GroupState, found: str, changes: str) -> exp.Select:
    """Groups whose first row went, and no row came that stands before it."""
    gone = renderer.of_table(changes, node.columns)
    gone.where(exp.LT(this=column_of(WEIGHT), expression=number(0)), copy=False)
    stage = renderer.lookups.add("what went", gone, f"{state.name}__gone")
    pairs = tuple((partial.name, column.id) for column, partial in _pairs(node, state))
    kept = [PlanColumn(partial.name) for partial in state.partials]
    first = renderer.of_table(found, [*node.keys, *kept])
    first.where(exp.EQ(this=column_of(_MARK), expression=number(1)), copy=False)
    rows = renderer.of(first, [*node.keys, *kept])
    restriction = Restriction(stage, (*((key.id, key.id) for key in node.keys), *pairs))
    query = renderer.of(renderer.restricted(rows, restriction), node.keys)
    return query.select(named(number(1), _MARK), copy=False)


def _again(renderer: PlanRenderer, node: OrderedGroups, below: RowSource, state: GroupState, lost: str) -> exp.Select:
    rows = renderer.rows(below, When.NEW, restriction_to(state, lost))
    query = first(renderer, node, rows, When.NEW)
    mark = named(number(1), _MARK)
    return select_from(renderer.source(query), [*selected(node.keys), *_kept(node, state), mark])


def _added(
    renderer: PlanRenderer, node: OrderedGroups, state: GroupState, joined: Sequence[tuple[exp.Select, str]]
) -> exp.Select:
    """The first rows as they are now, numbered, and whether a group has one that had none, or has none any more."""
    values: list[exp.Expr] = [named(_now(joined, partial.name), partial.name) for partial in state.partials]
    present = exp.Case(ifs=[exp.If(this=exp.Not(this=is_null(_now(joined, _MARK))), true=number(1))], default=number(0))
    came = exp.Sub(this=present, expression=call("coalesce", column_of(_OLD + ROWS), number(0)))
    age = exp.Add(this=call("coalesce", column_of(_OLD + AGE), number(0)), expression=number(1))
    numbers = [named(exp.cast(tree, "BIGINT"), name) for tree, name in ((came, ROWS), (age, AGE))]
    query = joined_to_changed(renderer, state, joined)
    return query.select(*selected(node.keys), *values, *numbers, copy=False)


def _now(joined: Sequence[tuple[exp.Select, str]], name: str) -> exp.Expr:
    """A column of the first row as it is now."""
    first: exp.Expr = column_of(_FIRST + name)
    if _AGAIN not in [start for _, start in joined]:
        return first
    lost = exp.Not(this=is_null(column_of(_LOST + _MARK)))
    return exp.Case(ifs=[exp.If(this=lost, true=column_of(_AGAIN + name))], default=first)


# -- pieces -----------------------------------------------------------------------------------------------------------


def _others(node: OrderedGroups) -> list[PlanColumn]:
    """The columns that a group's rows may differ in."""
    return [column for column in node.columns if column.id not in ids_of(node.keys)]


def _pairs(node: OrderedGroups, state: GroupState) -> list[tuple[PlanColumn, Partial]]:
    return list(zip(_others(node), state.partials, strict=True))


def _kept(node: OrderedGroups, state: GroupState) -> list[exp.Expr]:
    """The columns of a row under the names that they have in the state."""
    return [named(column.ref, partial.name) for column, partial in _pairs(node, state)]


def _ranked(
    renderer: PlanRenderer, node: OrderedGroups, rows: exp.Expr, when: When, *, marked: bool = False
) -> exp.Select:
    """Rows with their places in their groups; of equal ones, the lower mark comes first."""
    order = total_order([renderer.at(item, when) for item in node.order], node.columns)
    marks: list[exp.Expr] = [column_of(_MARK)] if marked else []
    rank = _over(call("row_number"), node, [*order, *(exp.Ordered(this=mark) for mark in marks)])
    return select_from(renderer.source(rows), [*selected(node.columns), *marks, named(rank, _RANK)])


def _over(function: exp.Expr, node: OrderedGroups, order: Sequence[exp.Expr]) -> exp.Window:
    keys = [key.ref for key in node.keys]
    items = [item.copy() for item in order]
    return exp.Window(this=function, partition_by=keys, order=exp.Order(expressions=items), over="OVER")


def _is_first() -> exp.Expr:
    return exp.EQ(this=column_of(_RANK), expression=number(1))
