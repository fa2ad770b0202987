"""`FROM t, TABLE(f(t.a) OVER (PARTITION BY t.b ORDER BY t.c))`: a function in Python over whole partitions.

The rows before it are gathered by partition, each with its arguments as text and its columns. The function says for
each row that it gives of which of them it came; what it gives at a partition's end came of none, and has the columns of
PARTITION BY alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.sql import code_calls
from snowmelt.sql.bound import Bound, SourceColumn
from snowmelt.sql.clauses import ONE_ROW
from snowmelt.sql.code_calls import ROWS, called, row_structs, typed_source
from snowmelt.sql.dialect import call, identifier, spark, string
from snowmelt.sql.functions.ordered_lists import gather_by
from snowmelt.sql.node_arguments import only
from snowmelt.sql.notes import typed
from snowmelt.sql.relations import ScalarRoutine
from snowmelt.sql.table_calls import FromClause, inline_rows

_GROUP, _NUMBER = "__rows", "__number"


@dataclass(frozen=True, slots=True)
class _Key:
    name: str
    value: Bound


def rows(
    sources: FromClause, routine: ScalarRoutine, arguments: dict[str, Bound], window: exp.Window, node: exp.Expr
) -> exp.Expr:
    """The lateral join with the function's rows; what stands before it in FROM is gathered."""
    only(window, "this", "partition_by", "order", "over")
    code, declared, target = routine.code, routine.returns_table, sources.target
    if code is None:
        raise errors.unsupported(f"OVER behind the SQL function {routine.name}")
    if target.args.get("from_") is None:
        raise errors.unsupported("TABLE(f(…) OVER (…)) first in FROM", hint="Name the table with its rows before it.")
    assert declared is not None
    binder = sources.expressions.in_clause(ONE_ROW)
    found = [binder.bind(part) for part in window.args.get("partition_by") or []]
    if any(value.type.has_key for value in found):
        raise errors.unsupported("PARTITION BY a VARIANT, TIMESTAMP_TZ or collated text", hint="Cast it.")
    keys = [_Key(f"__k{index}", value) for index, value in enumerate(found) if value.tree.find(exp.Column)]
    order = tuple(
        exp.Ordered(
            this=binder.orderable(binder.bind(item.this)).tree,
            desc=item.args.get("desc"), nulls_first=item.args.get("nulls_first"),
        )
        for item in (window.args["order"].expressions if window.args.get("order") else ())
    )  # fmt: skip
    texts = [code_calls.as_text(binder, value) for value in arguments.values()]
    held = _gather(sources, keys, order, texts)
    given = call("to_json", spark("transform(_0, e -> e.t)", exp.column(identifier(_GROUP), table=identifier(held))))
    columns = [column.name for column in declared]
    result = row_structs(called(code, [string(ROWS), given], routine.name), columns, _NUMBER)
    fields = [(_NUMBER, types.VARCHAR), *((name, types.VARCHAR) for name in columns)]
    tree = inline_rows(sources, result, fields, node)
    own = sources.scope.sources[-1]
    sources.scope.sources[-1] = typed_source(
        replace(own, columns=own.columns[1:]), [column.type for column in declared]
    )  # fmt: skip
    _lift(sources, keys, held, own.columns[0].tree)
    return tree


def _gather(sources: FromClause, keys: list[_Key], order: tuple[exp.Ordered, ...], texts: list[exp.Expr]) -> str:
    """Puts a query with one row for each partition in place of what stands in FROM so far; its name."""
    target, scope = sources.target, sources.scope
    members: list[exp.Expr] = []
    for index, (_, column) in enumerate(_columns(sources)):
        members += [string(f"c{index}"), column.tree.copy()]
    whole = call("named_struct", *members) if members else spark("named_struct('none', 1)")
    text = call("to_json", call("array", *texts)) if texts else string("[]")
    entry = call("named_struct", string("t"), text, string("c"), whole)
    inner = exp.Select(from_=target.args["from_"], joins=target.args.get("joins") or [])
    inner.set("expressions", [
        *(exp.alias_(key.value.tree.copy(), identifier(key.name)) for key in keys),
        exp.alias_(gather_by(entry, types.VARIANT, order), identifier(_GROUP)),
    ])  # fmt: skip
    if keys:
        inner.set("group", exp.Group(expressions=[key.value.tree.copy() for key in keys]))
    inner.set("having", exp.Having(this=spark("count(1) > 0")))
    alias = scope.spark_alias(None)
    target.set("from_", exp.From(this=exp.Subquery(this=inner, alias=exp.TableAlias(this=identifier(alias)))))
    target.set("joins", [])
    return alias


def _columns(sources: FromClause) -> list[tuple[int, SourceColumn]]:
    return [(index, column) for index, source in enumerate(sources.scope.sources) for column in source.columns]


def _lift(sources: FromClause, keys: list[_Key], held: str, number: exp.Expr) -> None:
    """The columns before the function, as they are called now."""
    scope = sources.scope
    if scope.merged:
        raise errors.unsupported("USING or NATURAL before TABLE(f(…) OVER (…))", hint="Write ON.")
    group = exp.column(identifier(_GROUP), table=identifier(held))
    position = 0
    before = scope.sources[:-1]
    for slot, source in enumerate(before):
        columns = []
        for column in source.columns:
            entry = spark("get(_0, cast(_1 as int))", group.copy(), number.copy())
            tree: exp.Expr = entry
            for field in ("c", f"c{position}"):
                tree = exp.Dot(this=tree, expression=identifier(field))
            for key in keys:
                if key.value.tree == column.tree:
                    tree = exp.column(identifier(key.name), table=identifier(held))
            columns.append(replace(column, tree=typed(tree, column.type)))
            position += 1
        scope.sources[slot] = replace(source, columns=tuple(columns), key=held)
