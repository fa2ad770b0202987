"""The order of rows, and OVER (…) of a window function."""

from __future__ import annotations

import re

from sqlglot import exp

from snowmelt.engine.quick.scopes import Translator
from snowmelt.engine.quick.types import NotQuick
from snowmelt.engine.quick.values import Value

_DIGITS = re.compile(r"\d+")


def over(expressions: Translator, node: exp.Expr) -> str:
    """What stands in the parentheses after OVER."""
    parts = []
    keys = [expressions.value(key) for key in node.args.get("partition_by") or []]
    if any(not key.type.can_be_key for key in keys):
        raise NotQuick("a partition by such a key")
    if keys:
        parts.append("PARTITION BY " + ", ".join(key.sql for key in keys))
    order = node.args.get("order")
    if order is not None:
        items = [ordered(item, expressions.value(item.this)) for item in order.expressions]
        parts.append("ORDER BY " + ", ".join(items))
    spec = node.args.get("spec")
    if spec is not None:
        parts.append(_frame(spec))
    return " ".join(parts)


def ordered(node: exp.Expr, value: Value) -> str:
    """An item of ORDER BY, whose value is given."""
    if not isinstance(node, exp.Ordered) or node.args.get("with_fill") is not None:
        raise NotQuick("an order of this kind")
    if not value.type.has_order:
        raise NotQuick(f"an order by {value.type.duck}")
    desc = bool(node.args.get("desc"))
    first = node.args.get("nulls_first")
    # Spark's own order has NULLs first when it goes up.
    first = (not desc) if first is None else bool(first)
    return f"{value.sql} {'DESC' if desc else 'ASC'} NULLS {'FIRST' if first else 'LAST'}"


def _frame(spec: exp.Expr) -> str:
    kind = str(spec.args.get("kind") or "").upper()
    if kind not in ("ROWS", "RANGE") or spec.args.get("exclude") is not None:
        raise NotQuick("a frame of this kind")
    sides = [_edge(spec, "start"), _edge(spec, "end")]
    if kind == "RANGE" and any(_DIGITS.match(side) for side in sides):
        raise NotQuick("a frame by distance")
    return f"{kind} BETWEEN {sides[0]} AND {sides[1]}"


def _edge(spec: exp.Expr, name: str) -> str:
    found, side = spec.args.get(name), str(spec.args.get(f"{name}_side") or "").upper()
    if found is None or found == "CURRENT ROW":
        return "CURRENT ROW"
    if isinstance(found, str):
        return f"{found.upper()} {side}"
    text = found.name if isinstance(found, exp.Literal | exp.Var) else ""
    number = text.removesuffix("L")
    if not _DIGITS.fullmatch(number):
        raise NotQuick("a frame of this kind")
    return f"{number} {side}"
