"""Which parts of a condition are so simple that the files can be searched for them without Spark.

`column = constant`, `column IN (…)`, comparisons, and `column = <anything of the source>` once the source's rows are
known. What is found is never less than what the condition says; whether it is more, `exact` tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from snowmelt.core.types import DataType, Kind
from snowmelt.runtime.rewriting.plan import SOURCE, TARGET, ChangePlan, bare, has_subquery, tables_in
from snowmelt.storage.probe import Among, Compared, Condition
from snowmelt.storage.schema import arrow_type

_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.LT: "less", exp.LTE: "less_equal", exp.GT: "greater", exp.GTE: "greater_equal",
}  # fmt: skip
_FLIPPED = {
    "less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal",
}  # fmt: skip
_KINDS = frozenset({Kind.NUMBER, Kind.VARCHAR, Kind.DATE, Kind.TIMESTAMP_NTZ})
"""Kinds whose values Arrow and Spark compare alike. Not FLOAT, for NaN and -0.0."""
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}(?: \d{2}:\d{2}:\d{2}(?:\.\d{1,6})?)?")


@dataclass(frozen=True, slots=True)
class KeyEquality:
    """`column = tree`, where the tree is over the source."""

    column: str
    tree: exp.Expr


@dataclass(frozen=True, slots=True)
class Narrowing:
    conditions: tuple[Condition, ...]
    keys: tuple[KeyEquality, ...]
    exact: bool
    """Whether the conditions say everything that the plan's conjuncts say."""
    separable: bool
    """Whether conditions, keys and what concerns the source alone say everything."""


class _NotSimpleError(Exception):
    pass


def narrowing(plan: ChangePlan) -> Narrowing:
    types = {column.name: column.type for column in plan.definition.columns}
    conditions: list[Condition] = []
    keys: list[KeyEquality] = []
    exact = separable = True
    for tree in plan.conjuncts:
        key = _key(tree, types)
        if key is not None:
            keys.append(key)
            exact = False
        elif TARGET not in tables_in(tree):
            exact = False
        else:
            try:
                conditions += _conditions(tree, types)
            except _NotSimpleError:
                exact = separable = False
    return Narrowing(tuple(conditions), tuple(keys), exact, separable)


def simple_conditions(
    trees: Iterable[exp.Expr], names: Mapping[str, str], types: Mapping[str, DataType]
) -> list[Condition]:
    """The simple ones among the conditions. `names` has the table's columns by the names in the conditions."""
    found: list[Condition] = []
    for tree in trees:
        renamed = tree.transform(lambda node: _of_target(node, names))
        with suppress(_NotSimpleError):
            found += _conditions(renamed, types)
    return found


def _of_target(node: exp.Expr, names: Mapping[str, str]) -> exp.Expr:
    return exp.column(names[node.name], table=TARGET) if isinstance(node, exp.Column) else node


def key_values(key: KeyEquality, values: pa.ChunkedArray, plan: ChangePlan) -> pa.Array | None:
    """The source's values as values of the key's column, NULL where none of those can equal them.

    None when that can't be told here.
    """
    type_ = next(column.type for column in plan.definition.columns if column.name == key.column)
    target = arrow_type(type_)
    if values.type == target:
        return values.combine_chunks()
    if not type_.is_number or not (pa.types.is_integer(values.type) or pa.types.is_decimal(values.type)):
        return None
    fitting = [None if item is None else _number(Decimal(item), type_) for item in values.to_pylist()]
    return pa.array(fitting, target)


def key_condition(key: KeyEquality, values: pa.Array) -> Condition:
    """The rows whose column equals one of the values."""
    return Among(key.column, pc.unique(values).drop_null())


def _key(tree: exp.Expr, types: Mapping[str, DataType]) -> KeyEquality | None:
    if not isinstance(tree, exp.EQ) or has_subquery(tree):
        return None
    for side, other in ((tree.this, tree.expression), (tree.expression, tree.this)):
        name = target_column(side, types)
        if name is not None and tables_in(other) == {SOURCE}:
            return KeyEquality(name, other)
    return None


def target_column(node: exp.Expr, types: Mapping[str, DataType]) -> str | None:
    """The column that an operand is, perhaps cast to a wider number."""
    node = bare(node)
    wider = isinstance(node, exp.Cast) and node.to.is_type("decimal")
    inner = bare(node.this) if wider else node
    if not isinstance(inner, exp.Column) or inner.table != TARGET:
        return None
    type_ = types[inner.name]
    return inner.name if type_.kind in _KINDS and (not wider or type_.is_number) else None


def _conditions(tree: exp.Expr, types: Mapping[str, DataType]) -> list[Condition]:
    tree = bare(tree)
    if isinstance(tree, exp.And):
        return [*_conditions(tree.this, types), *_conditions(tree.expression, types)]
    if isinstance(tree, exp.In) and not tree.args.get("query"):
        return [_among(tree.this, tree.expressions, types)]
    if isinstance(tree, exp.EQ):
        for side, other in ((tree.this, tree.expression), (tree.expression, tree.this)):
            if target_column(side, types) is not None:
                return [_among(side, [other], types)]
    operator = _COMPARISONS.get(type(tree))
    if operator is not None:
        assert isinstance(tree, exp.Binary)
        if target_column(tree.this, types) is not None:
            return [_compared(tree.this, operator, tree.expression, types)]
        return [_compared(tree.expression, _FLIPPED[operator], tree.this, types)]
    raise _NotSimpleError


def _among(side: exp.Expr, options: Sequence[exp.Expr], types: Mapping[str, DataType]) -> Condition:
    name = target_column(side, types)
    if name is None:
        raise _NotSimpleError
    values = [_fitting(_constant(option), types[name]) for option in options]
    # A NULL among the options never makes the condition true.
    known = [value for value in values if value is not None]
    return Among(name, pa.array(known, arrow_type(types[name])))


def _compared(side: exp.Expr, operator: str, other: exp.Expr, types: Mapping[str, DataType]) -> Condition:
    name = target_column(side, types)
    constant = _constant(other)
    value = _fitting(constant, types[name]) if name is not None else None
    if name is None or value is None:
        raise _NotSimpleError
    return Compared(name, operator, pa.scalar(value, arrow_type(types[name])))  # type: ignore[arg-type]


def _constant(node: exp.Expr) -> Any:
    """The Python value of a constant as the binder leaves them."""
    node = bare(node)
    if isinstance(node, exp.Null):
        return None
    if isinstance(node, exp.Literal) and node.is_string:
        return str(node.this)
    if isinstance(node, exp.Var):
        text = str(node.this)
        if text.endswith("BD"):
            return Decimal(text[:-2])
        if text.endswith("L"):
            return Decimal(text[:-1])
    if isinstance(node, exp.Neg):
        value = _constant(node.this)
        if isinstance(value, Decimal):
            return -value
    if isinstance(node, exp.Cast):
        return _cast_constant(_constant(node.this), node.to)
    raise _NotSimpleError


def _cast_constant(value: Any, target: exp.DataType) -> Any:
    if value is None:
        return None
    try:
        if target.is_type("decimal") and isinstance(value, Decimal):
            scale = int(target.expressions[1].name) if len(target.expressions) > 1 else 0
            if value == round(value, scale):
                return value
        elif isinstance(value, str) and target.is_type("date") and _DATE.fullmatch(value):
            return date.fromisoformat(value)
        elif isinstance(value, str) and target.is_type("timestampntz") and _TIMESTAMP.fullmatch(value):
            return datetime.fromisoformat(value)
    except ValueError:
        pass
    raise _NotSimpleError


def _fitting(value: Any, type_: DataType) -> Any:
    """The constant as a value of the column; None where no value of the column equals it."""
    if value is None:
        return None
    if type_.is_number and isinstance(value, Decimal):
        return _number(value, type_)
    expected = {Kind.VARCHAR: str, Kind.DATE: date, Kind.TIMESTAMP_NTZ: datetime}.get(type_.kind)
    if expected is not None and type(value) is expected and getattr(value, "tzinfo", None) is None:
        return value
    raise _NotSimpleError


def _number(value: Decimal, type_: DataType) -> int | Decimal | None:
    scale = type_.scale or 0
    if value != round(value, scale) or abs(value) >= Decimal(10) ** ((type_.precision or 38) - scale):
        return None
    if not type_.int64:
        return round(value, scale)
    return int(value) if -(1 << 63) <= value < 1 << 63 else None
