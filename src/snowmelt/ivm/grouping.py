"""GROUP BY: one aggregate, or for grouping sets a union of them over one shared input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product

from sqlglot import exp

from snowmelt.ivm.algebra import Fresh, Item, PlanColumn, passed
from snowmelt.ivm.operators.aggregate import Aggregate
from snowmelt.ivm.operators.base import Operator
from snowmelt.ivm.operators.project import Project
from snowmelt.ivm.operators.union import Union
from snowmelt.ivm.trees import aggregate_name, number, unwrapped
from snowmelt.sql.notes import note_of

Keys = tuple[exp.Expr, ...]
_KeyItems = Mapping[exp.Expr, Item]
_Calls = Mapping[exp.Expr, exp.Expr]
_MARKS = {"grouping", "grouping_id"}


def sets_of(group: exp.Expr | None) -> list[Keys]:
    """The grouping sets of a GROUP BY, as written; one empty set when there is none."""
    if group is None:
        return [()]
    plain = tuple(unwrapped(key) for key in group.expressions if not _is_construct(key))
    constructs = [key for key in group.expressions if _is_construct(key)]
    for name in ("grouping_sets", "rollup", "cube"):
        constructs += group.args.get(name) or []
    choices = [_expanded(construct) for construct in constructs]
    return [tuple(dict.fromkeys((*plain, *_flat(chosen)))) for chosen in product(*choices)]


def aggregate(
    fresh: Fresh,
    below: Operator,
    sets: Sequence[Keys],
    keys: Mapping[exp.Expr, Item],
    calls: _Calls,
) -> tuple[Operator, dict[exp.Expr, exp.Expr]]:
    """The grouped node, and what stands for each key and each call, as they were written."""
    if len(sets) == 1:
        return _single(fresh, below, sets[0], keys, calls)
    columns = {key: fresh(item.column.type) for key, item in keys.items()}
    results = {call: fresh(note_of(call).type) for call in calls}
    branches = tuple(_branch(fresh, below, chosen, keys, calls) for chosen in sets)
    outputs = (*columns.values(), *results.values())
    replaced = {call: column.ref for call, column in (*columns.items(), *results.items())}
    return Union(branches, outputs), dict(replaced)


def _single(
    fresh: Fresh, below: Operator, chosen: Keys, keys: _KeyItems, calls: _Calls
) -> tuple[Operator, dict[exp.Expr, exp.Expr]]:
    items = _items(fresh, calls)
    columns = _distinct([keys[key].column for key in chosen])
    node = Aggregate(below, columns, tuple(items.values()))
    replaced: dict[exp.Expr, exp.Expr] = {key: keys[key].column.ref for key in chosen}
    replaced.update({call: item.column.ref for call, item in items.items()})
    replaced.update({call: _mark(call, chosen) for call in calls if call not in items})
    return node, replaced


def _branch(fresh: Fresh, below: Operator, chosen: Keys, keys: _KeyItems, calls: _Calls) -> Operator:
    columns = _distinct([keys[key].column for key in chosen])
    if not columns:
        # Over no rows, an aggregate without GROUP BY has one row; an empty grouping set has none.
        one = fresh(None)
        below = Project(below, (*passed(below.columns), Item(one, number(1))))
        columns = (one,)
    items = _items(fresh, calls)
    node = Aggregate(below, columns, tuple(items.values()))
    outputs = [
        Item(fresh(item.column.type), item.column.ref if key in chosen else exp.null()) for key, item in keys.items()
    ]
    for call in calls:
        value = items[call].column.ref if call in items else _mark(call, chosen)
        outputs.append(Item(fresh(note_of(call).type), value))
    return Project(node, tuple(outputs))


def _items(fresh: Fresh, calls: _Calls) -> dict[exp.Expr, Item]:
    return {
        call: Item(fresh(note_of(call).type), tree)
        for call, tree in calls.items()
        if aggregate_name(call) not in _MARKS
    }


def _mark(call: exp.Expr, chosen: Keys) -> exp.Expr:
    """GROUPING and GROUPING_ID: a bit for each argument that is not a key of the set."""
    value = 0
    for argument in call.expressions:
        value = value * 2 + (0 if unwrapped(argument) in chosen else 1)
    return exp.cast(number(value), "BIGINT")


def _is_construct(key: exp.Expr) -> bool:
    return isinstance(key, exp.GroupingSets | exp.Rollup | exp.Cube)


def _expanded(construct: exp.Expr) -> list[Keys]:
    parts = [_keys(part) for part in construct.expressions]
    if isinstance(construct, exp.Rollup):
        return [_flat(parts[:length]) for length in range(len(parts), -1, -1)]
    if isinstance(construct, exp.Cube):
        return [_flat(chosen) for length in range(len(parts), -1, -1) for chosen in combinations(parts, length)]
    found: list[Keys] = []
    for part, keys in zip(construct.expressions, parts, strict=True):
        found += _expanded(part) if _is_construct(part) else [keys]
    return found


def _keys(part: exp.Expr) -> Keys:
    part = unwrapped(part)
    if _is_construct(part):
        return ()
    if isinstance(part, exp.Tuple):
        return tuple(key for inner in part.expressions for key in _keys(inner))
    return (part,)


def _flat(parts: Sequence[Keys]) -> Keys:
    return tuple(key for part in parts for key in part)


def _distinct(columns: Sequence[PlanColumn]) -> tuple[PlanColumn, ...]:
    return tuple({column.id: column for column in columns}.values())
