"""Subqueries that name columns of the query around them, in the forms that Spark 4.1 can run.

Three of its limits are worked around here, in the tree that is about to become text. Whoever takes bound queries apart
(incremental maintenance, lineage) sees them as they were bound.

- A subquery may name columns of the query it stands in, but none of a query further out. Such a column is handed
  down: the query in between reads it from one more item of its FROM, which has one row.
- A subquery in a SELECT list over UNION ALL breaks the rule that moves the list below the union. A condition that
  Spark takes for another one each time stays above the union, and the list above it.
- A subquery in ORDER BY can't name columns of its query. It becomes a column that is sorted by and left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from sqlglot import exp

from snowmelt.core import errors

_RELATIONAL = exp.From | exp.Join | exp.SetOperation | exp.CTE | exp.Subquery | exp.Table
"""What a query in parentheses is the child of, when it is a relation and no value."""
_PREFIX = "__outer"
_SORTED_BY = "__sort"
_SORTING = frozenset({"order", "limit", "offset"})
_IN_FROM = frozenset({"from_", "joins"})
_REORDERING = frozenset({"RIGHT", "FULL"})


def fit_subqueries(tree: exp.Expr) -> exp.Expr:
    """The tree, changed in place, with its correlated subqueries as Spark can run them."""
    if not isinstance(tree, exp.Query) or next(_subqueries(tree), None) is None:
        return tree
    for select in list(tree.find_all(exp.Select)):
        _sort_by_columns(select)
    _Handing().hand_down(tree)
    _keep_lists_above_unions(tree)
    return tree


def _subqueries(tree: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes around a query inside an expression, and around a lateral one."""
    for node in tree.find_all(exp.Select):
        at: exp.Expr = node
        while at.parent is not None and isinstance(at.parent, exp.SetOperation | exp.Subquery):
            at = at.parent
        if _is_boundary(at):
            yield at


def _ancestors(node: exp.Expr) -> Iterator[exp.Expr]:
    while node.parent is not None:
        node = node.parent
        yield node


def _is_boundary(node: exp.Expr) -> bool:
    """Whether names of the query around `node` are outer ones for what is in it."""
    parent = node.parent
    if isinstance(parent, exp.Exists | exp.Lateral):
        return isinstance(node, exp.Query)
    if isinstance(parent, exp.In):
        return node.arg_key == "query"
    return isinstance(node, exp.Subquery) and parent is not None and not isinstance(parent, _RELATIONAL)


def _boundaries(column: exp.Column) -> list[exp.Expr]:
    """The queries between a column and the one whose source it names, the innermost first.

    Nothing for a column that names no source, such as one of a struct.
    """
    passed: list[exp.Expr] = []
    node: exp.Expr | None = column
    while node is not None:
        if isinstance(node, exp.Select) and column.table in _aliases(node):
            return passed
        if _is_boundary(node):
            passed.append(node)
        node = node.parent
    return []


def _aliases(select: exp.Select) -> set[str]:
    return {item.alias_or_name for item in _items(select)}


def _items(select: exp.Select) -> Iterator[exp.Expr]:
    from_ = select.args.get("from_")
    if from_ is not None:
        yield from_.this
    for join in select.args.get("joins") or []:
        yield join.this


@dataclass(slots=True)
class _Handing:
    """Hands columns down to subqueries that stand two or more queries below them."""

    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    made: dict[tuple[int, bool], exp.Subquery] = field(default_factory=dict)
    """The added items of FROM, by the identity of their SELECT and whether they stand first."""

    def hand_down(self, tree: exp.Expr) -> None:
        inner = [node for node in _subqueries(tree) if any(map(_is_boundary, _ancestors(node)))]
        waiting = [column for node in inner for column in node.find_all(exp.Column) if column.table]
        while waiting:
            column = waiting.pop()
            passed = _boundaries(column)
            if len(passed) > 1:
                self._carry(column, passed[-2])
                waiting.append(column)

    def _carry(self, column: exp.Column, boundary: exp.Expr) -> None:
        """Makes the column one of the query in which the boundary stands."""
        select, clause = _around(boundary)
        item = self.made.get((id(select), clause in _IN_FROM))
        if item is None:
            item = _add_item(select, f"{_PREFIX}{next(self.numbers)}", first=clause in _IN_FROM)
            self.made[id(select), clause in _IN_FROM] = item
        name = _carried_name(item.this, column)
        column.set("table", exp.Identifier(this=item.alias, quoted=True))
        column.set("this", exp.Identifier(this=name, quoted=True))


def _around(boundary: exp.Expr) -> tuple[exp.Select, str]:
    """The query in which a subquery stands, and in which of its clauses."""
    node = boundary
    while node.parent is not None and not isinstance(node.parent, exp.Query):
        node = node.parent
    if not isinstance(node.parent, exp.Select):
        raise _unsupported("in the ORDER BY of a set operation")
    return node.parent, str(node.arg_key)


def _add_item(select: exp.Select, alias: str, *, first: bool) -> exp.Subquery:
    """One more item of FROM. Only items behind it see one that stands first."""
    item = exp.Subquery(
        this=exp.Select(expressions=[]), alias=exp.TableAlias(this=exp.Identifier(this=alias, quoted=True))
    )
    from_, joins = select.args.get("from_"), select.args.get("joins") or []
    if from_ is None:
        select.set("from_", exp.From(this=item))
    elif not first:
        select.append("joins", exp.Join(this=item, kind="CROSS"))
    elif any(str(join.args.get("side") or "").upper() in _REORDERING for join in joins):
        # It would be NULL for the rows that have no partner.
        raise _unsupported("beside a RIGHT or FULL JOIN")
    else:
        select.set("from_", exp.From(this=item))
        select.set("joins", [exp.Join(this=from_.this, kind="CROSS"), *joins])
    return item


def _unsupported(where: str) -> errors.SnowmeltError:
    return errors.compilation(
        "002031",
        "42601",
        f"Unsupported subquery type cannot be evaluated: {where}, it names a column of a query two levels around it.",
    )


def _carried_name(inner: exp.Select, column: exp.Column) -> str:
    for at, given in enumerate(inner.expressions):
        if given.this == column:
            return f"c{at}"
    name = f"c{len(inner.expressions)}"
    inner.append("expressions", exp.alias_(column.copy(), exp.Identifier(this=name, quoted=True)))
    return name


def _sort_by_columns(select: exp.Select) -> None:
    order = select.args.get("order")
    if order is None or select.args.get("distinct") or not any(map(_is_boundary, order.walk())):
        return
    inner = exp.Select(**{key: value for key, value in select.args.items() if key not in _SORTING})
    names = [item.alias_or_name for item in inner.expressions]
    for at, term in enumerate(order.expressions):
        if isinstance(term.this, exp.Column) and not term.this.table:
            continue  # One of the columns by its name.
        name = f"{_SORTED_BY}{at}"
        inner.append("expressions", exp.alias_(term.this.copy(), exp.Identifier(this=name, quoted=True)))
        term.set("this", exp.column(exp.Identifier(this=name, quoted=True)))
    for key in list(select.args):
        if key not in _SORTING:
            select.set(key, None)
    select.set("expressions", [exp.column(exp.Identifier(this=name, quoted=True)) for name in names])
    alias = exp.TableAlias(this=exp.Identifier(this=_SORTED_BY, quoted=True))
    select.set("from_", exp.From(this=exp.Subquery(this=inner, alias=alias)))


def _keep_lists_above_unions(tree: exp.Expr) -> None:
    unions = _common_tables_with_unions(tree)
    for select in list(tree.find_all(exp.Select)):
        if _is_over_union(select, unions) and any(map(_has_correlated, select.expressions)):
            here = exp.Anonymous(this="spark_partition_id", expressions=[])
            select.where(exp.GTE(this=here, expression=exp.Literal.number(0)), copy=False)


def _is_over_union(select: exp.Select, unions: set[str]) -> bool:
    """Whether Spark could put its list next to a union. A join between them keeps them apart, unless it is lateral."""
    joins = select.args.get("joins") or []
    return all(isinstance(join.this, exp.Lateral) for join in joins) and any(
        _reads_union(item, unions) for item in _items(select)
    )


def _has_correlated(item: exp.Expr) -> bool:
    """Whether a subquery in it names columns of the query it stands in."""
    return any(
        any(node is boundary for node in _boundaries(column))
        for boundary in item.walk(prune=_is_boundary)
        if _is_boundary(boundary)
        for column in boundary.find_all(exp.Column)
        if column.table
    )


def _common_tables_with_unions(tree: exp.Expr) -> set[str]:
    """The keys of the common tables whose rows come from UNION ALL, by themselves or through others."""
    tables = {table.alias: table.this for table in tree.find_all(exp.CTE)}
    found: set[str] = set()
    grew = True
    while grew:
        new = {key for key, query in tables.items() if key not in found and _reads_union(query, found)}
        found |= new
        grew = bool(new)
    return found


def _reads_union(item: exp.Expr, unions: set[str]) -> bool:
    return any(
        (isinstance(node, exp.Union) and not node.args.get("distinct"))
        or (isinstance(node, exp.Table) and node.name in unions)
        for node in item.walk()
    )
