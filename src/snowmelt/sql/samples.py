"""SAMPLE: a part of a source's rows.

With a seed, a row is chosen by the hash of its values and of its number among equal rows: the same rows each time, on
every engine, and incrementally. Without one, by a random number. BLOCK chooses rows, too: there are no blocks here
whose rows belong together.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import DataType
from snowmelt.sql.binders import BindsExpressions
from snowmelt.sql.bound import BoundQuery
from snowmelt.sql.dialect import call, identifier, integer, spark
from snowmelt.sql.node_arguments import only
from snowmelt.sql.notes import typed, volatile
from snowmelt.sql.row_keys import key_of

_MOST_ROWS = 1_000_000
_MOST_SEED = 2_147_483_647
_PARTS = 1_000_000_000
_INNER, _NUMBER = "__rows", "__copy"


def sampled(expressions: BindsExpressions, sample: exp.TableSample, bound: BoundQuery) -> exp.Query:
    """A query for the chosen rows of a bound one, with the same columns."""
    only(sample, "method", "percent", "size", "seed")
    method = sample.args["method"].name.upper() if sample.args.get("method") is not None else "BERNOULLI"
    seed, size = sample.args.get("seed"), sample.args.get("size")
    if size is None:
        return _fraction(expressions, sample, bound)
    if method in ("SYSTEM", "BLOCK") or seed is not None:
        raise errors.compilation(
            "002076", "42601", "SAMPLE of a number of ROWS takes neither SYSTEM, BLOCK nor SEED.",
            hint="Sample a percentage, or leave these words out.",
        )  # fmt: skip
    rows = _constant(expressions, size, "SAMPLE", 0, _MOST_ROWS)
    query = _over(bound, [])
    query.set("order", exp.Order(expressions=[exp.Ordered(this=_random(), desc=False, nulls_first=False)]))
    query.set("limit", exp.Limit(expression=integer(int(rows))))
    return query


def _fraction(expressions: BindsExpressions, sample: exp.TableSample, bound: BoundQuery) -> exp.Query:
    percent = _constant(expressions, sample.args["percent"], "SAMPLE", 0, 100)
    parts = int(percent * _PARTS / 100)
    seed = sample.args.get("seed")
    if seed is None:
        query = _over(bound, [])
        drawn = spark("_0 < _1", _random(), exp.cast(exp.Literal.number(str(parts / _PARTS)), "DOUBLE"))
        query.set("where", exp.Where(this=drawn))
        return query
    number = int(_constant(expressions, seed, "SEED", 0, _MOST_SEED))
    values = [_hashed(exp.column(identifier(c.key), table=identifier(_INNER)), c.type) for c in bound.columns]
    copies = exp.Window(
        this=call("row_number"),
        partition_by=[value.copy() for value in values],
        order=exp.Order(expressions=[exp.Ordered(this=values[0].copy(), desc=False, nulls_first=False)]),
        over="OVER",
    )
    inner = _over(bound, [exp.alias_(copies, identifier(_NUMBER))])
    # Spark's hash passes over NULLs; the marks tell (NULL, 1) from (1, NULL).
    keys = [_hashed(exp.column(identifier(c.key), table=identifier("__sample")), c.type) for c in bound.columns]
    marks = [spark("isnull(_0)", key) for key in keys]
    digest = call(
        "xxhash64", integer(number), *keys, *marks, exp.column(identifier(_NUMBER), table=identifier("__sample"))
    )
    outer = exp.select(*_columns(bound, "__sample")).from_(
        exp.Subquery(this=inner, alias=exp.TableAlias(this=identifier("__sample")))
    )
    outer.set("where", exp.Where(this=spark("pmod(_0, _1) < _2", digest, integer(_PARTS), integer(parts))))
    return outer


def _hashed(value: exp.Expr, type_: DataType) -> exp.Expr:
    return key_of(value, type_)


def _random() -> exp.Expr:
    return volatile(spark("rand()"), "SAMPLE without SEED")


def _over(bound: BoundQuery, more: list[exp.Expr]) -> exp.Select:
    inner = exp.Subquery(this=bound.tree, alias=exp.TableAlias(this=identifier(_INNER)))
    return exp.select(*_columns(bound, _INNER), *more).from_(inner)


def _columns(bound: BoundQuery, alias: str) -> list[exp.Expr]:
    return [
        typed(exp.alias_(exp.column(identifier(c.key), table=identifier(alias)), identifier(c.key)), c.type)
        for c in bound.columns
    ]


def _constant(expressions: BindsExpressions, node: exp.Expr, where: str, least: int, most: int) -> Decimal:
    """A number that is written out, or the value of a variable."""
    tree = expressions.bind(node).tree
    while isinstance(tree, exp.Cast | exp.Paren):
        tree = tree.this
    try:
        value = Decimal(str(tree.this).removesuffix("L").removesuffix("BD"))
    except InvalidOperation:
        value = Decimal(-1)
    if not least <= value <= most:
        raise errors.invalid_value(node.sql(dialect="snowflake"), where, expected=f"a number from {least} to {most}")
    return value
