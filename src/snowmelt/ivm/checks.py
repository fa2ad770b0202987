"""What keeps a query from being maintained by its changes."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from snowmelt.ivm.algebra import (
    Aggregate,
    Constant,
    Filter,
    InnerJoin,
    Item,
    Join,
    Limit,
    Node,
    Window,
    columns_in,
)
from snowmelt.ivm.exactness import inexact_ids
from snowmelt.ivm.reasons import NotIncrementalError, Reason
from snowmelt.ivm.rendering import moves
from snowmelt.ivm.trees import aggregate_name
from snowmelt.sql.notes import note_of


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
