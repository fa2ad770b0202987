"""An expression in DuckDB's words, with the type that Spark gives it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from snowmelt.engine.quick.types import BIGINT, DOUBLE, INT, VOID, NotQuick, SparkType, array_of, decimal

_MOST_REPEATED = 2_000
_EXACT_DIGITS = 15
"""So many decimal digits a double holds exactly."""


@dataclass(frozen=True, slots=True)
class Value:
    sql: str
    """DuckDB's text, in parentheses where an operator could bind otherwise."""
    type: SparkType
    text: str | None = None
    """Of a string literal, its value."""
    number: int | None = None
    """Of an integer literal, its value."""


NULL = Value("NULL", VOID)
Function = Callable[[Sequence[Value]], Value]
"""A function of the list: from its arguments to its value. Raises NotQuick for arguments that it is not proven for."""


def literal(text: str) -> str:
    if "\0" in text:
        raise NotQuick("a text with a NUL character")
    return "'" + text.replace("'", "''") + "'"


def failing(reason: str, type_: SparkType) -> str:
    """The text of a value that is an error when it is computed.

    A cast, because DuckDB takes its function `error` for one that gives another value each time, and lets it stand
    neither in keys of groups nor of windows.
    """
    error = f"CAST(CAST('!{reason}' AS INTEGER) AS VARCHAR)"
    return error if type_ == VOID else f"CAST({error} AS {type_.duck})"


def guarded(condition: str, sql: str, reason: str, type_: SparkType) -> Value:
    """The value where the condition holds, and an error elsewhere."""
    return Value(f"CASE WHEN {condition} THEN {sql} ELSE {failing(reason, type_)} END", type_)


def string(text: str, type_: SparkType) -> Value:
    return Value(literal(text), type_, text=text)


def integer(number: int, type_: SparkType) -> Value:
    return Value(f"CAST({number} AS {type_.duck})", type_, number=number)


def widened(value: Value, target: SparkType) -> Value:
    """The value in a type that holds it exactly, as Spark widens by itself."""
    if value.type == target:
        return value
    return Value(f"CAST({value.sql} AS {target.duck})", target)


def as_decimal(type_: SparkType) -> SparkType:
    """The decimal that Spark takes an integer for."""
    return type_ if type_.is_decimal else decimal(10 if type_ == INT else 20, 0)


def common(types: Iterable[SparkType], what: str) -> SparkType:
    """The one type of several values, where Spark finds it without losing anything."""
    found = VOID
    for type_ in types:
        found = _both(found, type_, what)
    return found


def _both(left: SparkType, right: SparkType, what: str) -> SparkType:
    if right in (left, VOID):
        return left
    if left == VOID:
        return right
    if left.is_integer and right.is_integer:
        return BIGINT
    if left.name == right.name == "array":
        return array_of(_both(left.element, right.element, what))
    if left.is_exact_number and right.is_exact_number:
        one, other = as_decimal(left), as_decimal(right)
        scale = max(one.scale, other.scale)
        precision = max(one.precision - one.scale, other.precision - other.scale) + scale
        if precision > 38:
            raise NotQuick(f"{what} of {left.duck} and {right.duck}")
        return decimal(precision, scale)
    if DOUBLE in (left, right) and all(is_exact_as_double(type_) for type_ in (left, right)):
        return DOUBLE
    raise NotQuick(f"{what} of {left.duck} and {right.duck}")


def is_exact_as_double(type_: SparkType) -> bool:
    """Whether both engines make the same double of it."""
    return type_ in (DOUBLE, INT, BIGINT) or (type_.is_decimal and type_.precision <= _EXACT_DIGITS)


def unified(values: Sequence[Value], what: str) -> tuple[list[Value], SparkType]:
    target = common((value.type for value in values), what)
    # A bare NULL fits everywhere; an error has to be of the type too.
    return [value if value.sql == "NULL" else widened(value, target) for value in values], target


def repeatable(value: Value) -> str:
    """The text of a value that is to be mentioned several times: texts that grow at each level get out of hand."""
    if len(value.sql) > _MOST_REPEATED:
        raise NotQuick("an expression of this depth")
    return value.sql


def of_digits(value: Value, digits: int) -> str:
    """The text of a decimal, which is an error where it has more digits than that."""
    precision, scale = value.type.precision, value.type.scale
    if precision <= digits:
        return value.sql
    if scale > digits:
        raise NotQuick(f"{value.type.duck} of {digits} digits")
    sql, most = repeatable(value), f"CAST(1{'0' * (digits - scale)} AS DECIMAL(38,0))"
    fits = f"{sql} IS NULL OR {sql} BETWEEN -{most} AND {most}"
    return guarded(fits, sql, "digits", value.type).sql


def typed(arguments: Sequence[Value], *types: SparkType) -> Sequence[Value]:
    """The arguments, if they have these types."""
    if len(arguments) != len(types) or any(a.type != t for a, t in zip(arguments, types, strict=True)):
        raise NotQuick("these types of arguments")
    return arguments
