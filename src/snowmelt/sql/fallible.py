"""Failures as values: what an expression gives, and beside it the error it would have raised.

A statement fails at the first value that does not fit. Loading files must go on instead, and say for each row which
column failed and why. So an expression whose failures are `raise_error` calls is split in two: one that is NULL where
it would have failed, and one that is the error's text there and NULL elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from snowmelt.sql.dialect import call, spark

Split = tuple[exp.Expr, exp.Expr | None]
"""The value, and the error; no error where the expression can't raise one."""


def split(tree: exp.Expr) -> Split:
    """The value and the error of a Spark expression.

    Only errors that the expression raises itself are turned into values: what Spark raises (a division by zero)
    still fails.
    """
    if not _raises(tree):
        return tree, None
    if isinstance(tree, exp.Anonymous):
        name = tree.name.lower()
        if name == "raise_error":
            return exp.Null(), tree.expressions[0].copy()
        if name == "coalesce":
            return _coalesce(tree.expressions)
        if name == "if":
            return _conditional(*tree.expressions)
        if name == "transform":
            return _transform(tree)
    if isinstance(tree, exp.If):
        return _conditional(tree.this, tree.args["true"], tree.args.get("false") or exp.Null())
    if isinstance(tree, exp.Case) and tree.this is None:
        return _case(tree)
    return _strict(tree)


def _raises(tree: exp.Expr) -> bool:
    return any(node.name.lower() == "raise_error" for node in tree.find_all(exp.Anonymous))


def _conditional(condition: exp.Expr, then: exp.Expr, otherwise: exp.Expr) -> Split:
    chosen, failed = split(condition)
    (value, error), (other, other_error) = split(then), split(otherwise)
    result = spark("if(_0, _1, _2)", chosen, value, other)
    if error is None and other_error is None:
        return result, failed
    outcome = spark("if(_0, _1, _2)", chosen, _text(error), _text(other_error))
    return result, outcome if failed is None else call("coalesce", failed, outcome)


def _coalesce(arguments: Sequence[exp.Expr]) -> Split:
    """The second argument is looked at only where the first is NULL, and so on."""
    value, error = split(arguments[-1])
    for argument in reversed(arguments[:-1]):
        first, failed = split(argument)
        if error is not None:
            error = spark("if(_0 is null, _1, null)", first, error)
        if failed is not None:
            # A NULL that stands for a failure is not a NULL that the next argument replaces.
            value = spark("if(_0 is null, _1, null)", failed, value)
            error = failed if error is None else call("coalesce", failed, error)
        value = call("coalesce", first, value)
    return value, error


def _case(tree: exp.Case) -> Split:
    default = tree.args.get("default") or exp.Null()
    result: exp.Expr = default
    for branch in reversed(tree.args["ifs"]):
        result = exp.Anonymous(this="if", expressions=[branch.this.copy(), branch.args["true"].copy(), result.copy()])
    return split(result)


def _transform(tree: exp.Anonymous) -> Split:
    """A lambda over an array: how `bind` evaluates a value once. The error is the first of any element."""
    array, function = tree.expressions
    values, failed = split(array)
    assert isinstance(function, exp.Lambda)
    body, error = split(function.this)

    def mapped(result: exp.Expr) -> exp.Expr:
        return call("transform", values, exp.Lambda(this=result, expressions=[e.copy() for e in function.expressions]))

    errors = [failed] if failed is not None else []
    if error is not None:
        errors.append(spark("get(filter(_0, found -> found is not null), 0)", mapped(error)))
    return mapped(body), _first(errors)


def _strict(tree: exp.Expr) -> Split:
    """Any other operation: it fails where one of its arguments does."""
    errors: list[exp.Expr] = []
    result = tree.copy()

    def replaced(node: exp.Expr) -> exp.Expr:
        value, error = split(node)
        if error is not None:
            errors.append(error)
        return value

    _map_children(result, replaced)
    return result, _first(errors)


def _map_children(node: exp.Expr, change: Callable[[exp.Expr], exp.Expr]) -> None:
    for key, child in list(node.args.items()):
        if isinstance(child, exp.Expr):
            node.set(key, change(child.copy()))
        elif isinstance(child, list):
            node.set(key, [change(item.copy()) if isinstance(item, exp.Expr) else item for item in child])


def _first(errors: Sequence[exp.Expr]) -> exp.Expr | None:
    if not errors:
        return None
    return errors[0] if len(errors) == 1 else call("coalesce", *errors)


def _text(error: exp.Expr | None) -> exp.Expr:
    return error if error is not None else exp.Null()
