"""Taking Spark expressions apart and putting them together again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sqlglot import exp

from snowmelt.sql.windows import SPARK_WINDOWED

_ONLY_WINDOWS = {"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead", "nth_value"}
AGGREGATES = (SPARK_WINDOWED - _ONLY_WINDOWS) | {
    "approx_top_k", "approx_top_k_accumulate", "approx_top_k_combine", "bitmap_construct_agg", "bitmap_or_agg",
    "grouping", "grouping_id", "hll_union_agg", "histogram_numeric", "max_by", "min_by", "product", "theta_sketch_agg",
}  # fmt: skip
_WRAPPERS = (exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup, exp.Filter)


def mapped(tree: exp.Expr, change: Callable[[exp.Expr], exp.Expr | None]) -> exp.Expr:
    """A copy in which `change` has replaced what it gives something for; below that nothing is visited."""
    found = change(tree)
    if found is not None:
        return found
    twin = tree.__class__()
    twin._meta, twin._type = tree._meta, tree._type
    for key, value in tree.args.items():
        if isinstance(value, exp.Expr):
            twin.set(key, mapped(value, change))
        elif isinstance(value, list):
            twin.set(key, [mapped(item, change) if isinstance(item, exp.Expr) else item for item in value])
        else:
            twin.args[key] = value
    return twin


def substituted(tree: exp.Expr, values: Mapping[str, exp.Expr]) -> exp.Expr:
    """The tree with other expressions in place of some columns."""
    return mapped(tree, lambda node: _substitute(node, values)) if values else tree


def _substitute(node: exp.Expr, values: Mapping[str, exp.Expr]) -> exp.Expr | None:
    if not isinstance(node, exp.Column) or node.name not in values:
        return None
    value = values[node.name].copy()
    return exp.Paren(this=value) if isinstance(value, exp.Binary | exp.Unary | exp.Case | exp.In) else value


def is_subquery(node: exp.Expr) -> bool:
    """Whether the node is a query inside an expression: scalar, EXISTS, or IN."""
    return isinstance(node, exp.Subquery | exp.Exists) or (isinstance(node, exp.In) and "query" in node.args and
                                                           node.args["query"] is not None)  # fmt: skip


def has_subquery(tree: exp.Expr) -> bool:
    return any(is_subquery(node) for node in tree.walk())


def is_aggregate(node: exp.Expr) -> bool:
    """Whether the node is an aggregate call with all that belongs to it (FILTER, WITHIN GROUP, …)."""
    while isinstance(node, _WRAPPERS):
        node = node.this
    return isinstance(node, exp.Anonymous) and node.name.lower() in AGGREGATES


def aggregate_name(node: exp.Expr) -> str:
    while isinstance(node, _WRAPPERS):
        node = node.this
    return node.name.lower()


def aggregates_in(tree: exp.Expr) -> Iterator[exp.Expr]:
    """The aggregate calls of a tree that are not a window's own, outermost first; not those of subqueries."""
    if is_subquery(tree):
        return
    if is_aggregate(tree):
        yield tree
        return
    if isinstance(tree, exp.Window):
        call = tree.this
        while isinstance(call, _WRAPPERS):
            call = call.this
        for child in call.iter_expressions():
            yield from aggregates_in(child)
        children = [child for key in ("partition_by", "order") for child in _listed(tree.args.get(key))]
    else:
        children = list(tree.iter_expressions())
    for child in children:
        yield from aggregates_in(child)


def windows_in(tree: exp.Expr) -> Iterator[exp.Window]:
    """The windows of a tree, not those of subqueries."""
    if is_subquery(tree):
        return
    if isinstance(tree, exp.Window):
        yield tree
        return
    for child in tree.iter_expressions():
        yield from windows_in(child)


def _listed(value: object) -> list[exp.Expr]:
    if isinstance(value, exp.Expr):
        return [value]
    return [item for item in value if isinstance(item, exp.Expr)] if isinstance(value, list) else []


def unwrapped(tree: exp.Expr) -> exp.Expr:
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return tree


def call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=[argument.copy() for argument in arguments])


def number(value: int) -> exp.Expr:
    return exp.Literal.number(value) if value >= 0 else exp.Neg(this=exp.Literal.number(-value))


def same(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Equal, or both NULL."""
    return exp.NullSafeEQ(this=left.copy(), expression=right.copy())
