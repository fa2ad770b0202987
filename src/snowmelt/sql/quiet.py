"""Whether a bound query can fail on a row of a relation that it does not show.

An optimizer may compute a condition before another one, on rows which that leaves out. As long as the condition can't
fail on any row, nobody learns of them by it. What is computed of rows that are shown is of no interest: the outermost
SELECT list, and what goes into aggregates, which no condition is moved past.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from snowmelt.core.types import DataType, Kind
from snowmelt.sql.notes import note_of

_SAFE = (
    exp.From, exp.Join, exp.Where, exp.Having, exp.Group, exp.Order, exp.Ordered, exp.Limit, exp.Offset, exp.Distinct,
    exp.Table, exp.TableAlias, exp.Identifier, exp.Alias, exp.Column, exp.Star, exp.Paren, exp.And, exp.Or, exp.Not,
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.Is, exp.In, exp.Between, exp.Null,
    exp.Boolean, exp.Literal, exp.Var, exp.Tuple, exp.Exists, exp.If, exp.Case, exp.With, exp.CTE, exp.SetOperation,
    exp.Subquery, exp.Select, exp.DataType,
)  # fmt: skip
"""What gives a value for any row."""
_SAFE_CALLS = frozenset({
    "if", "coalesce", "upper", "lower", "length", "trim", "ltrim", "rtrim", "concat", "year", "month", "day", "quarter",
    "nullif", "nvl", "isnull", "isnotnull", "greatest", "least", "row_number", "rank", "dense_rank", "equal_null",
})  # fmt: skip
_AGGREGATES = frozenset({
    "count", "sum", "min", "max", "avg", "any_value", "count_if", "bool_and", "bool_or", "approx_count_distinct",
})  # fmt: skip


def is_quiet(query: exp.Expr, guard: str) -> bool:
    """`guard` is the alias of relations inside the SELECTs that policies are in, which are of no interest either."""
    return _all_quiet([(query, True)], guard)


def is_quiet_condition(tree: exp.Expr) -> bool:
    """Whether a condition by itself is quiet, as `is_quiet` says."""
    return _all_quiet([(tree, False)], "")


def _all_quiet(waiting: list[tuple[exp.Expr, bool]], guard: str) -> bool:
    while waiting:
        node, outermost = waiting.pop()
        if isinstance(node, exp.Select):
            waiting += _parts_of_select(node, outermost, guard)
        elif isinstance(node, exp.SetOperation | exp.Subquery):
            waiting += [(child, outermost and isinstance(child, exp.Query)) for child in _children(node)]
        elif isinstance(node, exp.Anonymous) and node.name.lower() in _AGGREGATES:
            waiting += [(inner, False) for inner in _queries(node)]
        elif not _depends_on_a_row(node):
            continue
        elif isinstance(node, _SAFE) or _is_safe_call(node):
            waiting += [(child, False) for child in _children(node)]
        else:
            return False
    return True


def _parts_of_select(node: exp.Select, outermost: bool, guard: str) -> Iterator[tuple[exp.Expr, bool]]:
    source = node.args.get("from_")
    if guard and source is not None and source.this.alias == guard:
        yield source.this, False
        return
    for child in _children(node):
        if outermost and child.arg_key == "expressions":
            yield from ((inner, False) for inner in _queries(child))
        else:
            yield child, False


def _depends_on_a_row(node: exp.Expr) -> bool:
    """Whether it is computed from columns. What is computed from aggregates is so from all rows that are shown."""
    found = list(node.walk(prune=_is_aggregate))
    return any(isinstance(one, exp.Column | exp.Query) for one in found)


def _is_aggregate(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() in _AGGREGATES and node.find(exp.Query) is None


def _queries(node: exp.Expr) -> Iterator[exp.Expr]:
    """The outermost queries inside of an expression."""
    for found in node.find_all(exp.Query):
        if found is node:
            yield found
            return
        parent = found.parent
        while parent is not None and parent is not node and not isinstance(parent, exp.Query):
            parent = parent.parent
        if parent is None or parent is node or not isinstance(parent, exp.Query):
            yield found


def _children(node: exp.Expr) -> Iterator[exp.Expr]:
    for value in node.args.values():
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, exp.Expr):
                yield child


def _is_safe_call(node: exp.Expr) -> bool:
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in _SAFE_CALLS or node.name.lower().startswith("snowmelt_guarded")
    # What Spark calls CAST is a TryCast to sqlglot, and fails as well.
    return isinstance(node, exp.Cast) and _widens(node)


def _widens(cast: exp.Cast) -> bool:
    """Whether every value fits: numbers with as many digits on either side of the point, anything as text."""
    known = note_of(cast.this).type
    if cast.to.is_type(exp.DType.TEXT, exp.DType.VARCHAR):
        return True
    if known is None:
        return False
    if cast.to.is_type("decimal") and known.is_number:
        return _fits(known, cast.to)
    return known.kind in (Kind.NUMBER, Kind.FLOAT) and cast.to.is_type("double")


def _fits(known: DataType, target: exp.DataType) -> bool:
    digits = [int(size.name) for size in target.expressions]
    if len(digits) != 2 or known.precision is None:
        return False
    precision, scale = digits
    whole = known.precision - (known.scale or 0)
    return scale >= (known.scale or 0) and precision - scale >= whole
