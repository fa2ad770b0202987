"""ASOF JOIN: each row of the left side with the nearest row of the right side.

The nearest row is found by an interval. On the right, a window tells of each row the next value (for >= and >) or the
one before (for <= and <) with the same keys: the row is the nearest one for all left values up to there. So the join is
a LEFT JOIN with a range, which every engine and every incremental rule knows. Of rows with the same value all but one
have an empty interval; Snowflake does not say which one it takes either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.sql.binders import BindsExpressions
from snowmelt.sql.bound import Bound, FromItem
from snowmelt.sql.dialect import call

_BOUND: dict[type[exp.Expr], tuple[str, type[exp.Expr]]] = {
    exp.GTE: ("lead", exp.LT), exp.GT: ("lead", exp.LTE), exp.LTE: ("lag", exp.GT), exp.LT: ("lag", exp.GTE),
}  # fmt: skip
_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {exp.GTE: exp.LTE, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.LT: exp.GT}


@dataclass(frozen=True, slots=True)
class AsofJoin:
    """What the join compares. The trees of the right side are over its own columns."""

    operator: type[exp.Expr]
    left: Bound
    right: Bound
    keys: tuple[tuple[Bound, Bound], ...]

    def neighbour(self) -> exp.Expr:
        """The value where the next nearest row of the right side begins."""
        ordered = exp.Ordered(this=self.right.tree.copy(), desc=False, nulls_first=False)
        return exp.Window(
            this=call(_BOUND[self.operator][0], self.right.tree),
            partition_by=[key.tree.copy() for _, key in self.keys],
            order=exp.Order(expressions=[ordered]),
            over="OVER",
        )

    def known(self) -> exp.Expr:
        """The rows of the right side that can be a match at all: without them, NULL would be a neighbour."""
        values = [self.right, *[key for _, key in self.keys]]
        return exp.and_(*[exp.Not(this=exp.Is(this=v.tree.copy(), expression=exp.null())) for v in values])

    def condition(self, value: exp.Expr, neighbour: exp.Expr, keys: list[exp.Expr]) -> exp.Expr:
        """The condition of the LEFT JOIN, over the columns that the right side was given."""
        until = exp.or_(
            exp.Is(this=neighbour.copy(), expression=exp.null()),
            _BOUND[self.operator][1](this=self.left.tree.copy(), expression=neighbour.copy()),
        )
        equal = [exp.EQ(this=left.tree.copy(), expression=key) for (left, _), key in zip(self.keys, keys, strict=True)]
        return exp.and_(*equal, self.operator(this=self.left.tree.copy(), expression=value), until)


def bind_asof(
    expressions: BindsExpressions, join: exp.Join, right: BindsExpressions, before: list[FromItem], using: list[str]
) -> AsofJoin:
    """`right` binds over the right side alone."""
    match = join.args.get("match_condition")
    while isinstance(match, exp.Paren):
        match = match.this
    if match is None or type(match) not in _BOUND:
        raise errors.compilation(
            "001003", "42000", "ASOF JOIN needs MATCH_CONDITION (left >= right), with >=, >, <= or <."
        )
    left_node, right_node, operator = match.this, match.expression, type(match)
    if _reads_only(left_node, right) and not _reads_only(right_node, right):
        left_node, right_node, operator = right_node, left_node, _FLIPPED[operator]
    left, value = expressions.comparable_pair(expressions.bind(left_node), right.bind(right_node))
    keys = [_key(expressions, right, pair) for pair in _pairs(join.args.get("on"))]
    keys += [_using(expressions, right, name, before) for name in using]
    return AsofJoin(operator, left, value, tuple(keys))


def _pairs(condition: exp.Expr | None) -> Iterator[exp.EQ]:
    if condition is None:
        return
    if isinstance(condition, exp.Paren):
        yield from _pairs(condition.this)
    elif isinstance(condition, exp.And):
        yield from _pairs(condition.this)
        yield from _pairs(condition.expression)
    elif isinstance(condition, exp.EQ):
        yield condition
    else:
        raise errors.unsupported("ON of an ASOF JOIN other than equalities joined by AND", hint="Filter in subqueries.")


def _key(expressions: BindsExpressions, right: BindsExpressions, pair: exp.EQ) -> tuple[Bound, Bound]:
    one, other = pair.this, pair.expression
    if _reads_only(one, right) and not _reads_only(other, right):
        one, other = other, one
    return expressions.comparable_pair(expressions.bind(one), right.bind(other))


def _using(
    expressions: BindsExpressions, right: BindsExpressions, name: str, before: list[FromItem]
) -> tuple[Bound, Bound]:
    merged = expressions.scope.merged.get(name)
    found = [Bound(c.tree.copy(), c.type) for s in before for c in s.columns if c.name == name]
    if merged is None and not found:
        raise errors.invalid_identifier(quote(name), 1, 0)
    column = exp.column(exp.to_identifier(name, quoted=True))
    return expressions.comparable_pair(merged if merged is not None else found[0], right.bind(column))


def _reads_only(node: exp.Expr, right: BindsExpressions) -> bool:
    """Whether all columns of an expression are the right side's."""
    try:
        right.bind(node)
    except errors.SnowmeltError:
        return False
    return True
