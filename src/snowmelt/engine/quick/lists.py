"""LISTAGG, as `sql` writes it for Spark: a sorted list of structs, joined to one text."""

from __future__ import annotations

from sqlglot import exp


def listed_values(node: exp.Anonymous) -> tuple[exp.Expr, list[exp.Expr], exp.Expr] | None:
    """Which rows count, the keys of the order with the value last, and the separator; None for another shape."""
    if len(node.expressions) != 2 or not isinstance(node.expressions[1], exp.Literal):
        return None
    transform, separator = node.expressions
    arguments = arguments_of(transform, "transform")
    if len(arguments) != 2 or not _takes_value(arguments[1]):
        return None
    ordered = arguments_of(arguments[0], "sort_array")
    if len(ordered) != 2 or not isinstance(ordered[1], exp.Boolean) or not ordered[1].this:
        return None
    collected = arguments_of(ordered[0], "collect_list")
    case = collected[0] if len(collected) == 1 else None
    if not isinstance(case, exp.Case) or case.this is not None or case.args.get("default") is not None:
        return None
    (branch, *more) = case.args["ifs"]
    parts = arguments_of(branch.args["true"], "named_struct")
    if more or len(parts) < 2 or parts[-2].name != "v":
        return None
    return branch.this, parts[1::2], separator


def arguments_of(node: exp.Expr, name: str) -> list[exp.Expr]:
    """The arguments of a call of the function; none if the expression is no such call."""
    if isinstance(node, exp.Transform) and name == "transform":
        return [node.this, node.expression]
    return node.expressions if isinstance(node, exp.Anonymous) and node.name.lower() == name else []


def _takes_value(node: exp.Expr) -> bool:
    """`e -> e.v`"""
    if not isinstance(node, exp.Lambda) or len(node.expressions) != 1:
        return False
    parameter, body = node.expressions[0].name, node.this
    if isinstance(body, exp.Column):
        return bool(body.table == parameter and body.name == "v")
    return isinstance(body, exp.Dot) and body.this.name == parameter and body.expression.name == "v"
