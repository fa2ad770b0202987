"""ORDER BY, LIMIT and OFFSET."""

from __future__ import annotations

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.sql.binders import BindsExpressions
from snowmelt.sql.bound import (
    Bound,
    OutputColumn,
    fold_identifier,
)
from snowmelt.sql.dialect import identifier

_MOST_ROWS = 2_147_483_647
"""What Spark counts to in LIMIT and OFFSET. A larger LIMIT leaves nothing out."""


def bind_order(
    expressions: BindsExpressions, order: exp.Expr | None,
    columns: tuple[OutputColumn, ...],
) -> list[exp.Ordered]:  # fmt: skip
    if order is None:
        return []
    items = order.expressions
    if len(items) == 1 and _is_all(items[0].this) and all(column.name != "ALL" for column in columns):
        items = [
            exp.Ordered(
                this=exp.Literal.number(str(number)),
                desc=items[0].args.get("desc"),
                nulls_first=items[0].args.get("nulls_first"),
            )
            for number in range(1, len(columns) + 1)
        ]
    return [_order_item(expressions, item, columns) for item in items]


def _order_item(
    expressions: BindsExpressions, item: exp.Expr,
    columns: tuple[OutputColumn, ...],
) -> exp.Ordered:  # fmt: skip
    node = item.this if isinstance(item, exp.Ordered) else item
    value: Bound | None = None
    if isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit():
        index = int(node.this)
        if not 1 <= index <= len(columns):
            raise errors.compilation("002017", "42601", f"ORDER BY position {index} is not in the select list")
        value = Bound(exp.column(identifier(columns[index - 1].key)), columns[index - 1].type)
    elif isinstance(node, exp.Column) and not node.table:
        name = fold_identifier(node.this)
        found = [column for column in columns if column.name == name]
        if found:
            value = Bound(exp.column(identifier(found[0].key)), found[0].type)
    if value is None:
        value = expressions.bind(node)
    value = expressions.orderable(value)
    return exp.Ordered(this=value.tree, desc=item.args.get("desc"), nulls_first=bool(item.args.get("nulls_first")))


def bind_limit(node: exp.Expr, target: exp.Query, expressions: BindsExpressions) -> None:
    limit = node.args.get("limit")
    if isinstance(limit, exp.Fetch):
        count = limit.args.get("count")
        target.set("limit", exp.Limit(expression=_plain_count(count)))
    elif limit is not None and not isinstance(limit.expression, exp.Null):
        count = _plain_count(expressions.bind(limit.expression).tree)
        if int(count.name) <= _MOST_ROWS:
            target.set("limit", exp.Limit(expression=count))
    offset = node.args.get("offset")
    if offset is not None and not isinstance(offset.expression, exp.Null):
        skipped = _plain_count(expressions.bind(offset.expression).tree)
        if int(skipped.name) > _MOST_ROWS:
            raise errors.compilation("001018", "22023", f"Invalid row count in offset clause: at most {_MOST_ROWS}")
        target.set("offset", exp.Offset(expression=skipped))


def _is_all(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and not node.table and node.name.upper() == "ALL" and not node.this.quoted


def _plain_count(tree: exp.Expr | None) -> exp.Expr:
    while isinstance(tree, exp.Cast | exp.Paren):
        tree = tree.this
    text = "" if tree is None else str(tree.this if isinstance(tree, exp.Literal | exp.Var) else "")
    digits = text.removesuffix("L").removesuffix("BD")
    if not digits.isdigit():
        raise errors.compilation(
            "001018", "22023", "Invalid row count in limit clause: it must be a constant, not negative"
        )
    return exp.Literal.number(digits)
