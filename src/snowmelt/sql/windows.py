"""OVER (…): the window around a call."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.sql.binders import BindsExpressions
from snowmelt.sql.bound import Bound, position_of
from snowmelt.sql.dialect import FROM_LAST
from snowmelt.sql.frames import bind_frame
from snowmelt.sql.notes import note_position

_WHOLE_PARTITION = {"FIRST_VALUE", "LAST_VALUE", "NTH_VALUE"}
"""Without a frame of their own these see the whole partition in Snowflake; in Spark only up to the current row."""
_SO_FAR = {"CONDITIONAL_TRUE_EVENT", "INTERPOLATE_FFILL"}
"""These look at the rows up to this one, one by one even where the order has ties."""
_FROM_HERE = {"INTERPOLATE_BFILL"}
"""These look at this row and those behind it."""

SPARK_WINDOWED = frozenset(
    [
        "any",
        "any_value",
        "approx_count_distinct",
        "approx_percentile",
        "array_agg",
        "avg",
        "bit_and",
        "bit_or",
        "bit_xor",
        "bool_and",
        "bool_or",
        "collect_list",
        "collect_set",
        "corr",
        "count",
        "count_if",
        "covar_pop",
        "covar_samp",
        "cume_dist",
        "dense_rank",
        "every",
        "first",
        "first_value",
        "kurtosis",
        "lag",
        "last",
        "last_value",
        "lead",
        "listagg",
        "max",
        "max_by",
        "mean",
        "median",
        "min",
        "min_by",
        "mode",
        "nth_value",
        "ntile",
        "percent_rank",
        "percentile",
        "percentile_approx",
        "percentile_cont",
        "percentile_disc",
        "rank",
        "regr_avgx",
        "regr_avgy",
        "regr_count",
        "regr_intercept",
        "regr_r2",
        "regr_slope",
        "regr_sxx",
        "regr_sxy",
        "regr_syy",
        "row_number",
        "skewness",
        "some",
        "std",
        "stddev",
        "stddev_pop",
        "stddev_samp",
        "string_agg",
        "sum",
        "try_avg",
        "try_sum",
        "var_pop",
        "var_samp",
        "variance",
        "hll_sketch_agg",
    ]
)
"""The Spark functions that OVER may follow."""


class WindowBinder:
    """Puts a window behind the aggregates of an emitted expression.

    What a function emits may be more than one call (a cast, a COALESCE around it), so the window goes to each
    aggregate inside, not to the whole.
    """

    def wrap(self, binder: BindsExpressions, node: exp.Window, bound: Bound) -> Bound:
        inside = binder.in_clause(binder.clause.inside_window())
        partition = [inside.orderable(inside.bind(part)) for part in node.args.get("partition_by") or []]
        order_node = node.args.get("order")
        order = [self._ordered(inside, item) for item in order_node.expressions] if order_node is not None else []
        if _call_of(node).meta.get(FROM_LAST):
            order = [(_reversed(item), value) for item, value in order]
            if node.args.get("spec") is not None:
                raise errors.unsupported("NTH_VALUE … FROM LAST with a frame", hint="Reverse the order instead.")
        frame = self._frame(node, [value for _, value in order])
        tree = _attach(
            bound.tree,
            partition=[part.tree for part in partition],
            order=[item for item, _ in order],
            frame=frame,
        )
        position = position_of(node.this)
        windows = list(tree.find_all(exp.Window))
        if not windows:
            raise errors.unsupported(f"OVER (…) behind {_call_of(node).name.upper()}")
        for window in windows:
            note_position(window, position.line, position.position)
        parts = [bound, *partition, *[value for _, value in order]]
        return Bound(
            tree,
            bound.type,
            aggregate=any(part.aggregate for part in parts),
            volatile=any(part.volatile for part in parts),
        )

    def _ordered(self, binder: BindsExpressions, item: exp.Expr) -> tuple[exp.Ordered, Bound]:
        value = binder.orderable(binder.bind(item.this if isinstance(item, exp.Ordered) else item))
        ordered = exp.Ordered(
            this=value.tree, desc=item.args.get("desc"), nulls_first=bool(item.args.get("nulls_first"))
        )
        return ordered, value

    def _frame(self, node: exp.Window, order: Sequence[Bound]) -> exp.WindowSpec | None:
        spec = node.args.get("spec")
        call = _call_of(node)
        name = call.name.upper() if isinstance(call, exp.Anonymous) else ""
        if name.startswith("INTERPOLATE_") and (spec is not None or not order):
            raise errors.unsupported(f"{name} with a frame or without ORDER BY")
        if isinstance(spec, exp.WindowSpec):
            return bind_frame(spec, order)
        if order and name in _WHOLE_PARTITION:
            return exp.WindowSpec(
                kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="UNBOUNDED", end_side="FOLLOWING"
            )
        if order and name in _SO_FAR:
            return exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW")
        if order and name in _FROM_HERE:
            return exp.WindowSpec(kind="ROWS", start="CURRENT ROW", end="UNBOUNDED", end_side="FOLLOWING")
        return None


def _reversed(item: exp.Ordered) -> exp.Ordered:
    return exp.Ordered(this=item.this, desc=not item.args.get("desc"), nulls_first=not item.args.get("nulls_first"))


def _call_of(node: exp.Window) -> exp.Expr:
    call: exp.Expr = node.this
    while isinstance(call, exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        call = call.this
    return call


def _attach(
    tree: exp.Expr,
    *,
    partition: list[exp.Expr],
    order: list[exp.Ordered],
    frame: exp.WindowSpec | None,
) -> exp.Expr:
    def window(call: exp.Expr) -> exp.Window:
        return exp.Window(
            this=call,
            partition_by=[part.copy() for part in partition],
            order=exp.Order(expressions=[item.copy() for item in order]) if order else None,
            spec=frame.copy() if frame is not None else None,
            over="OVER",
        )

    def visit(node: exp.Expr) -> exp.Expr:
        wrapper = isinstance(node, exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup | exp.Filter)
        call = node.this if wrapper else node
        while isinstance(call, exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup | exp.Filter):
            call = call.this
        if isinstance(call, exp.Anonymous) and call.name.lower() in SPARK_WINDOWED:
            return window(node.copy())
        for key, value in list(node.args.items()):
            if isinstance(value, exp.Expr):
                node.set(key, visit(value))
            elif isinstance(value, list):
                node.set(key, [visit(item) if isinstance(item, exp.Expr) else item for item in value])
        return node

    return visit(tree.copy())
