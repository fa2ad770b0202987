"""SQL functions of the user's: the overload that a call means, and its body with the arguments put in place."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.lazy import lazy_imports
from snowmelt.sql import overloads
from snowmelt.sql.binders import BindsExpressions, BindsQueries, Environment
from snowmelt.sql.bound import Bound, BoundQuery, Scope
from snowmelt.sql.building import bind
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.relations import ScalarRoutine
from snowmelt.sql.sealing import sealed

with lazy_imports():
    from snowmelt.sql import code_calls


def match(
    binder: BindsExpressions, routines: list[ScalarRoutine], node: exp.Anonymous
) -> tuple[ScalarRoutine, dict[str, Bound]]:
    """The overload whose argument types fit best, with its bound arguments by name."""
    named: dict[str, Bound] = {}
    given: list[Bound] = []
    for argument in node.expressions:
        if isinstance(argument, exp.Kwarg | exp.PropertyEQ):
            named[argument.this.name.upper()] = binder.bind(argument.expression)
        elif named:
            raise errors.compilation("001044", "42P13", "Positional arguments must stand before named ones.")
        else:
            given.append(binder.bind(argument))
    shown = f"{node.name.upper()}({', '.join(part.sql(dialect='snowflake') for part in node.expressions[:4])})"
    signatures = [overloads.Signature(routine.arguments, frozenset(routine.defaults)) for routine in routines]
    types = {name: value.type for name, value in named.items()}
    chosen = overloads.choose(node.name.upper(), shown, signatures, [value.type for value in given], types)
    routine = routines[chosen]
    bound: dict[str, Bound] = {}
    for index, (name, type_) in enumerate(routine.arguments):
        if index < len(given):
            value = given[index]
        elif name in named:
            value = named[name]
        else:
            value = binder.bind(parse_snowflake(routine.defaults[name]))
        bound[name] = binder.cast(value, type_)
    return routine, bound


def inline(binder: BindsExpressions, routine: ScalarRoutine, arguments: dict[str, Bound]) -> Bound:
    """The value of a call: the body, cast to the declared type."""
    if routine.code is not None:
        return code_calls.value(binder, routine, arguments)
    assert routine.returns is not None
    returns = routine.returns
    tree = parse_snowflake(routine.body)
    once = any(value.volatile for value in arguments.values()) and not any(
        value.aggregate or value.tree.find(exp.Query) for value in arguments.values()
    )
    flags: list[Bound] = []

    def body(*values: exp.Expr) -> exp.Expr:
        held = {name: replace(v, tree=t) for (name, v), t in zip(arguments.items(), values, strict=True)}
        environment, queries = _inside(binder.queries, routine)
        inner = binder.in_body(environment, _scope(held, binder.scope), queries)
        bound = inner.bind(exp.Subquery(this=tree) if isinstance(tree, exp.Query) else tree)
        result = binder.cast(bound, returns)
        flags.append(result)
        return _unless_null(result.tree, values) if routine.strict and values else result.tree

    trees = tuple(value.tree for value in arguments.values())
    # An argument such as RANDOM() must have one value, however often the body mentions it.
    mentions_query = isinstance(tree, exp.Query) or tree.find(exp.Query) is not None
    built = bind(trees, body) if once and not mentions_query else body(*trees)
    return Bound(
        exp.Paren(this=built),
        returns,
        aggregate=any(value.aggregate for value in arguments.values()),
        volatile=flags[0].volatile or any(value.volatile for value in arguments.values()),
    )


def inline_table(
    queries: BindsQueries, routine: ScalarRoutine, arguments: dict[str, Bound], caller: Scope
) -> BoundQuery:
    """The rows of a table function's call, with the declared types."""
    assert routine.returns_table is not None
    _, inner = _inside(queries, routine)
    tree = parse_snowflake(routine.body)
    if not isinstance(tree, exp.Query):
        raise errors.compilation("002143", "42601", f"The body of table function {routine.name} is not a query.")
    bound = inner.bind(tree, _scope(arguments, caller))
    declared = routine.returns_table
    if len(declared) != len(bound.columns):
        raise errors.compilation(
            "002143",
            "42601",
            f"Table function {routine.name} declares {len(declared)} column(s), its body has {len(bound.columns)}.",
        )
    rows = inner.cast_columns(bound, [column.type for column in declared])
    return sealed(rows) if routine.sealed else rows


def check(queries: BindsQueries, binder: BindsExpressions, routine: ScalarRoutine) -> None:
    """Binds a body with arguments of the declared types; raises what is wrong with it."""
    arguments = {name: binder.cast(binder.bind(exp.Null()), type_) for name, type_ in routine.arguments}
    if routine.returns_table is not None:
        inline_table(queries, routine, arguments, binder.scope)
    else:
        inline(binder, routine, arguments)


def _inside(queries: BindsQueries, routine: ScalarRoutine) -> tuple[Environment, BindsQueries]:
    outer = queries.environment
    environment = replace(outer, relations=outer.relations.within(routine.database, routine.schema, routine.owner))
    shown = ", ".join(str(type_.kind) for _, type_ in routine.arguments)
    return environment, queries.within(environment, f"{routine.name}({shown})")


def _scope(arguments: dict[str, Bound], caller: Scope) -> Scope:
    """What a body sees: its arguments, and nothing of the query around the call."""
    held = {name: replace(v, tree=exp.Paren(this=v.tree)) for name, v in arguments.items()}
    return Scope(arguments=held, caller=caller)


def _unless_null(value: exp.Expr, arguments: tuple[exp.Expr, ...]) -> exp.Expr:
    missing = exp.or_(*[exp.Is(this=exp.Paren(this=argument.copy()), expression=exp.Null()) for argument in arguments])
    return exp.Case(ifs=[exp.If(this=missing, true=exp.Null())], default=value)
