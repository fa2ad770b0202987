"""MIN and MAX from a state: a change that leaves the extreme alone, or goes beyond it, needs no other row.

Only when the extreme itself went, and nothing came that reaches as far, are the rows of that group read again. What a
refresh adds to such a state is the group's new extreme, as a whole and numbered, so that it needs the old one: it is
looked up by key, as the rows of the group are for the table anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from snowmelt.ivm.rendering import Renderer, Restriction, When, quoted
from snowmelt.ivm.states import AGE, ROWS, Partial, State
from snowmelt.ivm.trees import call, number, same

_OLD, _LOST, _AGAIN = "old_", "lost_", "again_"
"""What columns of the joined relations start with: names are unique, so that none needs a table's."""
_MARK = "mark"

Add = Callable[[str, str, exp.Select], None]
"""Adds a stage: its name, what it is for, and the query."""


def grow(renderer: Renderer, state: State, change: exp.Select, *, inserts_only: bool, add: Add) -> None:
    """The stages that find what a refresh adds to a state with extremes. The change must be netted: a row that came and
    went again was never there."""
    add(state.changed, "groups that changed", renderer.addition(state, change))
    keys = _restriction(state, state.changed)
    joined = [(_before(renderer, state, keys), _OLD)]
    if not inserts_only:
        lost, again = f"{state.name}__lost", f"{state.name}__again"
        add(lost, "groups that lost an extreme", _lost(renderer, state, keys))
        add(again, "their extremes, read again", _again(renderer, state, lost))
        joined += [(_marked(renderer, state, lost), _LOST), (renderer.named(again, _names(state)), _AGAIN)]
    add(state.added, "sums and extremes of what changed", _added(renderer, state, joined))


def _before(renderer: Renderer, state: State, keys: Restriction | None) -> exp.Select:
    """The extremes before the refresh."""
    values = [exp.alias_(state.together(name), quoted(name)) for name in (*_extreme_names(state), AGE)]
    return renderer.by_key(state.node, values, renderer.stored(state, keys))


def _lost(renderer: Renderer, state: State, keys: Restriction | None) -> exp.Select:
    query = _joined(renderer, state, [(_before(renderer, state, keys), _OLD)])
    query.set("where", exp.Where(this=exp.or_(*[_is_lost(partial) for partial in state.extremes])))
    return query.select(*_keys(state), exp.alias_(number(1), quoted(_MARK)), copy=False)


def _is_lost(partial: Partial) -> exp.Expr:
    """Something went that was not behind the extreme, and nothing came that is as far out."""
    gone, came, old = (exp.column(quoted(n)) for n in (partial.gone_name, partial.name, _OLD + partial.name))
    behind, beyond = (exp.GT, exp.LTE) if partial.is_least else (exp.LT, exp.GTE)
    kept = exp.or_(behind(this=gone, expression=old), beyond(this=came, expression=old.copy()))
    went = exp.Not(this=exp.Is(this=gone.copy(), expression=exp.null()))
    return exp.and_(went, exp.Not(this=call("coalesce", kept, exp.false())))


def _again(renderer: Renderer, state: State, lost: str) -> exp.Select:
    node = state.node
    restriction = _restriction(state, lost)
    rows = renderer.rows(node.input, When.NEW, restriction)
    if restriction is None:
        rows = renderer.of(rows, node.input.columns)
        any_lost = exp.Join(this=renderer.source(exp.Table(this=quoted(lost))), side="LEFT", kind="SEMI", on=exp.true())
        rows.set("joins", [any_lost])
    values = [exp.alias_(renderer.at(p.initial, When.NEW), quoted(p.name)) for p in state.extremes]
    return renderer.by_key(node, values, rows)


def _marked(renderer: Renderer, state: State, lost: str) -> exp.Select:
    return renderer.named(lost, [*(column.id for column in state.node.keys), _MARK])


def _added(renderer: Renderer, state: State, joined: Sequence[tuple[exp.Select, str]]) -> exp.Select:
    read_again = len(joined) > 1
    values: list[exp.Expr] = [*_keys(state), exp.column(quoted(ROWS))]
    for partial in state.partials:
        value: exp.Expr = exp.column(quoted(partial.name))
        if partial.is_extreme:
            old, again = (exp.column(quoted(start + partial.name)) for start in (_OLD, _AGAIN))
            value = call("least" if partial.is_least else "greatest", value, old)
            if read_again:
                lost = exp.Not(this=exp.Is(this=exp.column(quoted(_LOST + _MARK)), expression=exp.null()))
                value = exp.Case(ifs=[exp.If(this=lost, true=again)], default=value)
        values.append(exp.alias_(value, quoted(partial.name)))
    age = exp.Add(this=call("coalesce", exp.column(quoted(_OLD + AGE)), number(0)), expression=number(1))
    values.append(exp.alias_(exp.cast(age, "BIGINT"), quoted(AGE)))
    return _joined(renderer, state, joined).select(*values, copy=False)


def _joined(renderer: Renderer, state: State, others: Sequence[tuple[exp.Select, str]]) -> exp.Select:
    """The groups that changed, each with what the others say of it; the others' columns get what they start with."""
    query = exp.select().from_(renderer.source(exp.Table(this=quoted(state.changed))))
    joins = []
    for other, start in others:
        names = [item.alias_or_name for item in other.expressions]
        columns = [exp.alias_(exp.column(quoted(name)), quoted(start + name)) for name in names]
        renamed = exp.select(*columns).from_(renderer.source(other))
        on = [same(key.ref, exp.column(quoted(start + key.id))) for key in state.node.keys]
        joins.append(exp.Join(this=renderer.source(renamed), side="LEFT", on=exp.and_(*on) if on else exp.true()))
    query.set("joins", joins)
    return query


def _restriction(state: State, stage: str) -> Restriction | None:
    keys = state.node.keys
    return Restriction(stage, tuple((column.id, column.id) for column in keys)) if keys else None


def _keys(state: State) -> list[exp.Expr]:
    return [exp.alias_(column.ref, quoted(column.id)) for column in state.node.keys]


def _extreme_names(state: State) -> list[str]:
    return [partial.name for partial in state.extremes]


def _names(state: State) -> list[str]:
    return [*(column.id for column in state.node.keys), *_extreme_names(state)]
