"""What of a bound condition is known while it is bound: most policies ask only who reads."""

from __future__ import annotations

from sqlglot import exp


def decided(tree: exp.Expr) -> bool | None:
    """Whether the condition is true for every row, or for none; None where the rows decide."""
    tree = tree.unnest()
    if isinstance(tree, exp.Boolean):
        return bool(tree.this)
    if isinstance(tree, exp.Not):
        inner = decided(tree.this)
        return None if inner is None else not inner
    if isinstance(tree, exp.And | exp.Or):
        sides = {decided(tree.this), decided(tree.expression)}
        last = isinstance(tree, exp.Or)
        # One side is enough for this, whatever the other one is.
        return last if last in sides else (not last if sides == {not last} else None)
    if isinstance(tree, exp.EQ | exp.NEQ):
        return _compared(tree)
    if isinstance(tree, exp.In) and not tree.args.get("query"):
        return _among(tree)
    if isinstance(tree, exp.Case | exp.If) or _is_if(tree):
        chosen = reduced(tree)
        return None if chosen is tree else decided(chosen)
    return None


def undecided(tree: exp.Expr) -> exp.Expr:
    """A condition without the sides of AND and OR that are decided and decide nothing."""
    inner = tree.unnest()
    if not isinstance(inner, exp.And | exp.Or):
        return tree
    sides = [side for side in (inner.this, inner.expression) if decided(side) is None]
    return undecided(sides[0]) if len(sides) == 1 else tree


def reduced(tree: exp.Expr) -> exp.Expr:
    """The value of a CASE or IFF whose conditions are decided; otherwise the tree."""
    inner = tree.unnest()
    branches = _branches(inner)
    if branches is None:
        return inner
    conditions, default = branches
    for condition, value in conditions:
        known = decided(condition)
        if known:
            return reduced(value)
        if known is None:
            return inner
    return reduced(default)


def _branches(tree: exp.Expr) -> tuple[list[tuple[exp.Expr, exp.Expr]], exp.Expr] | None:
    if isinstance(tree, exp.Case) and tree.this is None:
        found = [(branch.this, branch.args["true"]) for branch in tree.args["ifs"]]
        return found, tree.args.get("default") or exp.Null()
    if isinstance(tree, exp.If):
        return [(tree.this, tree.args["true"])], tree.args.get("false") or exp.Null()
    if _is_if(tree):
        condition, then, otherwise = tree.expressions
        return [(condition, then)], otherwise
    return None


def _is_if(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Anonymous) and tree.name.lower() == "if" and len(tree.expressions) == 3


def _compared(tree: exp.Expr) -> bool | None:
    left, right = _text(tree.this), _text(tree.expression)
    if left is None or right is None:
        return None
    return (left == right) == isinstance(tree, exp.EQ)


def _among(tree: exp.In) -> bool | None:
    value, options = _text(tree.this), [_text(option) for option in tree.expressions]
    if value is None:
        return None
    if value in options:
        return True
    return None if None in options else False


def _text(tree: exp.Expr) -> str | None:
    tree = tree.unnest()
    return str(tree.this) if isinstance(tree, exp.Literal) and tree.is_string else None
