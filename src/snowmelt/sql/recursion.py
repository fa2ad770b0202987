"""Recursive common tables: `anchor UNION ALL query over itself`, as Spark's WITH RECURSIVE has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.types import DataType, Kind
from snowmelt.sql.bound import fold_identifier
from snowmelt.sql.functions.catalog import FUNCTIONS
from snowmelt.sql.functions.registry import FunctionKind

_HINT = "Write it as: anchor query UNION ALL a SELECT that joins the common table once."


def is_recursive(cte: exp.CTE, *, declared: bool) -> bool:
    """Whether the query means itself by its name. RECURSIVE is optional, as in Snowflake.

    Without the word, `WITH t AS (SELECT … FROM t)` reads the table t: only the second part of a UNION ALL recurses,
    where it reads t itself and not in a subquery.
    """
    if not any(_references(cte.this, cte)):
        return False
    parts = _parts(cte)
    if declared or parts is None:
        return declared
    step = _bare(parts[1])
    reads = any(table.find_ancestor(exp.Select) is step for table in _references(step, cte))
    return reads and not any(_references(parts[0], cte))


def halves(cte: exp.CTE) -> tuple[exp.Expr, exp.Expr]:
    """The anchor and the recursive part. Raises what Snowflake does not allow either."""
    parts = _parts(cte)
    if parts is None or any(_references(parts[0], cte)):
        raise errors.unsupported("recursive CTE that is not an anchor UNION ALL a query over itself", hint=_HINT)
    step = _bare(parts[1])
    if not isinstance(step, exp.Select):
        raise errors.unsupported("set operators in the recursive part of a CTE", hint=_HINT)
    for name, word in (("distinct", "DISTINCT"), ("group", "GROUP BY"), ("having", "HAVING"), ("order", "ORDER BY"),
                       ("limit", "LIMIT"), ("offset", "OFFSET"), ("qualify", "QUALIFY")):  # fmt: skip
        if step.args.get(name):
            raise errors.unsupported(f"{word} in the recursive part of a CTE", hint="Put it behind the CTE.")
    for node in step.walk(prune=lambda item: isinstance(item, exp.Query) and item is not step):
        function = FUNCTIONS.get(node.name.upper()) if isinstance(node, exp.Anonymous) else None
        if isinstance(node, exp.Window) or (function is not None and function.kind is FunctionKind.AGGREGATE):
            raise errors.unsupported(
                "aggregate and window functions in the recursive part of a CTE", hint="Put them behind the CTE."
            )
    _check_references(step, cte)
    return parts[0], step


def widened(type_: DataType) -> DataType:
    """The type of a column through all levels: what the anchor's first rows hold says little of the later ones."""
    if type_.kind is Kind.VARCHAR:
        return replace(type_, length=types.MAX_VARCHAR)
    if type_.kind is Kind.NUMBER:
        return types.INTEGER if type_.int64 else types.number(types.MAX_PRECISION, type_.scale or 0)
    return type_


def _parts(cte: exp.CTE) -> tuple[exp.Expr, exp.Expr] | None:
    query = cte.this
    while isinstance(query, exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Union) or query.args.get("distinct", True) or query.args.get("by_name"):
        return None
    if any(query.args.get(name) for name in ("order", "limit", "offset")):
        return None
    return query.this, query.expression


def _bare(query: exp.Expr) -> exp.Expr:
    """The query without parentheses around it."""
    while isinstance(query, exp.Subquery) and not query.args.get("alias"):
        query = query.this
    return query


def _references(tree: exp.Expr, cte: exp.CTE) -> Iterator[exp.Table]:
    name = fold_identifier(cte.args["alias"].this)
    for table in tree.find_all(exp.Table):
        if len(table.parts) == 1 and isinstance(table.this, exp.Identifier) and fold_identifier(table.this) == name:
            yield table


def _check_references(step: exp.Select, cte: exp.CTE) -> None:
    found = list(_references(step, cte))
    if len(found) != 1:
        raise errors.unsupported("recursive CTE that reads itself more than once", hint=_HINT)
    around = found[0].find_ancestor(exp.Select)
    if around is not step:
        raise errors.unsupported("recursive CTE that reads itself in a subquery", hint=_HINT)
    item: exp.Expr | None = found[0]
    while item is not None and item is not step:
        if item.args.get("match"):
            raise errors.unsupported("recursive CTE that reads itself in MATCH_RECOGNIZE", hint=_HINT)
        item = item.parent
    join = found[0].find_ancestor(exp.Join, exp.Select)
    sides = [str(item.args.get("side") or "").upper() for item in step.args.get("joins") or []]
    if (isinstance(join, exp.Join) and any(sides)) or any(side in ("RIGHT", "FULL") for side in sides):
        raise errors.unsupported("recursive CTE that reads itself in an outer join", hint=_HINT)
