"""Functions that choose between values, and logic on numbers."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import BOOLEAN, FLOAT, DataType, Kind, number
from snowmelt.sql.building import bind
from snowmelt.sql.casts import cast
from snowmelt.sql.coercion import common_type, comparison_type
from snowmelt.sql.collations import of_types
from snowmelt.sql.dialect import call as spark_call
from snowmelt.sql.dialect import spark
from snowmelt.sql.functions.registry import FunctionCall, alias, first_type, scalar
from snowmelt.sql.row_keys import key_of

_ZERO = number(1, 0)


def _comparable_pair(call: FunctionCall, left: int, right: int) -> tuple[exp.Expr, exp.Expr]:
    target = comparison_type(call.types[left], call.types[right])
    if target is None:
        raise errors.invalid_argument_types(call.name, f"{call.types[left]}, {call.types[right]}")
    if target.kind is Kind.VARCHAR:
        target = replace(target, collation=of_types((call.types[left], call.types[right])))
    first, second = (
        key_of(cast(call.args[index], call.types[index], target, call.context), target) for index in (left, right)
    )
    return first, second


def _second_type(types: tuple[DataType, ...]) -> DataType:
    return types[1]


def _iff(call: FunctionCall) -> exp.Expr:
    return spark("CASE WHEN _0 THEN _1 ELSE _2 END", *call.args)


def _nullif(call: FunctionCall) -> exp.Expr:
    left, right = _comparable_pair(call, 0, 1)
    return spark("CASE WHEN _0 = _1 THEN NULL ELSE _2 END", left, right, call.args[0])


def _equal_null(call: FunctionCall) -> exp.Expr:
    return spark("_0 <=> _1", *_comparable_pair(call, 0, 1))


def _number_type(types: tuple[DataType, ...]) -> DataType:
    return types[0] if types[0].kind is not Kind.NULL else _ZERO


def _zero_if_null(call: FunctionCall) -> exp.Expr:
    return spark("coalesce(_0, _1)", call.args[0], exp.cast(exp.Literal.number(0), call.returns.spark, dialect="spark"))


def _result_indexes(count: int) -> list[int]:
    """The arguments of DECODE that may be its result: every second one, and the default if there is one."""
    indexes = list(range(2, count, 2))
    return indexes if count % 2 else [*indexes, count - 1]


def _decode_type(types: tuple[DataType, ...]) -> DataType:
    results = [types[index] for index in _result_indexes(len(types))]
    found = common_type(results)
    if found is None:
        raise errors.compilation(
            "001007", "22023", f"inconsistent data types: {', '.join(str(result) for result in results)}"
        )
    return found


def _decode(call: FunctionCall) -> exp.Expr:
    """Like CASE, but NULL equals NULL."""
    count = len(call.args)

    def result(index: int) -> exp.Expr:
        return cast(call.args[index], call.types[index], call.returns, call.context)

    branches = [
        exp.If(this=spark("_0 <=> _1", *_comparable_pair(call, 0, index)), true=result(index + 1))
        for index in range(1, count - 1, 2)
    ]
    return exp.Case(ifs=branches, default=result(count - 1) if count % 2 == 0 else None)


def _extreme_text(call: FunctionCall) -> exp.Expr:
    """By the keys of a collation. Of equal texts it is the first."""
    sign, found = ("<", call.args[0]) if call.name.startswith("GREATEST") else (">", call.args[0])
    alone = ("_1", "_0") if call.name.endswith("_IGNORE_NULLS") else ("NULL", "NULL")

    def better(left: exp.Expr, right: exp.Expr) -> exp.Expr:
        keys = key_of(left, call.types[0]), key_of(right, call.types[0])
        nulls = f"WHEN _0 IS NULL THEN {alone[0]} WHEN _1 IS NULL THEN {alone[1]}"
        return spark(f"CASE {nulls} WHEN _2 {sign} _3 THEN _1 ELSE _0 END", left, right, *keys)

    for other in call.args[1:]:
        found = bind((found, other), better)
    return found


def _extreme(call: FunctionCall) -> exp.Expr:
    """A NULL makes the result NULL, unless the name says otherwise. Spark's own leave NULLs out."""
    if any(type_.is_semi_structured for type_ in call.types):
        raise errors.unsupported(f"{call.name} of {call.types[0]}")
    name = "greatest" if call.name.startswith("GREATEST") else "least"
    if len(call.args) == 1:
        return call.args[0]
    if call.types[0].is_collated:
        return _extreme_text(call)
    if call.name.endswith("_IGNORE_NULLS"):
        return spark_call(name, *call.args)

    def build(*values: exp.Expr) -> exp.Expr:
        nulls = [spark("_0 IS NULL", value) for value in values]
        condition = reduce(lambda left, right: exp.Or(this=left, expression=right), nulls[1:], nulls[0])
        return exp.Case(ifs=[exp.If(this=condition, true=exp.Null())], default=spark_call(name, *values))

    return bind(tuple(call.args), build)


_IFNULL = scalar("IFNULL", "same, same", first_type, "coalesce(_0, _1)")

FUNCTIONS = (
    scalar("IFF", "bool, same, same", _second_type, _iff),
    scalar(
        "COALESCE",
        "same",
        first_type,
        lambda call: spark_call("coalesce", *call.args),
        variadic=True,
        least=1,
    ),
    _IFNULL,
    *alias(_IFNULL, "NVL"),
    scalar("NVL2", "any, same, same", _second_type, "CASE WHEN _0 IS NULL THEN _2 ELSE _1 END"),
    scalar("NULLIF", "any, any", first_type, _nullif),
    scalar("NULLIFZERO", "num", first_type, "CASE WHEN _0 = 0 THEN NULL ELSE _0 END"),
    scalar("ZEROIFNULL", "num", _number_type, _zero_if_null),
    scalar("DECODE", "any, any, any", _decode_type, _decode, variadic=True),
    scalar("EQUAL_NULL", "any, any", BOOLEAN, _equal_null),
    *(
        scalar(name, "same", first_type, _extreme, variadic=True, least=1)
        for name in ("GREATEST", "LEAST", "GREATEST_IGNORE_NULLS", "LEAST_IGNORE_NULLS")
    ),
    scalar("BOOLAND", "bool, bool", BOOLEAN, "_0 AND _1"),
    scalar("BOOLOR", "bool, bool", BOOLEAN, "_0 OR _1"),
    scalar("BOOLXOR", "bool, bool", BOOLEAN, "_0 <> _1"),
    scalar("BOOLNOT", "bool", BOOLEAN, "NOT _0"),
    scalar("REGR_VALX", "float, float", FLOAT, "CASE WHEN _0 IS NOT NULL THEN _1 END"),
    scalar("REGR_VALY", "float, float", FLOAT, "CASE WHEN _1 IS NOT NULL THEN _0 END"),
)
