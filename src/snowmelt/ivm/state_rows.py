"""The rows of an aggregate's state: what is stored, what a change adds, and both together.

What a refresh adds to MIN and MAX is the group's new extreme, as a whole and numbered. Only when the old one went, and
nothing came that reaches as far, are the rows of that group read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sqlglot import exp

from snowmelt.ivm.algebra import WEIGHT, PlanColumn, When, ids_of
from snowmelt.ivm.rendering import PlanRenderer, RenderedRows, Restriction, RowSource, named, selected
from snowmelt.ivm.states import AGE, ROWS, GroupState, Partial
from snowmelt.ivm.trees import call, column_of, is_null, number, quoted, same

_OLD, _LOST, _AGAIN = "old_", "lost_", "again_"
"""Prefixes for the columns of joined relations, so that all names are unique and need no qualifier."""
_MARK = "mark"


def initial(renderer: PlanRenderer, state: GroupState, rows: exp.Select) -> exp.Select:
    """The rows of a state, computed from nothing but the rows of the aggregate's input."""
    values = [named(exp.cast(call("count", number(1)), "BIGINT"), ROWS)]
    values += [named(renderer.at(partial.initial, When.NEW), partial.name) for partial in state.partials]
    if state.extremes:
        values.append(named(exp.cast(number(0), "BIGINT"), AGE))
    return renderer.grouped(state.node.keys, values, rows)


def stored(renderer: PlanRenderer, state: GroupState, restriction: Restriction | None) -> exp.Select:
    """The rows of a state before the refresh, restricted by its keys."""
    rows = renderer.of_table(state.stored, state.columns)
    if restriction is None:
        return rows
    names = {column.id: column.id for column in state.columns}
    query = renderer.restricted(rows, restriction)
    return renderer.of_table(renderer.lookups.look_up(state.stored, names, restriction, query), state.columns)


def addition(renderer: PlanRenderer, state: GroupState, change: exp.Select) -> exp.Select:
    """What a change of its input adds to a state; of extremes, those of what came and of what went."""
    values = [named(call("sum", column_of(WEIGHT)), ROWS)]
    for partial in state.partials:
        values.append(named(state.typed(partial.name, renderer.at(partial.change, When.NEW)), partial.name))
        if partial.gone is not None:
            values.append(named(renderer.at(partial.gone, When.NEW), partial.gone_name))
    return renderer.grouped(state.node.keys, values, change)


def finished(
    renderer: PlanRenderer, state: GroupState, old: exp.Select, restriction: Restriction | None, *, grown: bool
) -> exp.Select:
    """The aggregates of each group, from what is stored and, if the state grew, what was added."""
    keys = state.node.keys
    branches = [old]
    if grown:
        added = renderer.of_table(state.added, state.columns)
        mine = restriction is not None and restriction.stage != state.changed
        branches.append(renderer.restricted(added, restriction) if restriction is not None and mine else added)
    totals = [named(state.together(name), name) for name in state.names]
    sums = renderer.grouped(keys, totals, renderer.united(branches, [column.id for column in state.columns]))
    if keys:
        there = exp.NEQ(this=call("sum", column_of(ROWS)), expression=number(0))
        sums.set("having", exp.Having(this=there))
    finals = [named(final.copy(), name) for name, final in state.finals.items()]
    return exp.select(*selected(keys), *finals).from_(renderer.source(sums))


class WithState(RowSource, Protocol):
    """An operator that may have a state."""

    @property
    def keys(self) -> tuple[PlanColumn, ...]: ...


def of_state(
    renderer: PlanRenderer, node: WithState, state: GroupState, when: When, restriction: Restriction | None
) -> RenderedRows:
    """The operator's rows at one side of the refresh, from its state alone."""
    inside = restriction.only(ids_of(node.keys)) if restriction is not None else None
    grown = when is When.NEW and renderer.grows(node)
    return finished(renderer, state, stored(renderer, state, inside), inside, grown=grown), inside == restriction


def grow_extremes(
    renderer: PlanRenderer, state: GroupState, below: RowSource, change: exp.Select, *, inserts_only: bool
) -> None:
    """Adds the stages that find what a refresh adds to a state with extremes, given the aggregate's input and how it
    changed. The change must be netted: a row that came and went again was never there."""
    add = renderer.lookups.add
    add("groups that changed", addition(renderer, state, change), state.changed)
    keys = restriction_to(state, state.changed)
    joined = [(_before(renderer, state, keys), _OLD)]
    if not inserts_only:
        lost, again = f"{state.name}__lost", f"{state.name}__again"
        add("groups that lost an extreme", _lost(renderer, state, keys), lost)
        add("their extremes, read again", _again(renderer, state, below, lost), again)
        joined.append((renderer.of_table(lost, [*state.node.keys, PlanColumn(_MARK)]), _LOST))
        extremes = [PlanColumn(partial.name) for partial in state.extremes]
        joined.append((renderer.of_table(again, [*state.node.keys, *extremes]), _AGAIN))
    add("sums and extremes of what changed", _added(renderer, state, joined), state.added)


def _before(renderer: PlanRenderer, state: GroupState, keys: Restriction | None) -> exp.Select:
    """The extremes before the refresh."""
    values = [
        exp.alias_(state.together(name), quoted(name)) for name in (*(partial.name for partial in state.extremes), AGE)
    ]
    return renderer.grouped(state.node.keys, values, stored(renderer, state, keys))


def _lost(renderer: PlanRenderer, state: GroupState, keys: Restriction | None) -> exp.Select:
    query = joined_to_changed(renderer, state, [(_before(renderer, state, keys), _OLD)])
    query.set("where", exp.Where(this=exp.or_(*[_is_lost(partial) for partial in state.extremes])))
    return query.select(*selected(state.node.keys), exp.alias_(number(1), quoted(_MARK)), copy=False)


def _is_lost(partial: Partial) -> exp.Expr:
    """Whether a row that may have been the extreme went, and none came that reaches as far."""
    gone, came, old = (column_of(n) for n in (partial.gone_name, partial.name, _OLD + partial.name))
    behind, beyond = (exp.GT, exp.LTE) if partial.is_least else (exp.LT, exp.GTE)
    kept = exp.or_(behind(this=gone, expression=old), beyond(this=came, expression=old.copy()))
    went = exp.Not(this=is_null(gone))
    return exp.and_(went, exp.Not(this=call("coalesce", kept, exp.false())))


def _again(renderer: PlanRenderer, state: GroupState, below: RowSource, lost: str) -> exp.Select:
    restriction = restriction_to(state, lost)
    rows = renderer.rows(below, When.NEW, restriction)
    if restriction is None:
        rows = renderer.of(rows, below.columns)
        any_lost = exp.Join(this=renderer.source(exp.Table(this=quoted(lost))), side="LEFT", kind="SEMI", on=exp.true())
        rows.set("joins", [any_lost])
    values = [exp.alias_(renderer.at(p.initial, When.NEW), quoted(p.name)) for p in state.extremes]
    return renderer.grouped(state.node.keys, values, rows)


def _added(renderer: PlanRenderer, state: GroupState, joined: Sequence[tuple[exp.Select, str]]) -> exp.Select:
    read_again = len(joined) > 1
    values: list[exp.Expr] = [*selected(state.node.keys), column_of(ROWS)]
    for partial in state.partials:
        value: exp.Expr = column_of(partial.name)
        if partial.is_extreme:
            old, again = (column_of(start + partial.name) for start in (_OLD, _AGAIN))
            value = call("least" if partial.is_least else "greatest", value, old)
            if read_again:
                lost = exp.Not(this=is_null(column_of(_LOST + _MARK)))
                value = exp.Case(ifs=[exp.If(this=lost, true=again)], default=value)
        values.append(exp.alias_(value, quoted(partial.name)))
    age = exp.Add(this=call("coalesce", column_of(_OLD + AGE), number(0)), expression=number(1))
    values.append(exp.alias_(exp.cast(age, "BIGINT"), quoted(AGE)))
    return joined_to_changed(renderer, state, joined).select(*values, copy=False)


def joined_to_changed(
    renderer: PlanRenderer, state: GroupState, others: Sequence[tuple[exp.Select, str]]
) -> exp.Select:
    """The groups that changed, left joined with the other relations, whose columns get their prefixes."""
    query = exp.select().from_(renderer.source(exp.Table(this=quoted(state.changed))))
    joins = []
    for other, start in others:
        names = [item.alias_or_name for item in other.expressions]
        columns = [exp.alias_(column_of(name), quoted(start + name)) for name in names]
        renamed = exp.select(*columns).from_(renderer.source(other))
        on = [same(key.ref, column_of(start + key.id)) for key in state.node.keys]
        joins.append(exp.Join(this=renderer.source(renamed), side="LEFT", on=exp.and_(*on) if on else exp.true()))
    query.set("joins", joins)
    return query


def restriction_to(state: GroupState, stage: str) -> Restriction | None:
    """To the groups whose keys are in a stage."""
    keys = state.node.keys
    return Restriction(stage, tuple((column.id, column.id) for column in keys)) if keys else None
