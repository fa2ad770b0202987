"""Binding of operators: logic, arithmetic, text, CASE, casts, paths into VARIANT, literals of objects and arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.types import Kind
from snowmelt.sql import arithmetic, collations, intervals, patterns, variant_arithmetic, variants
from snowmelt.sql.binders import BindsExpressions
from snowmelt.sql.bound import Bound, merge_flags, position_of, tight
from snowmelt.sql.building import bind, is_cheap
from snowmelt.sql.calls import bind_call
from snowmelt.sql.dialect import integer, string
from snowmelt.sql.stars import star_of
from snowmelt.sql.typewords import type_of_ast

ARITHMETIC: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}


def negation(binder: BindsExpressions, node: exp.Not) -> Bound:
    bound = binder.boolean(node.this)
    return bound.with_tree(exp.Not(this=tight(bound.tree)), types.BOOLEAN)


def logical(binder: BindsExpressions, node: exp.Connector) -> Bound:
    # Long chains of AND are parsed left-deep: flatten them so that depth does not become recursion.
    operands = [binder.boolean(part) for part in node.flatten()]
    tree = operands[0].tree
    for operand in operands[1:]:
        tree = type(node)(this=tight(tree) if tree is operands[0].tree else tree, expression=tight(operand.tree))
    return merge_flags(tree, types.BOOLEAN, operands)


def negative(binder: BindsExpressions, node: exp.Neg) -> Bound:
    bound = binder.bind(node.this)
    if bound.type.kind is Kind.VARIANT and binder.scope.in_lambda:
        return _exactly(binder, "-", Bound(integer(0), types.INTEGER), bound)
    if not bound.type.is_numeric:
        bound = binder.as_number(bound)
    return bound.with_tree(exp.Neg(this=tight(bound.tree)))


def calculation(binder: BindsExpressions, node: exp.Expr) -> Bound:
    operator = ARITHMETIC[type(node)]
    for side, other in ((node.expression, node.this), (node.this, node.expression)):
        constant = side.unnest()
        if isinstance(constant, exp.Interval) and operator in "+-":
            if operator == "-" and side is node.this:
                raise errors.unsupported("a value taken from an INTERVAL", hint="Write the INTERVAL behind the minus.")
            value = binder.bind(other)
            sign = -1 if operator == "-" else 1
            tree, type_ = intervals.add_interval(value.tree, value.type, constant, sign, binder.context)
            return replace(value, tree=tree, type=type_)
    left, right = binder.bind(node.this), binder.bind(node.expression)
    if binder.scope.in_lambda and _over_variants(left.type, right.type):
        return _exactly(binder, operator, left, right)
    left, right = _operand(binder, left, right), _operand(binder, right, left)
    type_ = arithmetic.result_type(operator, left.type, right.type)
    tree = arithmetic.emit(operator, tight(left.tree), left.type, tight(right.tree), right.type)
    return merge_flags(tree, type_, (left, right))


def _over_variants(left: types.DataType, right: types.DataType) -> bool:
    """A VARIANT with another or with a number."""
    kinds = {left.kind, right.kind}
    return Kind.VARIANT in kinds and all(type_.kind is Kind.VARIANT or type_.is_numeric for type_ in (left, right))


def _exactly(binder: BindsExpressions, operator: str, left: Bound, right: Bound) -> Bound:
    tree = variant_arithmetic.emit(operator, left.tree, left.type, right.tree, right.type, binder.context)
    return merge_flags(tree, types.VARIANT, (left, right))


def _operand(binder: BindsExpressions, value: Bound, other: Bound) -> Bound:
    """Text and VARIANT become numbers, unless the other side is a date (`date_column - '2024-01-01'`)."""
    if value.type.kind in (Kind.VARCHAR, Kind.VARIANT, Kind.BOOLEAN):
        if other.type.kind is Kind.DATE and value.type.kind is Kind.VARCHAR:
            return binder.cast(value, types.DATE)
        return binder.as_number(value)
    if value.type.kind is Kind.NULL:
        return binder.cast(value, other.type if other.type.is_numeric else types.INTEGER)
    return value


def concat(binder: BindsExpressions, node: exp.DPipe) -> Bound:
    parts = [binder.bind(part) for part in node.flatten()]
    if all(part.type.kind is Kind.BINARY for part in parts):
        type_ = types.BINARY
    else:
        parts = [part if part.type.kind is Kind.VARCHAR else binder.cast(part, types.VARCHAR) for part in parts]
        type_ = types.varchar(min(sum(part.type.length or 0 for part in parts), types.MAX_VARCHAR))
        type_ = collations.collated(type_, parts)
    tree = parts[0].tree
    for part in parts[1:]:
        tree = exp.DPipe(this=tight(tree) if tree is parts[0].tree else tree, expression=tight(part.tree))
    return merge_flags(tree, type_, parts)


def case(binder: BindsExpressions, node: exp.Case) -> Bound:
    conditions: list[Bound] = []
    results: list[Bound] = []
    subject = node.this
    for branch in node.args["ifs"]:
        test = exp.EQ(this=subject.copy(), expression=branch.this) if subject is not None else branch.this
        conditions.append(binder.boolean(test))
        results.append(binder.bind(branch.args["true"]))
    default = node.args.get("default")
    if default is not None:
        results.append(binder.bind(default))
    results, type_ = binder.same_type(results)
    tree = exp.Case(
        ifs=[
            exp.If(this=condition.tree, true=result.tree)
            for condition, result in zip(conditions, results, strict=False)
        ],
        default=results[-1].tree if default is not None else None,
    )
    return merge_flags(tree, type_, [*conditions, *results])


def cast_node(binder: BindsExpressions, node: exp.Cast) -> Bound:
    value, target = binder.bind(node.this), type_of_ast(node.to)
    written = node.to.args.get("collate")
    if written is not None:
        target = _collated(target, written)
    elif target.kind is Kind.VARCHAR and value.type.kind is Kind.VARCHAR:
        target = replace(target, collation=value.type.collation)
    found = binder.cast(value, target, attempt=isinstance(node, exp.TryCast))
    return replace(found, explicit=written is not None or (value.explicit and target.kind is Kind.VARCHAR))


def collate(binder: BindsExpressions, node: exp.Collate) -> Bound:
    return bind_call(binder, exp.Anonymous(this="COLLATE", expressions=[node.this, node.expression]))


def _collated(type_: types.DataType, written: exp.Expr) -> types.DataType:
    if not isinstance(written, exp.Literal):
        raise errors.unsupported("COLLATE with something that is not a constant")
    return types.with_collation(type_, str(written.this)) or type_


def extract(binder: BindsExpressions, node: exp.Extract) -> Bound:
    return bind_call(binder, exp.Anonymous(this="DATE_PART", expressions=[string(node.name), node.expression]))


def position(binder: BindsExpressions, node: exp.StrPosition) -> Bound:
    arguments = [node.args["substr"], node.this]
    if node.args.get("position") is not None:
        arguments.append(node.args["position"])
    return bind_call(binder, exp.Anonymous(this="POSITION", expressions=arguments))


def path(binder: BindsExpressions, node: exp.JSONExtract) -> Bound:
    if not node.args.get("variant_extract"):
        raise errors.unsupported("the operator ->", hint="Write v:path.")
    value = binder.bind(node.this)
    elements = [_path_element(part) for part in node.expression.expressions if not isinstance(part, exp.JSONPathRoot)]
    value = value if value.type.is_semi_structured else binder.cast(value, types.VARIANT)
    return value.with_tree(variants.get_path(value.tree, elements), types.VARIANT)


def bracket(binder: BindsExpressions, node: exp.Bracket) -> Bound:
    value = binder.bind(node.this)
    if len(node.expressions) != 1 or isinstance(node.expressions[0], exp.JSONExtract):
        raise errors.unsupported("array slices in brackets", hint="Use ARRAY_SLICE.")
    value = value if value.type.is_semi_structured else binder.cast(value, types.VARIANT)
    index_node = node.expressions[0]
    if isinstance(index_node, exp.Literal):
        element = str(index_node.this) if index_node.is_string else int(index_node.this)
        return value.with_tree(variants.get_path(value.tree, [element]), types.VARIANT)
    index = binder.bind(index_node)
    tree = variants.get_index(value.tree, index.tree, index.type)
    return merge_flags(tree, types.VARIANT, (value, index))


def like(binder: BindsExpressions, node: exp.Expr, escape: exp.Expr | None = None) -> Bound:
    subject = _text_of(binder, node.this)
    insensitive = isinstance(node, exp.ILike)
    escape_tree = binder.bind(escape).tree if escape is not None else None
    choice = node.expression
    if isinstance(choice, exp.Any | exp.All):
        options = choice.this.expressions if isinstance(choice.this, exp.Tuple) else [choice.this.unnest()]
        subject, *bounds = collations.matched([subject, *(_text_of(binder, option) for option in options)], "LIKE")

        def joined(text: exp.Expr, *given: exp.Expr) -> exp.Expr:
            trees = [patterns.like(text, one, escape_tree, case_insensitive=insensitive) for one in given]
            return exp.Paren(this=exp.or_(*trees) if isinstance(choice, exp.Any) else exp.and_(*trees))

        return merge_flags(_once(joined, subject.tree, *(b.tree for b in bounds)), types.BOOLEAN, [subject, *bounds])
    subject, pattern = collations.matched([subject, _text_of(binder, choice)], "LIKE")
    tree = patterns.like(subject.tree, pattern.tree, escape_tree, case_insensitive=insensitive)
    return merge_flags(tree, types.BOOLEAN, (subject, pattern))


def escape(binder: BindsExpressions, node: exp.Escape) -> Bound:
    return like(binder, node.this, node.expression)


def rlike(binder: BindsExpressions, node: exp.RegexpLike) -> Bound:
    subject, pattern = _text_of(binder, node.this), _text_of(binder, node.expression)
    collations.refuse([subject, pattern], "RLIKE")
    return merge_flags(patterns.rlike(subject.tree, pattern.tree), types.BOOLEAN, (subject, pattern))


def _once(build: Callable[..., exp.Expr], subject: exp.Expr, *others: exp.Expr) -> exp.Expr:
    """What is built of them, with the subject computed once. Constants stay where they can be seen."""
    if is_cheap(subject):
        return build(subject, *others)
    open_ = [index for index, other in enumerate(others) if patterns.constant_string(other) is None]

    def inside(text: exp.Expr, *given: exp.Expr) -> exp.Expr:
        named = dict(zip(open_, given, strict=True))
        return build(text, *(named.get(index, other) for index, other in enumerate(others)))

    return bind((subject, *(others[index] for index in open_)), inside)


def _text_of(binder: BindsExpressions, node: exp.Expr) -> Bound:
    bound = binder.bind(node)
    return bound if bound.type.kind is Kind.VARCHAR else binder.cast(bound, types.VARCHAR)


def array_literal(binder: BindsExpressions, node: exp.Array) -> Bound:
    return bind_call(binder, exp.Anonymous(this="ARRAY_CONSTRUCT", expressions=node.expressions))


def object_literal(binder: BindsExpressions, node: exp.Struct) -> Bound:
    if len(node.expressions) == 1 and star_of(node.expressions[0]) is not None:
        return bind_call(binder, exp.Anonymous(this="OBJECT_CONSTRUCT", expressions=node.expressions))
    arguments: list[exp.Expr] = []
    for entry in node.expressions:
        if not isinstance(entry, exp.PropertyEQ):
            raise errors.syntax_error(position_of(node).line, position_of(node).position, "{")
        key = entry.this
        arguments += [string(key.name) if isinstance(key, exp.Identifier) else key, entry.expression]
    return bind_call(binder, exp.Anonymous(this="OBJECT_CONSTRUCT", expressions=arguments))


def interval(binder: BindsExpressions, node: exp.Interval) -> Bound:
    raise errors.unsupported(
        "INTERVAL outside of + and -", hint="Add it to a date, time or timestamp: date + INTERVAL '1 day'."
    )


def parentheses(binder: BindsExpressions, node: exp.Paren) -> Bound:
    bound = binder.bind(node.this)
    return bound.with_tree(exp.Paren(this=bound.tree))


def _path_element(part: exp.Expr) -> str | int:
    if isinstance(part, exp.JSONPathSubscript) and isinstance(part.this, int):
        return part.this
    return str(part.this if not isinstance(part.this, exp.Expr) else part.this.name)
