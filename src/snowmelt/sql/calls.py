"""Binding of calls: built-in functions from the allow-list, and SQL functions of the user's, put in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.names import quote
from snowmelt.core.types import DataType, Kind
from snowmelt.sql import coercion, collations, notes, routines
from snowmelt.sql.binders import BindsExpressions
from snowmelt.sql.bound import Bound, Scope, fold_identifier, position_of
from snowmelt.sql.clauses import LAMBDA, Clause
from snowmelt.sql.dialect import as_written, string
from snowmelt.sql.functions.catalog import FUNCTIONS, lookup
from snowmelt.sql.functions.generators import SEQUENCES
from snowmelt.sql.functions.registry import MODIFIERS, Function, FunctionCall, FunctionKind
from snowmelt.sql.node_arguments import only
from snowmelt.sql.relations import ScalarRoutine
from snowmelt.sql.stars import chooser, star_of


def bind_call(
    binder: BindsExpressions,
    node: exp.Anonymous,
    qualifier: tuple[str, ...] = (),
    *,
    nulls: str | None = None,
    order: tuple[exp.Ordered, ...] = (),
    order_types: tuple[DataType, ...] = (),
) -> Bound:
    """A call by name: the allow-list first, then what the catalog answers, then the user's own functions.

    `nulls` is IGNORE or RESPECT where that stands behind the call, `order` what WITHIN GROUP sorts by.
    """
    name = node.name.upper()
    modified = bool(order or nulls or binder.window is not None)
    if qualifier[:1] == ("SNOWFLAKE",) or (not qualifier and name not in FUNCTIONS):
        constant = binder.environment.relations.system_function(".".join((*qualifier, name)), node.expressions)
        if constant is not None:
            _refuse_modified(name, modified=modified)
            bound = binder.bind(constant)
            # A text is as long as the next one may be, not as this one happens to be.
            type_ = types.VARCHAR if bound.type.kind is Kind.VARCHAR else bound.type
            return replace(bound, tree=notes.volatile(bound.tree, name), type=type_, volatile=True)
    if qualifier or name not in FUNCTIONS:
        found = binder.environment.relations.routine((*qualifier, name))
        if found:
            _refuse_modified(name, modified=modified)
            return _bind_routine(binder, found, node)
    function = lookup(".".join((*qualifier, name)))
    arguments, distinct = _arguments(binder, function, node)
    if arguments and isinstance(arguments[0], exp.IgnoreNulls | exp.RespectNulls):
        nulls = "IGNORE" if isinstance(arguments[0], exp.IgnoreNulls) else "RESPECT"
        arguments[0] = arguments[0].this
    _check_modifiers(function, binder, distinct=distinct, order=bool(order), nulls=bool(nulls))
    _check_count(function, arguments)
    if function.kind is FunctionKind.WINDOW and binder.window is None:
        raise errors.compilation("002303", "42601", f"Window function [{name}] requires an OVER clause")
    aggregates = function.kind is FunctionKind.AGGREGATE and binder.window is None
    if aggregates:
        binder.clause.allow_aggregate(node)
    inside = binder.in_clause(_inside(binder, name, aggregates=aggregates))
    bounds = [_bind_argument(inside, function, index, argument) for index, argument in enumerate(arguments)]
    bounds = collations.of_call(function, _common_arguments(inside, function, bounds))
    call = FunctionCall(
        name=name,
        args=tuple(bound.tree for bound in bounds),
        types=tuple(bound.type for bound in bounds),
        source=tuple(_constant(binder, argument) for argument in arguments),
        returns=function.result_type(tuple(bound.type for bound in bounds)),
        context=binder.context,
        distinct=distinct,
        order=order,
        order_types=order_types,
        ignore_nulls=nulls == "IGNORE",
        window=binder.window is not None,
    )
    type_ = collations.of_result(function, _refined_type(function, call), bounds)
    tree = _noted(function, call, type_)
    if name in SEQUENCES:
        tree = _numbered(binder, name, tree)
    if function.volatile:
        position = position_of(node)
        notes.note_position(tree, position.line, position.position)
    return Bound(
        tree,
        type_,
        aggregate=aggregates or any(bound.aggregate for bound in bounds),
        volatile=function.volatile or any(bound.volatile for bound in bounds),
        explicit=name == "COLLATE",
    )


def _numbered(binder: BindsExpressions, name: str, tree: exp.Expr) -> exp.Expr:
    """SEQ4() and its like read the number that GENERATOR and DUAL give a row. Rows of other sources have none."""
    if any(not source.columns for source in binder.scope.sources):
        return tree
    if binder.scope.sources:
        raise errors.unsupported(
            f"{name} over rows that are not GENERATOR's", hint="Use ROW_NUMBER() OVER (ORDER BY …)."
        )
    return notes.volatile(exp.Var(this="0L"), name)


def _inside(binder: BindsExpressions, name: str, *, aggregates: bool) -> Clause:
    """Where the arguments of a call stand."""
    if aggregates:
        return binder.clause.inside_aggregate(name)
    return binder.clause if binder.window is None else binder.clause.inside_window()


def _noted(function: Function, call: FunctionCall, type_: DataType) -> exp.Expr:
    tree = notes.typed(function.to_spark(call), type_)
    if not function.volatile:
        return tree
    if function.kind is FunctionKind.CONTEXT:

        def at(now: datetime) -> exp.Expr:
            return function.to_spark(replace(call, context=call.context.at(now)))

        return notes.clocked(tree, at)
    return notes.volatile(tree, function.name)


def _refined_type(function: Function, call: FunctionCall) -> DataType:
    """Constants may decide the type (TO_NUMBER's scale): such a function says so through `typed`."""
    return function.typed(call) if function.typed is not None else call.returns


def bind_within_group(binder: BindsExpressions, node: exp.WithinGroup) -> Bound:
    call = node.this
    if not isinstance(call, exp.Anonymous):
        raise errors.unsupported("WITHIN GROUP here")
    inside = binder.in_clause(_inside(binder, call.name.upper(), aggregates=binder.window is None))
    values = [inside.bind(item.this) for item in node.expression.expressions]
    _check_distinct_order(inside, call, node.expression.expressions, values)
    order = tuple(
        exp.Ordered(
            this=inside.orderable(value).tree, desc=item.args.get("desc"), nulls_first=item.args.get("nulls_first")
        )
        for item, value in zip(node.expression.expressions, values, strict=True)
    )
    return bind_call(binder, call, order=order, order_types=tuple(value.type for value in values))


def _check_distinct_order(
    binder: BindsExpressions, call: exp.Anonymous, items: Sequence[exp.Expr], values: Sequence[Bound]
) -> None:
    """Distinct values can be sorted by themselves only: of another value, each has as many as it has rows."""
    if not call.expressions or not isinstance(call.expressions[0], exp.Distinct):
        return
    gathered = binder.bind(call.expressions[0].expressions[0]).tree
    for item, value in zip(items, values, strict=True):
        if value.tree != gathered:
            position = position_of(item.this)
            raise errors.at_position(
                "001104", "42601", position.line, position.position,
                f"[{as_written(item.this)}] is not a valid order by expression: {call.name.upper()}(DISTINCT …) can "
                "be sorted by what it gathers only",
            )  # fmt: skip


def _arguments(binder: BindsExpressions, function: Function, node: exp.Anonymous) -> tuple[list[exp.Expr], bool]:
    """The arguments, and whether DISTINCT stands before them."""
    arguments = list(node.expressions)
    distinct = [index for index, argument in enumerate(arguments) if isinstance(argument, exp.Distinct)]
    for index in distinct:
        arguments[index : index + 1] = arguments[index].expressions
    if "list" in function.accepts:
        first, *others = arguments or [exp.Tuple(expressions=[])]
        arguments = [*_named(function, others), *_members(binder, first)]
    else:
        arguments = _named(function, arguments)
    return _stars(binder, node.name.upper(), arguments), bool(distinct)


def _named(function: Function, arguments: list[exp.Expr]) -> list[exp.Expr]:
    """`name => value` in the place of that name. What is left out between has the name's default."""
    given = {item.this.name.upper(): item.expression for item in arguments if isinstance(item, exp.Kwarg)}
    placed = [item for item in arguments if not isinstance(item, exp.Kwarg)]
    if given and not function.names:
        raise errors.unsupported(f"named arguments of {function.name}", hint="Give them in their order.")
    for name, default in function.names[len(placed) :]:
        value = given.pop(name.upper(), string(default) if default is not None else None)
        if value is None:
            break
        placed.append(value)
    if given:
        raise errors.compilation("001044", "42P13", f"Invalid argument name '{next(iter(given))}' for {function.name}")
    return placed


def _members(binder: BindsExpressions, item: exp.Expr) -> list[exp.Expr]:
    """What a list in parentheses names: `(a, b)`, `(*)`, `a`."""
    if isinstance(item, exp.Tuple):
        return list(item.expressions)
    inner = item.this if isinstance(item, exp.Paren) else item
    star = star_of(inner)
    return [inner] if star is None else _star_pairs(binder, inner, star)[1::2]


def _stars(binder: BindsExpressions, name: str, arguments: list[exp.Expr]) -> list[exp.Expr]:
    """With the columns in place of a star behind the other arguments."""
    star = star_of(arguments[-1]) if arguments else None
    if star is None:
        return arguments
    # COUNT(*) counts rows; COUNT(t.*) and COUNT(* EXCLUDE c) count rows without a NULL in those columns.
    if name == "COUNT" and star is arguments[-1] and not any(star.args.values()):
        return arguments
    pairs = _star_pairs(binder, arguments[-1], star)
    return [*arguments[:-1], *(pairs if name.startswith("OBJECT_CONSTRUCT") else pairs[1::2])]


def _star_pairs(binder: BindsExpressions, item: exp.Expr, star: exp.Star) -> list[exp.Expr]:
    """Every column's name and value, in turn: the arguments of OBJECT_CONSTRUCT(*), HASH(*) and similar calls."""
    only(star, "except_", "ilike")
    wanted = tuple(fold_identifier(part) for part in item.parts[:-1]) if isinstance(item, exp.Column) else ()
    columns = [(source, column) for source, column in binder.scope.visible() if not wanted or source.answers_to(wanted)]
    if wanted and not columns:
        where = position_of(item)
        raise errors.invalid_identifier(".".join(map(quote, wanted)), where.line, where.position)
    stays = chooser(star, {column.name for _, column in columns})
    pairs: list[exp.Expr] = []
    for source, column in columns:
        if stays(column.name):
            pairs.append(string(column.name))
            reference = exp.column(exp.to_identifier(column.name, quoted=True))
            if source.alias is not None:
                reference.set("table", exp.to_identifier(source.alias, quoted=True))
            pairs.append(reference)
    return pairs


def _check_modifiers(function: Function, binder: BindsExpressions, *, distinct: bool, order: bool, nulls: bool) -> None:
    for name, given in (("distinct", distinct), ("order", order), ("nulls", nulls)):
        if given and name not in function.accepts:
            raise errors.unsupported(f"{MODIFIERS[name]} {function.name}")
    if binder.window is not None and function.kind not in (FunctionKind.AGGREGATE, FunctionKind.WINDOW):
        raise errors.unsupported(f"OVER (…) behind {function.name}")


def _refuse_modified(name: str, *, modified: bool) -> None:
    if modified:
        raise errors.unsupported(f"OVER, WITHIN GROUP, IGNORE NULLS or RESPECT NULLS behind {name}")


def _check_count(function: Function, arguments: Sequence[exp.Expr]) -> None:
    shown = f"{function.name}({', '.join(argument.sql(dialect='snowflake') for argument in arguments[:4])})"
    if len(arguments) < function.min_args:
        raise errors.not_enough_arguments(shown, function.min_args, len(arguments))
    if function.max_args is not None and len(arguments) > function.max_args:
        raise errors.too_many_arguments(shown, function.max_args, len(arguments))


def _bind_argument(binder: BindsExpressions, function: Function, index: int, node: exp.Expr) -> Bound:
    word = function.takes[min(index, len(function.takes) - 1)] if function.takes else "any"
    if word == "word":
        if isinstance(node, exp.Column) and node.table:
            raise errors.invalid_value(
                node.sql(dialect="snowflake"), function.name, expected="a constant word, not a column"
            )
        return Bound(exp.Literal.string(node.name), types.VARCHAR)
    if isinstance(node, exp.Star) and function.name == "COUNT":
        return Bound(exp.Star(), types.INTEGER)
    if isinstance(node, exp.Lambda):
        return _bind_lambda(binder, node)
    bound = binder.bind(node)
    if word in ("any", "same"):
        return bound
    tree, type_ = coercion.argument(word, bound.tree, bound.type, binder.context)
    return replace(bound, tree=tree, type=type_)


def _common_arguments(binder: BindsExpressions, function: Function, bounds: list[Bound]) -> list[Bound]:
    """Casts the arguments whose word is `same` to their common type."""
    words = [function.takes[min(index, len(function.takes) - 1)] for index in range(len(bounds))]
    chosen = [index for index, word in enumerate(words) if word == "same"]
    if not chosen:
        return bounds
    casted, _ = binder.same_type([bounds[index] for index in chosen])
    result = list(bounds)
    for index, value in zip(chosen, casted, strict=True):
        result[index] = value
    return result


def _bind_lambda(binder: BindsExpressions, node: exp.Lambda) -> Bound:
    names = [parameter.name for parameter in node.expressions]
    scope = Scope(parent=binder.scope)
    parameters = [scope.declare_parameter(name.upper(), types.VARIANT) for name in names]
    body = node.this.transform(
        lambda part: (
            exp.column(part.copy())
            if isinstance(part, exp.Identifier) and part.name in names and not isinstance(part.parent, exp.Column)
            else part
        )
    )
    bound = binder.in_scope(scope).in_clause(LAMBDA).bind(body)
    tree = exp.Lambda(this=bound.tree, expressions=list(parameters))
    return replace(bound, tree=tree)


def _constant(binder: BindsExpressions, node: exp.Expr) -> exp.Expr:
    """A variable counts as the constant it holds."""
    if isinstance(node, exp.Parameter) and not isinstance(node.this, exp.Literal):
        return binder.environment.relations.variable(node.name.upper()) or node
    if isinstance(node, exp.Placeholder):
        local = binder.environment.relations.local(node.name)
        return local[0] if local is not None else node
    return node


def _bind_routine(binder: BindsExpressions, found: list[ScalarRoutine], node: exp.Anonymous) -> Bound:
    aggregates = any(routine.code is not None and routine.code.shape == "aggregate" for routine in found)
    if aggregates:
        binder.clause.allow_aggregate(node)
    inside = binder.in_clause(binder.clause.inside_aggregate(node.name.upper()) if aggregates else binder.clause)
    routine, arguments = routines.match(inside, found, node)
    if routine.returns is None:
        raise errors.compilation("002142", "42601", f"Table function {routine.name} must stand in TABLE(…)")
    return routines.inline(inside, routine, arguments)
