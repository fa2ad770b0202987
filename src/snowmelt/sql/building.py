"""Pieces of Spark expressions that casts and functions share.

The generated SQL assumes that Spark's session time zone is UTC: the zone of the user's session appears in the
SQL as a constant wherever it matters, so that one Spark session can serve sessions of any zone.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from snowmelt.sql.dialect import call, identifier, spark, string

ERROR_PREFIX = "SNOWMELT"
"""Begins the text of a run-time error with Snowflake's code: `SNOWMELT:<code>:<sqlstate>:<message>`."""

_CHEAP_NODES = 8
"""A value of so many nodes at most is repeated rather than bound: evaluating it costs less than a lambda."""

_VOLATILE = frozenset({"rand", "randn", "random", "randstr", "uniform", "uuid", "shuffle"})
"""Spark functions that give another value at every mention, and so must be bound however cheap they are."""


def bind(values: exp.Expr | tuple[exp.Expr, ...], build: Callable[..., exp.Expr]) -> exp.Expr:
    """`build(*values)`, with each value evaluated once however often the result mentions it.

    Nested calls would otherwise double the text at every level. The result must mention other arguments of
    the user's only through `values`: an aggregate may not stand inside a lambda.
    """
    given = values if isinstance(values, tuple) else (values,)
    # Spark takes no subquery inside a lambda's call; it shares equal subqueries by itself.
    if all(is_cheap(value) for value in given) or any(value.find(exp.Query) for value in given):
        return build(*given)
    name = f"bound_{_depth(given) + 1}"
    holder = identifier(name)
    fields = [f"v{index}" for index in range(len(given))]
    members: list[exp.Expr] = []
    for field, value in zip(fields, given, strict=True):
        members += [string(field), value]
    body = build(*(exp.Dot(this=holder.copy(), expression=identifier(field)) for field in fields))
    arrow = exp.Lambda(this=body, expressions=[holder])
    return call("element_at", call("transform", call("array", call("named_struct", *members)), arrow), _ONE)


def fail(code: str, sqlstate: str, *parts: str | exp.Expr) -> exp.Expr:
    """A Spark expression that raises Snowflake's error; the parts of its message may be values."""
    texts = [string(f"{ERROR_PREFIX}:{code}:{sqlstate}:")]
    texts += [string(part) if isinstance(part, str) else spark("cast(_0 as string)", part) for part in parts]
    return call("raise_error", call("concat", *texts))


def or_fail(attempt: exp.Expr, original: exp.Expr, code: str, sqlstate: str, before: str, after: str) -> exp.Expr:
    """`attempt`, or an error that quotes `original` where the attempt is NULL and the original is not."""
    error = fail(code, sqlstate, before, original, after)
    return spark("coalesce(_0, if(_1 is null, null, _2))", attempt, original, error)


def constant_text(node: exp.Expr) -> str | None:
    """The text of a string literal; None for anything else."""
    return str(node.this) if isinstance(node, exp.Literal) and node.is_string else None


_ONE = exp.Literal.number(1)


def is_cheap(value: exp.Expr) -> bool:
    """Whether a value may be repeated: it is short, and the same each time."""
    return all(
        seen < _CHEAP_NODES and not (isinstance(node, exp.Anonymous) and node.name.lower() in _VOLATILE)
        for seen, node in enumerate(value.walk())
    )


def _depth(values: tuple[exp.Expr, ...]) -> int:
    """The highest binding mentioned in the values: the name of a new one must differ from all of them."""
    names = (node.name for value in values for node in value.find_all(exp.Identifier))
    return max((int(name.removeprefix("bound_")) for name in names if name.startswith("bound_")), default=0)
