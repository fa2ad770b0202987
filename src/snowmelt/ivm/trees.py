"""Taking Spark expressions apart and putting them together again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from sqlglot import exp

from snowmelt.core.types import Kind
from snowmelt.ivm.algebra import PlanColumn
from snowmelt.sql.dialect import copied
from snowmelt.sql.notes import note_of
from snowmelt.sql.windows import SPARK_WINDOWED

_ONLY_WINDOWS = {"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead", "nth_value"}
AGGREGATES = (SPARK_WINDOWED - _ONLY_WINDOWS) | {
    "approx_top_k", "approx_top_k_accumulate", "approx_top_k_combine", "bitmap_and_agg", "bitmap_construct_agg",
    "bitmap_or_agg", "grouping", "grouping_id", "hll_union_agg", "histogram_numeric", "max_by", "min_by", "product",
    "theta_sketch_agg",
}  # fmt: skip
_WRAPPERS = (exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup, exp.Filter)
_EXACT_FOR_NUMBERS = {"sum", "avg", "try_sum", "try_avg", "mean"}
_ALWAYS_EXACT = {
    "count", "count_if", "min", "max", "bool_and", "bool_or", "any", "some", "every", "bit_and", "bit_or", "bit_xor",
    "approx_count_distinct", "grouping", "grouping_id", "regr_count", "row_number", "rank", "dense_rank",
    "percent_rank", "cume_dist", "ntile", "lag", "lead", "nth_value", "first_value", "last_value",
}  # fmt: skip
"""Functions whose result does not depend on the order in which rows come."""


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
    value = copied(values[node.name])
    return exp.Paren(this=value) if isinstance(value, exp.Binary | exp.Unary | exp.Case | exp.In) else value


def is_subquery(node: exp.Expr) -> bool:
    """Whether the node is a query inside an expression: scalar, EXISTS, or IN."""
    return isinstance(node, exp.Subquery | exp.Exists) or (isinstance(node, exp.In) and "query" in node.args and
                                                           node.args["query"] is not None)  # fmt: skip


def has_subquery(tree: exp.Expr) -> bool:
    return any(is_subquery(node) for node in tree.walk())


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, _WRAPPERS):
        node = node.this
    return node


def is_aggregate(node: exp.Expr) -> bool:
    """Whether the node is an aggregate call with all that belongs to it (FILTER, WITHIN GROUP, …)."""
    node = _bare(node)
    return isinstance(node, exp.Anonymous) and node.name.lower() in AGGREGATES


def aggregate_name(node: exp.Expr) -> str:
    return _bare(node).name.lower()


def aggregates_in(tree: exp.Expr) -> Iterator[exp.Expr]:
    """The aggregate calls of a tree that are not a window's own, outermost first; not those of subqueries."""
    if is_subquery(tree):
        return
    if is_aggregate(tree):
        yield tree
        return
    if isinstance(tree, exp.Window):
        for child in _bare(tree.this).iter_expressions():
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


def quoted(name: str) -> exp.Identifier:
    return exp.Identifier(this=name, quoted=True)


def column_of(name: str, table: str | None = None) -> exp.Column:
    if table is None:
        return exp.Column(this=quoted(name))
    return exp.Column(this=quoted(name), table=quoted(table))


def is_null(tree: exp.Expr) -> exp.Expr:
    return exp.Is(this=copied(tree), expression=exp.null())


def call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=[copied(argument) for argument in arguments])


def number(value: int) -> exp.Expr:
    return exp.Literal.number(value) if value >= 0 else exp.Neg(this=exp.Literal.number(-value))


def same(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Equal, or both NULL."""
    return exp.NullSafeEQ(this=copied(left), expression=copied(right))


def is_exact(call: exp.Expr, below: Sequence[PlanColumn]) -> bool:
    """Whether a function over these columns gives the same each time, in whichever order rows come."""
    name = aggregate_name(call)
    if name in _ALWAYS_EXACT:
        return True
    while not isinstance(call, exp.Anonymous):
        call = call.this
    if note_of(call).sorts:
        return True
    if name in _EXACT_FOR_NUMBERS:
        return bool(call.expressions) and _is_number(call.expressions[0], {column.id: column for column in below})
    # Other lists that the translation sorts afterwards look here like those that it does not sort.
    return False


def _is_number(tree: exp.Expr, columns: dict[str, PlanColumn]) -> bool:
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
