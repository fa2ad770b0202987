"""Binding of tests: comparisons, IN, EXISTS, IS, subqueries as values."""

from __future__ import annotations

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.sql import coercion, collations
from snowmelt.sql.binders import BindsExpressions
from snowmelt.sql.bound import Bound, describe, merge_flags, tight
from snowmelt.sql.building import bind, is_cheap
from snowmelt.sql.dialect import identifier


def row_comparison(binder: BindsExpressions, node: exp.Expr) -> Bound:
    if not isinstance(node, exp.EQ | exp.NEQ) or len(node.this.expressions) != len(node.expression.expressions):
        raise errors.unsupported("comparison of rows other than = and <>")
    pairs = [
        binder.compare(exp.EQ, binder.bind(left), binder.bind(right))
        for left, right in zip(node.this.expressions, node.expression.expressions, strict=True)
    ]
    tree = exp.and_(*[pair.tree for pair in pairs])
    return merge_flags(exp.not_(tree) if isinstance(node, exp.NEQ) else tree, types.BOOLEAN, pairs)


_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.NEQ, exp.NEQ: exp.EQ, exp.LT: exp.GTE, exp.GTE: exp.LT, exp.GT: exp.LTE, exp.LTE: exp.GT,
}  # fmt: skip


def quantified(binder: BindsExpressions, node: exp.Expr) -> Bound:
    """`x = ANY (subquery)` is IN, `x <> ALL (subquery)` is NOT IN.

    The others ask what is true of the rows: `x > ANY (…)` is TRUE if it is for one row, or else NULL if it is unknown
    for one, or else FALSE. `x > ALL (…)` is the opposite of `x <= ANY (…)`.
    """
    quantifier = node.expression
    inner = quantifier.this.unnest() if isinstance(quantifier.this, exp.Subquery) else quantifier.this
    if not isinstance(inner, exp.Query):
        raise errors.unsupported("ANY or ALL of a list", hint="Use IN, or compare with GREATEST or LEAST of the list.")
    if isinstance(quantifier, exp.All):
        opposite = _FLIPPED[type(node)](this=node.this, expression=exp.Any(this=inner))
        bound = quantified(binder, opposite)
        return bound.with_tree(exp.Not(this=exp.Paren(this=bound.tree)))
    if isinstance(node, exp.EQ):
        return is_in(binder, exp.In(this=node.this, query=inner))
    return _any_row(binder, node, inner)


def _any_row(binder: BindsExpressions, node: exp.Expr, inner: exp.Expr) -> Bound:
    """Compares with the least or greatest row: one aggregate decides, and the subquery is read once."""
    rows = exp.Subquery(this=inner.copy(), alias=exp.TableAlias(this=identifier("__any"), columns=[identifier("V")]))
    value = exp.column(identifier("V"), table=identifier("__any"))

    def asked(function: str, *arguments: exp.Expr) -> exp.Expr:
        called = exp.Anonymous(this=function, expressions=list(arguments) or [value.copy()])
        return exp.Subquery(this=exp.select(called).from_(rows.copy()))

    least, most = asked("MIN"), asked("MAX")
    unknown = exp.GT(this=asked("COUNT_IF", exp.Is(this=value.copy(), expression=exp.Null())),
                     expression=exp.Literal.number(0))  # fmt: skip
    found: exp.Expr
    if isinstance(node, exp.NEQ):
        found = exp.Or(this=exp.NEQ(this=node.this.copy(), expression=least),
                       expression=exp.NEQ(this=node.this.copy(), expression=most))  # fmt: skip
    else:
        extreme = least if isinstance(node, exp.GT | exp.GTE) else most
        found = type(node)(this=node.this.copy(), expression=extreme)
    some = exp.Exists(this=exp.select(exp.Literal.number(1)).from_(rows.copy()))
    missing = exp.And(this=some, expression=exp.Is(this=exp.Paren(this=node.this.copy()), expression=exp.Null()))
    case = exp.Case(
        ifs=[
            exp.If(this=found, true=exp.true()),
            exp.If(this=exp.Or(this=unknown, expression=exp.Paren(this=missing)), true=exp.Null()),
        ],
        default=exp.false(),
    )
    return binder.boolean(case)


def is_test(binder: BindsExpressions, node: exp.Is) -> Bound:
    target = node.expression
    if isinstance(target, exp.Null):
        value = binder.bind(node.this)
        return value.with_tree(exp.Is(this=tight(value.tree), expression=exp.Null()), types.BOOLEAN)
    if isinstance(target, exp.Boolean):
        value = binder.boolean(node.this)
        return value.with_tree(exp.Is(this=tight(value.tree), expression=exp.Boolean(this=target.this)), types.BOOLEAN)
    raise errors.unsupported(describe(node))


def between(binder: BindsExpressions, node: exp.Between) -> Bound:
    """The value is computed once: it may be another at each look, or be long."""
    value, low, high = (binder.bind(part) for part in (node.this, node.args["low"], node.args["high"]))

    def both(value_tree: exp.Expr, low_tree: exp.Expr, high_tree: exp.Expr) -> exp.Expr:
        shown = value.with_tree(value_tree)
        tests = (
            binder.compare(exp.GTE, shown, low.with_tree(low_tree)),
            binder.compare(exp.LTE, shown, high.with_tree(high_tree)),
        )
        return exp.Paren(this=exp.and_(*[test.tree for test in tests]))

    given = (value.tree, low.tree, high.tree)
    # Only plain comparisons of a column tell which files need not be read.
    tree = both(*given) if is_cheap(value.tree) else bind(given, both)
    return merge_flags(tree, types.BOOLEAN, (value, low, high))


def is_in(binder: BindsExpressions, node: exp.In) -> Bound:
    query = node.args.get("query")
    if query is not None:
        return _in_query(binder, node, query)
    options = node.expressions
    if isinstance(node.this, exp.Tuple):
        rows = [exp.EQ(this=node.this.copy(), expression=option) for option in options]
        bounds = [binder.bind(row) for row in rows]
        return merge_flags(exp.Paren(this=exp.or_(*[b.tree for b in bounds])), types.BOOLEAN, bounds)
    value = binder.bind(node.this)
    candidates = [binder.bind(option) for option in options]
    target = value.type
    for candidate in candidates:
        found = coercion.comparison_type(target, candidate.type)
        if found is None:
            raise errors.compilation("001007", "22023", f"can not compare {value.type} with {candidate.type}")
        target = found
    target = collations.collated(target, [value, *candidates])
    casted = [binder.orderable(binder.cast(candidate, target)) for candidate in candidates]
    subject = binder.orderable(binder.cast(value, target))
    tree = exp.In(this=tight(subject.tree), expressions=[candidate.tree for candidate in casted])
    return merge_flags(tree, types.BOOLEAN, [subject, *casted])


def _in_query(binder: BindsExpressions, node: exp.In, query: exp.Expr) -> Bound:
    subjects = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
    bound = binder.queries.subquery(query, binder.scope)
    if len(bound.columns) != len(subjects):
        raise errors.compilation("001789", "42601", f"subquery must return {len(subjects)} column(s)")
    values: list[Bound] = []
    outputs: list[Bound] = []
    for subject, column in zip(subjects, bound.columns, strict=True):
        reference = Bound(exp.column(identifier(column.key), table=identifier("__in")), column.type)
        left, right = binder.comparable_pair(binder.bind(subject), reference)
        values.append(left)
        outputs.append(right)
    unchanged = all(output.tree == exp.column(identifier(column.key), table=identifier("__in"))
                    for output, column in zip(outputs, bound.columns, strict=True))  # fmt: skip
    inner = bound.tree
    if not unchanged:
        named = [exp.alias_(output.tree, identifier(f"__v{index}")) for index, output in enumerate(outputs)]
        inner = exp.select(*named).from_(exp.Subquery(this=bound.tree, alias=exp.TableAlias(this=identifier("__in"))))
    left_tree = exp.Tuple(expressions=[v.tree for v in values]) if len(values) > 1 else tight(values[0].tree)
    return merge_flags(exp.In(this=left_tree, query=exp.Subquery(this=inner)), types.BOOLEAN, values)


def exists(binder: BindsExpressions, node: exp.Exists) -> Bound:
    bound = binder.queries.subquery(node.this, binder.scope)
    return Bound(exp.Exists(this=bound.tree), types.BOOLEAN, volatile=bound.volatile)


def scalar_subquery(binder: BindsExpressions, node: exp.Subquery) -> Bound:
    bound = binder.queries.subquery(node, binder.scope)
    if len(bound.columns) != 1:
        raise errors.compilation("001790", "42601", "a scalar subquery must return one column")
    plain = _constant_row(bound.tree)
    if plain is not None:
        return Bound(exp.Paren(this=plain), bound.columns[0].type, volatile=bound.volatile)
    return Bound(exp.Subquery(this=bound.tree), bound.columns[0].type, volatile=bound.volatile)


def _constant_row(tree: exp.Expr) -> exp.Expr | None:
    """The value of `SELECT value`, where nothing is read or called.

    Spark 4.1 puts such a value in place by itself, but fails at casts that need the time zone.
    """
    if not isinstance(tree, exp.Select) or any(value for key, value in tree.args.items() if key != "expressions"):
        return None
    value = tree.expressions[0].unalias()
    calls = exp.Anonymous | exp.AggFunc | exp.Query | exp.Window
    return None if any(isinstance(node, calls) for node in value.walk()) else value
