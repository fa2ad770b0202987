"""What several families ask of a call's arguments."""

from __future__ import annotations

from sqlglot import exp

from snowmelt.core.types import BINARY, MAX_VARCHAR, NULL, VARCHAR, DataType, Kind
from snowmelt.sql.building import bind, fail
from snowmelt.sql.casts import cast
from snowmelt.sql.dialect import integer, spark
from snowmelt.sql.functions.registry import FunctionCall
from snowmelt.sql.patterns import is_null

_INT_LIMIT = 2**31 - 1


def any_null(call: FunctionCall) -> bool:
    """Whether an argument is the constant NULL."""
    return any(is_null(argument) for argument in call.args)


def null(call: FunctionCall) -> exp.Expr:
    """NULL of the type that the call returns."""
    return cast(exp.Null(), NULL, call.returns, call.context)


def constant_integer(call: FunctionCall, index: int, default: int) -> int | None:
    """The value of an integer argument, the default when it is left out; None when it is not a constant."""
    if index >= len(call.args):
        return default
    text = call.literal(index)
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None


def small_integer(call: FunctionCall, index: int) -> exp.Expr:
    """An integer argument as Spark's INT, which is what its functions of text take."""
    value = constant_integer(call, index, 0)
    if value is not None:
        return integer(max(min(value, _INT_LIMIT), -_INT_LIMIT))
    return spark("CAST(_0 AS INT)", call.args[index])


MOST_ELEMENTS = 2_000_000
"""The most elements of an array that a call makes from a number: some 16 MB as text, the largest value there is."""


def at_most(call: FunctionCall, most: int, value: exp.Expr, size: exp.Expr) -> exp.Expr:
    """The value where the size is within bounds, and an error elsewhere.

    What a call makes from a number can be as large as somebody likes; it would take the memory of everybody else.
    """
    error = fail("100078", "22000", f"The result of {call.name} is too long: at most {most} are possible")
    return spark(f"if(_0 > {most}, _1, _2)", size, error, value)


def characters(call: FunctionCall, index: int, most: int = MAX_VARCHAR) -> exp.Expr:
    """How many characters a call is to make, as Spark's INT."""
    count = small_integer(call, index)
    known = constant_integer(call, index, 0)
    if known is not None and known <= most:
        return count
    return bind(count, lambda n: at_most(call, most, n, n))


def is_binary(call: FunctionCall, index: int = 0) -> bool:
    return call.types[index].kind is Kind.BINARY


def text_or_bytes(call: FunctionCall, index: int = 0) -> exp.Expr:
    """An argument that may be BINARY; anything else is cast to VARCHAR."""
    type_ = call.types[index]
    if type_.kind in (Kind.BINARY, Kind.VARCHAR):
        return call.args[index]
    return cast(call.args[index], type_, VARCHAR, call.context)


def text_type(types: tuple[DataType, ...]) -> DataType:
    """The type of the first argument if it is VARCHAR or BINARY, VARCHAR otherwise."""
    return types[0] if types[0].kind in (Kind.BINARY, Kind.VARCHAR) else VARCHAR


def unbounded_text_type(types: tuple[DataType, ...]) -> DataType:
    """BINARY for BINARY and VARCHAR otherwise, of the greatest length."""
    return BINARY if types[0].kind is Kind.BINARY else VARCHAR
