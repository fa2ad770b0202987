"""Expressions over constants and variables, computed here: a loop's `i := i + 1` must not be a Spark job.

Only what has exactly one meaning is taken: arithmetic, comparison, text and logic over plain types. Everything else is
UNKNOWN and goes through the binder and Spark, which also produce the messages of most errors.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import fold
from snowmelt.core.types import DataType, Kind
from snowmelt.runtime.constants import UNKNOWN
from snowmelt.runtime.variables import Variable
from snowmelt.sql import arithmetic, coercion
from snowmelt.sql.typewords import type_of_ast

Local = Callable[[str], Variable | None]
"""The variable of a folded name, or of `ROW.COLUMN`."""

_EXACT = Context(prec=120, rounding=ROUND_HALF_UP)
_INT64 = 1 << 63
_WHOLE = re.compile(r"[+-]?\d{1,18}\Z")
_PLAIN = frozenset({Kind.NUMBER, Kind.VARCHAR, Kind.BOOLEAN, Kind.DATE, Kind.TIME, Kind.TIMESTAMP_NTZ})
_WIDTHS = ((2, "SB1"), (4, "SB2"), (9, "SB4"), (18, "SB8"))
_MAX_DEPTH = 100


@dataclass(frozen=True, slots=True)
class _Fault:
    """An error that counts only if the value is needed: FALSE AND 1/0 = 1 is FALSE."""

    error: SnowmeltError


def compute(tree: exp.Expr, local: Local) -> Any:
    """The `Variable` that an expression of Snowflake's gives, or UNKNOWN. Raises what it certainly raises."""
    found = _value(tree, local, 0)
    if isinstance(found, _Fault):
        raise found.error
    return found


def convert(variable: Variable, target: DataType) -> Any:
    """The variable as a value of that type, or UNKNOWN. Raises when the value does not fit."""
    value, kind = variable.value, variable.type.kind
    if value is None:
        return Variable(None, target)
    if variable.type == target:
        return variable
    match target.kind:
        case Kind.NUMBER:
            return _to_number(variable, target)
        case Kind.FLOAT:
            return Variable(float(value), target) if kind in (Kind.NUMBER, Kind.FLOAT) else UNKNOWN
        case Kind.VARCHAR:
            text = _text(variable)
            if text is UNKNOWN:
                return UNKNOWN
            if len(text) > (target.length or types.MAX_VARCHAR):
                raise SnowmeltError("100078", "22000", f"String '{text}' is too long and would be truncated")
            return Variable(text, target)
        case Kind.VARIANT:
            return _to_variant(variable)
        case Kind.BOOLEAN | Kind.DATE | Kind.OBJECT | Kind.ARRAY if kind is target.kind:
            return Variable(value, target)
        case Kind.TIME | Kind.TIMESTAMP_NTZ if kind is target.kind and (target.precision or 9) >= 6:
            return Variable(value, target)
        case _:
            return UNKNOWN


def truth(variable: Variable) -> Any:
    """What a condition makes of a value: True, False, None for NULL, or UNKNOWN."""
    if variable.value is None:
        return None
    if variable.type.kind is Kind.BOOLEAN:
        return bool(variable.value)
    return variable.value != 0 if variable.type.kind is Kind.NUMBER else UNKNOWN


def _value(tree: exp.Expr, local: Local, depth: int) -> Any:
    handler = _HANDLERS.get(type(tree))
    return UNKNOWN if handler is None or depth > _MAX_DEPTH else handler(tree, local, depth + 1)


# -- leaves ------------------------------------------------------------------------------------------------------------


def _literal(tree: exp.Literal, local: Local, depth: int) -> Any:
    type_ = coercion.literal_type(tree)
    if type_.kind is Kind.VARCHAR:
        return Variable(str(tree.this), type_)
    if type_.kind is not Kind.NUMBER:
        return UNKNOWN
    return Variable(int(tree.this) if type_.scale == 0 else Decimal(tree.this), type_)


def _boolean(tree: exp.Boolean, local: Local, depth: int) -> Any:
    return Variable(bool(tree.this), types.BOOLEAN)


def _null(tree: exp.Null, local: Local, depth: int) -> Any:
    return Variable(None, types.NULL)


def _placeholder(tree: exp.Placeholder, local: Local, depth: int) -> Any:
    return (local(tree.name) if tree.this else None) or UNKNOWN


def _column(tree: exp.Column, local: Local, depth: int) -> Any:
    parts = tree.parts
    if len(parts) > 2 or not all(isinstance(part, exp.Identifier) for part in parts):
        return UNKNOWN
    return local(".".join(fold(part.name, quoted=bool(part.args.get("quoted"))) for part in parts)) or UNKNOWN


def _paren(tree: exp.Paren, local: Local, depth: int) -> Any:
    return _value(tree.this, local, depth)


# -- numbers -----------------------------------------------------------------------------------------------------------


def _negative(tree: exp.Neg, local: Local, depth: int) -> Any:
    found = _value(tree.this, local, depth)
    if not isinstance(found, Variable) or not found.type.is_numeric:
        return found if isinstance(found, _Fault) else UNKNOWN
    return Variable(None if found.value is None else -found.value, found.type)


def _arithmetic(tree: exp.Binary, local: Local, depth: int) -> Any:
    left, right = _value(tree.this, local, depth), _value(tree.expression, local, depth)
    for side in (left, right):
        if isinstance(side, _Fault):
            return side
    if not (isinstance(left, Variable) and isinstance(right, Variable)):
        return UNKNOWN
    if not (left.type.is_numeric and right.type.is_numeric):
        return UNKNOWN
    operator = _OPERATORS[type(tree)]
    type_ = arithmetic.result_type(operator, left.type, right.type)
    if left.value is None or right.value is None:
        return Variable(None, type_)
    if operator in "/%" and right.value == 0:
        return _Fault(errors.division_by_zero())
    if type_.kind is Kind.FLOAT:
        return _float_arithmetic(operator, float(left.value), float(right.value))
    return _within(_exact(operator, Decimal(left.value), Decimal(right.value)), type_)


def _exact(operator: str, left: Decimal, right: Decimal) -> Decimal:
    match operator:
        case "+":
            return _EXACT.add(left, right)
        case "-":
            return _EXACT.subtract(left, right)
        case "*":
            return _EXACT.multiply(left, right)
        case "/":
            return _EXACT.divide(left, right)
        case _:
            return _EXACT.remainder(left, right)


def _float_arithmetic(operator: str, left: float, right: float) -> Any:
    match operator:
        case "+":
            value = left + right
        case "-":
            value = left - right
        case "*":
            value = left * right
        case "/":
            value = left / right
        case _:
            return UNKNOWN
    # NaN and the infinities have rules of their own.
    return Variable(value, types.FLOAT) if abs(value) < float("inf") else UNKNOWN


def _within(value: Decimal, type_: DataType) -> Any:
    """The value rounded to the type's scale; UNKNOWN where it does not fit, so that Spark says so."""
    rounded = _rounded(value, type_.scale or 0)
    if abs(rounded) >= Decimal(10) ** ((type_.precision or types.MAX_PRECISION) - (type_.scale or 0)):
        return UNKNOWN
    if type_.int64 and not -_INT64 <= rounded < _INT64:
        return UNKNOWN
    return Variable(int(rounded) if type_.scale == 0 else rounded, type_)


def _rounded(value: Decimal, scale: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-scale), context=_EXACT)


def _to_number(variable: Variable, target: DataType) -> Any:
    value = variable.value
    if variable.type.kind is Kind.VARCHAR and _WHOLE.match(value):
        value = int(value)
    elif variable.type.kind is not Kind.NUMBER:
        return UNKNOWN
    scale = target.scale or 0
    rounded = _rounded(Decimal(value), scale)
    digits = (target.precision or types.MAX_PRECISION) - scale
    if abs(rounded) >= Decimal(10) ** digits:
        width = f"FIXED[{_width(target.precision or types.MAX_PRECISION)}]({target.precision},{scale}){{not null}}"
        raise errors.out_of_range(f"type {width}, value {value}")
    if target.int64 and not -_INT64 <= rounded < _INT64:
        return UNKNOWN
    return Variable(int(rounded) if scale == 0 else rounded, target)


def _width(precision: int) -> str:
    """How Snowflake names the integer that holds so many digits."""
    return next((name for digits, name in _WIDTHS if precision <= digits), "SB16")


# -- text --------------------------------------------------------------------------------------------------------------


def _text(variable: Variable) -> Any:
    """A value that is not NULL as text, as `::VARCHAR` gives it."""
    match variable.type.kind:
        case Kind.VARCHAR:
            return str(variable.value)
        case Kind.BOOLEAN:
            return "true" if variable.value else "false"
        case Kind.NUMBER:
            scale = variable.type.scale or 0
            return str(variable.value) if scale == 0 else format(_rounded(Decimal(variable.value), scale), "f")
        case _:
            return UNKNOWN


def _to_variant(variable: Variable) -> Any:
    match variable.type.kind:
        case Kind.VARCHAR | Kind.BOOLEAN:
            return Variable(json.dumps(variable.value, ensure_ascii=False), types.VARIANT)
        case Kind.NUMBER if variable.type.scale == 0:
            return Variable(str(variable.value), types.VARIANT)
        case Kind.VARIANT | Kind.OBJECT | Kind.ARRAY:
            return Variable(variable.value, types.VARIANT)
        case _:
            return UNKNOWN


def _concat(tree: exp.DPipe, local: Local, depth: int) -> Any:
    parts = [_value(part, local, depth) for part in tree.flatten()]
    for part in parts:
        if isinstance(part, _Fault):
            return part
    if not all(isinstance(part, Variable) and part.type.kind is not Kind.NULL for part in parts):
        return UNKNOWN
    texts: list[Any] = [None if part.value is None else _text(part) for part in parts]
    if any(text is UNKNOWN for text in texts):
        return UNKNOWN
    lengths = [part.type.length if part.type.kind is Kind.VARCHAR else types.MAX_VARCHAR for part in parts]
    type_ = types.varchar(min(sum(lengths), types.MAX_VARCHAR))
    return Variable(None if None in texts else "".join(texts), type_)


# -- truth -------------------------------------------------------------------------------------------------------------


def _comparison(tree: exp.Binary, local: Local, depth: int) -> Any:
    left, right = _value(tree.this, local, depth), _value(tree.expression, local, depth)
    for side in (left, right):
        if isinstance(side, _Fault):
            return side
    if not (isinstance(left, Variable) and isinstance(right, Variable)):
        return UNKNOWN
    kinds = {left.type.kind, right.type.kind} - {Kind.NULL}
    numeric = kinds <= {Kind.NUMBER, Kind.FLOAT}
    if not numeric and not (len(kinds) == 1 and kinds <= _PLAIN):
        return UNKNOWN
    if left.value is None or right.value is None:
        return Variable(None, types.BOOLEAN)
    a, b = left.value, right.value
    if Kind.FLOAT in kinds:
        a, b = float(a), float(b)
        if math.isnan(a) or math.isnan(b):
            return UNKNOWN
    return Variable(_COMPARISONS[type(tree)](a, b), types.BOOLEAN)


def _not(tree: exp.Not, local: Local, depth: int) -> Any:
    found = _value(tree.this, local, depth)
    if isinstance(found, _Fault):
        return found
    if not isinstance(found, Variable) or found.type.kind not in (Kind.BOOLEAN, Kind.NULL):
        return UNKNOWN
    return Variable(None if found.value is None else not found.value, types.BOOLEAN)


def _connective(tree: exp.Connector, local: Local, depth: int) -> Any:
    """AND is FALSE and OR is TRUE as soon as one side says so, whatever the other would raise."""
    decides = isinstance(tree, exp.Or)
    sides = [_value(side, local, depth) for side in (tree.this, tree.expression)]
    known = [s for s in sides if isinstance(s, Variable) and s.type.kind in (Kind.BOOLEAN, Kind.NULL)]
    if any(side.value is decides for side in known):
        return Variable(decides, types.BOOLEAN)
    for side in sides:
        if isinstance(side, _Fault):
            return side
    if len(known) < 2:
        return UNKNOWN
    return Variable(None if any(side.value is None for side in known) else not decides, types.BOOLEAN)


def _is(tree: exp.Is, local: Local, depth: int) -> Any:
    found = _value(tree.this, local, depth)
    if not isinstance(found, Variable):
        return found
    if isinstance(tree.expression, exp.Null):
        return Variable(found.value is None, types.BOOLEAN)
    if isinstance(tree.expression, exp.Boolean) and found.type.kind is Kind.BOOLEAN:
        return Variable(found.value is bool(tree.expression.this), types.BOOLEAN)
    return UNKNOWN


def _cast(tree: exp.Cast, local: Local, depth: int) -> Any:
    found = _value(tree.this, local, depth)
    if not isinstance(found, Variable):
        return found
    try:
        return convert(found, type_of_ast(tree.to))
    except SnowmeltError as error:
        return _Fault(error)


_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%",
}  # fmt: skip
_COMPARISONS: dict[type[exp.Expr], Callable[[Any, Any], bool]] = {
    exp.EQ: lambda a, b: bool(a == b),
    exp.NEQ: lambda a, b: bool(a != b),
    exp.LT: lambda a, b: bool(a < b),
    exp.LTE: lambda a, b: bool(a <= b),
    exp.GT: lambda a, b: bool(a > b),
    exp.GTE: lambda a, b: bool(a >= b),
}
_HANDLERS: dict[type[exp.Expr], Callable[[Any, Local, int], Any]] = {
    exp.Literal: _literal,
    exp.Boolean: _boolean,
    exp.Null: _null,
    exp.Placeholder: _placeholder,
    exp.Column: _column,
    exp.Paren: _paren,
    exp.Neg: _negative,
    exp.DPipe: _concat,
    exp.Not: _not,
    exp.And: _connective,
    exp.Or: _connective,
    exp.Is: _is,
    exp.Cast: _cast,
    **dict.fromkeys(_OPERATORS, _arithmetic),
    **dict.fromkeys(_COMPARISONS, _comparison),
}
