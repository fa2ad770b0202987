"""Which values of a query are not the same each time they are computed."""

from __future__ import annotations

from sqlglot import exp

from snowmelt.core.types import Kind
from snowmelt.ivm.algebra import Aggregate, Column, Node, Project, Union, Window, columns_in
from snowmelt.ivm.trees import aggregate_name
from snowmelt.sql.notes import note_of

_EXACT_FOR_NUMBERS = {"sum", "avg", "try_sum", "try_avg", "mean"}
_ALWAYS_EXACT = {
    "count", "count_if", "min", "max", "bool_and", "bool_or", "any", "some", "every", "bit_and", "bit_or", "bit_xor",
    "approx_count_distinct", "grouping", "grouping_id", "regr_count", "row_number", "rank", "dense_rank",
    "percent_rank", "cume_dist", "ntile", "lag", "lead", "nth_value", "first_value", "last_value",
}  # fmt: skip
"""Functions whose result does not depend on the order in which rows come."""


def inexact_ids(root: Node) -> frozenset[str]:
    """Columns whose values may differ in their last bits, or in their choice, when computed again: sums of FLOAT,
    the element that ANY_VALUE picks, lists without an order."""
    found: set[str] = set()
    for node in root.walk():
        match node:
            case Aggregate():
                columns = {column.id: column for column in node.input.columns}
                for item in node.items:
                    if not _exact(item.value, columns) or columns_in(item.value) & found:
                        found.add(item.column.id)
            case Window():
                columns = {column.id: column for column in node.input.columns}
                for item in node.items:
                    assert isinstance(item.value, exp.Window)
                    if not _exact(item.value.this, columns) or columns_in(item.value) & found:
                        found.add(item.column.id)
            case Project():
                found |= {item.column.id for item in node.items if columns_in(item.value) & found}
            case Union():
                for branch in node.branches:
                    found |= {out.id for out, own in zip(node.outputs, branch.columns, strict=True) if own.id in found}
            case _:
                pass
    return frozenset(found)


def _exact(call: exp.Expr, columns: dict[str, Column]) -> bool:
    name = aggregate_name(call)
    if name in _ALWAYS_EXACT:
        return True
    while not isinstance(call, exp.Anonymous):
        call = call.this
    if name in _EXACT_FOR_NUMBERS:
        return bool(call.expressions) and _is_number(call.expressions[0], columns)
    # Lists that the translation sorts afterwards can't be told from those it does not.
    return False


def _is_number(tree: exp.Expr, columns: dict[str, Column]) -> bool:
    if isinstance(tree, exp.Distinct) and tree.expressions:
        tree = tree.expressions[0]
    while isinstance(tree, exp.Paren):
        tree = tree.this
    type_ = note_of(tree).type
    if type_ is None and isinstance(tree, exp.Column) and tree.name in columns:
        type_ = columns[tree.name].type
    if type_ is not None:
        return type_.kind is Kind.NUMBER
    if isinstance(tree, exp.Cast):
        return tree.to.this in (exp.DType.DECIMAL, exp.DType.BIGINT, exp.DType.INT)
    if isinstance(tree, exp.Add | exp.Sub | exp.Mul | exp.Neg):
        return all(_is_number(part, columns) for part in tree.iter_expressions())
    if isinstance(tree, exp.Case):
        values = [branch.args["true"] for branch in tree.args["ifs"]] + [tree.args.get("default")]
        return all(value is None or isinstance(value, exp.Null) or _is_number(value, columns) for value in values)
    if isinstance(tree, exp.Var):
        return tree.name.endswith(("L", "BD"))
    return isinstance(tree, exp.Literal) and not tree.is_string
