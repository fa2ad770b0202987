"""USING and NATURAL: columns of two sides of a join that become one."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.sql.binders import BindsExpressions
from snowmelt.sql.bound import Bound, FromItem
from snowmelt.sql.dialect import spark


def bind_using(
    expressions: BindsExpressions, names: list[str], before: list[FromItem], added: list[FromItem], side: str
) -> exp.Expr:
    """The condition that the named columns are equal. In the scope each of them is one column from then on."""
    conditions: list[exp.Expr] = []
    pairs = [(name, _one_side(expressions, name, before), _one_side(expressions, name, added)) for name in names]
    for name, left, right in pairs:
        conditions.append(expressions.compare(exp.EQ, left, right).tree)
        merged = {"RIGHT": right, "FULL": None}.get(side, left)
        if merged is None:
            values, type_ = expressions.same_type([left, right])
            merged = Bound(spark("coalesce(_0, _1)", values[0].tree, values[1].tree), type_)
        expressions.scope.merged[name] = merged
    _hide(expressions, frozenset(names), added)
    return exp.and_(*conditions)


def _one_side(expressions: BindsExpressions, name: str, sources: list[FromItem]) -> Bound:
    if name in expressions.scope.merged and any(
        name in s.hidden or any(c.name == name for c in s.columns) for s in sources
    ):
        first = expressions.scope.sources[0]
        if sources and sources[0] == first:
            return expressions.scope.merged[name]
    found = [c for s in sources for c in s.columns if c.name == name and name not in s.hidden]
    if not found:
        raise errors.invalid_identifier(quote(name), 1, 0)
    return Bound(found[0].tree.copy(), found[0].type)


def _hide(expressions: BindsExpressions, names: frozenset[str], sources: list[FromItem]) -> None:
    """`*` has the merged columns where the left side has them, whatever the side they take their values from.

    All names at once: a source that hides one is another object, which would not be found for the next.
    """
    for index, source in enumerate(expressions.scope.sources):
        if any(source is hidden or source == hidden for hidden in sources):
            expressions.scope.sources[index] = replace(source, hidden=source.hidden | names)


def shared_names(before: list[FromItem], added: list[FromItem]) -> list[str]:
    right = {column.name for source in added for column in source.columns}
    return list(dict.fromkeys(c.name for s in before for c in s.columns if c.name in right))
