"""CONDITIONAL_CHANGE_EVENT(x) OVER (…): how often x has changed up to a row.

It counts the rows at which x is another than before, and what x was before tells a window. No window may stand in
another, so whether x has changed becomes a column of a query below.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.sql.binders import BindsExpressions
from snowmelt.sql.bound import FromItem, SourceColumn
from snowmelt.sql.clauses import SELECTED
from snowmelt.sql.dialect import identifier
from snowmelt.sql.source_clauses import LiftedColumns

NAME = "CONDITIONAL_CHANGE_EVENT"
_CHANGES = "__changes"


def lift_changes(node: exp.Select, target: exp.Select, expressions: BindsExpressions) -> tuple[exp.Select, exp.Select]:
    """The SELECT without such calls, and the bound FROM and WHERE with the columns that those are now over."""
    if not any(_calls(node)):
        return node, target
    if node.args.get("group") is not None or node.args.get("having") is not None:
        raise errors.unsupported(f"{NAME} over groups", hint="Group in a subquery.")
    node = node.copy()
    scope, selected = expressions.scope, expressions.in_clause(SELECTED)
    alias = scope.spark_alias(None)
    lifted = LiftedColumns(alias)
    changes: list[SourceColumn] = []
    for window in list(_calls(node)):
        changed = selected.bind(_changed(window))
        changes.append(SourceColumn(f"C{len(changes)}", types.BOOLEAN, lifted(changed.tree, types.BOOLEAN)))
        column = exp.column(identifier(changes[-1].name), table=identifier(_CHANGES))
        window.set("this", exp.Anonymous(this="CONDITIONAL_TRUE_EVENT", expressions=[column]))
    for index, source in enumerate(scope.sources):
        columns = tuple(replace(column, tree=lifted(column.tree, column.type)) for column in source.columns)
        scope.sources[index] = replace(source, columns=columns, key=alias)
    scope.merged = {name: bound.with_tree(lifted(bound.tree, bound.type)) for name, bound in scope.merged.items()}
    hidden = frozenset(column.name for column in changes)
    scope.sources.append(FromItem(alias=_CHANGES, columns=tuple(changes), hidden=hidden, key=alias))
    target.set("expressions", lifted.projections)
    below = exp.Subquery(this=target, alias=exp.TableAlias(this=identifier(alias)))
    return node, exp.Select().from_(below)


def _changed(window: exp.Window) -> exp.Expr:
    arguments = window.this.expressions
    if len(arguments) != 1:
        count = errors.not_enough_arguments if not arguments else errors.too_many_arguments
        raise count(NAME, 1, len(arguments))
    before = window.copy()
    before.set("this", exp.Anonymous(this="LAG", expressions=[arguments[0].copy()]))
    before.set("spec", None)
    return exp.NEQ(this=exp.Paren(this=arguments[0].copy()), expression=before)


def _calls(node: exp.Select) -> Iterator[exp.Window]:
    """The calls of a SELECT, not those of queries in it."""
    parts = [*node.expressions, node.args.get("qualify"), node.args.get("order")]
    for part in [part for part in parts if part is not None]:
        for inner in part.walk(prune=lambda item: isinstance(item, exp.Query)):
            call = inner.this if isinstance(inner, exp.Window) else None
            if isinstance(call, exp.Anonymous) and call.name.upper() == NAME and not _is_modified(call):
                yield inner


def _is_modified(call: exp.Anonymous) -> bool:
    """Calls that are refused, by whoever binds them."""
    return any(isinstance(argument, exp.Distinct | exp.Star | exp.Kwarg) for argument in call.expressions)
