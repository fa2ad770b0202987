"""COUNT(DISTINCT x) as a count over groups: first by the keys and x, then by the keys.

Both steps are aggregates of sums and extremes, so that both keep a state, and a change of a few rows needs no others:
whether a value is new to its group, or was the last of its kind, is what the state of the first step knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from snowmelt.core.types import DataType, Kind
from snowmelt.ivm.algebra import Aggregate, Column, Item, Node, Project, over
from snowmelt.ivm.exactness import inexact_ids
from snowmelt.ivm.states import EQUAL_IS_SAME, type_of
from snowmelt.ivm.subqueries import Fresh, passed
from snowmelt.ivm.trees import call, number

_MOST_DIGITS = 38
_AGAIN = {"min": "min", "max": "max", "bool_or": "bool_or", "bool_and": "bool_and"}
"""What puts the results of the first step together, where that gives the type there was."""


def in_two_steps(root: Node, fresh: Fresh) -> Node:
    """The same rows; aggregates of DISTINCT values become two, where one list of values is all there is."""
    inexact = inexact_ids(root)
    done: dict[int, Node] = {}
    for node in root.walk():
        made = over(node, [done[id(below)] for below in node.inputs])
        if isinstance(made, Aggregate):
            made = _split(made, fresh, inexact) or made
        done[id(node)] = made
    return done[id(root)]


@dataclass(frozen=True, slots=True)
class _Step:
    """One aggregate, in two."""

    first: Item | None
    """By the keys and the values; None where the values themselves are enough."""
    second: exp.Expr
    """By the keys."""
    final: exp.Expr | None = None
    """Over what the second step gave, called `_`."""


def _split(node: Aggregate, fresh: Fresh, inexact: frozenset[str]) -> Node | None:
    values = _values(node)
    known = {column.id: column for column in node.input.columns}
    if not values or node.input.ids & inexact or not all(_is_key(value, known) for value in values):
        return None
    columns = [Item(fresh(type_of(value, known)), value) for value in values]
    steps: list[tuple[Item, _Step]] = []
    for item in node.items:
        step = _step(item, [value.column for value in columns], known, fresh)
        if step is None:
            return None
        steps.append((item, step))
    given = Project(node.input, (*passed(node.input.columns), *columns))
    first = Aggregate(
        given, (*node.keys, *(item.column for item in columns)), tuple(s.first for _, s in steps if s.first is not None)
    )
    seconds = [Item(fresh(item.column.type), step.second) for item, step in steps]
    second = Aggregate(first, node.keys, tuple(seconds))
    finals = [
        Item(item.column, _over(step.final, made.column.ref) if step.final is not None else made.column.ref)
        for (item, step), made in zip(steps, seconds, strict=True)
    ]
    return Project(second, (*passed(node.keys), *finals))


def _values(node: Aggregate) -> list[exp.Expr] | None:
    """The one list of values that are counted DISTINCT."""
    found: list[list[exp.Expr]] = []
    for item in node.items:
        for distinct in item.value.find_all(exp.Distinct):
            if distinct.expressions not in found:
                found.append(distinct.expressions)
    return found[0] if len(found) == 1 else None


def _is_key(value: exp.Expr, known: Mapping[str, Column]) -> bool:
    type_ = type_of(value, known)
    return type_ is not None and type_.kind in EQUAL_IS_SAME


def _step(item: Item, values: list[Column], known: Mapping[str, Column], fresh: Fresh) -> _Step | None:
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
        return _Step(Item(column, value), call("sum", column.ref), call("coalesce", exp.column("_"), none))
    if name in _AGAIN:
        column = fresh(item.column.type)
        return _Step(Item(column, value), call(_AGAIN[name], column.ref))
    return _sum(value, known, fresh) if name == "sum" else None


def _of_values(name: str, values: list[Column]) -> _Step | None:
    if name == "count":
        there = [exp.Not(this=exp.Is(this=value.ref, expression=exp.null())) for value in values]
        return _Step(None, call("count_if", exp.and_(*there)))
    return _Step(None, call(name, values[0].ref)) if name in ("sum", *_AGAIN) and len(values) == 1 else None


def _sum(value: exp.Anonymous, known: Mapping[str, Column], fresh: Fresh) -> _Step | None:
    """A sum of sums has room for more digits than the sum would have."""
    type_ = type_of(value.expressions[0], known)
    if type_ is None or type_.kind is not Kind.NUMBER:
        return None
    if type_.int64:
        column = fresh(type_)
        return _Step(Item(column, value), call("sum", column.ref))
    digits, scale = min((type_.precision or _MOST_DIGITS) + 10, _MOST_DIGITS), type_.scale or 0
    column = fresh(DataType(Kind.NUMBER, digits, scale))
    wanted = exp.DataType.build(f"DECIMAL({digits}, {scale})", dialect="spark")
    return _Step(Item(column, value), call("sum", column.ref), exp.cast(exp.column("_"), wanted))


def _over(tree: exp.Expr, column: exp.Expr) -> exp.Expr:
    return tree.transform(lambda part: column.copy() if isinstance(part, exp.Column) and part.name == "_" else part)
