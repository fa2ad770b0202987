"""PIVOT and UNPIVOT, written as queries that have neither.

PIVOT is a GROUP BY the columns that it does not name, with one aggregate over a CASE for each value: so views, lineage
and incremental refreshes need no rule of their own for it. UNPIVOT is a join with the list of its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.sql.bound import OutputColumn, fold_identifier, position_of
from snowmelt.sql.dialect import as_written, identifier, string

_AGGREGATES = ("AVG", "COUNT", "MAX", "MIN", "SUM")
_NAMES = "__names"
_INDEX, _NAME = "__index", "__name"

Values = Callable[[exp.Expr], Sequence[exp.Expr]]
"""The distinct values of a query with one column, as literals."""


def rewritten(pivot: exp.Pivot, source: exp.Expr, columns: Sequence[OutputColumn], values: Values) -> exp.Select:
    """A SELECT that gives what the clause gives over `source`, whose columns are known."""
    if len(pivot.args["fields"]) != 1 or len(pivot.expressions) != 1:
        raise errors.unsupported(
            "PIVOT with more than one aggregate or FOR", hint="Write a PIVOT for each, and join or UNION them."
        )
    return _unpivoted(pivot, source, columns) if pivot.args.get("unpivot") else _pivoted(pivot, source, columns, values)


def _pivoted(pivot: exp.Pivot, source: exp.Expr, columns: Sequence[OutputColumn], values: Values) -> exp.Select:
    aggregate, suffix = _named(pivot.expressions[0])
    call = _aggregate(aggregate)
    field = pivot.args["fields"][0]
    key = _column(field.this, columns)
    used = {_column(node, columns) for node in call.find_all(exp.Column)} | {key}
    groups = [column.name for column in columns if column.name not in used]
    items = [exp.column(identifier(name)) for name in groups]
    query = exp.select(*items).from_(source)
    for value, alias in _pivot_values(field, key, source, values):
        cell = _cell(call, key, value)
        if pivot.args.get("default_on_null"):
            default = pivot.args["default_on_null"].copy()
            cell = exp.Anonymous(this="COALESCE", expressions=[cell, default])
        query.append("expressions", exp.alias_(cell, identifier(_heading(value, alias, suffix))))
    if groups:
        query.set("group", exp.Group(expressions=[item.copy() for item in items]))
    return query


def _aggregate(node: exp.Expr) -> exp.Anonymous:
    if not isinstance(node, exp.Anonymous) or node.name.upper() not in _AGGREGATES:
        raise errors.unsupported(
            f"{as_written(node)} in PIVOT", hint=f"PIVOT takes {', '.join(_AGGREGATES)} of one column."
        )
    if len(node.expressions) != 1 or not isinstance(node.expressions[0], exp.Column | exp.Distinct):
        raise errors.unsupported(f"{as_written(node)} in PIVOT", hint="Aggregate one column; compute it in a subquery.")
    return node


def _named(node: exp.Expr) -> tuple[exp.Expr, str | None]:
    if isinstance(node, exp.Alias | exp.PivotAlias):
        return node.this, _text_of(node.args["alias"])
    return node, None


def _text_of(name: exp.Expr) -> str:
    return str(name.this) if isinstance(name, exp.Literal) else fold_identifier(name)


def _column(node: exp.Expr, columns: Sequence[OutputColumn]) -> str:
    name = fold_identifier(node.this if isinstance(node, exp.Column) else node)
    if name not in {column.name for column in columns}:
        where = position_of(node)
        raise errors.invalid_identifier(quote(name), where.line, where.position)
    return name


def _pivot_values(
    field: exp.In, key: str, source: exp.Expr, values: Values
) -> Sequence[tuple[exp.Expr, str | None]]:  # fmt: skip
    first = field.expressions[0]
    if isinstance(first, exp.PivotAny):
        query = exp.select(exp.column(identifier(key))).distinct().from_(source.copy())
        if first.this is not None:
            query.set("order", first.this.copy())
        return [(value, None) for value in values(query)]
    if isinstance(first, exp.Query):
        return [(value, None) for value in values(first)]
    return [_named(value) for value in field.expressions]


def _cell(call: exp.Anonymous, key: str, value: exp.Expr) -> exp.Expr:
    """The aggregate over the rows that have the value."""
    same = exp.NullSafeEQ if isinstance(value, exp.Null) else exp.EQ
    test = same(this=exp.column(identifier(key)), expression=value.copy())
    argument = call.expressions[0]
    if isinstance(argument, exp.Distinct):
        chosen: exp.Expr = exp.Distinct(expressions=[_chosen(test, part) for part in argument.expressions])
    else:
        chosen = _chosen(test, argument)
    return exp.Anonymous(this=call.name, expressions=[chosen])


def _chosen(test: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=test.copy(), true=value.copy())])


def _heading(value: exp.Expr, alias: str | None, suffix: str | None) -> str:
    """The name of a column: the value as a literal, or what AS says; the aggregate's alias goes behind it."""
    tail = f"_{suffix}" if suffix else ""
    if alias is not None:
        return alias + tail
    if isinstance(value, exp.Cast):
        return _heading(value.this, None, suffix)
    if isinstance(value, exp.Literal) and value.is_string:
        return f"'{value.this}{tail}'"
    return as_written(value).upper() + tail


def _unpivoted(pivot: exp.Pivot, source: exp.Expr, columns: Sequence[OutputColumn]) -> exp.Select:
    value, field = pivot.expressions[0], pivot.args["fields"][0]
    listed = [_named(item) for item in field.expressions]
    if isinstance(value, exp.Tuple) or any(isinstance(item, exp.Tuple) for item, _ in listed):
        raise errors.unsupported("UNPIVOT of several columns at once", hint="Write an UNPIVOT for each, and join them.")
    chosen = [(_column(item, columns), alias) for item, alias in listed]
    _check_types(chosen, columns)
    name = exp.column(identifier(_NAME), table=identifier(_NAMES))
    index_column = exp.column(identifier(_INDEX), table=identifier(_NAMES))
    case = exp.Case(
        ifs=[
            exp.If(
                this=exp.EQ(this=index_column.copy(), expression=exp.Literal.number(index)),
                true=exp.column(identifier(column)),
            )
            for index, (column, _) in enumerate(chosen)
        ]
    )
    rows = [
        exp.Tuple(expressions=[exp.Literal.number(index), string(alias if alias is not None else column)])
        for index, (column, alias) in enumerate(chosen)
    ]
    taken = {column for column, _ in chosen}
    query = exp.select(
        *[exp.column(identifier(column.name)) for column in columns if column.name not in taken],
        exp.alias_(name, identifier(fold_identifier(field.this))),
        exp.alias_(case, identifier(fold_identifier(value))),
    ).from_(source)
    names = exp.TableAlias(this=identifier(_NAMES), columns=[identifier(_INDEX), identifier(_NAME)])
    query.set("joins", [exp.Join(this=exp.Values(expressions=rows, alias=names), kind="CROSS")])
    if not pivot.args.get("include_nulls"):
        query.set("where", exp.Where(this=exp.Not(this=exp.Is(this=case.copy(), expression=exp.Null()))))
    return query


def _check_types(chosen: Sequence[tuple[str, str | None]], columns: Sequence[OutputColumn]) -> None:
    kinds = {column.name: column.type for column in columns}
    first = kinds[chosen[0][0]]
    for name, _ in chosen:
        if kinds[name].kind is not first.kind:
            raise errors.compilation(
                "001790",
                "42601",
                f"inconsistent data type for UNPIVOT columns: {chosen[0][0]} is {first}, {name} is {kinds[name]}",
                hint="Cast the columns to one type in a subquery.",
            )
