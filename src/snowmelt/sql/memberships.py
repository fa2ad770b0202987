"""`x IN (query)` where its value is asked for.

Spark computes it by a join that says whether there is a match, so that what is unknown becomes FALSE: right in WHERE,
and wrong in SELECT, IS NULL or COALESCE, where `NULL IN (SELECT 1)` has to be NULL.
"""

from __future__ import annotations

from sqlglot import exp

_QUERY = "__in"
_CONDITIONS: dict[type[exp.Expr], str] = {exp.Where: "this", exp.Having: "this", exp.Join: "on", exp.If: "this"}
"""Where a condition stands, for which NULL is as good as FALSE."""


def is_value(test: exp.In) -> bool:
    """Whether somebody would notice that it is FALSE and not NULL."""
    node: exp.Expr = test
    negatable = True
    while isinstance(node.parent, exp.Paren | exp.And | exp.Or) or (negatable and isinstance(node.parent, exp.Not)):
        node = node.parent
        # Spark knows NOT IN as such; of anything else, NOT would make TRUE of the FALSE.
        negatable = negatable and isinstance(node, exp.Paren)
    if node.parent is None:
        return False
    return _CONDITIONS.get(type(node.parent)) != node.arg_key


def three_valued(test: exp.In) -> exp.Expr:
    """TRUE for a match; NULL where one can't be ruled out; else FALSE."""
    subject, query = test.this, test.args["query"]
    values = subject.expressions if isinstance(subject, exp.Tuple) else [subject]
    case = exp.Case().when(test.copy(), exp.true())
    if len(values) == 1:
        return exp.Paren(this=case.when(_unknown(values[0], query), exp.null()).else_(exp.false()))
    pairs = [exp.EQ(this=value.copy(), expression=_column(at)) for at, value in enumerate(values)]
    maybe = exp.and_(*(exp.Coalesce(this=pair, expressions=[exp.true()]) for pair in pairs))
    return exp.Paren(this=case.when(_some(query, len(values), maybe), exp.null()).else_(exp.false()))


def _unknown(value: exp.Expr, query: exp.Expr) -> exp.Expr:
    """Without the value in the query, so that Spark asks it once and not for every row."""
    nothing = exp.Is(this=_column(0), expression=exp.null())
    ours = exp.Is(this=exp.Paren(this=value.copy()), expression=exp.null())
    return exp.or_(_some(query, 1, nothing), exp.and_(ours, _some(query, 1, None)))


def _some(query: exp.Expr, width: int, condition: exp.Expr | None) -> exp.Exists:
    names = [exp.to_identifier(f"v{at}", quoted=True) for at in range(width)]
    alias = exp.TableAlias(this=exp.to_identifier(_QUERY, quoted=True), columns=names)
    inner = query.this if isinstance(query, exp.Subquery) else query
    found = exp.select("1").from_(exp.Subquery(this=inner.copy(), alias=alias))
    return exp.Exists(this=found.where(condition) if condition is not None else found)


def _column(at: int) -> exp.Column:
    return exp.column(exp.to_identifier(f"v{at}", quoted=True), table=exp.to_identifier(_QUERY, quoted=True))
