"""`(+)` in WHERE: outer joins as Oracle writes them.

    FROM a, b WHERE a.id = b.id (+) AND b.kind (+) = 'x'     is     FROM a LEFT JOIN b ON a.id = b.id AND b.kind = 'x'

The mark stands at the columns of the table that may have no row. All predicates that carry it for one table make up the
condition of that table's join; the rest of WHERE filters the joined rows. The joins are put in place while the query is
bound, so that all that starts from a bound query (views, dynamic tables, lineage) sees the LEFT JOINs they stand for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.sql.binders import BindsExpressions
from snowmelt.sql.bound import Scope, fold_identifier, position_of

_MARK = "join_mark"


def apply_marks(select: exp.Select, target: exp.Select, expressions: BindsExpressions) -> exp.Expr | None:
    """Turns the marked predicates of WHERE into joins of `target`, whose FROM is bound; gives the rest of WHERE."""
    where = select.args.get("where")
    if where is None:
        return None
    if not any(column.args.get(_MARK) for column in _columns(where.this)):
        rest: exp.Expr = where.this
        return rest
    marks = _Marks(expressions.scope)
    kept = [conjunct for conjunct in _conjuncts(where.this) if not marks.take(conjunct)]
    _require_plain_from(select, target, expressions.scope)
    _join(target, marks, expressions)
    return exp.and_(*kept, copy=False) if kept else None


@dataclass(slots=True)
class _Marks:
    """The marked predicates, by the index in FROM of the table that they make optional."""

    scope: Scope
    predicates: dict[int, list[exp.Expr]] = field(default_factory=dict)
    partners: dict[int, set[int]] = field(default_factory=dict)
    """The tables that a table's predicates compare it with: they are joined before it."""

    def take(self, conjunct: exp.Expr) -> bool:
        """Keeps the predicate if it is marked."""
        columns = list(_columns(conjunct))
        marked = [column for column in columns if column.args.get(_MARK)]
        if not marked:
            return False
        if conjunct.find(exp.Or, exp.Query) is not None:
            raise errors.unsupported("(+) in a predicate with OR or a subquery", hint=_HINT)
        tables = {self._table_index(column, required=True) for column in marked}
        others = {self._table_index(column) for column in columns if not column.args.get(_MARK)} - {None}
        if len(tables) > 1:
            raise _wrong(marked[0], "(+) marks columns of two tables in one predicate.")
        (table,) = tables
        assert table is not None
        if table in others:
            raise _wrong(marked[0], "(+) has to mark all columns of its table in a predicate, or none.")
        self.predicates.setdefault(table, []).append(_unmarked(conjunct))
        self.partners.setdefault(table, set()).update(other for other in others if other is not None)
        return True

    def _table_index(self, column: exp.Column, *, required: bool = False) -> int | None:
        *qualifier, name = (fold_identifier(part) for part in column.parts)
        found = [
            index
            for index, source in enumerate(self.scope.sources)
            if (not qualifier or source.answers_to(tuple(qualifier))) and any(c.name == name for c in source.columns)
        ]
        where = position_of(column)
        if len(found) > 1:
            raise errors.ambiguous_column(name, where.line, where.position)
        if not found and required:
            raise errors.invalid_identifier(".".join(map(quote, (*qualifier, name))), where.line, where.position)
        return found[0] if found else None

    def order(self, trees: list[exp.Expr]) -> list[int]:
        """The tables of FROM in an order in which each table comes behind those that it is joined to."""
        plain = {index for index in range(len(trees)) if index not in self.predicates}
        needs = {
            index: (self.partners[index] or plain) if index in self.predicates else set() for index in range(len(trees))
        }
        for index, tree in enumerate(trees):
            if isinstance(tree, exp.Lateral):
                # It reads columns of the items before it.
                needs[index] = needs[index] | set(range(index))
        ordered: list[int] = []
        while len(ordered) < len(trees):
            ready = [p for p in range(len(trees)) if p not in ordered and needs[p] <= set(ordered)]
            ready = [p for p in ready if ordered or p in plain]
            if not ready:
                raise self._cycle(set(range(len(trees))) - set(ordered))
            ordered.append(ready[0])
        return ordered

    def _cycle(self, indexes: set[int]) -> errors.SnowmeltError:
        names = [quote(self.scope.sources[index].alias or "?") for index in sorted(indexes & set(self.predicates))]
        between = " and ".join(f"'{name}'" for name in names)
        return errors.compilation("001003", "42000", f"Outer join predicates form a cycle between {between}.")


_HINT = "Write it as LEFT JOIN … ON."


def _join(target: exp.Select, marks: _Marks, expressions: BindsExpressions) -> None:
    joins: list[exp.Join] = target.args.get("joins") or []
    trees: list[exp.Expr] = [target.args["from_"].this, *[join.this for join in joins]]
    if len(trees) == 1:
        raise errors.unsupported("(+) in a query of one table", hint="Leave the mark out.")
    first, *rest = marks.order(trees)
    bound = [_bound_join(trees[index], marks.predicates.get(index), expressions) for index in rest]
    target.set("from_", exp.From(this=trees[first]))
    target.set("joins", bound)


def _bound_join(tree: exp.Expr, predicates: list[exp.Expr] | None, expressions: BindsExpressions) -> exp.Join:
    if predicates is None:
        return exp.Join(this=tree, kind="CROSS" if isinstance(tree, exp.Lateral) else "INNER")
    if isinstance(tree, exp.Lateral):
        raise errors.unsupported("(+) at columns of a table function or lateral subquery", hint=_HINT)
    conditions = [expressions.boolean(predicate).tree for predicate in predicates]
    return exp.Join(this=tree, side="LEFT", on=exp.and_(*conditions, copy=False))


def _require_plain_from(select: exp.Select, target: exp.Select, scope: Scope) -> None:
    joins = select.args.get("joins") or []
    plain = not any(value for join in joins for name, value in join.args.items() if name != "this")
    items = 1 + len(target.args.get("joins") or [])
    if not plain or items != 1 + len(joins) or items != len(scope.sources):
        raise errors.unsupported("(+) in a query with JOIN", hint=_HINT)


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """The predicates that AND connects, also in parentheses."""
    inner = node.unnest()
    if isinstance(inner, exp.And):
        for part in inner.flatten():
            yield from _conjuncts(part)
    else:
        yield node


def _columns(node: exp.Expr) -> Iterator[exp.Column]:
    """The columns in an expression, without those in its subqueries."""
    for part in node.walk(prune=lambda item: isinstance(item, exp.Query)):
        if isinstance(part, exp.Column):
            yield part


def _unmarked(predicate: exp.Expr) -> exp.Expr:
    copy = predicate.copy()
    for column in copy.find_all(exp.Column):
        column.set(_MARK, None)
    return copy


def _wrong(column: exp.Column, message: str) -> errors.SnowmeltError:
    position = position_of(column)
    return errors.at_position("001003", "42000", position.line, position.position, message)
