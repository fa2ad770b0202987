"""Generated data: random values, identifiers, sequences.

UNIFORM, NORMAL and RANDSTR take their randomness from an argument, usually RANDOM(): they are functions of
its hash, so that a constant argument gives the same value in every row, as in Snowflake. The values
themselves are not Snowflake's.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import FLOAT, INTEGER, VARCHAR, DataType, Kind, number, varchar
from snowmelt.sql import arithmetic
from snowmelt.sql.dialect import spark
from snowmelt.sql.functions.arguments import MOST_ELEMENTS, characters, constant_integer
from snowmelt.sql.functions.registry import Function, FunctionCall, refused, scalar

SEQUENCE_COLUMN = "__seq"
"""The column of a generated source that numbers its rows from 0 without gaps."""

_SEQUENCE_BYTES = {"SEQ1": 1, "SEQ2": 2, "SEQ4": 4, "SEQ8": 8}
SEQUENCES = frozenset(_SEQUENCE_BYTES)
_UNIT = "CAST(pmod(xxhash64(_0, _1), 9007199254740992L) AS DOUBLE) / 9007199254740992D"
"""A number in [0, 1) from a value and a salt."""


def _random(call: FunctionCall) -> exp.Expr:
    if not call.args:
        return spark("xxhash64(rand())")
    seed = constant_integer(call, 0, 0)
    if seed is None:
        raise errors.unsupported("RANDOM with a seed that is not constant")
    return spark("xxhash64(rand(_0))", exp.Var(this=f"{seed}L"))


def _uniform_type(types: tuple[DataType, ...]) -> DataType:
    if Kind.FLOAT in (types[0].kind, types[1].kind):
        return FLOAT
    if types[0].int64 and types[1].int64:
        return INTEGER
    return number(38, max(types[0].scale or 0, types[1].scale or 0))


def _uniform(call: FunctionCall) -> exp.Expr:
    low, high, source = call.args
    unit = spark(_UNIT, source, exp.Literal.number(0))
    if call.returns.kind is Kind.FLOAT:
        return spark("CAST(_0 AS DOUBLE) + _2 * (CAST(_1 AS DOUBLE) - CAST(_0 AS DOUBLE))", low, high, unit)
    # Both ends are drawn, so a NUMBER is drawn in units of its last digit.
    unit_of_last = exp.Var(this=f"1E-{call.returns.scale or 0}BD")
    steps = spark("floor(_2 * (CAST((_1 - _0) / _3 AS DOUBLE) + 1))", low, high, unit, unit_of_last)
    return arithmetic.cast(spark("_0 + _1 * _2", low, steps, unit_of_last), call.returns)


def _normal(call: FunctionCall) -> exp.Expr:
    return _with_source(
        call.args[2],
        lambda source: spark(
            "_0 + _1 * sqrt(-2 * ln(1 - _2)) * cos(2 * pi() * _3)",
            call.args[0],
            call.args[1],
            spark(_UNIT, source, exp.Literal.number(1)),
            spark(_UNIT, source, exp.Literal.number(2)),
        ),
    )


def _randstr(call: FunctionCall) -> exp.Expr:
    return _with_source(
        call.args[1],
        lambda source: spark(
            "array_join(transform(slice(sequence(0, CAST(_0 AS INT)), 2, CAST(_0 AS INT)), sm_i -> substring("
            "'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', "
            "CAST(pmod(xxhash64(_1, sm_i), 62) AS INT) + 1, 1)), '')",
            characters(call, 0, MOST_ELEMENTS),
            source,
        ),
    )


def _with_source(source: exp.Expr, build: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """`build(source)` with the source evaluated once: mentioned twice, RANDOM() would be two values."""
    body = build(spark("sm_source"))
    return spark("element_at(transform(array(_0), sm_source -> _1), 1)", source, body)


def _uuid_string(call: FunctionCall) -> exp.Expr:
    if not call.args:
        return spark("uuid()")
    if len(call.args) == 1:
        raise errors.not_enough_arguments("UUID_STRING", 2, 1)
    digest = spark("sha1(concat(unhex(replace(_0, '-', '')), encode(_1, 'UTF-8')))", call.args[0], call.args[1])
    # Version 5 of RFC 4122: the SHA-1 of namespace and name, with version and variant put in.
    return _with_source(
        digest,
        lambda hexadecimal: spark(
            "concat(left(_0, 8), '-', substring(_0, 9, 4), '-5', substring(_0, 14, 3), '-', "
            "translate(substring(_0, 17, 1), '0123456789abcdef', '89ab89ab89ab89ab'), "
            "substring(_0, 18, 3), '-', substring(_0, 21, 12))",
            hexadecimal,
        ),
    )


def _sequence(call: FunctionCall) -> exp.Expr:
    signed = constant_integer(call, 0, 0)
    if signed not in (0, 1):
        raise errors.invalid_value(call.literal(0) or "", "sign")
    row = exp.column(exp.to_identifier(SEQUENCE_COLUMN))
    bits = 8 * _SEQUENCE_BYTES[call.name]
    if bits == 64:
        return row
    period, half = exp.Var(this=f"{2**bits}L"), exp.Var(this=f"{2 ** (bits - 1)}L")
    return spark("(_0 + _2) % _1 - _2", row, period, half) if signed else spark("_0 % _1", row, period)


FUNCTIONS: tuple[Function, ...] = (
    scalar("RANDOM", "int", INTEGER, _random, least=0, volatile=True),
    scalar("UNIFORM", "num, num, int", _uniform_type, _uniform, volatile=True),
    scalar("NORMAL", "float, float, int", FLOAT, _normal, volatile=True),
    refused("ZIPF", "UNIFORM and NORMAL exist."),
    scalar("RANDSTR", "int, int", VARCHAR, _randstr, volatile=True),
    scalar("UUID_STRING", "str, str", varchar(36), _uuid_string, least=0, volatile=True),
    *(scalar(name, "int", INTEGER, _sequence, least=0, volatile=True) for name in _SEQUENCE_BYTES),
)
