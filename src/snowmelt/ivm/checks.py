"""What keeps a query from being maintained by its changes, and which of its values are not the same each time."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from snowmelt.core.types import Kind
from snowmelt.ivm.algebra import (
    Aggregate,
    Column,
    Constant,
    Filter,
    InnerJoin,
    Item,
    Join,
    Limit,
    Node,
    Project,
    Union,
    Window,
    columns_in,
)
from snowmelt.ivm.reasons import NotIncrementalError, Reason
from snowmelt.ivm.rendering import moves
from snowmelt.ivm.trees import aggregate_name
from snowmelt.sql.notes import note_of

_EXACT_FOR_NUMBERS = {"sum", "avg", "try_sum", "try_avg", "mean"}
_ALWAYS_EXACT = {
    "count", "count_if", "min", "max", "bool_and", "bool_or", "any", "some", "every", "bit_and", "bit_or", "bit_xor",
    "approx_count_distinct", "grouping", "grouping_id", "regr_count", "row_number", "rank", "dense_rank",
    "percent_rank", "cume_dist", "ntile", "lag", "lead", "nth_value", "first_value", "last_value",
}  # fmt: skip
"""Functions whose result does not depend on the order in which rows come."""


def check(root: Node) -> None:
    """Raises the first reason why the query is not incremental."""
    for node in root.walk():
        for tree in node.parts if isinstance(node, Constant) else node.expressions:
            _check_functions(node, tree)
        if isinstance(node, Window) and not node.partition:
            raise NotIncrementalError(
                Reason.WINDOW_WITHOUT_PARTITION,
                f"{_call_name(node.items[0])} OVER () without PARTITION BY",
                "Any change may touch every row: add PARTITION BY.",
                note_of(node.items[0].value).place,
            )
    inexact = inexact_ids(root)
    for node in root.walk():
        _check_keys(node, inexact)


def _check_functions(node: Node, tree: exp.Expr) -> None:
    for part in tree.walk():
        name = note_of(part).volatile
        if name is not None:
            raise NotIncrementalError(
                Reason.VOLATILE_FUNCTION,
                name,
                "It gives another value each time: compute it before, in a table.",
                note_of(part).place,
            )
    if moves(tree) and not isinstance(node, Filter):
        raise NotIncrementalError(
            Reason.CLOCK_OUTSIDE_WHERE,
            "CURRENT_TIMESTAMP or its like outside WHERE",
            "Use the current time only in WHERE, HAVING or QUALIFY.",
            next((note_of(part).place for part in tree.walk() if note_of(part).clock is not None), None),
        )


def _call_name(item: Item) -> str:
    window = item.value
    return aggregate_name(window.this).upper() if isinstance(window, exp.Window) else "A window function"


# -- exactness ----------------------------------------------------------------------------------------------------


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


def _check_keys(node: Node, inexact: frozenset[str]) -> None:
    match node:
        case Aggregate():
            _refuse({column.id for column in node.keys} & inexact, "GROUP BY or DISTINCT")
        case Window():
            _refuse({column.id for column in node.partition} & inexact, "PARTITION BY")
            for item in node.items:
                order = item.value.args.get("order")
                _refuse(columns_in(order) & inexact if order is not None else (), "OVER (ORDER BY …)")
        case InnerJoin() | Join():
            _refuse(frozenset().union(*(columns_in(tree) for tree in node.expressions)) & inexact, "A join")
        case Limit():
            _refuse(frozenset().union(*(columns_in(item) for item in node.order)) & inexact, "ORDER BY … LIMIT")
        case _:
            pass


def _refuse(found: Iterable[str], place: str) -> None:
    if any(True for _ in found):
        raise NotIncrementalError(
            Reason.INEXACT_KEY,
            f"{place} by a value that is not the same each time it is computed (a sum of FLOAT, ANY_VALUE, a list)",
            "Round or cast it to NUMBER before it is used as a key.",
        )
