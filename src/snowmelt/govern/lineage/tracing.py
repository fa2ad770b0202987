"""From a bound query to the flow of its columns.

The binder has resolved every name: a column is qualified with the alias of an item of FROM, and every relation that
is no common table expression is called by the reference that the catalog gave it. So this needs no catalog, and can't
disagree with what runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from snowmelt.govern.lineage.flows import (
    NO_ORIGINS,
    FlowColumn,
    Influence,
    Origins,
    OutputFlow,
    QueryFlow,
    combined,
    through,
)
from snowmelt.ivm.trees import is_aggregate
from snowmelt.sql.bound import BoundQuery

_OUTPUT = ""
_ROW_CLAUSES = (
    ("where", Influence.FILTER),
    ("having", Influence.FILTER),
    ("group", Influence.GROUP_BY),
    ("order", Influence.SORT),
)


@dataclass(frozen=True, slots=True)
class _Item:
    """One item of FROM: a relation of the outside, or the columns of something made in the query."""

    reference: str | None = None
    columns: Mapping[str, Origins] = field(default_factory=dict)

    def column(self, name: str) -> Origins | None:
        if name in self.columns or self.reference is None:
            return self.columns.get(name)
        return {FlowColumn(self.reference, name): frozenset({Influence.IDENTITY})}


@dataclass(slots=True)
class _Scope:
    """Where one SELECT looks up columns, then the query around it."""

    parent: _Scope | None = None
    items: dict[str, _Item] = field(default_factory=dict)
    ctes: dict[str, _Traced] = field(default_factory=dict)

    def cte(self, name: str) -> _Traced | None:
        return self.ctes.get(name) or (self.parent.cte(name) if self.parent is not None else None)

    def column(self, node: exp.Column) -> Origins:
        """What a column is made of. Nothing for a name that is not a column: a variable of a lambda, an alias."""
        if node.table:
            item = self.items.get(node.table)
            found = item.column(node.name) if item is not None else None
        else:
            found = next((c for c in (item.columns.get(node.name) for item in self.items.values()) if c), None)
        if found is not None:
            return found
        return self.parent.column(node) if self.parent is not None else NO_ORIGINS


@dataclass(slots=True)
class _Traced:
    """What a query is made of, while it is being traced."""

    columns: dict[str, Origins] = field(default_factory=dict)
    rows: Origins = field(default_factory=dict)
    sources: set[str] = field(default_factory=set)
    reference: str | None = None
    """The relation all of whose columns `*` passes on; which they are, only whoever reads them knows."""

    def decide_rows(self, origins: Origins) -> None:
        self.rows = combined(self.rows, origins)


def trace(query: BoundQuery) -> QueryFlow:
    """The flow of the query's columns, in their order."""
    traced = _query(query.tree, None)
    outputs = tuple(OutputFlow(column.name, traced.columns.get(column.key, NO_ORIGINS)) for column in query.columns)
    return QueryFlow(outputs, traced.rows, frozenset(traced.sources))


def _query(tree: exp.Expr, parent: _Scope | None) -> _Traced:
    while isinstance(tree, exp.Subquery) and tree.args.get("with_") is None:
        tree = tree.this
    scope = _Scope(parent)
    with_ = tree.args.get("with_")
    for cte in with_.expressions if with_ is not None else ():
        scope.ctes[cte.alias] = _query(cte.this, scope)
    return _set_operation(tree, scope) if isinstance(tree, exp.SetOperation) else _select(tree, scope)


def _set_operation(tree: exp.SetOperation, scope: _Scope) -> _Traced:
    left, right = _query(tree.this, scope), _query(tree.expression, scope)
    traced = _Traced(rows=combined(left.rows, right.rows), sources=left.sources | right.sources)
    brings_rows = isinstance(tree, exp.Union)
    for (name, origins), other in zip(left.columns.items(), right.columns.values(), strict=False):
        traced.columns[name] = combined(origins, other) if brings_rows else origins
        if not brings_rows:
            # What EXCEPT and INTERSECT compare with decides which rows stay; their values are the left side's.
            traced.decide_rows(through(other, Influence.FILTER))
    return traced


def _select(tree: exp.Expr, scope: _Scope) -> _Traced:
    traced = _Traced()
    from_ = tree.args.get("from_")
    if from_ is not None:
        _add_item(from_.this, scope, traced)
    for join in tree.args.get("joins") or []:
        _add_item(join.this, scope, traced)
        if join.args.get("on") is not None:
            traced.decide_rows(through(_value(join.args["on"], scope, traced), Influence.JOIN))
    for item in tree.expressions:
        for name, origins in _projected(item, scope, traced):
            traced.columns[name] = origins
    # ORDER BY names columns of the output; nothing else in a bound query is without a qualifier.
    scope.items[_OUTPUT] = _Item(columns=dict(traced.columns))
    for clause, influence in _ROW_CLAUSES:
        node = tree.args.get(clause)
        if node is not None:
            traced.decide_rows(through(_operands(node, scope, traced), influence))
    return traced


def _projected(item: exp.Expr, scope: _Scope, traced: _Traced) -> Iterator[tuple[str, Origins]]:
    value = item.this if isinstance(item, exp.Alias) else item
    if isinstance(value, exp.Star):
        for source in scope.items.values():
            traced.reference = source.reference or traced.reference
            yield from source.columns.items()
        return
    if isinstance(value, exp.Anonymous) and value.name.lower() == "inline":
        # Rows of VALUES that are not constant: every column is a field of the structs.
        yield from _fields(value, scope, traced)
        return
    yield item.alias_or_name, _value(value, scope, traced)


def _fields(call: exp.Anonymous, scope: _Scope, traced: _Traced) -> Iterator[tuple[str, Origins]]:
    whole = _value(call, scope, traced)
    select = call.find_ancestor(exp.Select) or call
    structs = [node for node in select.find_all(exp.Anonymous) if node.name.lower() == "named_struct"]
    for name in dict.fromkeys(part.name for struct in structs for part in struct.expressions[::2]):
        yield name, whole


# -- FROM -------------------------------------------------------------------------------------------------------------


def _add_item(node: exp.Expr, scope: _Scope, traced: _Traced) -> None:
    if isinstance(node, exp.Lateral):
        scope.items[node.alias] = _lateral(node, scope, traced)
    elif isinstance(node, exp.Subquery):
        inner = _query(node.this, scope)
        scope.items[node.alias] = _item_of(inner, traced)
    elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        known = scope.cte(node.name)
        if known is not None:
            scope.items[node.alias_or_name] = _item_of(known, traced)
        else:
            traced.sources.add(node.name)
            scope.items[node.alias_or_name] = _Item(node.name)
    else:
        # VALUES and generators: rows of the statement's own.
        scope.items[node.alias_or_name] = _Item()


def _item_of(inner: _Traced, traced: _Traced) -> _Item:
    traced.sources |= inner.sources
    traced.decide_rows(inner.rows)
    return _Item(inner.reference, inner.columns)


def _lateral(node: exp.Lateral, scope: _Scope, traced: _Traced) -> _Item:
    if isinstance(node.this, exp.Subquery):
        return _item_of(_query(node.this, scope), traced)
    origins = through(_value(node.this, scope, traced), Influence.TRANSFORMATION)
    alias = node.args["alias"]
    return _Item(columns={column.name: origins for column in alias.columns})


# -- expressions ------------------------------------------------------------------------------------------------------


def _value(node: exp.Expr, scope: _Scope, traced: _Traced) -> Origins:
    """What the value of an expression is made of."""
    if isinstance(node, exp.Column):
        return scope.column(node)
    if isinstance(node, exp.Paren):
        return _value(node.this, scope, traced)
    if isinstance(node, exp.Query):
        return _subquery(node, scope, traced)
    if isinstance(node, exp.Exists):
        return _rows_of(node.this, scope, traced).rows
    if isinstance(node, exp.In) and node.args.get("query") is not None:
        inner = _rows_of(node.args["query"], scope, traced)
        compared = through(combined(*inner.columns.values()), Influence.CONDITIONAL)
        return combined(through(_value(node.this, scope, traced), Influence.TRANSFORMATION), compared, inner.rows)
    if isinstance(node, exp.Case | exp.If):
        return _choice(node, scope, traced)
    if isinstance(node, exp.Window):
        return _window(node, scope, traced)
    origins = _operands(node, scope, traced)
    return through(origins, Influence.AGGREGATION if is_aggregate(node) else Influence.TRANSFORMATION)


def _operands(node: exp.Expr, scope: _Scope, traced: _Traced) -> Origins:
    return combined(*(_value(child, scope, traced) for child in node.iter_expressions()))


def _subquery(node: exp.Query, scope: _Scope, traced: _Traced) -> Origins:
    """A query as a value: its column, while what decides its rows decides the value."""
    inner = _rows_of(node, scope, traced)
    values = through(combined(*inner.columns.values()), Influence.TRANSFORMATION)
    return combined(values, through(inner.rows, Influence.CONDITIONAL))


def _rows_of(node: exp.Expr, scope: _Scope, traced: _Traced) -> _Traced:
    """A query inside an expression."""
    inner = _query(node, scope)
    traced.sources |= inner.sources
    return inner


def _choice(node: exp.Case | exp.If, scope: _Scope, traced: _Traced) -> Origins:
    branches = node.args.get("ifs") or [node]
    conditions = [node.this] if isinstance(node, exp.Case) and node.this is not None else []
    conditions += [branch.this for branch in branches]
    values = [branch.args.get("true") for branch in branches]
    values += [node.args.get("default") if isinstance(node, exp.Case) else node.args.get("false")]
    taken = combined(
        *(through(_value(item, scope, traced), Influence.TRANSFORMATION) for item in values if item is not None)
    )
    decide = combined(*(through(_value(item, scope, traced), Influence.CONDITIONAL) for item in conditions))
    # Looking at a value before taking it is part of taking it: most such conditions are the translation's own.
    return combined({column: how for column, how in decide.items() if column not in taken}, taken)


def _window(node: exp.Window, scope: _Scope, traced: _Traced) -> Origins:
    around = [*(node.args.get("partition_by") or []), *([node.args["order"]] if node.args.get("order") else [])]
    return combined(
        through(_value(node.this, scope, traced), Influence.TRANSFORMATION),
        *(through(_operands(exp.Tuple(expressions=[item]), scope, traced), Influence.WINDOW) for item in around),
    )
